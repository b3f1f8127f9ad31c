"""What the browser gets of a repair; the front end's tests read the same file."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from gradviz.model.verdict import Attempt, Outcome, Verdict
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.repair import repair_document
from gradviz.view.outlines.text_of import text_of
from tests.view.documents import check_document

VERDICT = Verdict(
    goal="`x.grad` is 2 < 3.",
    is_solved=False,
    given="x = [1.0, 2.0]",
    outcomes=(
        Outcome("x.grad", "[2.0, 4.0]", "None", False),
        Outcome("<b>loss</b>", "5.0", "5.0", True),
    ),
    problems=("The program raised RuntimeError in line 2: `loss.backward()`.",),
    known="`.data` hides <the> write.",
    fix="w.add(1)",
    message="RuntimeError: one of the variables <needed>",
)
HINTS = ("Which `node`?", "It has saved <e>.", "Use `add`.")
ATTEMPT = Attempt(VERDICT, HINTS, 2, "What there is to learn.", "def program(x):\n    return x")
SOLVED = replace(ATTEMPT, verdict=replace(VERDICT, is_solved=True, known="", problems=()))


def test_wire_is_the_stored_one(check_golden: Callable[[str, str], None]) -> None:
    wire = repair_document(ATTEMPT)
    check_document(check_golden, "repair/broken", wire)
    assert wire["text"] == text_of(ATTEMPT)


def test_what_was_not_asked_for_is_in_no_form(subtests: pytest.Subtests) -> None:
    for asked in range(5):
        with subtests.test(asked=asked):
            attempt = replace(ATTEMPT, asked=asked)
            seen = json.dumps(repair_document(attempt)) + text_of(attempt)
            shown = [hint for hint in HINTS if json.dumps(hint)[1:-1] in seen]
            assert shown == list(HINTS[:asked])
            assert ("def program" in seen) == (asked > 3)
            assert ("w.add(1)" in seen) == (asked > 3)
            assert attempt.why not in seen


def test_a_repaired_program_has_no_hints_and_no_button() -> None:
    repair = repair_document(SOLVED)["repair"]
    assert (repair["button"], repair["solution"]) == ("", "")
    assert not [part for part in repair["parts"] if part["is"] == "ItemList"]
    assert repair["parts"][-1]["words"] == [ATTEMPT.why]
    assert "hint" not in text_of(SOLVED) + text_of(replace(SOLVED, asked=0))


def test_text_of_the_program_is_no_markup() -> None:
    html = html_of(ATTEMPT)
    assert "<b>" not in html
    assert "&lt;b&gt;loss&lt;/b&gt;" in html
    assert "<code>.data</code> hides &lt;the&gt; write." in html
    assert "<script" not in html
