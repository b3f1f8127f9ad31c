"""Parts of equal structure that follow one another: layers, time steps, chains of one operation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

FEWEST: Final = 3
"""How often a sequence of nodes has to come to be a repeat."""
_CANDIDATES: Final = 12
"""How many lengths of a sequence are tried."""


class Period(NamedTuple):
    """A sequence that comes several times in a row."""

    start: int
    """Place of the first element of the first one."""
    length: int
    """How many elements it has."""
    times: int
    """How often it comes."""

    @property
    def end(self) -> int:
        """Place behind the last element of the last one."""
        return self.start + self.length * self.times


def periods(keys: Sequence[Hashable], fewest: int = FEWEST) -> list[Period]:
    """Sequences that are repeated, none over another: those that cover most come first to be found.

    Args:
        keys: What is compared.
        fewest: How often a sequence has to come.

    Returns:
        In the order of their places.

    Examples:
        >>> periods("xabcabcabcy")
        [Period(start=1, length=3, times=3)]
        >>> periods("aaabbbb"), periods("abcdef")
        ([Period(start=0, length=1, times=3), Period(start=3, length=1, times=4)], [])
    """
    found = [one for length in _lengths(keys, fewest) for one in _runs(keys, length, fewest)]
    found.sort(key=lambda one: (one.start - one.end, one.length, one.start))
    taken = bytearray(len(keys))
    kept = []
    for one in found:
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = b"\1" * (one.end - one.start)
            kept.append(one)
    return sorted(kept)


def _runs(keys: Sequence[Hashable], length: int, fewest: int) -> Iterator[Period]:
    """The longest repetitions of sequences of this length."""
    run = 0
    for at in range(len(keys) - length + 1):
        if at + length < len(keys) and keys[at] == keys[at + length]:
            run += 1
            continue
        if run // length + 1 >= fewest:
            yield Period(at - run, length, run // length + 1)
        run = 0


def _lengths(keys: Sequence[Hashable], fewest: int) -> list[int]:
    """Distances at which keys come again, those that are seen most often."""
    last: dict[Hashable, int] = {}
    distances: Counter[int] = Counter()
    for at, key in enumerate(keys):
        if key in last:
            distances[at - last[key]] += 1
        last[key] = at
    common = [d for d, _ in distances.most_common(_CANDIDATES) if d * fewest <= len(keys)]
    return sorted(common)
