"""The line of the user's code that made a node: a text that knows its file and number."""

from __future__ import annotations

import re
from typing import Final

_WRITTEN: Final = re.compile(
    r"(?:(?P<file>[^:]*?)(?: line |:))?(?:line )?(?P<line>\d{1,18})(?:: (?P<code>.*))?$"
)


class SourceLine(str):
    """``"line 3: y = x * 2"`` or ``"model.py:12: return x"``, as a node shows it.

    Args:
        text: How it is shown.
        line: Number of the line.
        code: Its text.
        file: Name of its file, ``""`` for the recorded code itself or a cell.

    Examples:
        >>> made = SourceLine("model.py line 12: return x", 12, "return x", "model.py")
        >>> made, made.line, SourceLine.parse(str(made)).file
        ('model.py line 12: return x', 12, 'model.py')
    """

    __slots__ = ("code", "file", "line")
    code: str
    file: str
    line: int

    def __new__(cls, text: str, line: int, code: str = "", file: str = "") -> SourceLine:  # noqa: D102 (as the class says)
        made = super().__new__(cls, text)
        made.line, made.code, made.file = line, code, file
        return made

    @classmethod
    def parse(cls, text: str) -> SourceLine | None:
        """Read it from a document, which has its text only; ``None`` if it is no such text."""
        found = _WRITTEN.match(text)
        if found is None:
            return None
        return cls(text, int(found["line"]), found["code"] or "", found["file"] or "")

    def __reduce__(self) -> tuple[type[SourceLine], tuple[str, int, str, str]]:
        return SourceLine, (str(self), self.line, self.code, self.file)
