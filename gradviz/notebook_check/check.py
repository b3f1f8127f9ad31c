"""Checks one notebook: runs it again, and compares cell by cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gradviz.notebook_check.comparison import differences_of, left_out_of
from gradviz.notebook_check.notebook_file import code_cells, name_of, read
from gradviz.notebook_check.results import (
    CellName,
    CellResult,
    CheckError,
    NotebookResult,
    Raised,
    Verdict,
)
from gradviz.notebook_check.rules import options_of, written_as
from gradviz.notebook_check.run import THIS_PYTHON, CellStoppedError, RunningNotebook, running
from gradviz.notebook_check.stored_tracebacks import differences_of_tracebacks
from gradviz.notebook_check.stored_widgets import differences_of_widgets, states_in
from gradviz.notebook_check.words import kind_in_words

NO_CODE: Final = "no code"
TIMEOUT: Final = 120.0
"""Seconds a cell may take if nothing else is asked for."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How notebooks are checked.

    Attributes:
        lax: Whether only cells marked ``# NBVAL_CHECK_OUTPUT`` are compared.
        timeout: Seconds a cell may take.
        kernel: The name of an installed kernel; if empty this Python.
    """

    lax: bool = False
    timeout: float = TIMEOUT
    kernel: str = THIS_PYTHON


def check_notebook(
    path: Path,
    settings: Settings = Settings(),
    begins: Callable[[CellName, int], None] = lambda name, many: None,
) -> NotebookResult:
    """Run a notebook again, in its own folder, and compare what it shows with what is stored.

    The file is only read.

    Args:
        path: The notebook.
        settings: How it is checked.
        begins: Called before each cell is run, with the cell and how many there are.

    Examples:
        >>> check_notebook(Path("no-such-file.ipynb")).problem
        'the file no-such-file.ipynb does not exist'
    """
    cells: list[CellResult] = []
    try:
        for cell in _checked(path, settings, begins):
            cells.append(cell)
    except CheckError as error:
        return NotebookResult(path, tuple(cells), str(error))
    except KeyboardInterrupt:
        problem = f"interrupted after {len(cells)} cells"
        return NotebookResult(path, tuple(cells), problem, is_interrupted=True)
    return NotebookResult(path, tuple(cells), _nothing_compared(cells, settings))


def _nothing_compared(cells: list[CellResult], settings: Settings) -> str:
    """A check that compared nothing proves nothing, which is no success."""
    code = [cell for cell in cells if cell.name.first_line]
    if not code or settings.lax or any(cell.verdict != "not compared" for cell in cells):
        return ""
    if all(cell.name.count is None for cell in code):
        return "no cell has been run: it has no stored output. Run all cells and save, or use --lax"
    return "no cell was compared"


def _checked(
    path: Path, settings: Settings, begins: Callable[[CellName, int], None]
) -> Iterator[CellResult]:
    stored = read(path)
    check_language(path, stored, settings.kernel)
    fresh, states = deepcopy(stored), states_in(stored)
    cells = code_cells(stored)
    if not any(cell.source.strip() for _, cell in cells):
        for number, (_, cell) in enumerate(cells, 1):
            yield CellResult(name_of(cell, number), "not compared", NO_CODE)
        return
    stopped = ""
    with running(fresh, path.absolute().parent, settings.timeout, settings.kernel) as notebook:
        for number, (at, cell) in enumerate(cells, 1):
            name = name_of(cell, number)
            one = _Cell(name, cell, fresh.cells[at], at, settings.lax)
            reason = one.reason_not_to_run or (stopped and f"not run: {stopped}")
            if reason:
                yield CellResult(name, "not compared", reason)
                continue
            begins(name, len(cells))
            try:
                raised = notebook.run(one.fresh, at)
            except CellStoppedError as error:
                stopped = f"{name.number} did not end"
                yield CellResult(name, "error", raised=Raised(str(error)))
            else:
                yield one.result(raised, states, notebook)


def check_language(path: Path, notebook: Any, kernel: str) -> None:
    """Raise ``CheckError`` if a notebook is in another language and no kernel is named.

    Args:
        path: Its file.
        notebook: What is in it.
        kernel: The name of the kernel that runs it; if empty this Python.
    """
    metadata = notebook.metadata
    language = metadata.get("language_info", {}).get("name") or metadata.get("kernelspec", {}).get(
        "language"
    )
    if not kernel and language and language.lower() not in ("python", "ipython"):
        known = metadata.get("kernelspec", {}).get("name", "NAME")
        raise CheckError(
            f"{path} is a notebook in {language}, and is run in Python. "
            f"Name the kernel that runs it: --kernel {known}"
        )


@dataclass(frozen=True, slots=True)
class _Cell:
    """A code cell: as it is stored, and as it is run."""

    name: CellName
    stored: Any
    fresh: Any
    at: int
    is_lax: bool

    @property
    def reason_not_to_run(self) -> str:
        if options_of(self.stored).get("skip"):
            return f"{written_as(self.stored, 'skip')}: not run"
        return "" if self.stored.source.strip() else NO_CODE

    def result(self, raised: Raised | None, states: Any, notebook: RunningNotebook) -> CellResult:
        """What is found once it has run."""
        options = options_of(self.stored)
        if raised is not None and not options.get("check_exception"):
            return CellResult(self.name, "error", self._advice(), raised=raised)
        if not options.get("check", not self.is_lax):
            return CellResult(self.name, "not compared", self._why_not_compared())
        outputs = (self.stored.outputs, self.fresh.outputs)
        found = differences_of(*outputs)
        found += differences_of_widgets(
            self.stored.outputs, states, self.fresh.outputs, notebook.states
        )
        found += differences_of_tracebacks(self.stored)
        left_out = dict.fromkeys(kind for one in outputs for kind in left_out_of(one))
        reason = "" if found else self._nothing_to_compare(list(left_out))
        verdict: Verdict = "different" if found else "not compared" if reason else "equal"
        return CellResult(self.name, verdict, reason, tuple(found), left_out=tuple(left_out))

    def _advice(self) -> str:
        if any(one.output_type == "error" for one in self.stored.outputs):
            return "an error is stored, too: if it is meant, give the cell the tag raises-exception"
        return ""

    def _why_not_compared(self) -> str:
        asked = written_as(self.stored, "check")
        return f"{asked}: run, and not compared" if asked else "run, and not compared: --lax"

    def _nothing_to_compare(self, left_out: list[str]) -> str:
        """Why nothing was compared in a cell without a difference; empty if something was."""
        if self.name.count is None and not self.stored.outputs:
            return "it was not run when the notebook was saved, and shows nothing now"
        kinds = {kind for one in self.stored.outputs for kind in one.get("data", ())}
        is_data = all("data" in one for one in self.stored.outputs)
        if self.stored.outputs and is_data and kinds <= set(left_out):
            words = ", ".join(map(kind_in_words, sorted(kinds)))
            return f"{words}: differs from run to run, or between machines"
        return ""
