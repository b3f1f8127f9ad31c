"""Names that tensors have while the code runs."""

from __future__ import annotations

import re
import sys
from types import FrameType, FunctionType
from typing import Any, Final

from gradviz.capture import naming
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.stacks import stack_of


class Namespaces:
    """Variables of the recorded block or cell, and of the functions that it runs.

    Args:
        frame: Frame of the block, or ``None`` for a cell.
        file: File name of the cell.
        lines: Tells which frames run.
        function: In place of both: the function that is recorded.
        space: Variables of the cell, if it does not run yet.
    """

    def __init__(
        self,
        frame: FrameType | None,
        file: str,
        lines: LineEvents,
        function: FunctionType | None = None,
        space: dict[str, Any] | None = None,
    ) -> None:
        self._frame = frame
        self._cell = None if frame is not None else space or _globals_of(file)
        if function is not None:
            self._cell = function.__globals__
        self._lines = lines
        self._words: frozenset[str] | None = None
        self._globals: tuple[int, list[str]] = (-1, [])
        """How many global variables there were, and those among them that the code speaks of."""

    def forget(self) -> None:
        """Hold nothing any more."""
        self._globals = (-1, [])
        self._frame = self._cell = None

    def all(self) -> list[tuple[str, Any]]:
        """Every variable in sight."""
        return [pair for space in self._spaces() for pair in space]

    @property
    def is_inside(self) -> bool:
        """Whether a function runs that the block or cell has called."""
        return self._lines.depth > 0

    @property
    def words(self) -> frozenset[str] | None:
        """Names that the recorded code may speak of; ``None`` if its text is not known."""
        return self._lines.words

    @property
    def rebound(self) -> frozenset[str]:
        """Variables that the recorded code may bind again, as loops and calls do."""
        return self._lines.rebound

    def names(self) -> list[naming.Named]:
        """Tensors by name."""
        return [named for space in self._spaces() for named in naming.named_tensors(space)]

    def mentioned(self) -> list[list[tuple[str, Any]]]:
        """Variables that the code speaks of: those of the block or cell, and of functions."""
        words = self._lines.words
        if words is None:
            return [self._naming(space) for space in self._spaces()]
        found = []
        if self._cell is not None:
            found.append(self._mentioned_in(self._cell, words))
        elif self._frame is not None:
            local = naming.local_variables(self._frame)
            space = [(n, v) for n, v in local if n in words and naming.may_name(n)]
            # NOTE [Frame locals]: of a function they are not looked at in any other way.
            is_function = naming.is_function_frame(self._frame)
            if is_function or self._frame.f_locals is not self._frame.f_globals:
                taken = {n for n, _ in local}
                others = self._mentioned_in(self._frame.f_globals, words)
                space += [(n, v) for n, v in others if n not in taken]
            found.append(space)
        for inner in self._inner():
            local = naming.local_variables(inner)
            found.append([(n, v) for n, v in local if n in words and naming.may_name(n)])
        return found

    def _inner(self) -> list[FrameType]:
        """Frames of functions that the block or cell runs, the outermost first."""
        frames = [
            frame
            for frame in self._lines.frames
            if frame is not self._frame and naming.is_function_frame(frame)
        ]
        return frames if len(frames) <= _MOST_FRAMES else [*frames[: _MOST_FRAMES - 1], frames[-1]]

    def _mentioned_in(self, space: dict[str, Any], words: frozenset[str]) -> list[tuple[str, Any]]:
        """Global variables that the code speaks of; the others are not gone through each time."""
        count, names = self._globals
        missing = _MISSING
        values = [space.get(name, missing) for name in names]
        is_known = (
            words is self._words and count == len(space) and all(v is not missing for v in values)
        )
        if not is_known:
            names = [n for n in list(space) if n in words and naming.may_name(n)]
            self._words, self._globals = words, (len(space), names)
            values = [space.get(name, missing) for name in names]
        return [(n, v) for n, v in zip(names, values) if v is not missing]

    def _naming(self, space: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in space if naming.may_name(name)]

    def _spaces(self) -> list[list[tuple[str, Any]]]:
        """Variables of the block or cell itself, then those of the functions that it runs."""
        found = []
        if self._cell is not None:
            found.append(naming.text_keys(self._cell))
        elif self._frame is not None:
            found.append(naming.namespace(self._frame))
        return found + [naming.local_variables(inner) for inner in self._inner()]


_MOST_FRAMES: Final = 8
"""How many functions that call each other give names: the outermost, and the one that runs."""
_MISSING: Final = object()


def variable_of(name: str) -> str:
    """The variable that a name begins with: ``model`` of ``model.fc.weight``."""
    return re.split(r"[.\[]", name, maxsplit=1)[0]


def _globals_of(file: str) -> dict[str, Any] | None:
    """Variables of the cell that runs now."""
    for frame in stack_of(sys._getframe()):
        if frame.f_code.co_filename == file:
            return frame.f_globals
    return None
