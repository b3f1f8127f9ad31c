"""Which nodes and folds have equal structure: the same operations, connected in the same way."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate

from gradviz.analysis.fold.drafts import Boxes, Draft, DraftMember, Entry, nodes_of
from gradviz.analysis.fold.module_paths import kin
from gradviz.model.graph import Graph


class Structure:
    """The boxes of a graph in one order, and numbers that equal parts of it have in common.

    Args:
        graph: The graph.
        boxes: All boxes, each after those whose outputs it uses.
    """

    def __init__(self, graph: Graph, boxes: Boxes) -> None:
        self._graph = graph
        self._numbers: dict[Hashable, int] = {}
        self.position = [-1] * len(graph)
        """By place, where the box of a node is in the order; of leaves -1."""
        self._boxes, self._order = boxes, [*boxes.values()]
        for number, places in enumerate(self._order):
            for place in places:
                self.position[place] = number
        self._shapes = {head: self._shape(places) for head, places in boxes.items()}
        self._last = self._last_uses()
        self._widths = self._all_widths()

    def _shape(self, places: Sequence[int]) -> int:
        position, names, targets = self.position, self._graph.names, self._graph.targets
        key = tuple(
            (names[one], *[-2 if e is None else min(position[e[0]], 0) for e in targets[one]])
            for one in places
        )
        return self._numbers.setdefault(key, len(self._numbers))

    def _last_uses(self) -> list[int]:
        """By position, that of the last box that uses an output of a box; its own if none."""
        last = list(range(len(self._order)))
        for number in range(len(last)):
            for made in self._made_of(number):
                last[made] = number
        return last

    def _made_of(self, number: int) -> set[int]:
        """The positions of boxes that a box uses, and its own if it has several nodes."""
        targets, position = self._graph.targets, self.position
        rows = (targets[place] for place in self._order[number])
        return {position[e[0]] for row in rows for e in row if e is not None} - {-1}

    def _all_widths(self) -> list[int]:
        """By position, how many boxes before it have outputs that are used there or later."""
        changes = [0] * (len(self._order) + 1)
        for made, used in enumerate(self._last):
            changes[made + 1] += 1
            changes[used + 1] -= 1
        return list(accumulate(changes))

    def carried(self, cuts: Sequence[int], length: int) -> list[int]:
        """How many boxes before each position have outputs whose last use is soon behind it.

        Args:
            cuts: Positions that rise, all within ``length``.
            length: How many boxes behind a position are soon.
        """
        counts = [0] * (len(cuts) + 1)
        for user in range(cuts[0], min(cuts[-1] + length, len(self._order))):
            for one in self._made_of(user):
                if self._last[one] == user:
                    counts[bisect_left(cuts, max(one, user - length) + 1)] += 1
                    counts[bisect_right(cuts, user)] -= 1
        return list(accumulate(counts))[:-1]

    def first(self, one: DraftMember) -> int:
        """Position of the first box of a member."""
        return self.position[one] if isinstance(one, int) else one.first

    def size(self, one: DraftMember) -> int:
        """How many nodes are in a member, without leaves."""
        return len(self._boxes[one]) if isinstance(one, int) else one.size

    def width(self, one: DraftMember) -> int:
        """How many boxes before a member have outputs that are used in it or behind it."""
        return self._widths[self.first(one)]

    def shape(self, one: DraftMember) -> int:
        """A number that members of equal structure have in common."""
        return self._shapes[one] if isinstance(one, int) else one.shape

    def label(self, one: DraftMember) -> Hashable:
        """What members have in common that are made by the same code, as far as that is seen."""
        if isinstance(one, int):
            return self._graph.names[one]
        if one.kind == "module":
            return kin(one.path), one.type
        return one.kind, self.label(one.members[0])

    def close(self, draft: Draft, until: int | None = None) -> Draft:
        """Give a fold with its members its shape.

        Args:
            draft: The fold.
            until: Position behind which it does not matter how the members are connected.
        """
        start = draft.first = self.first(draft.members[0])
        inner: list[Entry] = []
        outgoing: list[Entry] = []
        for one in draft.members:
            entries = self._entries(one) if isinstance(one, int) else one.outgoing
            for entry in entries:
                at, slot, target, output = entry
                if target < start:
                    outgoing.append(entry)
                elif until is None or at < until:
                    inner.append((at - start, slot, target - start, output))
        draft.outgoing = outgoing
        draft.size = sum(map(self.size, draft.members))
        key = (
            draft.kind,
            draft.type,
            kin(draft.path) if draft.kind == "module" else "",
            tuple([self.shape(one) for one in draft.members]),
            tuple(inner),
        )
        draft.shape = self._numbers.setdefault(key, len(self._numbers))
        return draft

    def _entries(self, head: int) -> Iterable[Entry]:
        position = self.position
        at = position[head]
        for place in self._boxes[head]:
            for slot, entry in enumerate(self._graph.targets[place]):
                if entry is not None and (target := position[entry[0]]) >= 0:
                    yield at, slot, target, entry[1]

    def leaves(self, members: Iterable[DraftMember]) -> tuple[int, ...]:
        """Places of the leaves that members use, in the order in which they do."""
        targets, position = self._graph.targets, self.position
        return tuple(
            entry[0]
            for place in nodes_of(members, self._boxes)
            for entry in targets[place]
            if entry is not None and position[entry[0]] < 0
        )
