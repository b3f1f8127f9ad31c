"""``%gradviz on``: every cell is recorded without values and without a player."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradviz.magic.cell_text import text_of
from gradviz.magic.line_magic import LineMagic
from gradviz.model import GradvizError, Recording

if TYPE_CHECKING:
    from gradviz.magic.cell_magic import CellMagic


class QuietRecording:
    """Records cells so that the lines that ran are known when it matters.

    It gives way to recordings that the user asks for, and goes on when these have ended.

    Args:
        magic: The magic of the shell.
    """

    def __init__(self, magic: CellMagic) -> None:
        self.is_on = False
        self.problem = ""
        """Why the last cell is not recorded, or not whole; empty if it is."""
        self._magic = magic
        self._expected: Any = None
        """The cell that is going to be recorded when IPython has parsed it."""
        self._cell: Any = None
        """The cell that is being recorded."""
        self._recorder: Any = None
        self._place: tuple[str, str] = ("", "")
        """File and text of that cell."""

    def cell_begins(self, info: Any) -> None:
        """IPython is about to run a cell; one that another cell runs is a part of that."""
        is_wanted = self.is_on and self._cell is None and not LineMagic.is_command(info.raw_cell)
        self._expected = info if is_wanted else None

    def is_wanted(self) -> bool:
        """Whether the tree that is parsed now is that of a cell to record."""
        expected, self._expected = self._expected, None
        return expected is not None

    def begin(self, frame: FrameType) -> None:
        """Start recording the cell whose code runs in ``frame``."""
        self._cell = self._magic.cell
        if self._cell is None:
            return
        file = frame.f_code.co_filename
        self._place = file, text_of(self._cell.raw_cell, linecache.getlines(file))
        self.problem = ""
        self._start()

    def _start(self) -> None:
        from gradviz.capture.recorder import Recorder

        file, text = self._place
        recorder = Recorder(values=False, label="cell")
        recorder.gives_way = self._give_way
        try:
            recorder.start(file=file, text=text)
        except GradvizError as problem:
            self.problem = str(problem)
        else:
            self._recorder = recorder

    def _give_way(self) -> Callable[[], None]:
        """Another recording begins in the middle of the cell: end this one until that has ended."""
        cell = self._cell
        self._stop(None)
        return lambda: self._start() if cell is not None and self._cell is cell else None

    def cell_ends(self, ended: Any, error: BaseException | None) -> Recording | None:
        """A cell has ended; gives its recording, if it was recorded."""
        self._expected = None
        if self._cell is None or ended is not self._cell:
            return None
        self._cell = None
        return self._stop(error)

    def _stop(self, error: BaseException | None) -> Recording | None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return None
        try:
            found: Recording = recorder.stop(error)
        except GradvizError as problem:
            self.problem = str(problem)
            return None
        return found

    def unload(self) -> None:
        """Record no more."""
        self.is_on = False
        self._cell = self._expected = None
        self._stop(None)
