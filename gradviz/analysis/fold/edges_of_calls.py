"""What calls make before their first and after their last known node, where that can be known.

A block ends with ``x + dropout(y)``, say, and no parameter is used there. It shows in two ways. All
calls of a class end with the same nodes, whatever follows. And what a call has made and used itself
is used once more after its last known node: by its own code, not by code around it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.analysis.fold.gaps import Call, Gap, general
from gradviz.analysis.fold.modules_of_graph import Modules
from gradviz.model.graph import Graph

Kind: TypeAlias = tuple[str, str]
"""Class of a module, and path in it of the module of its first or last known node."""
May: TypeAlias = Sequence[frozenset[int]]
"""Of each node of a gap the modules that may have made it."""


@dataclass(slots=True)
class _Seen:
    """A call that ends or begins in a gap."""

    call: Call
    first: int
    """Place in the order of the first node that may be its own."""
    end: int
    """Place behind the last one."""
    around: Hashable
    """What comes next to it: another one if other code does."""
    others: frozenset[int]
    """The other modules that may have made some of them."""
    gap: Gap

    def __len__(self) -> int:
        return self.end - self.first


class Edges:
    """Compares the calls of each class.

    Args:
        graph: The graph.
        modules: Its modules.
        gaps: Its gaps.
        may: Of each gap the modules that may have made its nodes.
    """

    def __init__(
        self, graph: Graph, modules: Modules, gaps: Sequence[Gap], may: Sequence[May]
    ) -> None:
        self._graph = graph
        self._modules = modules
        self._order = graph.order
        self._at = [-1] * len(graph)
        for at, place in enumerate(graph.order):
            self._at[place] = at
        self._users: list[list[tuple[int, int]]] | None = None
        begun, ended = self._groups(gaps, may, False), self._groups(gaps, may, True)
        self._raw_heads = {kind: self._common(seen, True) for kind, seen in begun.items()}
        self._raw_tails = {kind: self._common(seen, False) for kind, seen in ended.items()}
        self._tails = {kind: self._length(kind, seen, True) for kind, seen in ended.items()}
        self._heads = {kind: self._length(kind, seen, False) for kind, seen in begun.items()}

    def placed(self, gap: Gap, may: May) -> Iterator[tuple[int, int]]:
        """Nodes of a gap, by their places in the order, with the modules that made them.

        Args:
            gap: The gap.
            may: The modules that may have made its nodes.
        """
        found: dict[int, int] = {}
        for is_end, calls in ((True, gap.exits), (False, gap.enters[::-1])):
            for seen in self._seen(gap, may, calls, is_end):
                lengths = self._tails if is_end else self._heads
                length = lengths.get(self._kind(seen.call, gap, is_end), 0)
                first = seen.first if is_end else seen.end - length
                for at in range(first, first + length):
                    found.setdefault(at, seen.call.module)
        yield from found.items()

    def _kind(self, call: Call, gap: Gap, is_end: bool) -> Kind:
        """The kind of a call that ends, or begins, in a gap."""
        anchor = gap.before if is_end else gap.after
        assert anchor is not None
        paths = self._modules.paths
        inner = paths[anchor.module][len(paths[call.module]) :]
        return self._modules.types[call.module], general(inner)

    def _groups(
        self, gaps: Sequence[Gap], may: Sequence[May], is_end: bool
    ) -> dict[Kind, list[_Seen]]:
        """The calls that end, or begin, by kind; those of torch's own classes are known."""
        found: dict[Kind, list[_Seen]] = defaultdict(list)
        for gap, each in zip(gaps, may):
            calls = gap.exits if is_end else gap.enters
            for seen in self._seen(gap, each, calls, is_end):
                found[self._kind(seen.call, gap, is_end)].append(seen)
        return found

    def _seen(self, gap: Gap, may: May, calls: Iterable[Call], is_end: bool) -> Iterator[_Seen]:
        """Of calls of other classes than torch's own what each may have made of a gap."""
        modules = self._modules
        for call in calls:
            number = call.module
            if modules.makes[number] is not None or modules.is_row(number):
                continue
            own = [at for at, makers in enumerate(may, gap.first) if number in makers]
            edge = gap.first if is_end else gap.end
            first, end = (own[0], own[-1] + 1) if own else (edge, edge)
            others = frozenset().union(*may[first - gap.first : end - gap.first])
            around = self._around(gap, is_end)
            yield _Seen(call, first, end, around, others - {number}, gap)

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
        first, *others = (self._shape(one, from_end) for one in seen)
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

    def _shape(self, seen: _Seen, from_end: bool) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
        """Names of the nodes that may be of a call, counted from the call.

        And which outputs each uses, by the place in this list of the node that made them: one
        before the first, or behind the last, for those of other nodes.
        """
        graph, order, at = self._graph, self._order, self._at
        first, end = seen.first, seen.end
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

    def _length(self, kind: Kind, seen: Sequence[_Seen], is_end: bool) -> int:
        """How many nodes calls of a kind surely make after, or before, their known ones."""
        most = (self._raw_tails if is_end else self._raw_heads)[kind]
        whole = [len(one) for one in seen if self._is_whole(one, is_end)]
        if whole and min(whole) <= most:
            return min(whole)
        if not is_end or not most or len({one.around for one in seen}) < 2:
            return 0
        return min(self._until_used_again(one, most) for one in seen)

    def _is_whole(self, seen: _Seen, is_end: bool) -> bool:
        """Whether no other call can have made any of the nodes, as all such make none there."""
        others = {call.module: call for call in (seen.gap.enters if is_end else seen.gap.exits)}
        raw = self._raw_heads if is_end else self._raw_tails
        return all(
            one in others and not raw.get(self._kind(others[one], seen.gap, not is_end), 1)
            for one in seen.others
        )

    def _until_used_again(self, seen: _Seen, most: int) -> int:
        """How many nodes a call has made up to where it uses once more what it has used before.

        Such as the ``x`` of ``x + f(x)``, where ``x`` was made in the call, too.
        """
        count = 0
        for now in range(seen.first, seen.first + most):
            for entry in self._graph.targets[self._order[now]]:
                made = -1 if entry is None else self._at[entry[0]]
                if seen.call.first <= made < seen.first and entry is not None:
                    users = self._uses(made)
                    if users[0][0] <= seen.call.last and any(
                        nr == entry[1] and at <= seen.call.last for at, nr in users
                    ):
                        count = now + 1 - seen.first
        return count

    def _uses(self, made: int) -> list[tuple[int, int]]:
        """Where in the order the results of a node are used, and which."""
        if self._users is None:
            self._users = [[] for _ in self._order]
            for at, place in enumerate(self._order):
                for entry in self._graph.targets[place]:
                    if entry is not None and self._at[entry[0]] >= 0:
                        self._users[self._at[entry[0]]].append((at, entry[1]))
        return self._users[made]
