"""An exercise: what a program has to do, programs that do, and wrong fixes that people try."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Final, TypeAlias, TypeVar

from gradviz.model.arguments import LISTS, checked
from gradviz.model.errors import OptionError
from gradviz.model.formatting import a_kind
from gradviz.model.verdict import HINTS
from gradviz.teach.repair.program import Run

Program: TypeAlias = Callable[..., Any]
Check: TypeAlias = Callable[[Run], object]
P = TypeVar("P", bound=Program)
COURSE: Final = "gradviz.course.exercises"


@dataclass(frozen=True, slots=True)
class Wrong:
    """A fix that people try and that does not do it, known by its outcome."""

    program: Program
    sentence: str
    """Why it does not."""


class Exercise:
    """What :func:`gradviz.repair` judges a program by.

    Args:
        goal: What the program has to do, in one sentence.
        given: What it is called with, by the names of its parameters: tensors, modules,
            optimizers. Several: it has to work with each, so that typed-in numbers do not.
        hints: Three, from a question to nearly the change.
        check: Looks at a run and raises ``AssertionError`` with a sentence if something is wrong
            that values do not show.
        judged: Which values are compared with the solution: ``"w.grad"``, ``"model.*"``,
            ``"returned*"``. If not given all: what is returned, and each tensor that is given
            with its ``.grad``.
        why: What there is to learn; shown when the program is repaired.
        step: Where the player of a repaired program opens, as ``recording[step]`` finds it.
        by_hand: Whether the program computes gradients itself; without, that is no repair.
        player_hide: Parts that the player does not have.
    """

    def __init__(
        self,
        *,
        goal: str,
        given: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        hints: Sequence[str] = (),
        check: Check | None = None,
        judged: Sequence[str] = (),
        why: str = "",
        step: int | str = "backward",
        by_hand: bool = False,
        player_hide: Collection[str] = (),
    ) -> None:
        self.goal = _sentence("goal", goal)
        self.given = _listed(given)
        self.hints = _hints(hints)
        self.check = check
        self.judged = tuple(
            checked("judged", judged, (list, tuple), "names of values: judged=['w.grad']")
        )
        checked("step", step, (int, str, NoneType), "a step: step='backward'")
        checked(
            "player_hide",
            player_hide,
            LISTS,
            "a list of parts of the player: player_hide=['saved']",
        )
        self.why = checked("why", why, str, "text: why='…'")
        self.step = step
        self.by_hand = by_hand
        self.player_hide = player_hide
        self.program: Program | None = None
        """The broken program, as the learner finds it."""
        self.solutions: list[Program] = []
        """Programs that do it, each in another way; values are compared with the first."""
        self.wrong: list[Wrong] = []
        """Fixes that do not."""
        self.is_sound = False
        """Whether it is known that the check accepts the solution."""
        self.plain: dict[tuple[Program, int], Run] = {}
        """Runs without a recording, by program and place of what is given: made once."""

    def broken(self, program: P) -> P:
        """Decorates the program that is to be repaired."""
        self.program = program
        return program

    def solution(self, program: P) -> P:
        """Decorates a program that does it."""
        self.solutions.append(program)
        return program

    def wrong_fix(self, sentence: str) -> Callable[[P], P]:
        """Decorates a fix that does not do it, with the sentence that says why."""

        def add(program: P) -> P:
            self.wrong.append(Wrong(program, sentence))
            return program

        return add

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of what the program is called with."""
        return tuple(self.given[0])


def _sentence(option: str, text: object) -> str:
    if isinstance(text, str) and text.strip():
        return text.strip()
    raise OptionError(
        f'{option}={text!r} must say what the program has to do: {option}="w.grad is the sum of '
        'both gradients"'
    )


def _listed(given: object) -> tuple[Mapping[str, Any], ...]:
    several = (given,) if isinstance(given, Mapping) else given
    if not isinstance(several, Sequence) or not all(isinstance(one, Mapping) for one in several):
        raise OptionError(
            f"given= is {a_kind(given)}; it maps the parameters of the program to tensors "
            'and modules: given={"x": torch.ones(2, requires_grad=True)}, or is a list of such'
        )
    return tuple(several) or ({},)


def _hints(hints: object) -> tuple[str, ...]:
    listed = tuple(hints) if isinstance(hints, (list, tuple)) else (None,)
    if len(listed) in (0, HINTS) and all(isinstance(hint, str) and hint for hint in listed):
        return listed
    raise OptionError(
        f"hints= must be {HINTS} sentences, which are shown one at a time, or none: "
        'hints=["Which node …?", "It has saved …", "Make a new tensor …"]'
    )


def names() -> list[str]:
    """The exercises of the course."""
    package = importlib.import_module(COURSE)
    files = (file for folder in package.__path__ for file in Path(folder).glob("[a-z]*.py"))
    return sorted(file.stem.replace("_", "-") for file in files)


def exercise_of_course(name: str) -> Exercise:
    """An exercise of the course by its name.

    Raises:
        OptionError: If there is none of this name.

    Examples:
        >>> exercise_of_course("add-in-place").parameters
        ('x',)
    """
    known = names()
    if name not in known:
        raise OptionError(
            f"the course has no exercise {name!r}; it has: {', '.join(known)}. An exercise of your "
            "own needs goal= and solution= or check="
        )
    module = importlib.import_module(f"{COURSE}.{name.replace('-', '_')}")
    found: Exercise = module.exercise
    return found


def refuse_other_parameters(exercise: Exercise, program: Program) -> None:
    """Raise ``OptionError`` if a program cannot be called with what the exercise gives.

    Raises:
        OptionError: As said.
    """
    wanted = ", ".join(exercise.parameters)
    try:
        inspect.signature(program).bind(**dict.fromkeys(exercise.parameters))
    except TypeError as error:
        name = getattr(program, "__name__", "program")
        raise OptionError(
            f"{name} cannot be called with what this exercise gives it: {error}. "
            f"Its first line must stay: def {name}({wanted}):"
        ) from None
