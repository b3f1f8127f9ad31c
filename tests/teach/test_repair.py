"""``gradviz.repair``: judged by outcome, hints one at a time, the explanation after the third."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model.errors import GradvizError, OptionError
from gradviz.teach.repair import repair as module
from gradviz.teach.repair.exercise import exercise_of_course
from gradviz.teach.repair.program import Run, run, source_of
from gradviz.teach.repair.values import is_same, value_of
from gradviz.view.widgets.repair import RepairView

Print = pytest.CaptureFixture[str]
NAME = "add-in-place"
EXERCISE = exercise_of_course(NAME)
assert EXERCISE.program is not None
BROKEN: Callable[..., Any] = EXERCISE.program
SOLUTION = EXERCISE.solutions[0]
HINTS = ["one?", "two.", "three."]


@pytest.fixture(autouse=True)
def _as_in_a_new_kernel() -> Iterator[None]:
    module._asked.clear()
    module._last.clear()
    yield
    module._asked.clear()
    module._last.clear()


def leaf(*numbers: float) -> torch.Tensor:
    return torch.tensor(numbers, requires_grad=True)


def view_of(found: module.Repair) -> RepairView:
    found._view = RepairView(found.attempt, found.hint, *found._player(), found._options)
    return found._view


def test_a_broken_program_shows_goal_outcome_and_no_hint(capsys: Print) -> None:
    gradviz.repair(NAME)(BROKEN)
    assert (
        capsys.readouterr().out
        == """\
Not repaired yet
  goal: The program returns the sum of log(1 + exp(x)), and `x.grad` is its gradient.
  Run with x = [0.0, 1.0]
  ✗ loss: expected 2.006, found nothing
  ✗ x.grad: expected [0.5, 0.7311], found None
  The program raised RuntimeError in line 5: `loss.backward()` (saved tensor written).
  gradviz.hint() shows the first of 3 hints
"""
    )


def test_a_repaired_program_shows_what_there_is_to_learn(capsys: Print) -> None:
    found = gradviz.repair(NAME)(SOLUTION)
    assert found.is_solved
    printed = capsys.readouterr().out
    assert printed.startswith("Repaired\n")
    assert EXERCISE.why in " ".join(printed.split())


def test_typed_in_numbers_are_refused_with_other_numbers() -> None:
    def program(x: torch.Tensor) -> Any:
        loss = torch.nn.functional.softplus(x).sum()
        if x.tolist() == [0.0, 1.0]:
            loss.backward()
        return loss

    verdict = gradviz.repair(NAME)(program).verdict
    assert (verdict.is_solved, verdict.is_other) == (False, True)
    assert verdict.given == "x = [-1.0, 0.5, 2.0]"
    assert [one.what for one in verdict.wrong] == ["x.grad"]


def test_gradients_written_by_hand_are_refused_though_they_are_right() -> None:
    def program(x: torch.Tensor) -> Any:
        x.grad = torch.sigmoid(x).detach()
        return torch.nn.functional.softplus(x).sum()

    verdict = gradviz.repair(NAME)(program).verdict
    assert not verdict.is_solved
    assert verdict.wrong == ()
    assert verdict.problems[0].startswith("The gradients are not computed by autograd")


def test_what_only_looks_the_same_is_shown_with_all_digits() -> None:
    verdict = gradviz.repair(NAME)(lambda x: 2.0063).verdict
    (loss, *_) = verdict.wrong
    assert loss.expected.startswith("2.0064")
    assert loss.found == "2.0063"


def test_hints_come_one_at_a_time_and_the_explanation_after_the_third(capsys: Print) -> None:
    gradviz.repair(NAME)(BROKEN)
    for number, text in enumerate(EXERCISE.hints, 1):
        shown = str(gradviz.hint())
        assert shown == f"Hint {number} of 3: {text}"
        assert "fix" not in shown
        assert not [other for other in EXERCISE.hints if other != text and other in shown]
    last = str(gradviz.hint())
    assert "fix 1: makes a new tensor" in last
    assert "e = e.add(1)" in last
    assert str(gradviz.hint()) == last


def test_hints_stay_when_the_cell_is_run_again_and_end_when_it_is_repaired(capsys: Print) -> None:
    gradviz.repair(NAME)(BROKEN)
    gradviz.hint()
    again = gradviz.repair(NAME)(BROKEN)
    assert again.attempt.shown == tuple(EXERCISE.hints[:1])
    gradviz.repair(NAME)(SOLUTION)
    with pytest.raises(OptionError, match="is repaired"):
        gradviz.hint()
    assert gradviz.repair(NAME)(BROKEN).attempt.shown == ()


def test_hints_are_counted_for_each_exercise() -> None:
    gradviz.repair(NAME)(BROKEN)
    gradviz.hint()
    other = exercise_of_course("zero-grad")
    assert other.program is not None
    gradviz.repair("zero-grad")(other.program)
    assert str(gradviz.hint()) == f"Hint 1 of 3: {other.hints[0]}"


def test_without_a_program_a_hint_says_what_to_run() -> None:
    with pytest.raises(OptionError, match=r"run a cell with @gradviz\.repair"):
        gradviz.hint()


def stored(found: module.Repair) -> str:
    """All that a notebook or its exported page would hold."""
    view = view_of(found)
    data, _ = view._repr_mimebundle_()
    return json.dumps([data, view.wire])


def test_nothing_that_is_stored_before_a_hint_holds_one_or_a_fix() -> None:
    found = gradviz.repair(NAME)(BROKEN)
    text = stored(found)
    for told in (*EXERCISE.hints, EXERCISE.why, "e.add(1)", "e + 1", "softplus", "clone"):
        assert told not in text
    assert not [wrong for wrong in EXERCISE.wrong if wrong.sentence in text]
    assert found._view is not None
    assert found._view.wire["player"] is None


def test_the_player_with_its_card_comes_after_the_hints() -> None:
    found = gradviz.repair(NAME)(BROKEN)
    view = view_of(found)
    for _ in range(3):
        view._answer_to("hint")
        assert view.wire["player"] is None
    assert view.wire["repair"]["parts"][-1]["items"] == [[hint] for hint in EXERCISE.hints]
    assert view.wire["repair"]["button"] == "Explanation"
    assert view._answer_to("hint") == b"1"
    assert view.wire["player"]["kind"] == "recording"
    assert view.wire["repair"]["button"] == ""


def test_the_player_of_a_repaired_program_opens_at_the_decisive_step() -> None:
    found = gradviz.repair(NAME)(SOLUTION)
    player = view_of(found).wire["player"]
    at = found.recording.all_steps[player["open"]]
    assert at.details.startswith("ExpBackward0 used saved result")


def test_the_player_lacks_the_parts_that_are_hidden() -> None:
    def drawn(player_hide: Collection[str]) -> str:
        given = {"x": leaf(0.0, 1.0)}
        one = gradviz.repair(
            goal="a", given=given, solution=SOLUTION, player_hide=player_hide
        )(SOLUTION)  # fmt: skip
        player = view_of(one).wire["player"]
        return json.dumps([player["pictures"], player["pieces"]])

    assert 'class=\\"gv-pocket' in drawn([])
    assert 'class=\\"gv-pocket' not in drawn(["saved"])
    with pytest.raises(OptionError, match="hide='pockets' is not a part of a picture"):
        drawn("pockets")


def test_the_same_program_stores_the_same_bytes() -> None:
    texts = set()
    for _ in range(2):
        view = view_of(gradviz.repair(NAME)(SOLUTION))
        data, _metadata = view._repr_mimebundle_()
        texts.add(json.dumps([data["text/plain"], data["text/html"], view.wire]))
    assert len(texts) == 1


def test_only_lines_of_the_program_are_steps_numbered_from_its_def() -> None:
    @lambda function: function
    def program(x):  # type: ignore[no-untyped-def]
        y = x * x
        y.backward()

    found = run(program, {"x": torch.tensor(3.0, requires_grad=True)})
    assert [step.line for step in found.recording if step.kind == "line"] == [2, 3]
    assert found.recording.codes[0].text == source_of(program)
    assert source_of(program).startswith("def program(x):")


def test_a_program_reads_variables_from_around_it() -> None:
    factor = torch.tensor(5.0)

    def program(x):  # type: ignore[no-untyped-def]
        return (factor * x).item()

    assert run(program, {"x": torch.tensor(2.0)}).returned == 10.0


def test_defaults_of_a_program_are_its_own() -> None:
    factor = 2.0

    def program(x, double=lambda x: 2 * x, *, more=1.0):  # type: ignore[no-untyped-def]
        return (factor * double(x) + more).item()

    assert run(program, {"x": torch.tensor(2.0)}).returned == 9.0


def test_what_is_given_is_copied_and_an_optimizer_has_the_parameters_of_its_copy() -> None:
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model.weight.item()

    def program(model: Any, optimizer: Any) -> None:
        model(torch.ones(1)).sum().backward()
        optimizer.step()

    found = run(program, {"model": model, "optimizer": optimizer})
    assert found.given["model"].weight.item() == pytest.approx(before - 1)
    assert model.weight.item() == before
    assert model.weight.grad is None


def test_random_numbers_are_the_same_in_each_run_and_those_outside_are_untouched() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    runs = [run(lambda: torch.rand(1).item(), {}).returned for _ in range(2)]
    assert runs[0] == runs[1]
    assert torch.equal(torch.rand(1), expected)


def test_an_exercise_of_ones_own_is_one_cell() -> None:
    decorate = gradviz.repair(
        goal="`x.grad` is twice x.",
        given=[{"x": leaf(1.0, 2.0)}, {"x": leaf(3.0)}],
        solution=lambda x: (x * x).sum().backward(),
        hints=HINTS,
        wrong={lambda x: x.sum().backward(): "That is the gradient of the sum."},
    )
    wrong = decorate(lambda x: (x * 1).sum().backward())
    assert wrong.verdict.known == "That is the gradient of the sum."
    assert str(gradviz.hint()) == "Hint 1 of 3: one?"
    assert decorate(lambda x: x.square().sum().backward()).is_solved


def test_a_check_says_what_values_do_not_show() -> None:
    def check(found: Run) -> None:
        assert found.printed == "hello\n", "The program has to greet."

    decorate = gradviz.repair(goal="It greets.", check=check)
    assert decorate(lambda: None).verdict.problems == ("The program has to greet.",)
    assert decorate(lambda: print("hello")).is_solved


def test_a_check_that_fails_on_what_was_returned_says_so() -> None:
    decorate = gradviz.repair(goal="It returns h.", check=lambda found: found.returned["h"])
    (problem,) = decorate(lambda: None).verdict.problems
    assert problem.startswith("The program returned None, and the check")


def test_an_error_that_is_not_autograds_is_shown_in_its_own_words() -> None:
    def program(x):  # type: ignore[no-untyped-def]
        return x * missing  # type: ignore[name-defined]  # noqa: F821

    (problem,) = gradviz.repair(NAME)(program).verdict.problems
    assert problem == (
        "The program raised NameError in line 2: `return x * missing  # type: ignore[name-defined]"
        "  # noqa: F821` (name 'missing' is not defined)."
    )


def test_what_cannot_be_an_exercise_is_refused(subtests: pytest.Subtests) -> None:
    refused: list[tuple[dict[str, Any], str]] = [
        ({"goal": ""}, "nothing to judge"),
        ({"goal": "", "check": print}, "must say what the program has to do"),
        ({"goal": "g", "check": print, "hints": ["one"]}, "must be 3 sentences"),
        ({"goal": "g", "check": print, "given": 3}, "maps the parameters"),
    ]
    for options, why in refused:
        with subtests.test(options=options, why=why), pytest.raises(OptionError, match=why):
            gradviz.repair(**options)


def test_an_unknown_exercise_lists_those_there_are() -> None:
    with pytest.raises(OptionError, match=r"it has: add-in-place, .*zero-grad"):
        gradviz.repair("no-such")


def test_a_program_that_raises_is_not_blamed_for_returning_nothing_where_nothing_is_expected() -> (
    None
):
    def solution(x: torch.Tensor) -> None:
        x.exp().sum().backward()

    def raises(x: torch.Tensor) -> None:
        x.exp().backward()

    found = gradviz.repair(goal="a", given={"x": leaf(0.0, 1.0)}, solution=solution)(raises)
    assert [one.what for one in found.verdict.outcomes] == ["x.grad"]


def test_other_parameters_are_refused_with_the_line_to_type() -> None:
    with pytest.raises(OptionError, match=r"must stay: def program\(x\):"):
        gradviz.repair(NAME)(source_function("def program(y): return y"))


def source_function(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {}
    exec(text, space)
    found: Callable[..., Any] = space["program"]
    return found


def test_a_program_whose_text_is_not_known_is_judged_all_the_same() -> None:
    program = source_function("def program(x):\n  (x * x).backward()")
    given = {"x": torch.tensor(3.0, requires_grad=True)}
    decorate = gradviz.repair(
        goal="It is twice x.", given=given, solution=lambda x: x.square().backward()
    )
    assert decorate(program).is_solved


def test_a_solution_that_does_not_work_is_an_error_of_the_author() -> None:
    given = {"x": leaf(1.0)}
    decorate = gradviz.repair(goal="g.", given=given, solution=lambda x: x.backward(x, x))
    with pytest.raises(GradvizError, match="the solution of this exercise raises"):
        decorate(lambda x: x)


def test_the_program_can_still_be_called() -> None:
    found = gradviz.repair(NAME)(SOLUTION)
    assert found(leaf(0.0)).item() == pytest.approx(0.6931, abs=1e-4)


def test_values_are_the_same_but_for_rounding(subtests: pytest.Subtests) -> None:
    for one, other, same in [
        (torch.tensor(1.0), 1.0, True),
        (torch.ones(2), torch.ones(2) + 1e-6, True),
        (torch.ones(2), torch.ones(2) + 1e-3, False),
        (torch.ones(2), torch.ones(1, 2), False),
        (torch.ones(2), torch.ones(2).double(), False),
        (torch.tensor(float("nan")), float("nan"), True),
        (None, torch.zeros(1), False),
        (None, None, True),
    ]:
        with subtests.test(one=one, other=other):
            assert is_same(value_of(one), value_of(other)) is same


def test_in_a_script_the_text_is_printed() -> None:
    code = (
        "import gradviz\n"
        "@gradviz.repair('losses-in-a-list')\n"
        "def program(w, samples):\n    return w\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Not repaired yet")
