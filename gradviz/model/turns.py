"""Turns of loops: which steps of a recording belong to one run of a loop's body."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

HeadRole: TypeAlias = Literal["turn", "loop ended", "block begins", "block ended"]
"""What it meant that the head of a loop or of a ``with`` block ran: a turn of the loop begins,
there is no further turn, the block begins, or the block is left."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a ``for`` or ``while``: its head and its body, once; or many turns in a row of
    which the recording has the steps only together.

    Examples:
        >>> Turn(code=0, line=3, number=2, count=4, level=0, first=5, last=9).words
        'turn 2 of 4'
        >>> Turn(code=0, line=3, number=2, count=9, level=0, first=5, last=9, times=4).words
        'turns 2 to 5 of 9'
        >>> Turn(code=0, line=3, number=None, count=None, level=1, first=5, last=9, times=40).words
        '40 turns'
    """

    code: int
    """Place in ``recording.codes`` of the source that the loop is in."""
    line: int
    """Number of the line where the loop begins."""
    number: int | None
    """Which turn it is, from 1; of many the first. ``None`` if it is not known: the loop may have
    begun anew where steps are counted."""
    count: int | None
    """How many turns this run of the loop had while it was recorded, ``None`` if that is not
    known."""
    level: int
    """How many other loops it is inside of."""
    first: int
    """Place in ``recording.all_steps`` of its first step."""
    last: int
    """Place of its last step."""
    times: int = 1
    """How many turns its steps stand for."""

    @property
    def words(self) -> str:
        """``"turn 2 of 4"``."""
        of = "" if self.count is None else f" of {self.count}"
        if self.number is None:
            return f"{self.times} turns" if self.times > 1 else "a turn"
        if self.times > 1:
            return f"turns {self.number} to {self.number + self.times - 1}{of}"
        return f"turn {self.number}{of}"


@dataclass(frozen=True, slots=True)
class Head:
    """A step at which the head of a loop or of a ``with`` block ran.

    Examples:
        >>> Head(step=9, role="loop ended", number=4).role
        'loop ended'
    """

    step: int
    """Its place in ``recording.all_steps``."""
    role: HeadRole
    number: int | None = 0
    """Which turn begins, from 1; for a loop that has ended, how many turns it had. ``None`` if it
    is not known."""
    count: int | None = 0
    """How many turns the loop had; 0 if it was left before its head ended it, ``None`` if it is
    not known."""
    times: int = 1
    """How many turns begin, where a step stands for many."""
