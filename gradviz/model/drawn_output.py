"""A tensor from which a drawing of the graph starts, with what it is a view of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DrawnOutput:
    """A tensor that was passed, or the base of one."""

    shape: tuple[int, ...]
    root: tuple[str, int] | None
    """Node id and output number; ``None`` if it has no graph, as the base of a view can be."""
    is_leaf: bool
    base: DrawnOutput | None = None
    """The tensor that it is a view of."""
