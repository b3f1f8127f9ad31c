"""A program that the learner edits in its cell until it does what it has to do."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from gradviz.model import OptionError, Recording
from gradviz.model.arguments import checked
from gradviz.model.verdict import Attempt, Verdict
from gradviz.teach.repair.exercise import (
    Check,
    Exercise,
    Program,
    exercise_of_course,
    refuse_other_parameters,
)
from gradviz.teach.repair.judge import judge
from gradviz.teach.repair.program import source_of
from gradviz.view.contents.parts_of import html_of
from gradviz.view.graph.options import DrawOptions
from gradviz.view.outlines.text_of import text_of
from gradviz.view.parts.html import with_code
from gradviz.view.text import xml
from gradviz.view.widgets.repair import RepairView

_asked: Final[dict[str, int]] = {}
"""How often a hint was asked for, by the name or goal of an exercise; it ends with the kernel."""
_last: Final[list[Repair]] = []
"""The program that was judged last, if any."""


def repair(
    exercise: str = "",
    /,
    *,
    goal: str = "",
    given: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    solution: Program | None = None,
    check: Check | None = None,
    hints: Sequence[str] = (),
    wrong: Mapping[Program, str] | None = None,
    judged: Sequence[str] = (),
    why: str = "",
    step: int | str = "backward",
    player_hide: Collection[str] = (),
) -> Callable[[Program], Repair]:
    """A program to repair: the learner edits it in this cell and runs the cell again.

    The function is run at once, recorded, and judged by its outcome: the values it returns, the
    gradients and parameters of what it was given, and what ``check`` sees. Its text is never
    looked at, so every program that does it is right. Shown are the goal, what is expected and
    what was found, the sentence of a known wrong fix, and a button for the next of three hints
    (or :func:`gradviz.hint`). The explanation with its fixes comes after the third. When it is
    repaired, the player opens at the step that shows it.

    Args:
        exercise: The name of an exercise of the course; without, the exercise is described here.
        goal: What the program has to do, in a sentence.
        given: What it is called with, by parameter: tensors, modules, optimizers; each run gets
            copies. A list of several: the program has to do it with each, so that typed-in
            numbers do not.
        solution: A program that does it; values, gradients and parameters are compared with its.
        check: Gets a run (``.given``, ``.returned``, ``.recording``, ``.error``, ``.printed``) and
            raises ``AssertionError`` with a sentence if something is wrong, or returns ``False``.
        hints: Three sentences, from a question to nearly the change.
        wrong: Fixes that people try and that do not do it, each with the sentence that is shown
            when a program has the same outcome.
        judged: Which values are compared, as patterns: ``("w.grad", "returned*")``; if not given
            all.
        why: What there is to learn, for who has repaired it.
        step: Where the player then opens, as ``recording[step]`` finds it.
        player_hide: Parts that the player does not have, as in :func:`gradviz.show`.

    Returns:
        A decorator; what it returns has ``.is_solved``, ``.verdict``, ``.recording`` and
        ``.hint()``, and runs the program when it is called.

    Raises:
        OptionError: If there is no exercise of this name, nothing to judge by, another number of
            hints, or the program has other parameters.
        GradvizError: If the solution does not do it.

    Examples:
        >>> import torch, gradviz
        >>> @gradviz.repair(
        ...     goal="`x.grad` is twice x.",
        ...     given={"x": torch.tensor([1.0, 2.0], requires_grad=True)},
        ...     check=lambda run: run.given["x"].grad.tolist() == [2.0, 4.0],
        ... )
        ... def program(x):
        ...     (x.detach() * x).sum().backward()
        Not repaired yet
          goal: `x.grad` is twice x.
          Run with x = [1.0, 2.0]
          The check of this exercise failed.
        >>> program.is_solved
        False
    """
    own: dict[str, Any] = {
        "goal": goal,
        "given": given,
        "check": check,
        "hints": hints,
        "judged": judged,
        "why": why,
        "player_hide": player_hide,
    }
    if not isinstance(exercise, str):
        raise OptionError(
            "@gradviz.repair needs the name of an exercise, or goal= and check=: "
            '@gradviz.repair("add-in-place")'
        )
    for name, function in (("solution", solution), ("check", check)):
        if function is not None and not callable(function):
            raise OptionError(f"{name}={function!r} must be a function: {name}=my_{name}")
    if exercise:
        if solution is not None or wrong is not None or any(own.values()):
            raise OptionError(
                f"the exercise {exercise!r} of the course has its own goal, hints and solution: "
                f'@gradviz.repair("{exercise}")'
            )
        known = exercise_of_course(exercise)
        return lambda program: Repair(exercise, known, program)
    if solution is None and check is None:
        raise OptionError(
            "there is nothing to judge the program by: solution= is a program that does it, "
            'check= a function that looks at a run; or name an exercise: @gradviz.repair("add-'
            'in-place")'
        )
    made = Exercise(**own, step=step)
    made.solutions += [] if solution is None else [solution]
    checked("wrong", wrong or {}, Mapping, "sentences by program: wrong={program: '…'}")
    for program, sentence in (wrong or {}).items():
        made.wrong_fix(sentence)(program)
    return lambda program: Repair(made.goal, made, program)


def hint() -> Hint:
    """The next hint for the program that was judged last; after the third, the explanation.

    Returns:
        The hint, to be displayed by the cell.

    Raises:
        OptionError: If no program to repair has been run, or it is repaired.

    Examples:
        >>> import gradviz
        >>> @gradviz.repair("losses-in-a-list")
        ... def program(w, samples):
        ...     return w
        Not repaired yet...
        >>> print(gradviz.hint())
        Hint 1 of 3: Walk from `mean` back to `w`: which line makes a thing that has no `grad_fn`?
    """
    if not _last:
        raise OptionError(
            "there is no program to repair yet: run a cell with @gradviz.repair first, and then "
            "gradviz.hint()"
        )
    return _last[0].hint()


class Repair:
    """A program with its verdict, as :func:`repair` makes it.

    Args:
        name: Under which hints are counted.
        exercise: What the program has to do.
        program: The learner's.
    """

    def __init__(self, name: str, exercise: Exercise, program: Program) -> None:
        refuse_other_parameters(exercise, program)
        self._options = DrawOptions.of(hide=exercise.player_hide)
        self._name = name
        self._exercise = exercise
        self._program = program
        found = judge(exercise, program)
        self.verdict: Verdict = found.verdict
        """What it did, and what it has to do."""
        self.recording: Recording = found.run.recording
        """The run that the verdict is about."""
        if self.is_solved:
            _asked.pop(name, None)
        _last[:] = [self]
        self._view: RepairView | None = None
        self._display()

    @property
    def is_solved(self) -> bool:
        """Whether it does what it has to do."""
        return self.verdict.is_solved

    @property
    def attempt(self) -> Attempt:
        """The verdict with the hints that have been asked for."""
        solutions = self._exercise.solutions
        return Attempt(
            self.verdict,
            self._exercise.hints,
            _asked.get(self._name, 0),
            self._exercise.why,
            source_of(solutions[0]) if solutions else "",
        )

    def hint(self) -> Hint:
        """The next hint, shown by the cell that asks and in the output of the program.

        Raises:
            OptionError: If the program is repaired.
        """
        if self.is_solved:
            raise OptionError("this program is repaired: there is nothing to hint at")
        if not self.attempt.is_explained:
            _asked[self._name] = _asked.get(self._name, 0) + 1
        if self._view is not None and not self._view.is_closed:
            self._view.show(self.attempt, *self._player())
        return Hint(self.attempt, self.recording)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the program."""
        return self._program(*arguments, **named)

    def __repr__(self) -> str:
        return f"<{self._name}: {self.verdict.headline}>"

    def _player(self) -> tuple[Recording | None, int | str]:
        """What the player shows: nothing as long as its card would give a fix away."""
        if self.is_solved:
            return self.recording, self._exercise.step
        return (self.recording if self.attempt.is_explained else None), "error"

    def _display(self) -> None:
        """Show the output in a notebook; print it in a script."""
        if not _in_notebook():
            sys.stdout.write(text_of(self.attempt) + "\n")
            return
        from IPython.display import display

        self._view = RepairView(self.attempt, self.hint, *self._player(), self._options)
        in_output: Any = display
        in_output(self._view)


def _in_notebook() -> bool:
    """Whether IPython runs this."""
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


class Hint:
    """A hint, or the explanation after the last one: text and HTML for a cell."""

    def __init__(self, attempt: Attempt, recording: Recording) -> None:
        self._attempt = attempt
        self._explanation = recording.explanation

    def __str__(self) -> str:
        attempt = self._attempt
        if not attempt.is_explained:
            return f"Hint {attempt.asked} of {len(attempt.hints)}: {attempt.shown[-1]}"
        parts = [] if self._explanation is None else [text_of(self._explanation)]
        parts += [f"type: {attempt.verdict.fix}"] if attempt.verdict.fix else []
        parts += [f"one way to repair it:\n\n{attempt.solution}"] if attempt.solution else []
        return "\n\n".join(parts) or "gradviz knows no explanation of this outcome."

    __repr__ = __str__

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self._html()}

    def _html(self) -> str:
        attempt = self._attempt
        if not attempt.is_explained:
            return f"<p>{with_code(str(self))}</p>"
        card = "" if self._explanation is None else html_of(self._explanation)
        if attempt.verdict.fix:
            card += f"<p>Type: {with_code(attempt.verdict.fix)}</p>"
        code = f"<p>One way to repair it:</p><pre>{xml(attempt.solution)}</pre>"
        return card + (code if attempt.solution else "") or f"<p>{xml(str(self))}</p>"
