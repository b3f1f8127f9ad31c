"""Numbers that only the message of an error contains."""

from __future__ import annotations

import re
from typing import Final

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
    """Index of the tensor that the message names: ``element 1 of tensors``, ``at index 0``."""
    found = re.search(r"\b(?:element|index|grad_output\[|[Oo]utput) ?(\d+)", message)
    return None if found is None else int(found[1])


def gradients_in(message: str) -> tuple[int, int] | None:
    """The expected and the returned number of gradients of a custom Function."""
    found = re.search(r"expected (\d+), got (\d+)", message)
    return None if found is None else (int(found[1]), int(found[2]))


def shapes_in(message: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The shape of a gradient that a node returned, and the one it must have.

    Examples:
        >>> shapes_in("at index 1 - got [3, 4] but expected shape compatible with [4, 3]")
        ((3, 4), (4, 3))
    """
    found = re.search(r"got \[([^\]]*)\] but expected shape compatible with \[([^\]]*)\]", message)
    if found is None:
        return None
    got, wanted = (tuple(int(n) for n in one.split(",") if n.strip()) for one in found.groups())
    return got, wanted


def hook_in(message: str) -> str | None:
    """Name of the hook that returned a gradient of another shape.

    Examples:
        >>> hook_in("hook 'halve' has changed the size of value")
        'halve'
    """
    found = re.search(r"hook '(.*)' has changed the size of value", message)
    return None if found is None else found[1]


def wants_a_real_number(message: str) -> bool:
    """Whether backward could not start because its root is complex."""
    return re.search(r"only for real scalar", message) is not None


def position_in(message: str) -> int | None:
    """The place, from 0, of a gradient that belongs to no tensor.

    Examples:
        >>> position_in("returned a gradient different than None at position 2, but the")
        1
    """
    found = re.search(r"different than None at position (\d+)", message)
    return None if found is None else int(found[1]) - 1


def operator_in(message: str) -> str | None:
    """The operator that has no derivative.

    Examples:
        >>> operator_in("the derivative for 'zeta' is not implemented.")
        'zeta'
    """
    found = re.search(r"derivative for '([^']+)' is not implemented", message)
    return None if found is None else found[1]
