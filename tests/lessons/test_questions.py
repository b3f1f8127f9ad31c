from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest

from notebooks import build
from tests.lessons.lesson_files import LESSONS, NOTEBOOKS, Kernel, code_cells


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module", params=LESSONS)
def lesson(request: pytest.FixtureRequest, patch: pytest.MonkeyPatch) -> tuple[Kernel, Any]:
    """The lesson run once in this process."""
    patch.syspath_prepend(str(NOTEBOOKS))
    kernel, cells = Kernel(), code_cells(build.read(build.SOURCE / f"{request.param}.py"))
    for cell in cells:
        kernel.run(cell.id, cell.source)
    return kernel, cells


def questions(lesson: tuple[Kernel, Any]) -> dict[str, Any]:
    return {i: q for i, q in lesson[0].shown.items() if hasattr(q, "explanations")}


def test_an_answer_that_is_no_option_is_an_error(patch: pytest.MonkeyPatch) -> None:
    patch.syspath_prepend(str(NOTEBOOKS))
    kernel = Kernel()
    kernel.run("import", "from lesson_tools import choose, tick")
    for function, right in (("choose", "3"), ("tick", "['3']")):
        with pytest.raises(ValueError, match=r"torch says \['3'\], and no option does"):
            kernel.run(
                "ask", f"{function}('How many?', {{'1': 'No.', '2': 'Yes.'}}, right={right})"
            )


def test_every_option_is_explained(lesson: tuple[Kernel, Any]) -> None:
    for cell_id, question in questions(lesson).items():
        assert len(question.explanations) >= 2, cell_id
        assert all(why.endswith(".") for why in question.explanations.values()), cell_id


def test_a_right_answer_is_accepted_and_each_wrong_one_explained(
    lesson: tuple[Kernel, Any],
) -> None:
    for cell_id, question in questions(lesson).items():
        question.answer(question.right)
        assert "✓ Right." in question.feedback.value, cell_id
        for option, why in question.explanations.items():
            wrong = question.right ^ {option} if question.several else {option}
            if wrong == question.right:
                continue
            question.answer(wrong)
            assert "✗ Not what torch says." in question.feedback.value, cell_id
            told = re.sub("</?code>", "", unescape(question.feedback.value))
            assert f"{option}: {why.replace('`', '')}" in told, cell_id


def test_clicking_answers(lesson: tuple[Kernel, Any]) -> None:
    for question in questions(lesson).values():
        for option, answer in question.answers.items():
            if question.several:
                answer.value = option in question.right
            elif option in question.right:
                answer.click()
                assert answer.icon == "check"
        if question.several:
            question.children[2].click()
        assert "✓ Right." in question.feedback.value


def test_questions_are_labelled(lesson: tuple[Kernel, Any]) -> None:
    for cell_id, question in questions(lesson).items():
        heading, *_, feedback = question.children
        assert heading.value.startswith("<b>"), cell_id
        assert [answer.description for answer in question.answers.values()] == list(
            question.explanations
        )
        assert feedback is question.feedback


def test_question_cells_are_folded(lesson: tuple[Kernel, Any]) -> None:
    found = questions(lesson)
    for cell in lesson[1]:
        if cell.id in found:
            assert cell.metadata["jupyter"] == {"source_hidden": True}


def test_switches_show_the_graph_of_the_program(lesson: tuple[Kernel, Any]) -> None:
    for cell_id, what_if in lesson[0].shown.items():
        if not hasattr(what_if, "switches"):
            continue
        before = str(what_if.picture)
        seen = {before}
        for box in what_if.switches.values():
            box.value = not box.value
            seen.add(str(what_if.picture))
            box.value = not box.value
        assert str(what_if.picture) == before, cell_id
        assert len(seen) > 1, cell_id


@pytest.mark.parametrize("lesson", LESSONS[1:2], indirect=True)
def test_switches_say_why_there_is_no_graph(lesson: tuple[Kernel, Any]) -> None:
    what_if = lesson[0].shown["flags-what-if-run"]
    for box in what_if.switches.values():
        box.value = False
    assert "does not require a gradient" in what_if.message.value
    assert what_if.picture.layout.display == "none"
    what_if.switches["a_requires_grad"].value = True
    assert what_if.message.value == ""
    assert what_if.picture.layout.display is None


@pytest.mark.parametrize("lesson", LESSONS[1:], indirect=True)
def test_the_broken_program_is_broken_and_the_solution_repairs_it(
    lesson: tuple[Kernel, Any],
) -> None:
    kernel, cells = lesson
    sources = {cell.id: cell.source for cell in cells}
    assert kernel.printed["repair-try"].startswith("not yet")
    solution = next(
        line for line in sources["repair-solution-run"].splitlines() if not line.startswith("#")
    )
    attempt = sources["repair-try"].splitlines()
    kernel.run("repaired", "\n".join([solution, *attempt[1:]]))
    assert kernel.printed["repaired"].startswith("repaired")


@pytest.mark.parametrize("lesson", LESSONS[1:], indirect=True)
def test_the_solution_of_the_exercise_is_right_and_not_in_the_output(
    lesson: tuple[Kernel, Any],
) -> None:
    printed = lesson[0].printed
    for line in printed["exercise-solution"].splitlines():
        assert re.fullmatch(r"(\w+: )?(\d) of \2 right", line)
    assert printed["exercise-try"] != printed["exercise-solution"]


CONSTRUCTED = {
    "01-which-tensors-remember": ("requires_grad=True)", "requires_grad=True).double()"),
    "02-reading-the-graph": ("(q * q)", "(q * q + q * q)"),
    "03-who-gets-a-gradient": ("p + 1", "p + 0 * q"),
    "04-twice-through-the-same-graph": ("(x * 3).exp()", "(x + 3 - x.mean()).view(2, 2)"),
    "05-gradients-add-up": ("3 * v", "-2 * v"),
    "06-a-new-graph-every-time": ("+ loss", "+ loss.detach()"),
    "07-what-forward-keeps": ("x.exp().tanh().log()", "x * x + x.sin() + x.cos()"),
    "08-four-switches": ("model.train()", "model.eval().requires_grad_(False)"),
    "09-taking-a-value-out": ("w * w", "10 * w * w - 9 * (w * w).detach()"),
    "10-writing-in-place": ("x.exp()", "x + 1"),
}


@pytest.mark.parametrize("name", CONSTRUCTED)
def test_what_is_to_be_built_can_be_built(name: str, patch: pytest.MonkeyPatch) -> None:
    patch.syspath_prepend(str(NOTEBOOKS))
    cells = {c.id: c.source for c in code_cells(build.read(build.SOURCE / f"{name}.py"))}
    kernel = Kernel()
    kernel.run("setup-run", cells["setup-run"])
    kernel.run("start", cells["construct-try"])
    assert kernel.printed["start"].endswith("not yet\n")
    old, new = CONSTRUCTED[name]
    kernel.run("built", cells["construct-try"].replace(old, new, 1))
    assert kernel.printed["built"].endswith("done\n")
