"""Members of a fold with those in repeats that come again and again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Final, NamedTuple

from gradviz.analysis.fold.drafts import Draft, DraftMember, chunked_turns
from gradviz.analysis.fold.module_paths import is_numbered
from gradviz.analysis.fold.repeats import FEWEST, Period, periods
from gradviz.analysis.fold.structure import Structure

_LARGE: Final = 8
"""Nodes from which on a sequence that comes twice is a repeat."""
_UNLIKE: Final = 2
"""How many times as many nodes the first or last of several modules may have."""

Turn = list[DraftMember]
Arrange = Callable[[list[DraftMember]], list[DraftMember]]


class _Repetition(NamedTuple):
    """Equal sequences, and what is like one before and behind them."""

    first: int
    last: int
    period: Period


class Turns:
    """Finds the repeats among members.

    Args:
        structure: What is equal.
        arrange: Makes the members of a turn out of the nodes and folds in it.
    """

    def __init__(self, structure: Structure, arrange: Arrange) -> None:
        self._structure = structure
        self._arrange = arrange

    def folded(self, members: list[DraftMember]) -> list[DraftMember]:
        """The members, those that come again and again in repeats."""
        found: list[DraftMember] = []
        done = 0
        for one in self._repetitions(members):
            begin, end = one.period.start, one.period.start + one.period.length * one.period.times
            cuts = [one.first, *range(begin, end + 1, one.period.length), one.last]
            found += members[done : one.first]
            found += self._repeats([members[a:b] for a, b in pairwise(cuts) if a < b])
            done = one.last
        return found + members[done:]

    def are_calls(self, one: Draft) -> bool:
        """Whether the turns of a repeat, all that a model made, are calls of it.

        They use the same leaves, and nothing that another one of them made.
        """
        if one.kind != "repeat":
            return False
        turns = list(_turns_of(one))
        uses = {self._structure.leaves([turn]) for turn in turns}
        begins = one.first
        return len(uses) == 1 and all(
            isinstance(turn, Draft) and all(entry[2] < begins for entry in turn.outgoing)
            for turn in turns
        )

    def _repetitions(self, members: list[DraftMember]) -> list[_Repetition]:
        """What is repeated, none over another: those that cover most come first to be found."""
        structure = self._structure
        ends = [0, *accumulate(map(structure.size, members))]

        def is_enough(one: Period) -> bool:
            if one.times >= FEWEST:
                return True
            end = one.start + one.length
            is_large = ends[end] - ends[one.start] >= _LARGE
            return is_large or all(map(_is_numbered, members[one.start : end]))

        found: list[_Repetition] = []
        taken = bytearray(len(members))
        regions = periods([structure.shape(one) for one in members], is_enough)
        for region in sorted(regions, key=lambda one: (one.start - one.end, one.start)):
            one = self._in_phase(members, region)
            begin, end = one.start, one.start + one.length * one.times
            if taken.find(1, begin, end) >= 0:
                continue
            turn = members[begin : begin + one.length]
            low = max(taken.rfind(1, 0, begin) + 1, begin - one.length)
            high = taken.find(1, end, end + one.length)
            before = members[low:begin]
            behind = members[end : end + one.length if high < 0 else high]
            first = begin - self._like(before[::-1], turn[::-1])
            last = end + self._like(behind, turn)
            taken[first:last] = b"\1" * (last - first)
            found.append(_Repetition(first, last, one))
        return sorted(found)

    def _in_phase(self, members: Sequence[DraftMember], one: Period) -> Period:
        """The same sequences, begun where the fewest values go from one into the next.

        Where that is not decisive, with a module, or so that the last one is whole: the first one
        is more often unlike the others.
        """
        middle = one.start + one.length * (one.times // 2)
        shifts = range(min(one.length, one.end - middle))
        low = self._structure.first(members[middle - one.length])
        cuts = [self._structure.first(members[middle + shift]) for shift in shifts]
        carried = self._structure.carried(cuts, cuts[0] - low)

        def rank(shift: int) -> tuple[int, bool, bool, int]:
            is_cut_off = (one.end - one.start - shift) % one.length > 0
            return carried[shift], not _is_module(members[middle + shift]), is_cut_off, shift

        shift = min(shifts, key=rank)
        times = (one.end - one.start - shift) // one.length
        return Period(one.start + shift, one.length, one.end) if times > 1 else one

    def _like(self, members: Sequence[DraftMember], turn: Turn) -> int:
        """How many of the members beside the turns are one that lacks some, at most half of them.

        The first one lacks what its input needs no gradient for, the last one what nobody uses.
        """
        label, size = self._structure.label, self._structure.size

        def is_alike(one: DraftMember, other: DraftMember) -> bool:
            """Whether two members have about as many nodes."""
            return size(one) <= _UNLIKE * size(other) and size(other) <= _UNLIKE * size(one)

        rest = iter(turn)
        count = nodes = 0
        for one in members:
            if not any(label(one) == label(other) and is_alike(one, other) for other in rest):
                break
            count += 1
            nodes += size(one)
        return count if 2 * nodes >= sum(map(size, turn)) else 0

    def _repeats(self, turns: list[Turn]) -> list[DraftMember]:
        """Turns as one repeat; as several, where they differ in more than their first and last."""
        drafts = [self._turn(turn) for turn in turns]
        shapes = [self._structure.shape(one) for one in drafts]
        if len(set(shapes[1:-1] or shapes)) > 1:
            found: list[DraftMember] = []
            for _, run in groupby(zip(drafts, shapes, turns), lambda one: one[1]):
                equal = list(run)
                if len(equal) >= FEWEST:
                    found.append(self._repeat([draft for draft, _, _ in equal]))
                else:
                    found += (one for _, _, turn in equal for one in turn)
            return found
        return self._by_leaves(drafts)

    def _by_leaves(self, turns: list[DraftMember]) -> list[DraftMember]:
        """Equal turns in one repeat, or in repeats of repeats where that is how leaves are used.

        Steps of time use the same parameters, layers use others: those of a loop over layers and
        steps are told apart by them.
        """
        uses: list[Hashable] = [self._structure.leaves([one]) for one in turns]
        runs = [list(run) for _, run in groupby(zip(turns, uses), lambda one: one[1])]
        inner = [self._repeat([turn for turn, _ in run]) for run in runs if len(run) > 1]
        if 1 < len(runs) == len(inner):
            is_even = len({one.shape for one in inner}) == 1
            return [self._repeat(list[DraftMember](inner))] if is_even else [*inner]
        length = _length_of_period(uses)
        if 1 < length < len(turns):
            starts = range(0, len(turns), length)
            return [self._repeat([self._turn(turns[at : at + length]) for at in starts])]
        return [self._repeat(turns)]

    def _turn(self, members: Turn) -> DraftMember:
        if len(members) == 1:
            return members[0]
        draft = self._structure.close(Draft("turn", members))
        draft.members = self._arrange(members)
        if len(draft.members) == 1 and isinstance(only := draft.members[0], Draft):
            only.shape = draft.shape
            return only
        return draft

    def _repeat(self, turns: list[DraftMember]) -> Draft:
        structure = self._structure
        equal = len({structure.shape(one) for one in turns}) == 1
        until = structure.first(turns[FEWEST]) if len(turns) > FEWEST else None
        draft = Draft("repeat", turns, times=len(turns), equal=equal)
        structure.close(draft, until)
        draft.members = chunked_turns(turns)
        return draft


def _turns_of(one: Draft) -> Iterator[DraftMember]:
    """The turns of a repeat, also those in parts of it."""
    for turn in one.members:
        if isinstance(turn, Draft) and turn.kind == "part" and turn.times:
            yield from _turns_of(turn)
        else:
            yield turn


def _length_of_period(keys: Sequence[Hashable]) -> int:
    """After how many keys they come again, to the end; all of them if they do not."""
    borders = [0] * len(keys)
    for at in range(1, len(keys)):
        border = borders[at - 1]
        while border and keys[at] != keys[border]:
            border = borders[border - 1]
        borders[at] = border + (keys[at] == keys[border])
    length = len(keys) - borders[-1]
    return length if len(keys) % length == 0 else len(keys)


def _is_numbered(one: DraftMember) -> bool:
    return isinstance(one, Draft) and one.kind == "module" and is_numbered(one.path)


def _is_module(one: DraftMember) -> bool:
    return isinstance(one, Draft) and one.kind == "module"
