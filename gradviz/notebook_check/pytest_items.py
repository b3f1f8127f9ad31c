"""Notebooks as pytest sees them: a file is a collector, each code cell a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradviz.notebook_check.as_html import report
from gradviz.notebook_check.as_text import cell_lines, cell_words
from gradviz.notebook_check.check import Settings, check_notebook
from gradviz.notebook_check.notebook_file import code_cells, name_of, read
from gradviz.notebook_check.results import CellName, CellResult, CheckError, NotebookResult

RESULTS = pytest.StashKey[list[NotebookResult]]()


class NotebookFailedError(Exception):
    """A cell, or a whole notebook, is not as stored; the text says how."""


class NotebookFile(pytest.File):
    """A notebook. All its cells are run when the first of its tests runs."""

    _result: NotebookResult | None = None

    def collect(self) -> Iterator[CellItem]:
        """One test per code cell, called as in Jupyter."""
        try:
            cells = code_cells(read(self.path))
        except CheckError as error:
            raise self.CollectError(str(error)) from None
        for place, (_, cell) in enumerate(cells, 1):
            name = name_of(cell, place)
            title = f"{name.number} {name.id or f'cell {place}'}"
            yield CellItem.from_parent(self, name=title, cell=name)

    @property
    def result(self) -> NotebookResult:
        """What the check found; it runs once."""
        if self._result is None:
            self._result = check_notebook(self.path, _settings(self.config))
            self.config.stash.setdefault(RESULTS, []).append(self._result)
        if self._result.is_interrupted:
            raise KeyboardInterrupt
        return self._result


class CellItem(pytest.Item):
    """A code cell."""

    def __init__(self, *, cell: CellName, **more: Any) -> None:
        super().__init__(**more)
        self._cell = cell

    def runtest(self) -> None:
        """Fail if the cell differs, skip it with the reason if it was not compared."""
        assert isinstance(self.parent, NotebookFile)
        result = self.parent.result
        found = _found(result, self._cell)
        if found is None:
            raise NotebookFailedError(result.problem)
        if found.verdict == "not compared":
            pytest.skip(f"{cell_words(found.name)}: {found.reason}")
        if found.verdict != "equal":
            has_report = bool(self.config.getoption("gradviz_notebooks_report"))
            raise NotebookFailedError("\n".join(cell_lines(found, is_reported=has_report)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What differs, without the lines of the check itself."""
        if isinstance(excinfo.value, NotebookFailedError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where pytest says that it is."""
        return self.path, None, self.name


class ReportWriter:
    """Writes the report when all tests have run.

    Args:
        config: The settings of the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        if config.getoption("numprocesses", None):
            raise pytest.UsageError(
                "--gradviz-notebooks-report needs one process, since it is one file: leave -n out, "
                "or type: gradviz check --report FILE NOTEBOOK..."
            )
        self._config = config
        self._path = Path(config.getoption("gradviz_notebooks_report"))

    def pytest_sessionfinish(self) -> None:
        """Write it."""
        results = self._config.stash.get(RESULTS, [])
        if results:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(report(results), "utf-8", "backslashreplace")


def _found(result: NotebookResult, cell: CellName) -> CellResult | None:
    return next((one for one in result.cells if one.name == cell), None)


def _settings(config: pytest.Config) -> Settings:
    return Settings(
        config.getoption("gradviz_notebooks_lax"),
        config.getoption("gradviz_notebooks_timeout"),
        config.getoption("gradviz_notebooks_kernel"),
    )
