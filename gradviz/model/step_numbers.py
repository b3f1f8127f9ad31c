"""The numbers of steps: what a person reads in the player, in texts and in pictures, and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from gradviz.model.recording import StepRecord

PART: Final = 2
"""Level of what happens inside a node."""
NumberPath: TypeAlias = "tuple[int, ...]"
"""``(7,)`` for step 7, ``(7, 3)`` for the third sub-step inside it."""


class StepNumbers:
    """The number of every step of a recording.

    A step is a line of the recorded code that has run, or a node that backward has run for such
    a line. A sub-step happens inside another step: a part of a node, or a line of a function that
    a line has called, and so on inside these. It comes before the step that it is inside of, since
    a step is written when it has ended. Step 0 is the state before the first line; the number of
    the last step is how many there are. Sub-steps do not change the numbers of steps.

    Args:
        records: The steps and sub-steps in the order in which they happened.

    Examples:
        >>> from gradviz.model.recording import RowChanges, StepRecord
        >>> levels = [("start", 0), ("line", 0), ("saved", 2), ("node", 1)]
        >>> made = [StepRecord(k, n, None, 0, None, (), RowChanges(), 0, None) for k, n in levels]
        >>> numbers = StepNumbers(made)
        >>> numbers.count, numbers.inside, [numbers.number(place) for place in range(4)]
        (2, 1, [0, 1, '2.1', 2])
    """

    def __init__(self, records: Sequence[StepRecord]) -> None:
        self.containers: tuple[int | None, ...] = _containers([depth_of(one) for one in records])
        """Per record the place of the step that it is directly inside of."""
        self.paths: tuple[NumberPath, ...] = _paths(self.containers)
        """Per record its number."""
        self.starts: tuple[int, ...] = _starts(self.containers)
        """Per record the place of the first step inside it; its own if nothing is."""
        self.places: dict[NumberPath, int] = {path: at for at, path in enumerate(self.paths)}
        """The place of each number among the records."""
        self.count: int = max(0, sum(len(path) == 1 for path in self.paths) - 1)
        """How many steps there are: the number of the last one."""
        self.inside: int = sum(len(path) > 1 for path in self.paths)
        """How many sub-steps there are."""

    def number(self, place: int) -> int | str:
        """What a person types for it: ``7``, of a sub-step ``"7.3"``."""
        path = self.paths[place]
        return path[0] if len(path) == 1 else ".".join(map(str, path))

    def step_of(self, place: int) -> int:
        """The place of the step that a sub-step happened in, at whatever depth."""
        return self.places[self.paths[place][:1]]


def depth_of(record: StepRecord) -> int:
    """How many other steps it is inside of; 0 if it is no sub-step."""
    return record.depth + (record.level >= PART)


def _containers(depths: Sequence[int]) -> tuple[int | None, ...]:
    """For each the next one that is less deep; a step is written when it has ended."""
    found: list[int | None] = [None] * len(depths)
    later: list[int] = []
    for place in range(len(depths) - 1, -1, -1):
        while later and depths[later[-1]] >= depths[place]:
            later.pop()
        found[place] = later[-1] if later else None
        later.append(place)
    return tuple(found)


def _starts(containers: Sequence[int | None]) -> tuple[int, ...]:
    starts = list(range(len(containers)))
    for place, container in enumerate(containers):
        if container is not None:
            starts[container] = min(starts[container], starts[place])
    return tuple(starts)


def _paths(containers: Sequence[int | None]) -> tuple[NumberPath, ...]:
    before: Counter[int | None] = Counter({None: -1})
    last: list[int] = []
    for container in containers:
        before[container] += 1
        last.append(before[container])
    paths: list[NumberPath] = [()] * len(containers)
    for place in range(len(containers) - 1, -1, -1):
        container = containers[place]
        paths[place] = (*(() if container is None else paths[container]), last[place])
    return tuple(paths)
