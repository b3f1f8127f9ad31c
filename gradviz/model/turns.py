"""Turns of loops: which steps of a recording belong to one run of a loop's body."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a ``for`` or ``while``: its head and its body, once.

    Examples:
        >>> Turn(code=0, line=3, number=2, count=4, level=0, first=5, last=9).words
        'turn 2 of 4'
    """

    code: int
    """Place in ``recording.codes`` of the source that the loop is in."""
    line: int
    """Number of the line where the loop begins."""
    number: int
    """Which turn it is, from 1."""
    count: int
    """How many turns the recording has of this run of the loop."""
    level: int
    """How many other loops it is inside of."""
    first: int
    """Place in ``recording.all_steps`` of its first step."""
    last: int
    """Place of its last step."""

    @property
    def words(self) -> str:
        """``"turn 2 of 4"``."""
        return f"turn {self.number} of {self.count}"
