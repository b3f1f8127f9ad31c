"""What a check found, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gradviz.notebook_check.difference_lines import diff_lines
from gradviz.notebook_check.results import CellName, CellResult, Difference, NotebookResult, Raised
from gradviz.notebook_check.words import kind_in_words
from gradviz.view.formatting import plural
from gradviz.view.text import clean, shorten

LINES: Final = 40
"""Lines of one difference that are shown; the report has all."""
MARKUP_LINES: Final = 10
"""The same of a picture or of HTML, which is looked at in the report."""
_MARKUP: Final = ("image/svg+xml", "text/html")
_BEST: Final = ("text/plain", "stdout", "stderr", "ename", "evalue", "stored widget")
_FIRST_LINE: Final = 60


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours for a terminal; none where the text goes to a file.

    Attributes:
        is_on: Whether there are any.
    """

    is_on: bool = False

    def _coloured(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on else text

    def good(self, text: str) -> str:
        """In green."""
        return self._coloured(text, "32")

    def bad(self, text: str) -> str:
        """In red."""
        return self._coloured(text, "31")

    def strong(self, text: str) -> str:
        """In bold."""
        return self._coloured(text, "1")


def counts(results: Iterable[NotebookResult]) -> str:
    """How many cells have which verdict, over some notebooks.

    Examples:
        >>> from pathlib import Path
        >>> counts([NotebookResult(Path("a.ipynb"))])
        '0 cells'
    """
    several = list(results)
    total = sum(len(one.cells) for one in several)
    found = {
        "equal": sum(one.count("equal") for one in several),
        "different": sum(one.count("different") for one in several),
        "with an error": sum(one.count("error") for one in several),
        "not compared": sum(one.count("not compared") for one in several),
    }
    parts = [f"{number} {words}" for words, number in found.items() if number]
    return plural(total, "cell") + (f": {', '.join(parts)}" if parts else "")


def notebook_lines(
    result: NotebookResult,
    paint: Paint = Paint(),
    is_reported: bool = False,
) -> Iterator[str]:
    """Everything found of a notebook, line by line.

    Args:
        result: What was found.
        paint: Colours.
        is_reported: Whether a report with all lines and pictures is written too.
    """
    mark = (
        paint.good("same")
        if result.status == 0
        else paint.bad(("", "DIFFERS", "FAILED")[result.status])
    )
    yield f"{mark}  {paint.strong(str(result.path))}  {counts([result])}"
    if result.problem:
        yield (
            f"  {paint.bad('not checked')}: {result.problem}"
            if not result.cells
            else f"  {paint.bad(result.problem)}"
        )
    for cell in result.cells:
        if cell.verdict in ("different", "error"):
            yield from cell_lines(cell, paint, is_reported)
    left_out = [cell for cell in result.cells if cell.verdict == "not compared"]
    if left_out:
        yield "  not compared:"
        yield from (f"    {cell_words(cell.name)}: {cell.reason}" for cell in left_out)
    kinds = dict.fromkeys(
        k for cell in result.cells for k in cell.left_out if cell.verdict == "equal"
    )
    if kinds:
        words = ", ".join(map(kind_in_words, kinds))
        yield f"  in cells that are equal, were not compared: {words}"
    counts_stored = [cell.name.count for cell in result.cells if cell.name.count is not None]
    for before, after in pairwise(counts_stored):
        if after > before + 1:
            yield (
                f"  the numbers of cells jump from [{before}] to [{after}]: a cell between them "
                "was deleted, or one was run again"
            )


def cell_words(name: CellName) -> str:
    """How a cell is called: number, id, first line.

    Examples:
        >>> cell_words(CellName(5, "loss-show", "gradviz.show(loss)", 3))
        '[5] loss-show · gradviz.show(loss)'
    """
    first = shorten(clean(name.first_line), _FIRST_LINE)
    return f"{name.number} " + " · ".join(filter(None, (clean(name.id), first)))


def raised_lines(raised: Raised) -> list[str]:
    """An error: what it says, the user's lines, and what gradviz knows about it."""
    lines = [*raised.title.splitlines(), *(f"  {line}" for line in raised.lines)]
    if raised.explanation:
        lines += ["gradviz explains:", *(f"  {one}" for one in raised.explanation.splitlines())]
    return [clean(line) for line in lines]


def cell_lines(
    cell: CellResult,
    paint: Paint = Paint(),
    is_reported: bool = False,
) -> Iterator[str]:
    """What was found of a cell that differs or raised an error, line by line.

    Args:
        cell: What was found.
        paint: Colours.
        is_reported: Whether a report with all lines and pictures is written too.
    """
    yield f"  {paint.strong(cell_words(cell.name))}"
    if cell.raised is not None:
        first, *more = raised_lines(cell.raised)
        yield f"    {paint.bad('error')}: {first}"
        yield from (f"      {line}" for line in more)
    if cell.reason:
        yield f"    {cell.reason}"
    has_text = any(one.kind in _BEST for one in cell.differences)
    for one in cell.differences:
        yield from _difference_lines(one, paint, is_reported, has_text)


def _difference_lines(
    one: Difference, paint: Paint, is_reported: bool, has_text: bool
) -> Iterator[str]:
    what = "only stored" if one.fresh is None else "only fresh" if one.stored is None else "differs"
    note = one.note or what
    yield f"    {kind_in_words(one.kind, one.number)}: {paint.bad(note)}"
    if one.kind not in (*_MARKUP, *_BEST) and one.note:
        return
    if one.kind in _MARKUP and has_text:
        return
    yield from _shown(
        diff_lines(one), MARKUP_LINES if one.kind in _MARKUP else LINES, paint, is_reported
    )


def _shown(lines: Sequence[str], most: int, paint: Paint, is_reported: bool) -> Iterator[str]:
    for line in lines[:most]:
        colour = paint.bad if line.startswith("-") else paint.good if line.startswith("+") else str
        yield f"      {colour(line)}"
    if len(lines) > most:
        where = "in the report" if is_reported else "with --report FILE"
        yield f"      … {plural(len(lines) - most, 'more line')}, all of them {where}"
