"""The magics ``%%gradviz``, which records a cell and shows the player, and ``%gradviz``.

NOTE [How a cell is recorded]
If the magic ran the cell itself, errors would be swallowed or shown twice, ``await`` would fail,
and line numbers would change. So IPython runs the cell. Before IPython parses the cell,
:class:`FirstLine` replaces its first line by the string literal ``'%%gradviz'``, which does
nothing and keeps the line numbers. In the parsed cell, :class:`FirstStatement` replaces that
literal by a call that starts the recording. When IPython reports that the cell has ended,
:class:`CellMagic` shows the player. After ``%gradviz on`` the same call, with no literal, is put
into every cell; :class:`QuietRecording` ends it and shows nothing.
"""

from __future__ import annotations

import sys
from typing import Any

from gradviz.magic.cell_magic import CellMagic
from gradviz.magic.options import read_options

_loaded: dict[int, CellMagic] = {}
"""Number of a shell that has loaded the extension, and its magic."""


def begin(number: int, line: str) -> None:
    """Start the recording; a recorded cell calls this first."""
    _loaded[number].begin(read_options(line), sys._getframe(1))


def begin_quietly(number: int) -> None:
    """Start a recording that shows nothing; after ``%gradviz on`` every cell calls this first."""
    _loaded[number].quiet.begin(sys._getframe(1))


def load(shell: Any) -> None:
    """Load the extension into a shell; does nothing if it is loaded already."""
    if any(magic.shell is shell for magic in _loaded.values()):
        return
    number = max(_loaded, default=-1) + 1
    _loaded[number] = CellMagic(shell, number)
    _loaded[number].load()


def unload(shell: Any) -> None:
    """Remove the extension from a shell."""
    for number, magic in list(_loaded.items()):
        if magic.shell is shell:
            magic.unload()
            del _loaded[number]
