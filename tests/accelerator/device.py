"""Makes ``"cuda"`` usable in this process: by the GPU that is there, or by the stand-in."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Final


def has_gpu() -> bool:
    """Whether this torch was built with CUDA and the machine has a GPU; torch is not imported."""
    is_built = "+cpu" not in importlib.metadata.version("torch")
    return is_built and Path("/dev/nvidia0").exists()


IS_REAL: Final = has_gpu()
NAME: Final = "GPU" if IS_REAL else "stand-in"

if not IS_REAL:
    from tests.accelerator import stand_in

    __all__ = ["IS_REAL", "NAME", "stand_in", "use_by_default"]


def use_by_default() -> None:
    """Let tensors lie on ``"cuda"`` unless the program names a device."""
    import torch

    torch.set_default_device("cuda")
