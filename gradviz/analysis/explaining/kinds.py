"""Which error it is: torch's sentences, which change between releases, in one table."""

from __future__ import annotations

import re
from typing import Final

from gradviz.model.explanation import ErrorKind

_TABLE: Final[tuple[tuple[str, str, ErrorKind], ...]] = (
    ("RuntimeError", r"has been modified by an inplace operation", "saved tensor written"),
    ("RuntimeError", r"saved tensor that has been detached in-place", "saved tensor written"),
    ("RuntimeError", r"backward through the graph a second time", "graph freed"),
    ("RuntimeError", r"saved (tensors|variables).*already been freed", "graph freed"),
    ("RuntimeError", r"^a leaf Variable that requires grad", "leaf written"),
    ("RuntimeError", r"^a view of a leaf Variable", "view of a leaf written"),
    (
        "RuntimeError",
        r"[Oo]utput \d+ of BackwardHookFunction\w* is a view",
        "output of a backward hook written",
    ),
    ("RuntimeError", r"function that returns multiple views", "one of several views written"),
    ("RuntimeError", r"Inference tensors cannot be saved", "inference tensor saved"),
    ("RuntimeError", r"grad can be (implicitly )?created only for (real )?scalar", "not a scalar"),
    ("RuntimeError", r"element \d+ of tensors does not require grad", "no graph"),
    (
        "RuntimeError",
        r"[Oo]nly Tensors of floating point( and complex)? dtype can require grad",
        "dtype cannot require grad",
    ),
    ("RuntimeError", r"only change requires_grad flags of leaf", "flag of a non-leaf"),
    (
        "RuntimeError",
        r"[Cc]an't call numpy\(\) on Tensor that requires grad",
        "numpy of a tensor that requires grad",
    ),
    # On a GPU the device is looked at first; whether the tensor requires grad is asked later.
    (
        "TypeError",
        r"can't convert \S+ device type tensor to numpy",
        "numpy of a tensor that requires grad",
    ),
    ("RuntimeError", r"support the deepcopy protocol", "deepcopy of a non-leaf"),
    (
        "RuntimeError",
        r"Mismatch in shape: grad_output\[\d+\] has a shape",
        "gradient of another shape",
    ),
    ("RuntimeError", r"appears? to not have been used in the graph", "unused input"),
    ("RuntimeError", r"differentiated Tensors does not require grad", "unused input"),
    (
        "RuntimeError",
        r"returned an incorrect number of gradients",
        "wrong number of gradients",
    ),
)
"""Class of the exception, words of its text, kind; the first that fits counts."""


def kind_of(raised: str, message: str) -> ErrorKind:
    """The kind of an error.

    Examples:
        >>> kind_of("RuntimeError", "a leaf Variable that requires grad is being used")
        'leaf written'
        >>> kind_of("ValueError", "no such thing")
        'other'
    """
    for name, words, kind in _TABLE:
        if name == raised and re.search(words, message, re.DOTALL):
            return kind
    return "other"


_VERSIONS: Final = re.compile(
    r"\[[\w.]+ \[(?P<shape>[^\]]*)\]\].*?"
    r"is at version (?P<now>\d+); expected version (?P<saved>\d+)",
    re.DOTALL,
)


def versions_in(message: str) -> tuple[tuple[int, ...], int, int] | None:
    """Shape, saved and current version of the tensor that torch found to have been written.

    Examples:
        >>> versions_in("[torch.FloatTensor [2, 3]] is at version 1; expected version 0 instead")
        ((2, 3), 0, 1)
    """
    found = _VERSIONS.search(message)
    if found is None:
        return None
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    return shape, int(found["saved"]), int(found["now"])


def index_in(message: str) -> int | None:
    """Number of the tensor that torch speaks of: ``element 1 of tensors``, ``at index 0``."""
    found = re.search(r"\b(?:element|index|grad_output\[|[Oo]utput) ?(\d+)", message)
    return None if found is None else int(found[1])


def gradients_in(message: str) -> tuple[int, int] | None:
    """How many gradients a custom Function owed, and how many it gave."""
    found = re.search(r"expected (\d+), got (\d+)", message)
    return None if found is None else (int(found[1]), int(found[2]))
