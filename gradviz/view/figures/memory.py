"""The figures of a count of memory, each with its caption."""

from __future__ import annotations

from gradviz.model.memory import Memory
from gradviz.view import formatting
from gradviz.view.figures.curve import curve
from gradviz.view.figures.figure import Figure
from gradviz.view.figures.icicle import icicle


def figures_of(memory: Memory) -> tuple[tuple[str, Figure], ...]:
    """Captions and figures: how much each node keeps; of a recording also the curve of bytes."""
    found = []
    if drawn := curve(memory):
        found.append(("Bytes kept for backward after every step", drawn))
    if memory.total:
        when = "" if memory.step is None else f" at step {memory.number}"
        caption = f"Nodes that keep the {formatting.size(memory.total)}{when}"
        found.append((caption, icicle(memory)))
    return tuple(found)
