"""The entries of the ledger: what is said of statements, and the cell that runs them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from tests.lessons.lesson_files import LEDGER, stored

STATEMENT = re.compile(
    r"^\*\*(False|Half true|Out of date|Unfinished|Not from this code):\*\*", re.MULTILINE
)


@dataclass(frozen=True)
class Entry:
    """One code cell with claims, and the text before it."""

    cell: Any
    text: str

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        """Each claim with the word that is said of it, in the order of the text."""
        return list(zip(self.cell.metadata["claims"], STATEMENT.findall(self.text), strict=True))

    @property
    def links(self) -> list[str]:
        """The lessons and pages that show more, by name."""
        return re.findall(r"\]\((.+)\.ipynb\)", self.text)


@cache
def ledger() -> list[Entry]:
    """All entries, in reading order."""
    cells = stored(LEDGER).cells
    return [
        Entry(cell, before.source)
        for before, cell in pairwise(cells)
        if cell.metadata.get("claims")
    ]
