"""What a program that was to be repaired did, beside what it has to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

HINTS: Final = 3
"""How many hints an exercise has."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One value that is judged: a gradient, a parameter, or what the program returned."""

    what: str
    """Its name: ``"x.grad"``."""
    expected: str
    found: str
    is_right: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program does what it has to do, and if not, what it did.

    Examples:
        >>> found = Outcome("x.grad", "[2.0, 4.0]", "None", False)
        >>> verdict = Verdict("`x` gets a gradient.", False, "x = [1.0, 2.0]", (found,))
        >>> verdict.headline, [one.what for one in verdict.wrong]
        ('Not repaired yet', ['x.grad'])
    """

    goal: str
    is_solved: bool
    given: str = ""
    """What the program was called with: ``"x = [0.0, 1.0]"``."""
    outcomes: tuple[Outcome, ...] = ()
    problems: tuple[str, ...] = ()
    """What it raised, and what the check of the exercise says, in sentences."""
    known: str = ""
    """The sentence of a wrong fix that has the same outcome, ``""`` if there is none."""
    is_other: bool = False
    """Whether it does what it has to do with the first numbers, and not with these others."""
    fix: str = ""
    """What a check says to type next; shown with the explanation only."""
    message: str = ""
    """torch's own words for what it raised; they differ between releases and are never stored."""

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return "Repaired" if self.is_solved else "Not repaired yet"

    @property
    def wrong(self) -> tuple[Outcome, ...]:
        """What is not as it has to be."""
        return tuple(one for one in self.outcomes if not one.is_right)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A verdict with the hints that have been asked for.

    Examples:
        >>> attempt = Attempt(Verdict("`x` gets a gradient.", False), ("one", "two", "three"), 1)
        >>> attempt.shown, attempt.button
        (('one',), 'Hint 2 of 3')
    """

    verdict: Verdict
    hints: Sequence[str]
    """All hints of the exercise."""
    asked: int = 0
    """How often a hint was asked for."""
    why: str = ""
    """What there is to learn, for a program that is repaired."""
    solution: str = ""
    """A program that does it."""

    @property
    def shown(self) -> tuple[str, ...]:
        """The hints that have been asked for."""
        return () if self.verdict.is_solved else tuple(self.hints[: self.asked])

    @property
    def is_explained(self) -> bool:
        """Whether all hints have been read, and the explanation has been asked for as well."""
        return not self.verdict.is_solved and self.asked > len(self.hints)

    @property
    def button(self) -> str:
        """What can be asked for next, ``""`` if nothing is left."""
        if self.verdict.is_solved or self.is_explained:
            return ""
        many = len(self.hints)
        return f"Hint {self.asked + 1} of {many}" if self.asked < many else "Explanation"
