"""The figures of a count of memory, each with its caption."""

from __future__ import annotations

from gradviz.model.memory import Memory
from gradviz.view import formatting
from gradviz.view.figures.curve import curve
from gradviz.view.figures.figure import Figure
from gradviz.view.figures.icicle import icicle


def figures_of(memory: Memory) -> tuple[tuple[str, Figure], ...]:
    """Captions and figures: who keeps how much, and of a recording the curve before it."""
    found = []
    if drawn := curve(memory):
        found.append(("Bytes kept for backward after every step", drawn))
    if memory.total:
        when = "" if memory.step is None else f" at step {memory.step}"
        caption = f"Who keeps the {formatting.size(memory.total)}{when}"
        found.append((caption, icicle(memory)))
    return tuple(found)
