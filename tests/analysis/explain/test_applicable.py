"""A fix that cannot be typed where it is put is not offered."""

from __future__ import annotations

import linecache

import torch

import gradviz
from gradviz.analysis.explain.fixes.applicable import is_applicable
from gradviz.model import Recording
from gradviz.model.explanation import CodeLine, Fix
from gradviz.model.sentence import Sentence

CELL = """\
scale = 2.0
with gradviz.record() as recording:
    x = torch.ones(3, requires_grad=True)
    z = outer(x)
    for k in range(2):
        y = step(x, flag=True)
        total = y.sum()
    late = total * scale
"""
FILE = """\
def step(given, flag):
    h = given * FACTOR
    if flag:
        h = h + 1
    later = h.exp()
    return torch.relu(later)
"""
OUTER = """\
def outer(given):
    scaled = given * 2
    seen = 1

    def inner():
        got = scaled + seen
        return got.sum()

    return inner() + inner()
"""


def recorded() -> Recording:
    space: dict[str, object] = {"torch": torch, "gradviz": gradviz, "FACTOR": 3.0}
    for name, text in (("model.py", FILE), ("outer.py", OUTER), ("<cell>", CELL)):
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), space)
    found = space["recording"]
    assert isinstance(found, Recording)
    return found


RECORDING = recorded()


def line(text: str) -> CodeLine:
    return next(
        CodeLine(code.first_line + row, text, code.name)
        for code in RECORDING.codes
        for row, one in enumerate(code.text.split("\n"))
        if one.strip() == text
    )


def allowed(*edits: Fix) -> bool:
    first, *others = edits
    fix = Fix(Sentence(), first.code, first.how, first.at, tuple(others))
    return is_applicable(fix, RECORDING.history)


def put(code: str, at: str, how: str = "instead") -> Fix:
    return Fix(Sentence(), code, how, line(at))  # type: ignore[arg-type]


def test_a_change_with_the_names_of_its_scope_is_applicable() -> None:
    changes = [
        ("h = given.detach() * FACTOR", "h = given * FACTOR"),
        ("h = h.clone()\nlater = h.exp()", "later = h.exp()"),
        ("later = sum(one for one in h)", "later = h.exp()"),
        ("with torch.no_grad():\n    h = h + 1", "h = h + 1"),
        ("for one in range(2):", "for k in range(2):"),
        ("if not flag:", "if flag:"),
        ("y = step(x.detach(), flag=True)", "y = step(x, flag=True)"),
        ("late = total.detach() * scale", "late = total * scale"),
        ("later = (lambda a: a + 1)(h)", "later = h.exp()"),
    ]
    assert [change for change in changes if not allowed(put(*change))] == []


def test_a_name_that_has_no_value_there_is_not() -> None:
    changes = [
        ("h = x * FACTOR", "h = given * FACTOR"),  # the caller's name
        ("y = step(given, flag=True)", "y = step(x, flag=True)"),  # the function's name
        ("h = later * FACTOR", "h = given * FACTOR"),  # not bound yet
        ("later += h", "h = h + 1"),
        ("x = torch.ones(int(late))", "x = torch.ones(3, requires_grad=True)"),
        ("h = other * 2", "h = h + 1"),
    ]
    assert [change for change in changes if allowed(put(*change))] == []


def test_a_text_that_does_not_parse_is_not() -> None:
    changes = [
        ("h = (given", "h = given * FACTOR"),
        ("", "h = h + 1"),
        ("if flag", "if flag:"),
    ]
    assert [change for change in changes if allowed(put(*change))] == []


def test_what_is_no_tensor_is_not_treated_as_one_nor_a_tensor_as_a_constant() -> None:
    changes = [
        ("y = step(x, flag=flag.detach())", "y = step(x, flag=True)"),
        ("late = total * scale.unsqueeze(1)", "late = total * scale"),
        ("flag = flag.clone()\nh = h + 1", "h = h + 1"),
        ("total = True", "total = y.sum()"),
    ]
    assert [change for change in changes if allowed(put(*change))] == []


def test_changes_of_one_fix_see_what_the_others_bind() -> None:
    other = put("made = given + 1", "h = given * FACTOR", "before")
    assert allowed(put("later = made.exp()", "later = h.exp()"), other)
    assert not allowed(put("later = made.exp()", "later = h.exp()"))


def test_after_a_line_its_names_are_bound() -> None:
    assert allowed(put("later = later.clone()", "later = h.exp()", "after"))
    assert not allowed(put("later = later.clone()", "later = h.exp()", "before"))


def test_a_line_in_a_loop_may_use_what_the_turn_before_bound() -> None:
    assert allowed(put("x = x + total.detach()", "y = step(x, flag=True)", "before"))


def test_a_nested_function_reads_the_variables_of_those_around_it() -> None:
    changes = [
        ("got = scaled.clone() + seen", "got = scaled + seen"),
        ("scaled = given * 2\ngot = scaled + seen", "got = scaled + seen"),
        ("total = scaled.clone()\nreturn got.sum()", "return got.sum()"),
    ]
    assert [change for change in changes if not allowed(put(*change))] == []


def test_an_assignment_that_hides_what_the_function_reads_from_outside_is_not() -> None:
    changes = [
        ("scaled = scaled.detach()\ngot = scaled + seen", "got = scaled + seen"),
        ("scaled = given * 2\nreturn got.sum()", "return got.sum()"),  # the line before reads it
        ("seen += 1", "return got.sum()"),
    ]
    assert [change for change in changes if allowed(put(*change))] == []


def test_a_file_whose_functions_do_not_use_torch_is_not_known_to_have_it() -> None:
    assert not allowed(put("scaled = torch.relu(given)", "scaled = given * 2"))


def test_where_the_text_is_not_known_nothing_is_known() -> None:
    at = CodeLine(3, "h = h + 1", "elsewhere.py: f")
    assert is_applicable(Fix(Sentence(), "h = q", "instead", at), RECORDING.history)
