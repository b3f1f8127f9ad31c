"""The ledger: each statement that does not hold, run, with a link to where it is shown."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

import pytest

from tests.lessons.ledger_entries import Entry, ledger
from tests.lessons.lesson_files import LEDGER, PAGES, Kernel, code_cells, stored

ID = re.compile(r"[A-EX][1-9][0-9]?")
ENTRIES = [pytest.param(entry, id=entry.cell.id) for entry in ledger()]
SETUP = [cell for cell in code_cells(stored(LEDGER)) if cell.id.startswith("setup-")]


def kernel() -> Kernel:
    """Where the first two cells were run, and nothing else."""
    made = Kernel()
    for cell in SETUP:
        made.run(cell.id, cell.source)
    return made


def test_ids_of_statements_are_ids_and_no_cell_has_one_twice(subtests: pytest.Subtests) -> None:
    for page in PAGES:
        with subtests.test(page):
            for cell in code_cells(stored(page)):
                for key in ("claims", "refutes"):
                    ids = cell.metadata.get(key, [])
                    assert all(map(ID.fullmatch, ids)), (cell.id, ids)
                    assert len(set(ids)) == len(ids), (cell.id, ids)


def test_the_ledger_has_sixty_nine_statements_each_once() -> None:
    ids = [claim for entry in ledger() for claim, _ in entry.verdicts]
    assert len(ids) == len(set(ids)) == 69


def test_every_statement_that_a_lesson_or_page_refutes_is_false_in_the_ledger() -> None:
    refuted = {
        claim
        for page in PAGES
        for cell in code_cells(stored(page))
        for claim in cell.metadata.get("refutes", ())
    }
    false = {claim for entry in ledger() for claim, word in entry.verdicts if word == "False"}
    assert len(refuted) > 10
    assert refuted == false


@cache
def claims_of(page: str) -> frozenset[str]:
    """The statements that are shown on a page."""
    cells = code_cells(stored(page))
    return frozenset(claim for cell in cells for claim in cell.metadata.get("claims", ()))


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_cell_runs_alone_prints_what_is_stored_and_fails_if_torch_answers_otherwise(
    entry: Entry,
) -> None:
    shown = {claim for page in entry.links for claim in claims_of(page)}
    assert {claim for claim, _ in entry.verdicts} <= shown, entry.links
    alone = kernel()
    alone.run(entry.cell.id, entry.cell.source)
    assert alone.printed[entry.cell.id] == "".join(output.text for output in entry.cell.outputs)
    assert alone.printed[entry.cell.id]
    counted = Otherwise(-1)
    counted.visit(ast.parse(entry.cell.source))
    assert counted.seen, "a cell that cannot fail"
    contradicted = kernel()
    for place in range(counted.seen):
        tree = ast.fix_missing_locations(Otherwise(place).visit(ast.parse(entry.cell.source)))
        with pytest.raises(AssertionError):
            contradicted.run(entry.cell.id, ast.unparse(tree))


OPPOSITES = (
    ("is_leaf", "is_not_leaf"),
    ("requires_grad", "does_not_require_grad"),
    ("gets_grad", "gets_no_grad"),
    ("held", "freed"),
    ("shares_memory", "shares_no_memory"),
)
OPPOSITE = {
    **dict(OPPOSITES),
    **{other: one for one, other in OPPOSITES},
    "no_path": "gets_grad",
    "grad_is": "is_not_leaf",
}


class Otherwise(ast.NodeTransformer):
    """Says the contrary in one place, in an ``assert`` or a ``check``."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.seen = 0

    def _is_here(self) -> bool:
        self.seen += 1
        return self.seen - 1 == self.place

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if self._is_here():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        is_check = isinstance(called, ast.Attribute) and ast.unparse(called.value) == "check"
        if is_check and called.attr != "raises" and self._is_here():  # type: ignore[attr-defined]
            node.args = node.args[:1] if called.attr == "grad_is" else node.args  # type: ignore[attr-defined]
            called.attr = OPPOSITE[called.attr]  # type: ignore[attr-defined]
        return node

    def visit_With(self, node: ast.With) -> Any:
        self.generic_visit(node)
        raises = "check.raises" in ast.unparse(node.items[0])
        if raises and self._is_here():
            node.body = [ast.Pass()]
        return node


def test_the_contents_are_the_headings_in_their_order() -> None:
    text = {cell.id: cell.source for cell in stored(LEDGER).cells}
    listed = re.findall(r"^- \[(.+)\]\(#", text.pop("contents"), re.MULTILINE)
    headings = re.findall(r"^## (.+)$", "\n".join(text.values()), re.MULTILINE)
    assert listed == headings
