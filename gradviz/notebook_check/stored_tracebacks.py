"""Stored tracebacks: is each that of the error beside it, in the code of its cell?

What stands in them of packages differs between machines, and is not compared with a fresh run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from gradviz.notebook_check.results import Difference

KIND: Final = "traceback"
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_PLACE: Final = re.compile(r" \([^()]*, line \d+\)$")
"""Where a syntax error is: a traceback has it elsewhere."""
_OF_CELL: Final = re.compile(r"^(?:Cell|Input) In ?\[(\d+)\]|^<ipython-input-(\d+)-")
_OF_FILE: Final = re.compile(r"^File |^/|^~")
_ARROW: Final = re.compile(r"^-+> ?\d+ ?(.*)$")


def differences_of_tracebacks(cell: Any) -> Iterator[Difference]:
    """Lines of stored tracebacks that cannot be of this cell and its error.

    Args:
        cell: A code cell as it is stored.
    """
    errors = [one for one in cell.outputs if one.output_type == "error"]
    for number, error in enumerate(errors, 1):
        text = _COLOURS.sub("", "\n".join(error.traceback))
        message = _PLACE.sub("", error.evalue)
        title = f"{error.ename}: {message}" if message else error.ename
        if not text.strip():
            continue
        if " ".join(title.split()) not in " ".join(text.split()):
            note = "it does not end with the error that is stored beside it"
            yield Difference(KIND, text.rstrip().rpartition("\n")[2], title, number, note)
        written = {line.strip() for line in cell.source.splitlines()}
        for line in _own_lines(text, cell.get("execution_count")):
            if line.strip() not in written:
                note = "it shows a line that is not in the cell"
                yield Difference(KIND, line.strip(), None, number, note)


def _own_lines(text: str, count: int | None) -> Iterator[str]:
    """Lines of the cell that an arrow of its traceback points at."""
    is_own = False
    for line in text.splitlines():
        if (entry := _OF_CELL.match(line)) is not None:
            is_own = (entry[1] or entry[2]) == str(count)
        elif _OF_FILE.match(line):
            is_own = False
        elif is_own and (arrow := _ARROW.match(line)) is not None:
            yield arrow[1]
