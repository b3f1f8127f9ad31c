"""What calls make before their first and after their last known node, where that can be known.

A block ends with ``x + dropout(y)``, say, and no parameter is used there. It shows in two ways.
The same nodes come after all calls of the class, whatever follows. And before these nodes the call
has several results, after them one: that is where a call ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from gradviz.analysis.fold.gaps import Call, Gap, general
from gradviz.analysis.fold.known_makers import Modules
from gradviz.analysis.fold.rows import Free
from gradviz.model.graph import Graph

Kind: TypeAlias = tuple[str, str]
"""Class of a module, and path in it of the module of its first or last known node."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What the calls of one kind make before their first or after their last known node."""

    sure: int = 0
    """So many nodes are theirs."""
    most: int | None = None
    """So many at most may be theirs; ``None`` if nothing limits it."""


@dataclass(slots=True)
class _Seen:
    """A call that begins or ends in a gap."""

    call: Call
    gap: Gap
    free: Free
    around: Hashable
    """What comes next to it: another one if other code does."""
    is_forced: bool
    """Whether the nodes between can be of two calls only, this one and the next."""
    is_exact: bool = False
    """Whether the nodes are those of the call, and all of them."""


class Edges:
    """Compares the calls of each class.

    Args:
        graph: The graph.
        modules: Its modules.
        gaps: Its gaps.
        free: The nodes in each of which it is not known by torch's own classes who made them.
        rows: Numbers of the modules that call those in them one after the other.
    """

    def __init__(
        self,
        graph: Graph,
        modules: Modules,
        gaps: Sequence[Gap],
        free: Sequence[Free],
        rows: Collection[int],
    ) -> None:
        self._graph = graph
        self._modules = modules
        self._rows = rows
        self._order = graph.order
        self._at = [-1] * len(graph)
        for at, place in enumerate(graph.order):
            self._at[place] = at
        self._users: list[list[int]] | None = None
        self.tails: dict[Kind, Edge] = {}
        """What calls make at their end, by kind."""
        self.heads: dict[Kind, Edge] = {}
        """What they make at their beginning."""
        starts = self._groups(gaps, free, False)
        for kind, seen in starts.items():
            self.heads[kind] = self._head(seen)
        self._raw_heads = {kind: self._common(seen, True) for kind, seen in starts.items()}
        for kind, seen in self._groups(gaps, free, True).items():
            self.tails[kind] = self._tail(seen)

    def kind_of(self, call: Call, known: int) -> Kind:
        """The kind of a call whose first or last known node is of this module."""
        paths = self._modules.paths
        inner = paths[known][len(paths[call.module]) :]
        return self._modules.types[call.module], general(inner)

    def tail_of(self, call: Call, gap: Gap) -> Edge:
        """What a call makes in the gap in which it ends."""
        assert gap.before is not None
        return self.tails.get(self.kind_of(call, gap.before.module), Edge())

    def head_of(self, call: Call, gap: Gap) -> Edge:
        """What a call makes in the gap in which it begins."""
        assert gap.after is not None
        return self.heads.get(self.kind_of(call, gap.after.module), Edge())

    def _groups(
        self, gaps: Sequence[Gap], free: Sequence[Free], is_end: bool
    ) -> dict[Kind, list[_Seen]]:
        """The calls that end, or begin, by kind; those of torch's own classes are known."""
        found: dict[Kind, list[_Seen]] = defaultdict(list)
        modules = self._modules
        for gap, left in zip(gaps, free):
            mine, calls = (gap.before, gap.exits) if is_end else (gap.after, gap.enters[::-1])
            if mine is None:
                continue
            around = self._around(gap, is_end)
            for call in calls:
                number = call.module
                is_torchs = modules.makes[number] is not None or modules.is_row(number)
                if modules.is_called(number) and not is_torchs:
                    is_forced = modules.above[number] == gap.common and not left.others
                    is_forced = is_forced and gap.common in self._rows
                    seen = _Seen(call, gap, left, around, is_forced)
                    own = left.tail if is_end else left.head
                    if own is not None and own[0] == number:
                        seen = _Seen(call, gap, Free(*own[1:]), around, False, True)
                    found[self.kind_of(call, mine.module)].append(seen)
        return found

    def _around(self, gap: Gap, is_end: bool) -> Hashable:
        """What comes after the calls that end in a gap, or before those that begin."""
        other = gap.after if is_end else gap.before
        if other is None:
            return None
        mine, others = (gap.exits[-1:], gap.enters[:1])
        if not is_end:
            mine, others = others, mine
        module = others[0].module if others else other.module
        is_again = bool(mine and others) and mine[0].module == others[0].module
        return general(self._modules.paths[module]), self._modules.types[module], is_again

    # ----------------------------------------------------------------- what is the same

    def _common(self, seen: Sequence[_Seen], from_end: bool) -> int:
        """How many nodes are the same next to all of these calls.

        They have the same names, and use each other in the same way. What they use of others may be
        any other nodes.
        """
        first, *others = (self._shape(one.free, from_end) for one in seen)
        count = len(first)
        for other in others:
            count = min(count, len(other))
            for i, (mine, its) in enumerate(zip(first, other)):
                if i >= count or mine[0] != its[0] or len(mine[1]) != len(its[1]):
                    count = min(count, i)
                    break
                for one, same in zip(mine[1], its[1]):
                    if one != same:
                        count = min(count, one[0], same[0]) if from_end else min(count, i)
        return count

    def _shape(self, free: Free, from_end: bool) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
        """Names of the nodes of a gap, counted from one side.

        And which outputs each uses, by the place in this list of the node that made them: one
        before the first, or behind the last, for those of other nodes.
        """
        graph, order, at = self._graph, self._order, self._at
        first, end = free.first, free.end
        found = []
        for now in range(end - 1, first - 1, -1) if from_end else range(first, end):
            place = order[now]
            uses = []
            for entry in graph.targets[place]:
                made = -1 if entry is None else at[entry[0]]
                if entry is None or not first <= made < end:
                    uses.append((len(order) if from_end else -1, 0))
                else:
                    uses.append((end - 1 - made if from_end else made - first, entry[1]))
            found.append((graph.names[place], tuple(uses)))
        return found

    # ------------------------------------------------------------ where one value is left

    def _tail(self, seen: Sequence[_Seen]) -> Edge:
        most = self._common(seen, False)
        whole = [
            len(one.free)
            for one in seen
            if one.is_exact or (one.is_forced and not self._may_have_head(one.gap))
        ]
        if whole and whole[0] <= most:
            return Edge(whole[0], whole[0])
        if len({one.around for one in seen}) < 2:
            return Edge()
        feeds_itself = self._feeds_itself(seen, most)
        return Edge(min(self._end(one, most, feeds_itself) for one in seen), most)

    def _may_have_head(self, gap: Gap) -> bool:
        """Whether one of the calls that begin in a gap may have made nodes in it."""
        after = gap.after
        return after is None or any(
            self._raw_heads.get(self.kind_of(call, after.module)) for call in gap.enters
        )

    def _end(self, one: _Seen, most: int, feeds_itself: bool) -> int:
        """How many of the nodes after a call are its own: up to where it has one result only."""
        counts = self._crossing(one, most)
        if feeds_itself:
            return max((i + 1 for i in range(most) if counts[i] > 1), default=0)
        return next((i for i, count in enumerate(counts) if count < 2), 0)

    def _crossing(self, one: _Seen, most: int) -> list[int]:
        """Before each node after a call: how many results of the call are used from there on."""
        free, begin = one.free, one.call.first
        until: dict[tuple[int, int], int] = {}
        for i, now in enumerate(range(free.first, free.end)):
            for entry in self._graph.targets[self._order[now]]:
                if entry is not None and self._at[entry[0]] >= begin:
                    until[self._at[entry[0]], entry[1]] = i
        counts = [0] * (most + 1)
        for (made, _), last in until.items():
            for i in range(max(0, made + 1 - free.first), min(last, most) + 1):
                counts[i] += 1
        return counts

    def _feeds_itself(self, seen: Sequence[_Seen], most: int) -> bool:
        """Whether what a module makes at its end uses what it made there in the call before.

        So it is in a cell of a recurrent net, which has a state.
        """
        return any(
            entry is not None and 0 <= self._at[entry[0]] - before.free.first < most
            for before, after in pairwise(seen)
            if before.call.module == after.call.module
            for place in self._order[after.free.first : after.free.first + most]
            for entry in self._graph.targets[place]
        )

    def _head(self, seen: Sequence[_Seen]) -> Edge:
        most = self._common(seen, True)
        whole = [len(one.free) for one in seen if one.is_exact]
        if whole and whole[0] <= most:
            return Edge(whole[0], whole[0])
        if len({one.around for one in seen}) < 2:
            return Edge()
        return Edge(min(self._begins(one, most) for one in seen), most)

    def _begins(self, one: _Seen, most: int) -> int:
        """How many of the nodes before a call are its own: from where one value goes into it."""
        free, call = one.free, one.call
        first, end = free.end - most, free.end
        touched: dict[tuple[int, int], tuple[int, int]] = {}
        for now in range(first, end):
            for entry in self._graph.targets[self._order[now]]:
                if entry is not None and (made := self._at[entry[0]]) >= 0:
                    touched[made, entry[1]] = made, now
        counts = [0] * (most + 1)
        inside = range(end, call.last + 1)
        for made, last in self._until(touched, range(first, end), inside).values():
            for i in range(max(end - last, 0), min(end - max(made + 1, first), most) + 1):
                counts[i] += 1
        return next((i for i, count in enumerate(counts) if count < 2), 0)

    def _until(
        self,
        touched: dict[tuple[int, int], tuple[int, int]],
        gap: range,
        inside: range,
    ) -> dict[tuple[int, int], tuple[int, int]]:
        """Where each value is made and last used; those that the call uses at its beginning."""
        found = dict(touched)
        for now in {made for made, _ in touched} | set(gap):
            users = self._uses(now)
            for user in users[bisect_left(users, inside.start) : bisect_left(users, inside.stop)]:
                for entry in self._graph.targets[self._order[user]]:
                    if entry is not None and self._at[entry[0]] == now:
                        found[now, entry[1]] = now, inside.start
        return found

    def _uses(self, now: int) -> list[int]:
        """Where in the order the results of a node are used."""
        if self._users is None:
            self._users = [[] for _ in self._order]
            for at, place in enumerate(self._order):
                for entry in self._graph.targets[place]:
                    if entry is not None and self._at[entry[0]] >= 0:
                        self._users[self._at[entry[0]]].append(at)
        return self._users[now]
