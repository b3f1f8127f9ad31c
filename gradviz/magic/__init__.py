"""``%%gradviz``: the cell runs as it always does, is recorded, and its player stands below it.

NOTE [How a cell is recorded]
A cell magic that ran the cell itself would stand between the cell and IPython: errors would be
swallowed or shown twice, ``await`` would fail, lines would be counted anew. So the magic runs
nothing. Before IPython reads the cell, its first line becomes a text, ``'%%gradviz'``, which
does nothing and keeps the numbers of the lines (:class:`FirstLine`). Once the cell is parsed,
that text becomes the call that begins the recording (:class:`FirstStatement`). IPython runs the
cell, shows its output or its error, tells that it has ended, and the player is shown
(:class:`CellMagic`).
"""

from __future__ import annotations

import sys
from typing import Any

from gradviz.magic.cell_magic import CellMagic
from gradviz.magic.options import read_options

_loaded: dict[int, CellMagic] = {}
"""The magic of each shell that has loaded the extension, by a number."""


def begin(number: int, line: str) -> None:
    """Begin to record; this is the first thing a recorded cell does."""
    _loaded[number].begin(read_options(line), sys._getframe(1))


def load(shell: Any) -> None:
    """Load the extension into a shell; doing so again changes nothing."""
    if any(magic.shell is shell for magic in _loaded.values()):
        return
    number = max(_loaded, default=-1) + 1
    _loaded[number] = CellMagic(shell, number)
    _loaded[number].load()


def unload(shell: Any) -> None:
    """Take the extension out of a shell."""
    for number, magic in list(_loaded.items()):
        if magic.shell is shell:
            magic.unload()
            del _loaded[number]
