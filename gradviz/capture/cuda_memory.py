"""What GPUs have given out, as torch's allocators report it."""

from __future__ import annotations

from collections.abc import Iterable

import torch


def allocated_bytes(devices: Iterable[str]) -> int | None:
    """Sum of ``torch.cuda.memory_allocated`` over those devices that are GPUs.

    Args:
        devices: Names of devices, such as ``"cuda:0"``, as :func:`autograd.device_of` gives them.

    Returns:
        Bytes; ``None`` if none of the devices is a GPU.
    """
    on_cuda = {device for device in devices if device.startswith("cuda")}
    return sum(map(torch.cuda.memory_allocated, sorted(on_cuda))) if on_cuda else None
