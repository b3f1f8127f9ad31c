from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from gradviz.model.explanation import Explanation
from gradviz.view.documents.digest import MIME
from gradviz.view.figures.memory import figures_of
from gradviz.view.widgets.report import ReportWidget
from tests.lessons.lesson_files import code_cells, stored
from tests.lessons.lesson_shell import lesson_shell
from tests.lessons.test_mutation import failed_cells, picture_of

SAVED, LESS, AUDIT = "howto/what-a-node-saves", "howto/keep-less", "howto/audit-and-compare"
NEEDED = (
    (LESS, "setup-run"),
    (AUDIT, "setup-run"),
    (AUDIT, "parts-program"),
)
Bundle = dict[str, Any]


def bundle(shown: Any) -> Bundle:
    given = shown._repr_mimebundle_()
    data = given[0] if isinstance(given, tuple) else given
    return {kind: data[kind] for kind in ("text/plain", "text/html", MIME) if kind in data}


def with_cell(findings: Any, row: int, column: str, wrong: Callable[[Any], Any]) -> Any:
    """The findings with another cell in their first table."""
    table = findings.tables[0]
    place = [one.name for one in table.columns].index(column)
    rows = [list(cells) for cells in table.rows]
    rows[row][place] = wrong(rows[row][place])
    table = replace(table, rows=tuple(map(tuple, rows)))
    return replace(findings, tables=(table, *findings.tables[1:]))


def wrong_bytes(report: ReportWidget) -> ReportWidget:
    memory = with_cell(report.findings, 1, "bytes", lambda number: number + 512 * 1024)
    return ReportWidget(memory, figures=figures_of(memory))


def wrong_cut(report: ReportWidget) -> ReportWidget:
    reasons = [row.reason for row in report.findings.parameters]
    frozen = next(i for i, reason in enumerate(reasons) if reason)
    return ReportWidget(with_cell(report.findings, frozen, "reason", lambda reason: "detached"))


def wrong_culprit(error: Explanation) -> Explanation:
    culprit, *others = error.causes
    assert others[0].at is not None
    swapped = replace(culprit, at=others[0].at)
    return replace(error, causes=(swapped, *others))


FAULTS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    (LESS, "when-show", wrong_bytes),
    (SAVED, "written-card", wrong_culprit),
    (AUDIT, "audit-show", wrong_cut),
)


@pytest.mark.slow
def test_wrong_bytes_a_wrong_cut_and_a_wrong_culprit_are_found(tmp_path: Path) -> None:
    stored_cells = {
        (lesson, cell.id): cell
        for lesson in (LESS, SAVED, AUDIT)
        for cell in code_cells(stored(lesson))
    }
    cells: list[Any] = []
    expected: set[int] = set()

    def add(cell: Any, data: Bundle | None = None) -> None:
        copied = copy.deepcopy(cell)
        copied.id, copied.execution_count = f"cell-{len(cells)}", len(cells) + 1
        if data is not None:
            picture_of(copied).data.update(data)
        cells.append(copied)

    with lesson_shell(tmp_path) as shell:
        for name in NEEDED:
            shell.run(stored_cells[name].source)
            add(stored_cells[name])
        for lesson, cell_id, fault in FAULTS:
            cell = stored_cells[lesson, cell_id]
            (shown,) = shell.run(cell.source).objects
            right, wrong = bundle(shown), bundle(fault(shown))
            add(cell, right)
            for kind in right:
                assert wrong[kind] != right[kind], (cell_id, kind)
                expected.add(len(cells))
                add(cell, {**right, kind: wrong[kind]})

    assert len(expected) == 3 + 2 + 3  # the card of an explanation is no widget
    notebook = NotebookNode(stored(LESS))
    notebook.cells = cells
    assert failed_cells(notebook, tmp_path) == expected
