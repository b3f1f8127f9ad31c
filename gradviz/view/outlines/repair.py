"""A repair as text: what a script prints, and what nbval compares."""

from __future__ import annotations

import textwrap
from typing import Final

from gradviz.model.verdict import HINTS, Attempt, Outcome, Verdict
from gradviz.view.text import clean

WIDE: Final = 100
SIGNS: Final = {True: "✓", False: "✗"}


def repair_text(attempt: Attempt) -> str:
    """The verdict, what the program did, and the hints that have been asked for.

    Examples:
        >>> wrong = Outcome("x.grad", "[2.0, 4.0]", "None", False)
        >>> verdict = Verdict("`x` gets a gradient.", False, "x = [1.0, 2.0]", (wrong,))
        >>> print(repair_text(Attempt(verdict, ("one", "two", "three"))))
        Not repaired yet
          goal: `x` gets a gradient.
          run with x = [1.0, 2.0]
          ✗ x.grad: expected [2.0, 4.0], found None
          gradviz.hint() shows the first of 3 hints
    """
    verdict = attempt.verdict
    lines = [verdict.headline, *_folded(f"goal: {verdict.goal}")]
    lines += _folded(run_words(verdict))
    lines += [line for one in verdict.outcomes for line in _folded(_outcome(one))]
    lines += [line for one in verdict.problems for line in _folded(one)]
    lines += _folded(verdict.known)
    if verdict.is_solved:
        lines += _folded(attempt.why)
    for number, hint in enumerate(attempt.shown, 1):
        lines += _folded(f"hint {number}: {hint}")
    if attempt.hints and not attempt.asked and not verdict.is_solved:
        lines += _folded(f"gradviz.hint() shows the first of {HINTS} hints")
    return "\n".join(lines)


def run_words(verdict: Verdict) -> str:
    """With which inputs the outcome was found."""
    if not verdict.given:
        return "with other inputs" if verdict.is_other else ""
    return f"run with {'other numbers: ' if verdict.is_other else ''}{verdict.given}"


def _outcome(one: Outcome) -> str:
    what = f"{SIGNS[one.is_right]} {clean(one.what)}: "
    return what + (one.found if one.is_right else f"expected {one.expected}, found {one.found}")


def _folded(text: str) -> list[str]:
    return textwrap.wrap(
        clean(text),
        WIDE,
        initial_indent="  ",
        subsequent_indent="      ",
        break_long_words=False,
        break_on_hyphens=False,
    )
