"""``gradviz check``: notebooks one after the other, what differs as text, and the report."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

from gradviz.notebook_check.as_html import report
from gradviz.notebook_check.as_text import Paint, cell_words, counts, notebook_lines
from gradviz.notebook_check.check import Settings, check_notebook
from gradviz.notebook_check.results import CellName, CheckError, NotebookResult
from gradviz.view.formatting import plural

_WIDTH: Final = 78


def check_notebooks(
    paths: Sequence[Path],
    settings: Settings,
    page: Path | None = None,
    out: TextIO | None = None,
    progress: TextIO | None = None,
) -> int:
    """Check notebooks and print what was found.

    Args:
        paths: The notebooks.
        settings: How they are checked.
        page: Where the report is written; none if not given.
        out: Where the findings go; ``sys.stdout`` if not given.
        progress: Where the cell that runs is named, if that is a terminal; ``sys.stderr`` if not
            given.

    Returns:
        0 if everything compared is equal, 1 if something differs, 2 if something could not be
        checked.

    Raises:
        CheckError: If the report cannot be written.
    """
    out, progress = out or sys.stdout, progress or sys.stderr
    if page is not None:
        check_report_path(page)
    paint, results = Paint(_has_colours(out)), list[NotebookResult]()
    for path in paths:
        line = Progress(progress, path)
        result = check_notebook(path, settings, line.begins)
        line.clear()
        results.append(result)
        for text in notebook_lines(result, paint, page is not None):
            out.write(f"{text}\n")
        out.flush()
        if result.is_interrupted:
            break
    _print_end(results, len(paths), page, out)
    if page is not None:
        page.write_text(report(results), "utf-8", "backslashreplace")
    return max((one.status for one in results), default=0)


def _print_end(
    results: Sequence[NotebookResult], asked: int, page: Path | None, out: TextIO
) -> None:
    if asked > 1:
        rest = asked - len(results)
        more = f"; {rest} not checked" if rest else ""
        out.write(f"{plural(len(results), 'notebook')}, {counts(results)}{more}\n")
    if page is not None:
        out.write(f"report: {page}\n")
    elif any(
        one.kind == "image/svg+xml" for r in results for c in r.cells for one in c.differences
    ):
        out.write("pictures side by side: gradviz check --report FILE.html …\n")


def check_report_path(page: Path) -> None:
    """Before minutes of running: can the report be written?"""
    if page.suffix.lower() not in (".html", ".htm"):
        raise CheckError(f"the report is HTML; name a file that ends so: --report {page.stem}.html")
    try:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.open("a").close()
    except OSError as error:
        raise CheckError(f"the report cannot be written to {page}: {error.strerror}") from None


def _has_colours(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress:
    """The cell that runs, in the last line of a terminal.

    Args:
        out: Where it is written, if that is a terminal.
        path: The notebook.
    """

    def __init__(self, out: TextIO, path: Path) -> None:
        self._out = out if out.isatty() else None
        self._name = path.name

    def begins(self, name: CellName, many: int) -> None:
        """A cell begins to run."""
        words = f"{self._name}: cell {name.place} of {many}: {cell_words(name)}"
        self._write(words[:_WIDTH])

    def clear(self) -> None:
        """Nothing runs any more."""
        self._write("")

    def _write(self, words: str) -> None:
        if self._out is not None:
            self._out.write(f"\r\x1b[K{words}")
            self._out.flush()
