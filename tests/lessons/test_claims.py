from __future__ import annotations

import json
from typing import Any

import pytest

from notebooks import build
from tests.lessons.ledger_entries import ledger
from tests.lessons.lesson_files import PAGES, ROOT, code_cells, stored

CLAIMS = ROOT.parent / "shared" / "claims.json"
# Lessons that exist, by their name in claims.json, each with the how-to pages for what is beside
# its idea; and topics that no document has.
WRITTEN = {
    "L1": ("01-which-tensors-remember", "howto/leaves-and-flags"),
    "L2": ("02-reading-the-graph", "howto/nodes-and-edges"),
    "L3": (
        "03-who-gets-a-gradient",
        "howto/watch-gradients",
        "howto/start-and-end-of-backward",
        "howto/hooks-of-every-kind",
    ),
    "L4": ("04-twice-through-the-same-graph", "howto/freed-and-retained"),
    "L5": (
        "05-gradients-add-up",
        "howto/the-sandal-in-tables",
        "howto/clear-gradients",
        "howto/add-up-on-purpose",
    ),
    "L6": (
        "06-a-new-graph-every-time",
        "howto/what-keeps-a-graph",
        "howto/loops-and-branches",
        "howto/several-losses",
    ),
    "L7": (
        "07-what-forward-keeps",
        "howto/what-a-node-saves",
        "howto/keep-less",
        "howto/checkpointing",
    ),
    "L8": ("08-four-switches", "howto/which-switch", "howto/audit-and-compare"),
    "L9": ("09-taking-a-value-out", "howto/ways-out", "howto/gan-and-rl-steps"),
    "L10": ("10-writing-in-place", "howto/views-and-in-place"),
    "L11": (
        "11-who-owns-the-parameters",
        "howto/what-the-optimizer-holds",
        "howto/fine-tune-a-resnet-18",
    ),
    "L12": (
        "12-hunting-in-real-code",
        "howto/custom-function-and-gradcheck",
        "howto/double-backward",
        "howto/jacobians",
        "howto/cuda",
    ),
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
    "L9": {"X12", "X15", "X17", "X21", "X25", "X28"},
    "L10": {"X27", "X29"},
    "L11": set[str](),
    "L12": {"X2", "X3", "X4", "X6", "X13", "X18", "X19", "X24"},
}
# What the ledger calls a statement that does not hold as it stands, by its verdict.
WORDS = {
    "wrong": "False",
    "half-right": "Half true",
    "outdated": "Out of date",
    "unfinished": "Unfinished",
    "differs": "Not from this code",
}
# Claims that are shown where nodes are called by hand, one lesson later than their document has it.
MOVED = dict.fromkeys(("C29", "D8", "D10", "E13", "E15"), "L3")


def marked(key: str, *pages: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for cell in (cell for page in pages for cell in code_cells(stored(page))):
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
    places = {claim["id"]: MOVED.get(claim["id"], claim["lesson"]) for claim in claims}
    wanted = {claim for claim, place in places.items() if place == name} | TOPICS[name]
    assert len(wanted) > 5
    assert wanted == set(marked("claims", *WRITTEN[name]))


@pytest.mark.parametrize("name", WRITTEN)
def test_exactly_the_wrong_claims_are_refuted(name: str, claims: list[dict[str, str]]) -> None:
    wrong = {c["id"] for c in claims if c["lesson"] == name and c["verdict"] == "wrong"}
    assert wrong == set(marked("refutes", *WRITTEN[name]))


@pytest.mark.parametrize("lesson", PAGES)
def test_cells_with_claims_were_run_and_show_something(lesson: str) -> None:
    for key in ("claims", "refutes"):
        for claim, cells in marked(key, lesson).items():
            for cell in cells:
                assert cell.execution_count is not None, (claim, cell.id)
                assert cell.outputs, (claim, cell.id)
                assert all(o.output_type != "error" for o in cell.outputs), (claim, cell.id)


@pytest.mark.parametrize("lesson", PAGES)
def test_a_refuted_statement_is_called_false_next_to_the_cell(lesson: str) -> None:
    # A bet calls it so in its own sentences, which are shown when it is settled.
    cells = build.read(build.SOURCE / f"{lesson}.py").cells
    for claim, refuting in marked("refutes", lesson).items():
        ids = [cell.id for cell in refuting]
        places = [i for i, cell in enumerate(cells) if cell.id in ids]
        near = cells[places[0] - 1 : places[-1] + 2]
        told = " ".join(
            cell.source for cell in near if cell.cell_type == "markdown" or "bet" in cell.id
        ).lower()
        assert "heard in the wild" in told, claim
        assert "false" in told, claim


def test_every_statement_is_in_a_lesson_a_page_or_the_ledger(claims: list[dict[str, str]]) -> None:
    stated = {claim["id"] for claim in claims}
    assert len(stated) == len(claims) == 209
    assert stated | set().union(*TOPICS.values()) == set(marked("claims", *PAGES))


def test_no_number_of_a_statement_is_left_out() -> None:
    numbers = {"A": 29, "B": 39, "C": 57, "D": 55, "E": 29}
    stated = {f"{series}{n}" for series, last in numbers.items() for n in range(1, last + 1)}
    assert len(stated) == 209
    assert stated == {claim for claim in marked("claims", *PAGES) if not claim.startswith("X")}


def test_the_ledger_has_each_statement_that_does_not_hold_once_under_its_verdict(
    claims: list[dict[str, str]],
) -> None:
    wanted = {c["id"]: WORDS[c["verdict"]] for c in claims if c["verdict"] in WORDS}
    found = [(claim, word) for entry in ledger() for claim, word in entry.verdicts]
    assert len(found) == 69
    assert sorted(found) == sorted(wanted.items())
