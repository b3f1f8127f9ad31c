"""The exercises of the course: each broken program, each wrong fix and each solution is run.

No test reads the text of a program to judge it; hostile programs are made from solutions.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.teach.repair.exercise import Exercise, Program, exercise_of_course, names
from gradviz.teach.repair.judge import judge
from gradviz.teach.repair.program import run, source_of
from tests.test_words import Text, found_in

NAMES = names()
SOLUTIONS = [(name, one) for name in NAMES for one in exercise_of_course(name).solutions]
TAKEN_FOR_RIGHT = {
    "keep-the-state": "zeros",
    "add-in-place": "multiplied",
    "two-players": "step_first",
}
"""Wrong fixes that checkers which looked at one thing only took for right."""


def solved(exercise: Exercise, program: Program) -> bool:
    return judge(exercise, program).verdict.is_solved


@pytest.mark.parametrize("name", NAMES)
def test_the_broken_program_and_wrong_fixes_are_refused_and_every_solution_is_accepted(
    name: str, subtests: pytest.Subtests
) -> None:
    exercise = exercise_of_course(name)
    assert exercise.program is not None
    broken = judge(exercise, exercise.program).verdict
    assert not broken.is_solved
    assert broken.wrong or broken.problems
    assert broken.known == ""
    for program in exercise.solutions:
        with subtests.test(program.__name__):
            verdict = judge(exercise, program).verdict
            assert verdict.is_solved, verdict
    for wrong in exercise.wrong:
        with subtests.test(wrong.program.__name__):
            verdict = judge(exercise, wrong.program).verdict
            assert not verdict.is_solved
            assert verdict.known == wrong.sentence, "refused with its own sentence"


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_has_all_that_a_learner_needs(name: str) -> None:
    exercise = exercise_of_course(name)
    assert len(exercise.hints) == 3
    assert len(exercise.given) >= 2, "with one input, typed-in numbers would do"
    assert len(exercise.solutions) >= 3
    assert len(exercise.wrong) >= 3
    assert set(TAKEN_FOR_RIGHT) <= set(NAMES)
    if taken_for_right := TAKEN_FOR_RIGHT.get(name):
        assert taken_for_right in [wrong.program.__name__ for wrong in exercise.wrong]
    assert exercise.why
    sentences = [wrong.sentence for wrong in exercise.wrong]
    assert len(set(sentences)) == len(sentences)
    for sentence in (exercise.goal, exercise.why, *exercise.hints, *sentences):
        assert sentence[-1] in ".?"
        assert sentence.count("`") % 2 == 0
        assert not list(found_in(iter([Text(name, sentence, "")])))
    assert_the_repairing_line_is_not_told(exercise)
    recording = judge(exercise, exercise.solutions[0]).run.recording
    assert recording[exercise.step].number != 0, "the player opens at a step that is there"


def assert_the_repairing_line_is_not_told(exercise: Exercise) -> None:
    assert exercise.program is not None
    before = set(map(str.strip, source_of(exercise.program).split("\n")))
    told = exercise.goal + exercise.hints[0] + exercise.hints[1]
    for solution in exercise.solutions:
        new = {line.strip() for line in source_of(solution).split("\n")} - before
        assert not [line for line in new if len(line) > 8 and line in told]


def a_new_leaf(x: Any) -> Any:
    loss = x.exp().detach().requires_grad_().add(1).log().sum()
    loss.backward()
    return loss


def only_asked_for(w: Any, x: Any) -> Any:
    h = w * x
    (found,) = torch.autograd.grad((h * h).sum(), h)
    return found


def never_finished(w: Any, samples: Any) -> Any:
    mean = torch.tensor([((w * one - 3) ** 2).item() for one in samples]).mean()
    with contextlib.suppress(RuntimeError):
        mean.backward()
    return mean


def test_an_outcome_alone_is_given_no_cause(subtests: pytest.Subtests) -> None:
    for name, same_outcome, program in (
        ("add-in-place", "caught", a_new_leaf),
        ("inside-gradient", "new_leaf", only_asked_for),
        ("losses-in-a-list", "flag_set", never_finished),
    ):
        exercise = exercise_of_course(name)
        wrong = {one.program.__name__: one.program for one in exercise.wrong}[same_outcome]
        found, other = (judge(exercise, one).verdict for one in (program, wrong))
        with subtests.test(program.__name__):
            assert found.outcomes == other.outcomes
            assert found.known == ""


# -- hostile programs --


def typed_in(exercise: Exercise) -> Program:
    """Writes down what the solution gives for the first inputs."""
    right = run(exercise.solutions[0], exercise.given[0], record=False)

    def program(**given: Any) -> Any:
        for name, value in given.items():
            known = right.given[name]
            if isinstance(value, torch.nn.Module):
                for mine, theirs in zip(value.parameters(), known.parameters(), strict=True):
                    mine.data = theirs.detach().clone()
                    mine.grad = theirs.grad
            elif trainable(value) and value.shape == known.shape:
                value.grad = known.grad
        return right.returned

    return program


def without_flags(exercise: Exercise) -> Program:
    def program(**given: Any) -> Any:
        for value in given.values():
            if isinstance(value, (torch.nn.Module, torch.Tensor)):
                value.requires_grad_(False)
        try:
            return exercise.solutions[0](**given)
        except RuntimeError:
            return None

    return program


def without_grad(exercise: Exercise) -> Program:
    def program(**given: Any) -> Any:
        with torch.no_grad():
            try:
                return exercise.solutions[0](**given)
            except RuntimeError:
                return None

    return program


def caught(exercise: Exercise) -> Program:
    def program(**given: Any) -> Any:
        assert exercise.program is not None
        try:
            return exercise.program(**given)
        except Exception:
            return None

    return program


def nothing_at_all(_exercise: Exercise) -> Program:
    return lambda **given: None


def raises_at_the_end(exercise: Exercise) -> Program:
    def program(**given: Any) -> Any:
        exercise.solutions[0](**given)
        raise RuntimeError

    return program


HOSTILE = [typed_in, without_flags, without_grad, caught, nothing_at_all, raises_at_the_end]


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_only_looks_right_is_refused(name: str, subtests: pytest.Subtests) -> None:
    exercise = exercise_of_course(name)
    for make in HOSTILE:
        if make is without_flags and not any(map(trainable, exercise.given[0].values())):
            continue
        with subtests.test(make.__name__):
            assert not solved(exercise, make(exercise))


def trainable(value: Any) -> bool:
    if isinstance(value, torch.nn.Module):
        return True
    return isinstance(value, torch.Tensor) and value.requires_grad


@pytest.mark.parametrize("name", [one for one in NAMES if not exercise_of_course(one).by_hand])
def test_a_solution_without_its_backward_is_refused(name: str, subtests: pytest.Subtests) -> None:
    exercise = exercise_of_course(name)
    for program in exercise.solutions:
        with subtests.test(program.__name__):
            tree = ast.parse(source_of(program))
            removed = WithoutBackward()
            removed.visit(tree)
            assert removed.count, "a solution that needs no backward"
            assert not solved(exercise, executed(tree, program))


class WithoutBackward(ast.NodeTransformer):
    """Puts ``pass`` in place of every statement that starts a backward."""

    def __init__(self) -> None:
        self.count = 0

    def visit(self, node: ast.AST) -> Any:
        is_simple = isinstance(node, (ast.Expr, ast.Assign))
        starts = any(
            isinstance(one, ast.Attribute) and one.attr in ("backward", "grad")
            and isinstance(getattr(one, "ctx", None), ast.Load)
            for one in ast.walk(node)
        )  # fmt: skip
        calls = any(isinstance(one, ast.Call) for one in ast.walk(node))
        if is_simple and starts and calls:
            self.count += 1
            return ast.Pass()
        return self.generic_visit(node)


def executed(tree: ast.Module, program: Program) -> Program:
    space = dict(program.__globals__)
    exec(compile(ast.fix_missing_locations(tree), "rewritten", "exec"), space)
    made: Program = space[program.__name__]
    return made


# -- the same program in another form --


class OtherForm(ast.NodeTransformer):
    """Renames local variables, and puts harmless lines between the statements."""

    def __init__(self, kept: set[str], suffix: str, every: int) -> None:
        self.kept = kept
        self.suffix = suffix
        self.every = every
        self.seen = 0

    def visit_Name(self, node: ast.Name) -> ast.Name:
        own = node.id not in self.kept and not hasattr(builtins, node.id)
        return ast.Name(node.id + self.suffix if own else node.id, node.ctx)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name += "" if node.name in self.kept else self.suffix
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg if node.arg in self.kept else node.arg + self.suffix)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.Module):
            node.body = list(self._with_more(body))  # type: ignore[attr-defined]
        return node

    def _with_more(self, body: list[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            self.seen += 1
            if self.seen % self.every == 0:
                yield from ast.parse("_more = torch.ones(3, requires_grad=True) * 2").body
            yield statement


@settings(max_examples=12, deadline=None)
@given(
    chosen=st.sampled_from(SOLUTIONS),
    suffix=st.sampled_from(("_", "2", "_state", "é")),
    every=st.integers(1, 4),
)
def test_names_and_harmless_lines_change_no_verdict(
    chosen: tuple[str, Program], suffix: str, every: int
) -> None:
    name, program = chosen
    exercise = exercise_of_course(name)
    kept = {*program.__globals__, *exercise.parameters}
    tree = OtherForm(kept, suffix, every).visit(ast.parse(source_of(program)))
    assert solved(exercise, executed(tree, program))


@settings(max_examples=12, deadline=None)
@given(name=st.sampled_from(NAMES), factor=st.floats(1.001, 3.0) | st.floats(-2.0, 0.999))
def test_a_gradient_or_result_of_another_size_is_refused(name: str, factor: float) -> None:
    exercise = exercise_of_course(name)

    def program(**given: Any) -> Any:
        returned = exercise.solutions[0](**given)
        for value in given.values():
            for tensor in value.parameters() if isinstance(value, torch.nn.Module) else (value,):
                if isinstance(tensor, torch.Tensor) and tensor.requires_grad:
                    with torch.no_grad():
                        tensor *= factor
                        if tensor.grad is not None:
                            tensor.grad *= factor
        if isinstance(returned, torch.Tensor) and returned.is_leaf and returned.grad is not None:
            returned.grad *= factor
        return returned

    assert not solved(exercise, program)


# -- backward, written by hand --


def test_backward_is_written_in_at_most_25_lines() -> None:
    for program in exercise_of_course("write-backward").solutions:
        lines = [line for line in source_of(program).split("\n") if line.strip()]
        assert len(lines) <= 25, program


def leaves_first(forward: Any, a: Any, b: Any) -> list[Any]:
    listed: list[Any] = exercise_of_course("write-backward").solutions[0](forward, a, b)
    return listed[::-1]


def one_left_out(forward: Any, a: Any, b: Any) -> list[Any]:
    listed: list[Any] = exercise_of_course("write-backward").solutions[0](forward, a, b)
    return listed[:-1]


def of_another_graph(forward: Any, a: Any, b: Any) -> list[Any]:
    solution = exercise_of_course("write-backward").solutions[0]
    solution(forward, a, b)
    listed: list[Any] = solution(forward, *(t.detach().requires_grad_() for t in (a, b)))
    return listed


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (leaves_first, "`AccumulateGrad` was called before `MulBackward0`"),
        (one_left_out, "Only 1 of 2 nodes `AccumulateGrad` were called."),
        (of_another_graph, "another graph"),
    ],
)
def test_an_order_in_which_torch_cannot_call_is_refused(program: Program, says: str) -> None:
    verdict = judge(exercise_of_course("write-backward"), program).verdict
    assert not verdict.is_solved
    assert says in verdict.problems[0]
