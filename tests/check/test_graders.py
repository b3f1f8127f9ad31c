"""Checks where teachers put them: tests of pytest, and cells of otter-grader and nbgrader."""

from __future__ import annotations

import doctest
import pickle

import pytest

import gradviz

OTTER = """
>>> gradviz.check.is_leaf(w)
passed: w is a leaf
>>> gradviz.check.gets_grad(loss, w)
passed: w gets a gradient from loss
"""
"""A test of otter-grader in its ``OK`` format: what a line prints is compared."""
STUDENT = "w = torch.ones(2, requires_grad=True)\nloss = (w * 2).sum()"
WRONG = "w = torch.ones(2, requires_grad=True)\nloss = (w.detach() * 2).sum()"
NBGRADER = "from gradviz import check\nassert check.gets_grad(loss, w), 'see lesson 3'"
"""A cell of nbgrader: points are given if nothing is raised."""


def ran(code: str) -> dict[str, object]:
    scope: dict[str, object] = {"__name__": "__main__"}
    exec(f"import torch, gradviz\n{code}", scope)
    return scope


def otter(scope: dict[str, object]) -> str:
    """What otter-grader's ``OK`` tests print: nothing, or the line that failed."""
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(OTTER, scope, "q1", None, 0)
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    return "".join(said)


def test_a_cell_of_otter_prints_what_passed_or_why_it_did_not() -> None:
    assert otter(ran(STUDENT)) == ""
    said = otter(ran(WRONG))
    assert "CheckFailed: w gets no gradient from loss; expected a gradient" in said
    assert "Why: loss has no graph" in said


def test_a_cell_of_nbgrader_passes_or_raises_an_assertion() -> None:
    exec(NBGRADER, ran(STUDENT))
    with pytest.raises(AssertionError, match="w gets no gradient from loss"):
        exec(NBGRADER, ran(WRONG))


@pytest.mark.parametrize("wrong", ["check.is_leaf(w)", "assert check.is_leaf(w)"])
def test_under_pytest_the_message_is_readable(wrong: str) -> None:
    scope = ran("from gradviz import check\nw = torch.ones(2, requires_grad=True) * 2")
    with pytest.raises(AssertionError) as caught:
        exec(wrong, scope)
    shown = str(caught.getrepr(style="short")).splitlines()
    assert [line[4:] for line in shown if line.startswith("E ")] == [
        "gradviz.model.errors.CheckFailed: w is a result of MulBackward0; expected a leaf",
        "Why: a leaf is computed by no recorded operation; backward keeps .grad of leaves alone",
        "Type: w = w.detach().requires_grad_()",
    ]
    assert caught.exconly(tryshort=True).splitlines()[0].endswith("expected a leaf")


def test_what_was_found_survives_a_process_of_its_own() -> None:
    error = gradviz.CheckFailed("w is a leaf", "a result", "nothing computed it", "h = w * 1")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.found, again.expected, again.why, again.fix) == error.args


def test_names_are_those_of_the_function_that_calls() -> None:
    scope = ran("def grade(answer):\n    return gradviz.check.requires_grad(answer)\n" + STUDENT)
    assert str(eval("grade(w)", scope)) == "passed: answer requires grad"
