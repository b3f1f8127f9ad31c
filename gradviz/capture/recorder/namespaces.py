"""Names that tensors have while the code runs."""

from __future__ import annotations

import re
import sys
from types import FrameType
from typing import Any, Final

from gradviz.capture import naming
from gradviz.capture.recorder.line_events import LineEvents

_OBJECTS_PER_LINE: Final = 2_000
"""How many objects are searched for names after each line."""
_WIDEST: Final = 200
"""How many entries of a container are searched after each line."""


class Namespaces:
    """Variables of the recorded block or cell, and of a function that it runs.

    Args:
        frame: Frame of the block, or ``None`` for a cell.
        file: File name of the cell.
        lines: Tells which frame runs.
    """

    def __init__(self, frame: FrameType | None, file: str, lines: LineEvents) -> None:
        self._frame = frame
        self._cell = None if frame is not None else _globals_of(file)
        self._lines = lines

    def forget(self) -> None:
        """Hold nothing any more."""
        self._frame = self._cell = None

    def all(self) -> list[tuple[str, Any]]:
        """Every variable in sight."""
        return [pair for space in self._spaces(self._lines.frame) for pair in space]

    def names(self, mentioned: bool = True) -> list[naming.Named]:
        """Tensors by name; ``mentioned``: only of variables that the code speaks of."""
        spaces = self._spaces(self._lines.frame)
        if mentioned:
            words = self._lines.words
            spaces = [[v for v in space if words is None or v[0] in words] for space in spaces]
            most, widest = _OBJECTS_PER_LINE, _WIDEST
        else:
            most, widest = naming.MOST_OBJECTS, naming.MOST_OBJECTS
        return [named for space in spaces for named in naming.named_tensors(space, most, widest)]

    def _spaces(self, inner: FrameType | None) -> list[list[tuple[str, Any]]]:
        """Variables of the block or cell itself, then those of a function that it runs."""
        found = []
        if self._cell is not None:
            found.append(naming.text_keys(self._cell))
        elif self._frame is not None:
            found.append(naming.namespace(self._frame))
        if inner is not None and inner is not self._frame and naming.is_function_frame(inner):
            found.append(naming.local_variables(inner))
        return found


def variable_of(name: str) -> str:
    """The variable that a name begins with: ``model`` of ``model.fc.weight``."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _globals_of(file: str) -> dict[str, Any] | None:
    """Variables of the cell that runs now."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename == file:
            return frame.f_globals
        frame = frame.f_back
    return None
