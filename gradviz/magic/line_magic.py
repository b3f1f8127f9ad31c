"""The line magic ``%gradviz``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from IPython.core.error import UsageError

from gradviz.magic.options import MARK, NAME
from gradviz.model import GradvizError

if TYPE_CHECKING:
    from gradviz.magic.cell_magic import CellMagic

_LINE: Final = f"%{NAME}"
_COMMANDS: Final = {
    "on": "record every following cell, without values and without a player",
    "off": "record only cells that begin with %%gradviz",
    "explain": "explain the error of the last cell; without one, list what is wrong in it",
    "answers": "show the answers of the questions that follow: for the teacher's edition",
    "answers off": "ask the questions that follow without their answers",
    "hint on": "end the tracebacks of autograd's errors with a line that names %gradviz explain",
    "hint off": "leave tracebacks as they are",
}
"""What can be typed after the name, and what it does."""


class LineMagic:
    """``%gradviz`` in one shell.

    Args:
        magic: The magic of the shell.
    """

    def __init__(self, magic: CellMagic) -> None:
        self._magic = magic

    @staticmethod
    def is_command(cell: str) -> bool:
        """Whether a cell is nothing but this magic; such a cell is not one to explain."""
        return re.fullmatch(rf"\s*(\w+\s*=\s*)?{_LINE}\b[^\n]*\s*", cell) is not None

    def as_function(self) -> Callable[[str], Any]:
        """The function that IPython calls with the rest of the line."""

        def gradviz(line: str) -> Any:
            return self._run(" ".join(line.split()))

        gradviz.__doc__ = _help()
        return gradviz

    def _run(self, command: str) -> Any:
        if command in ("on", "off"):
            self._magic.quiet.is_on = command == "on"
        elif command in ("answers", "answers off"):
            return self._answers(command == "answers")
        elif command in ("hint on", "hint off"):
            self._magic.tracebacks.is_on = command == "hint on"
        elif command == "explain":
            return self._explain()
        elif command:
            raise UsageError(
                f"{_LINE}: there is no {command!r}; type {_LINE} with one of "
                f"{', '.join(_COMMANDS)}, or nothing to see what is on. {MARK} records one cell"
            )
        sys.stdout.write(self._state() + ("" if command else f"\n{_help()}"))
        return None

    @staticmethod
    def _answers(shows: bool) -> None:
        from gradviz.teach.predict.edition import edition

        edition.shows_answers = shows
        words = "with their answers" if shows else "without their answers"
        sys.stdout.write(f"Questions are shown {words}.\n")

    def _explain(self) -> Any:
        from gradviz.explaining import explain, of_recording

        if self._magic.last is not None:
            return of_recording(self._magic.last)
        try:
            return explain()
        except GradvizError as problem:
            raise UsageError(f"{_LINE} explain: {problem}") from None

    def _state(self) -> str:
        """What is on, and what is kept of past cells."""
        quiet, hint = self._magic.quiet, self._magic.tracebacks
        records = "every cell" if quiet.is_on else f"cells that begin with {MARK}"
        lines = [f"gradviz records {records}; {_kept()}."]
        if quiet.problem:
            lines.append(f"The last cell is not recorded: {quiet.problem}.")
        tracebacks = "end" if hint.is_on else "do not end"
        lines.append(f"Tracebacks of autograd's errors {tracebacks} with a hint.")
        return "\n".join(lines) + "\n"


def _kept() -> str:
    from gradviz.capture.recorder.earlier import EARLIER, LARGEST, MOST

    return (
        f"of the last {MOST} recordings, {len(EARLIER)} are kept, with up to {LARGEST:,} steps, "
        "events and rows and no tensor"
    )


def _help() -> str:
    width = max(map(len, _COMMANDS))
    return "".join(f"{_LINE} {name:<{width}}  {does}\n" for name, does in _COMMANDS.items())
