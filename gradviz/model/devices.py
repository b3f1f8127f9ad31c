"""Which devices tensors are on.

A Python number in a formula, as in ``2 * x``, becomes a tensor without dimensions on the CPU, also
where everything else is on a GPU, and torch computes with both together. So such tensors do not
make it several devices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from gradviz.model.records import Node, SavedTensor, TensorInfo

Place: TypeAlias = "tuple[str, bool]"
"""A device, and whether it may be a number only that is there."""


def place_of(tensor: TensorInfo | SavedTensor) -> Place | None:
    """Where a tensor is; ``None`` if that is not known."""
    if tensor.device is None:
        return None
    return tensor.device, tensor.device.endswith("cpu") and tensor.shape == ()


def has_no_memory(device: str | None) -> bool:
    """Whether tensors at a device are sizes only: on ``meta``, or made in a ``FakeTensorMode``.

    Examples:
        >>> [has_no_memory(device) for device in ("meta", "fake cuda:0", "cuda:0", None)]
        [True, True, False, False]
    """
    return device is not None and (device == "meta" or device.startswith("fake "))


def is_shared_out(device: str | None) -> bool:
    """Whether tensors at a device are DTensors, of which each process holds a part.

    Examples:
        >>> [is_shared_out(device) for device in ("DTensor cpu", "cpu", None)]
        [True, False, False]
    """
    return device is not None and device.startswith("DTensor ")


def devices_at(places: Iterable[Place | None]) -> list[str]:
    """The devices of these places, in alphabetical order, but for numbers on the CPU.

    If there is nothing else, they are on the CPU.
    """
    found = {place for place in places if place is not None}
    return sorted({device for device, is_number in found if not is_number}) or sorted(
        {device for device, _ in found}
    )


def devices_of(tensors: Iterable[TensorInfo], nodes: Iterable[Node]) -> list[str]:
    """The devices of tensors and of what nodes have saved.

    Examples:
        >>> import torch, gradviz
        >>> x = torch.ones(3, device="meta", requires_grad=True)
        >>> graph = gradviz.snapshot(2 * x)
        >>> devices_of(graph.tensors, graph.nodes)  # 2 is on the CPU
        ['meta']
    """
    saved = (place_of(slot) for node in nodes for slot in node.saved)
    return devices_at([*map(place_of, tensors), *saved])
