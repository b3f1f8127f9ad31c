"""What the stand-in cannot do: the one list, each entry with its reason."""

from __future__ import annotations

import re
from typing import Final

LIMITS: Final[dict[str, str]] = {
    r"nested": "a nested tensor of the strided layout ends the process",
    r"\bgru|lstm|rnn|hidden state": "the fused cells of recurrent networks have no kernel",
    r"sparse": "sparse tensors have no kernels",
    r"func_grad": "inside a transform it depends on the threads which tensor is freed first",
    r"recorded_twice.*custom_function_(modified|freed)": (
        "after an error in a thread of the engine it depends on the threads which tensor is freed "
        "first"
    ),
    r"saved_tensors_hooks": "a default device is not that of the engine's threads",
    r"numpy": "numpy's memory is that of the CPU",
    r"howto/cuda\.ipynb": "the calls of torch.cuda that count memory and choose a device",
}
"""Regular expressions for ids of tests and paths of lessons, and why they do not run on it."""


def reason_why_not(test: str) -> str | None:
    """Why a test does not run on the device that is used, ``None`` if it does."""
    from tests.accelerator.device import IS_REAL

    if IS_REAL:
        return None
    return next(
        (reason for pattern, reason in LIMITS.items() if re.search(pattern, test, re.IGNORECASE)),
        None,
    )
