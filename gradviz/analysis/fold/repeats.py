"""Sequences that come again and again: layers, time steps, chains of one operation."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import groupby, islice
from operator import eq
from typing import Final, NamedTuple

FEWEST: Final = 3
"""How often a sequence has to come to be a repeat."""
_CANDIDATES: Final = 12
"""How many lengths of a sequence are tried."""
_CONTEXTS: Final = 4
"""How often contexts are doubled: by up to 16 elements in a row it is seen what comes again."""


class Period(NamedTuple):
    """A sequence that comes several times in a row."""

    start: int
    """Place of the first element of the first one."""
    length: int
    """How many elements it has."""
    end: int
    """Place behind the last element that is equal to the one a length before it: the last sequence
    may be cut off there."""

    @property
    def times(self) -> int:
        """How often the whole of it comes."""
        return (self.end - self.start) // self.length


def periods(
    keys: Sequence[Hashable], is_enough: Callable[[Period], bool] | None = None
) -> list[Period]:
    """Sequences that are repeated, none over another: those that cover most come first to be found.

    Args:
        keys: What is compared.
        is_enough: Whether something comes often enough; by itself from three times on.

    Returns:
        In the order of their places.

    Examples:
        >>> periods("xabcabcabcay")
        [Period(start=1, length=3, end=11)]
        >>> periods("aaabbbb"), periods("abcdef")
        ([Period(start=0, length=1, end=3), Period(start=3, length=1, end=7)], [])
    """
    if len(set(keys)) == len(keys):
        return []
    enough = is_enough or (lambda one: one.times >= FEWEST)
    found = [one for length in _lengths(keys) for one in _runs(keys, length) if enough(one)]
    heap = [(one.start - one.end, one.length, one.start) for one in found]
    heapq.heapify(heap)
    taken = bytearray(len(keys))
    kept = []
    while heap:
        covered, length, start = heapq.heappop(heap)
        one = Period(start, length, start - covered)
        if taken.find(1, one.start, one.end) < 0:
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
            continue
        for part in _free(one, taken):
            if enough(part):
                heapq.heappush(heap, (part.start - part.end, length, part.start))
    return sorted(kept)


def _free(one: Period, taken: bytearray) -> Iterator[Period]:
    """The pieces of a repetition that no other one has."""
    at = one.start
    while (at := taken.find(0, at, one.end)) >= 0:
        end = taken.find(1, at, one.end)
        end = one.end if end < 0 else end
        if end - at >= 2 * one.length:
            yield Period(at, one.length, end)
        at = end


def _runs(keys: Sequence[Hashable], length: int) -> Iterator[Period]:
    """The longest repetitions of sequences of this length."""
    at = 0
    for equal, run in groupby(map(eq, keys, islice(keys, length, None))):
        count = sum(1 for _ in run)
        if equal and count >= length:
            yield Period(at, length, at + count + length)
        at += count


def _lengths(keys: Sequence[Hashable]) -> list[int]:
    """Distances at which sequences come again, those that are seen most often."""
    distances: Counter[int] = Counter()
    contexts = keys
    size = 1
    for _ in range(_CONTEXTS + 1):
        found = _distances(contexts)
        distances.update(found)
        if size * 2 > len(keys) or (found and max(found.values()) * 10 > 9 * len(keys)):
            break  # nearly all is one repetition
        numbers: dict[Hashable, int] = {}
        contexts = [
            numbers.setdefault(pair, len(numbers))
            for pair in zip(contexts, islice(contexts, size, None))
        ]
        size *= 2
    return sorted(
        length for length, _ in distances.most_common(_CANDIDATES) if 2 * length <= len(keys)
    )


def _distances(keys: Sequence[Hashable]) -> Counter[int]:
    last: dict[Hashable, int] = {}
    found: Counter[int] = Counter()
    for at, key in enumerate(keys):
        if key in last:
            found[at - last[key]] += 1
        last[key] = at
    return found
