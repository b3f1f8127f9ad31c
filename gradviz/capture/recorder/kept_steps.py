"""Which steps of a long recording are kept as they were, and which are counted.

NOTE [What a long recording keeps]
A recording has room for so many steps, events and rows. As long as they fit, all steps are kept.
Then the first ones stay as they are, and so do the last ones, which are those at which an error
leaves the code; what lies between is counted, as much of it as the room demands, except turns of
a loop in which an error was raised and caught. Where it can be, the cut lies between two turns of
a loop, of the outermost one if a turn of it is small enough. What is counted depends on the steps
alone, so the same program is cut at the same places on every machine. Of a step that changes very
many rows, only so many count: it is kept, and so are those around it.

Nobody steps through hundreds of turns of one loop. So where many turns have run, the room is only
as much as these took, in powers of two; it grows again, up to all there is, once the loop has
ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from gradviz.capture.recorder.counted_steps import CountedSteps, Rows, WrittenStep
from gradviz.model.events import Raised
from gradviz.model.step_numbers import PART

BUDGET: Final = 40_000
"""Steps, events and rows that a recording keeps, if nothing else was asked for."""
MANY: Final = 50
"""Turns of a loop above which some are counted although there is room."""
_FIRST: Final = 8
"""The part of the budget from which on it is asked whether so many turns have run."""
Rank: TypeAlias = "tuple[int, bool, int]"
"""How good a place is to cut, the smaller the better: depth, whether it is inside a turn of a
loop, and the line where the next turn begins, or the level."""


class KeptSteps:
    """Takes the steps of a recording, one after another; see NOTE [What a long recording keeps].

    Args:
        budget: How many steps, events and rows are kept.
        rows: Which nodes and tensors existed before the recording.
    """

    def __init__(self, budget: int, rows: Rows) -> None:
        self._budget = budget
        self._limit = budget // _FIRST
        """What the last ones may cost."""
        self._rows = rows
        self._made: list[WrittenStep] = []
        """The first steps, and those between that are kept or made by counting."""
        self._counted: CountedSteps | None = None
        """What comes after them."""
        self._last: list[WrittenStep] = []
        """What comes after that."""
        self._cost = 0
        self._cost_of_errors = 0
        self.count = 0
        """How many there were."""

    def add(self, step: WrittenStep) -> None:
        """Keep one more; others may be counted from now on."""
        self._last.append(step)
        self._cost += self._cost_of(step)
        self.count += 1
        if self._cost <= self._limit:
            return
        if not self._made:
            self._begin()
        elif self._is_in_loop() or self._limit >= self._budget // 2:
            self._count()
        else:
            self._limit = min(2 * self._limit, self._budget // 2)

    def _begin(self) -> None:
        """Keep the first ones as they are, if so many turns have run or the room is used up."""
        place, rank = self._cut(self._limit // 8, self._limit * 3 // 8)
        turns = sum(found == rank for _, found in _places(self._last))
        if self._limit < self._budget and (rank[1] or turns < MANY):
            self._limit = min(2 * self._limit, self._budget)
            return
        for kept in self._taken(place):
            self._keep(kept)
        self._limit //= 2
        self._count()

    def _is_in_loop(self) -> bool:
        """Whether turns of a loop have ended not long ago."""
        _, best = self._cut(self._cost - self._limit, self._cost - self._limit // 2)
        newest = max((at for at, rank in _places(self._last) if rank == best), default=0)
        left = sum(self._cost_of(step) for step in self._last[newest:])
        return not best[1] and left <= self._limit // 8

    def _cost_of(self, step: WrittenStep) -> int:
        return 1 + min(step.size, self._budget // 16)

    def _cut(self, least: int, most: int) -> tuple[int, Rank]:
        """The best place to cut the last ones, and how good it is.

        Args:
            least: What the steps before the cut cost at least, if that is possible.
            most: What they cost at most.
        """
        steps = self._last
        before = [0, *accumulate(map(self._cost_of, steps))]
        found = [(place, rank) for place, rank in _places(steps) if before[place] >= least]
        good = [(place, rank) for place, rank in found if before[place] <= most]
        if good:
            return min(good, key=lambda one: (one[1], -one[0]))
        return found[0] if found else (len(steps), (0, True, 0))

    def _taken(self, place: int) -> list[WrittenStep]:
        """The oldest of the last ones."""
        taken, self._last = self._last[:place], self._last[place:]
        self._cost -= sum(self._cost_of(step) for step in taken)
        return taken

    def _keep(self, step: WrittenStep) -> None:
        self._rows.go_on(step.record.changes)
        self._made.append(step)

    def _count(self) -> None:
        """Count the oldest of the last ones, but for turns in which an error was raised."""
        place, rank = self._cut(self._cost - self._limit, self._cost - self._limit // 2)
        ends = [at for at, found in _places(self._last[:place]) if found == rank]
        taken = self._taken(place)
        for since, until in zip([0, *ends], [*ends, place], strict=True):
            steps = taken[since:until]
            if not steps:
                continue
            if self._is_kept(steps):
                self._close()
                for step in steps:
                    self._keep(step)
            else:
                self._counted = self._counted or CountedSteps(self._made[-1].record, self._rows)
                for step in steps:
                    self._counted.add(step)

    def _is_kept(self, steps: Sequence[WrittenStep]) -> bool:
        if not any(isinstance(event, Raised) for one in steps for event in one.record.events):
            return False
        cost = sum(self._cost_of(step) for step in steps)
        if self._cost_of_errors + cost > self._budget // 8:
            return False
        self._cost_of_errors += cost
        return True

    def _close(self) -> None:
        if self._counted is not None:
            self._made += self._counted.steps()
            self._counted = None

    def steps(self) -> list[WrittenStep]:
        """All that are kept, and those that stand for the others."""
        self._close()
        return self._made + self._last


def _places(steps: Sequence[WrittenStep]) -> Iterator[tuple[int, Rank]]:
    """Where steps can be cut: how many are before it, and how good it is."""
    found: list[tuple[int, Rank]] = []
    following: dict[int, tuple[int, int | None]] = {}
    for place in range(len(steps), 0, -1):
        record = steps[place - 1].record
        if record.level >= PART or steps[place - 1].calls_a_function:
            continue
        code, line = following.get(record.depth, (record.code, None))
        goes_back = line is not None and record.line is not None and line <= record.line
        if record.level == 0 and goes_back and code == record.code:
            found.append((place, (record.depth, False, line or 0)))
        else:
            found.append((place, (record.depth, True, record.level)))
        if record.level == 0:
            for depth in [depth for depth in following if depth > record.depth]:
                del following[depth]
            following[record.depth] = record.code, record.line
    return reversed(found)
