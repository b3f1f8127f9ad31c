"""Judges a program by its outcome: values, gradients, and what a check sees in its recording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from gradviz.model.errors import CheckFailed, GradvizError
from gradviz.model.verdict import Outcome, Verdict
from gradviz.teach.function_run import returned_names
from gradviz.teach.repair.exercise import Exercise, Program
from gradviz.teach.repair.program import Run, run
from gradviz.teach.repair.values import DIGITS, Value, is_same, value_of, values_of_given
from gradviz.view.text import clean, shorten

NOTHING: Final = "nothing"
ROOM: Final = 300
FAILED: Final = "The check of this exercise failed."
BY_HAND: Final = (
    "The gradients are not computed by autograd: in this run no backward has run. Let backward "
    "compute them."
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with the runs that it is about, one for each of what is given."""

    verdict: Verdict
    run: Run
    """The run that the verdict describes: the first that is wrong, else the first."""
    runs: tuple[Run, ...]


def judge(exercise: Exercise, program: Program) -> Judged:
    """Run a program with all that an exercise gives, and compare it with the solution.

    Args:
        exercise: What it has to do.
        program: The learner's.

    Raises:
        GradvizError: If the solution of the exercise itself fails.
    """
    found: list[_Case] = []
    for at, given in enumerate(exercise.given):
        # After one that is wrong, the others are only compared with known wrong fixes.
        is_seen = exercise.check is not None or all(case.is_right for case in found)
        found.append(_Case(exercise, at, run(program, given, record=is_seen)))
    runs = tuple(case.run for case in found)
    place = next((at for at, case in enumerate(found) if not case.is_right), None)
    case = found[place or 0]
    verdict = Verdict(
        goal=exercise.goal,
        is_solved=place is None,
        given=_given_words(exercise.given[place or 0]),
        outcomes=tuple(case.outcomes()),
        problems=tuple(case.problems),
        is_other=bool(place),
        fix=case.fix,
        message=_message(case.run.error),
    )
    if place is not None:
        _refuse_unsound(exercise)
        verdict = replace(verdict, known=_known(exercise, found))
    return Judged(verdict, case.run, runs)


class _Case:
    """A run beside that of the solution with the same inputs."""

    def __init__(self, exercise: Exercise, place: int, found: Run) -> None:
        self.place = place
        self.run = found
        self._exercise = exercise
        self.pairs = _pairs(exercise, place, found)
        self.complaint, self.fix = _complaint(exercise, found)

    @property
    def is_right(self) -> bool:
        return not self.problems and all(is_same(*pair) for pair in self.pairs.values())

    @property
    def problems(self) -> list[str]:
        """What is wrong beside values."""
        if self.run.error is not None:
            return [raised_words(self.run)]
        if self.complaint:
            return [self.complaint]
        gets = any(
            name.endswith(".grad") and expected.sizes is not None and is_same(expected, found)
            for name, (expected, found) in self.pairs.items()
        )
        is_by_hand = gets and self.run.is_recorded and not self.run.has_backward
        return [BY_HAND] if is_by_hand and not self._exercise.by_hand else []

    def outcomes(self) -> list[Outcome]:
        """Each value that is judged; those that are as they were given and right are left out.

        So is a result of a program that raised, where none was to be returned.
        """
        rows = []
        before = values_of_given(self._exercise.given[self.place])
        names = returned_names(self._exercise.solutions[0]) if self._exercise.solutions else ()
        for name, (expected, found) in self.pairs.items():
            is_right = is_same(expected, found)
            if name not in self.run.values and is_same(expected, value_of(None)):
                continue
            if is_right and name in before and is_same(before[name], expected):
                continue
            what = _shown_name(name, names[0] if len(names) == 1 else "")
            looks_right = not is_right and expected.words == found.words
            digits = 3 * DIGITS if looks_right else DIGITS
            words = expected.in_words(digits), found.in_words(digits)
            rows.append(Outcome(what, *words, is_right))
        return rows

    def has_outcome_of(self, program: Program) -> bool:
        """Whether another program has the same outcome, and its recording shows the same acts:
        only then is what is said of the one true of the other."""
        exercise = self._exercise
        plain = _plain(exercise, program, self.place)
        theirs = _pairs(exercise, self.place, plain)
        if type(plain.error) is not type(self.run.error) or not all(
            is_same(self.pairs[name][1], theirs[name][1]) for name in self.pairs
        ):
            return False
        if not self.run.is_recorded:
            return True
        # What a check sees, and what led to the outcome, only a recording says.
        other = _Case(exercise, self.place, run(program, exercise.given[self.place]))
        is_alike = self.run.error is not None or self.problems == other.problems
        return is_alike and self.run.acts == other.run.acts


def _pairs(exercise: Exercise, place: int, found: Run) -> dict[str, tuple[Value, Value]]:
    """What is expected and what was found, by name."""
    if not exercise.solutions:
        return {}
    right = _plain(exercise, exercise.solutions[0], place)
    if right.error is not None:
        raise GradvizError(
            f"the solution of this exercise raises {type(right.error).__name__}: {right.error}. "
            "It must run with all that is given"
        ) from right.error
    judged = exercise.judged or ("*",)
    return {
        name: (value, found.values.get(name) or _missing(name))
        for name, value in right.values.items()
        if any(fnmatchcase(name, own) for own in judged)
    }


def _missing(name: str) -> Value:
    return Value(text="None" if name.endswith(".grad") else NOTHING)


def _plain(exercise: Exercise, program: Program, place: int) -> Run:
    """A run without a recording, made once."""
    key = program, place
    if key not in exercise.plain:
        exercise.plain[key] = run(program, exercise.given[place], record=False)
    return exercise.plain[key]


def _refuse_unsound(exercise: Exercise) -> None:
    """Raise ``GradvizError`` if the check of an exercise refuses its own solution."""
    if exercise.is_sound or exercise.check is None or not exercise.solutions:
        return
    for given in exercise.given:
        said, _ = _complaint(exercise, run(exercise.solutions[0], given))
        if said:
            raise GradvizError(
                f"the solution of this exercise does not pass its check: {said!r}. A solution must "
                "pass with all that is given"
            )
    exercise.is_sound = True


def _complaint(exercise: Exercise, found: Run) -> tuple[str, str]:
    """What the check of the exercise says, and what to type next; ``""`` if all is well."""
    if exercise.check is None or found.error is not None:
        return "", ""
    try:
        if exercise.check(found) is False:
            return FAILED, ""
    except CheckFailed as problem:
        why = f" {problem.why}." if problem.why else ""
        return clean(f"{problem.found}; expected {problem.expected}.{why}"), clean(problem.fix)
    except AssertionError as problem:
        # pytest adds the values of the statement to the sentence.
        return clean(str(problem).partition("\nassert ")[0]) or FAILED, ""
    except Exception as problem:
        what = value_of(found.returned).words
        said = (
            f"The program returned {what}, and the check of this exercise could not read it: "
            f"{type(problem).__name__}: {problem}"
        )
        return clean(said), ""
    return "", ""


def _known(exercise: Exercise, found: list[_Case]) -> str:
    """The sentence of the wrong fix with the same outcome in all cases."""
    for wrong in exercise.wrong:
        if all(case.has_outcome_of(wrong.program) for case in found):
            return wrong.sentence
    return ""


def raised_words(found: Run) -> str:
    """What a run raised and where, in words that no release of torch changes."""
    kind, why = found.failure
    step = found.recording.at_error
    what = f"The program raised {kind}"
    if step is not None and step.code is not None and step.line is not None:
        line = clean(step.code.line(step.line))
        what += f" in line {step.line}: `{shorten(line, ROOM)}`" if line else ""
    if not why and not isinstance(found.error, RuntimeError):
        why = clean(shorten(str(found.error), ROOM))
    return f"{what} ({why})." if why else f"{what}."


def _message(error: BaseException | None) -> str:
    return "" if error is None else clean(shorten(f"{type(error).__name__}: {error}", 4 * ROOM))


def _shown_name(name: str, returned: str) -> str:
    """``returned['h']`` is ``h``; ``returned`` is the variable, if the text says which."""
    if name.startswith("returned['"):
        return name.removeprefix("returned['").replace("']", "", 1)
    return name.replace("returned", returned or "what it returns", 1)


def _given_words(given: Mapping[str, Any]) -> str:
    shown = {name: value_of(thing) for name, thing in given.items()}
    return ", ".join(
        f"{clean(name)} = {value.words}"
        for name, value in shown.items()
        if not value.text.startswith(("a ", "an "))
    )
