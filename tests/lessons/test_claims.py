from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lessons.lesson_files import LESSONS, ROOT, code_cells, stored

CLAIMS = ROOT.parent / "shared" / "claims.json"
# Lessons that exist, by their name in claims.json; with topics that no document has.
WRITTEN = {
    "L1": "01-which-tensors-remember",
    "L2": "02-reading-the-graph",
    "L3": "03-who-gets-a-gradient",
    "L4": "04-twice-through-the-same-graph",
    "L5": "05-gradients-add-up",
    "L6": "06-a-new-graph-every-time",
    "L7": "07-what-forward-keeps",
    "L8": "08-four-switches",
    "L9": "09-taking-a-value-out",
    "L10": "10-writing-in-place",
}
TOPICS = {
    "L1": set[str](),
    "L2": {"X16"},
    "L3": {"X1", "X2", "X6", "X14", "X20"},
    "L4": set[str](),
    "L5": {"X7", "X8", "X9", "X22", "X23"},
    "L6": {"X10", "X11"},
    "L7": {"X5", "X26"},
    "L8": {"X30"},
    "L9": {"X12", "X15", "X17", "X21", "X28"},
    "L10": {"X25", "X27", "X29"},
}


def marked(lesson: str, key: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for cell in code_cells(stored(lesson)):
        for claim in cell.metadata.get(key, ()):
            found.setdefault(claim, []).append(cell)
    return found


@pytest.fixture(scope="module")
def claims() -> list[dict[str, str]]:
    if not CLAIMS.exists():
        pytest.skip("the table of claims (../shared/claims.json) is not beside this checkout")
    entries: list[dict[str, str]] = json.loads(CLAIMS.read_text(encoding="utf-8"))
    return entries


@pytest.mark.parametrize("name", WRITTEN)
def test_every_claim_of_the_lesson_is_shown_by_a_cell(
    name: str, claims: list[dict[str, str]]
) -> None:
    wanted = {claim["id"] for claim in claims if claim["lesson"] == name} | TOPICS[name]
    assert len(wanted) > 5
    assert wanted == set(marked(WRITTEN[name], "claims"))


@pytest.mark.parametrize("name", WRITTEN)
def test_exactly_the_wrong_claims_are_refuted(name: str, claims: list[dict[str, str]]) -> None:
    wrong = {c["id"] for c in claims if c["lesson"] == name and c["verdict"] == "wrong"}
    assert wrong == set(marked(WRITTEN[name], "refutes"))


@pytest.mark.parametrize("lesson", LESSONS)
def test_cells_with_claims_were_run_and_show_something(lesson: str) -> None:
    for key in ("claims", "refutes"):
        for claim, cells in marked(lesson, key).items():
            for cell in cells:
                assert cell.execution_count is not None, (claim, cell.id)
                assert cell.outputs, (claim, cell.id)
                assert all(o.output_type != "error" for o in cell.outputs), (claim, cell.id)


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_refuted_statement_is_called_false_next_to_the_cell(lesson: str) -> None:
    cells = stored(lesson).cells
    for claim, refuting in marked(lesson, "refutes").items():
        places = [i for i, cell in enumerate(cells) if cell in refuting]
        near = cells[places[0] - 1 : places[-1] + 2]
        told = " ".join(cell.source for cell in near if cell.cell_type == "markdown").lower()
        assert "heard in the wild" in told, claim
        assert "false" in told, claim
