"""Which node of a graph is which node of another graph that the same or similar code left."""

from __future__ import annotations

from array import array
from collections import defaultdict, deque
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from gradviz.analysis.diff.matching.cost import Cost, cost_of
from gradviz.analysis.diff.matching.node_keys import Numbers, Side, shared_names
from gradviz.model import progress
from gradviz.model.graph import Graph
from gradviz.model.progress import STRIDE

ORDERS: Final = (
    ("paths", "structures", "names"),
    ("structures", "names", "paths"),
    ("names", "structures", "paths"),
)
"""What speaks for a pair, in three orders; that counts which leaves the fewest differences."""
FAR: Final = 6
"""How many nodes that were put in between are looked through."""
MOST: Final = 200
"""How many nodes are looked at for it."""
SEVERAL: Final = -1
Things: TypeAlias = Sequence[Hashable]


def match_nodes(before: Graph, after: Graph) -> NodeIds:
    """Pair the nodes of two graphs; the other way round it is the same pairs.

    Only nodes with the same name are paired, and leaves of the same shape. What speaks for a
    pair: everything below it is the same, all ways from the roots to it are the same, a
    neighbour is paired, also beyond nodes that were put in between or taken out, its saved
    numbers are the same, it has or made a tensor of the same name. Structure comes first: names
    decide where it leaves a choice, or where less differs if leaves are paired by their names.

    Returns:
        The id in ``before`` for each id in ``after`` that has a partner.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> sin = Node("n0", "SinBackward0", (None,))
        >>> exp = Node("n0", "ExpBackward0", (("n1", 0),))
        >>> below = Node("n1", "SinBackward0", (None,))
        >>> dict(match_nodes(Graph.of([sin], [("n0", 0)]), Graph.of([exp, below], [("n0", 0)])))
        {'n1': 'n0'}
    """
    shared = shared_names(before, after)
    found: list[tuple[Cost, dict[int, int], bool]] = []
    for by_name in (False, True):
        sides = [Side(graph, shared, by_name=by_name) for graph in (before, after)]
        # Where evidence is equal the order of the nodes decides, seen from one of the two.
        is_turned = _rank(sides[1]) < _rank(sides[0])
        one, other = sides[::-1] if is_turned else sides
        found += [(cost, pairs, is_turned) for cost, pairs in _matchings(one, other)]
        if found[-1][0][:2] == (0, 0):
            break
    _, pairs, is_turned = min(found, key=lambda entry: entry[0])
    if not is_turned:
        pairs = {theirs: mine for mine, theirs in pairs.items()}
    return NodeIds(before, after, pairs)


class NodeIds(Mapping[str, str]):
    """Ids of nodes in one graph for the ids of the same nodes in another one.

    Args:
        found: The graph with the ids that are found.
        asked: The graph with the ids that are asked for.
        pairs: Place in ``found`` for the place in ``asked``.
    """

    __slots__ = ("_asked", "_count", "_found", "_partners")

    def __init__(self, found: Graph, asked: Graph, pairs: Mapping[int, int]) -> None:
        self._found, self._asked, self._count = found, asked, len(pairs)
        self._partners = array("q", [-1]) * len(asked)
        for place, partner in pairs.items():
            self._partners[place] = partner

    @property
    def turned(self) -> NodeIds:
        """The same pairs from the other graph."""
        pairs = {there: here for here, there in enumerate(self._partners) if there >= 0}
        return NodeIds(self._asked, self._found, pairs)

    def get(self, key: str, default: Any = None) -> Any:
        """The id of the same node in the other graph."""
        place = self._asked.place_of(key)
        partner = -1 if place is None else self._partners[place]
        return default if partner < 0 else self._found.id_at(partner)

    def __contains__(self, key: object) -> bool:
        place = self._asked.place_of(key)
        return place is not None and self._partners[place] >= 0

    def __getitem__(self, key: str) -> str:
        found: str | None = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __iter__(self) -> Iterator[str]:
        return (self._asked.id_at(at) for at, there in enumerate(self._partners) if there >= 0)

    def __len__(self) -> int:
        return self._count


def _rank(side: Side) -> tuple[int, str]:
    return len(side), repr((side.keys, list(side.below), side.roots, sorted(side.named.items())))


def _matchings(one: Side, other: Side) -> Iterator[tuple[Cost, dict[int, int]]]:
    """Pairs from ``one`` to ``other`` for each order of evidence, with how much then differs."""
    evidence = _Evidence(one, other)
    for order in ORDERS:
        pairs = _Matching(evidence, order).pairs
        cost = cost_of(one, other, pairs)
        yield cost, pairs
        if cost[:2] == (0, 0):
            break


class _Evidence:
    """What the nodes of two graphs can be recognised by, for every order."""

    def __init__(self, one: Side, other: Side) -> None:
        self.one, self.other = one, other
        self._found: dict[str, tuple[Things, Things]] = {}

    def of(self, kind: str) -> tuple[Things, Things]:
        """One kind of evidence, a thing per node of both graphs; nodes with the same are alike."""
        if kind not in self._found:
            self._found[kind] = self._read(kind)
        return self._found[kind]

    def alike(self, kind: str) -> Iterator[tuple[Things, Things]]:
        """One kind of evidence, first together with sizes and saved numbers."""
        yield self._with(kind, (self.one.looks, self.other.looks))
        yield self.of(kind)

    def _read(self, kind: str) -> tuple[Things, Things]:
        sides, numbers = (self.one, self.other), Numbers()
        if kind == "whole":
            return self._whole()
        if kind == "paths":
            return sides[0].paths(numbers), sides[1].paths(numbers)
        if kind == "surroundings":
            return sides[0].surroundings(), sides[1].surroundings()
        looks = kind == "structures and looks"
        return (
            sides[0].structures(numbers, looks=looks),
            sides[1].structures(numbers, looks=looks),
        )

    def _whole(self) -> tuple[Things, Things]:
        """Structures and paths as one number: nearly every node has its own."""
        paths: Any = self.of("paths")
        structures: Any = self.of("structures")
        count = 1 + max(max(numbers, default=0) for numbers in structures)
        mine, theirs = (
            array("q", (path * count + structure for path, structure in zip(*two)))
            for two in zip(paths, structures)
        )
        return mine, theirs

    def _with(self, kind: str, more: tuple[Things, Things]) -> tuple[Things, Things]:
        mine, theirs = self.of(kind)
        return list(zip(mine, more[0])), list(zip(theirs, more[1]))


class _Matching:
    def __init__(self, evidence: _Evidence, order: Sequence[str]) -> None:
        self.pairs: dict[int, int] = {}
        self._taken: set[int] = set()
        self._one, self._other = evidence.one, evidence.other
        self._fresh: deque[tuple[int, int]] = deque()
        if self._one.by_name:
            self._names(self._one.leaves)
        progress.at("nodes matched", len(self.pairs), len(self._one))
        self._unique(*evidence.of("whole"))
        for kind in order if len(self.pairs) < len(self._one) else ():
            if kind == "names":
                self._names()
            else:
                if kind == "structures":
                    self._unique(*evidence.of("structures and looks"))
                self._unique(*evidence.of(kind))
            if not self._one.by_name:
                self._spread()  # structure comes before the names that follow
        for (mine, _), (theirs, _) in zip(self._one.roots, self._other.roots):
            self._pair(mine, theirs)
        self._spread()
        if len(self.pairs) < len(self._one):
            self._rest(evidence)

    def _rest(self, evidence: _Evidence) -> None:
        """Pair what is still open by weaker evidence, at last by the order of the nodes."""
        for things in evidence.alike("surroundings"):
            self._unique(*things)
        self._spread()
        for kind in ("structures", "surroundings"):
            for things in evidence.alike(kind):
                self._in_order(*things)

    def _pair(self, mine: int, theirs: int) -> bool:
        if mine in self.pairs or theirs in self._taken:
            return False
        if self._one.keys[mine] != self._other.keys[theirs]:
            return False
        self.pairs[mine] = theirs
        self._taken.add(theirs)
        self._fresh.append((mine, theirs))
        return True

    def _names(self, wanted: Collection[int] | None = None) -> None:
        for name, place in self._one.named.items():
            if name in self._other.named and (wanted is None or place in wanted):
                self._pair(place, self._other.named[name])

    def _open(
        self, mine: Sequence[Hashable], theirs: Sequence[Hashable]
    ) -> Iterator[tuple[list[int], list[int]]]:
        """Nodes without a partner that are recognised by the same thing."""
        groups: dict[Hashable, list[int]] = defaultdict(list)
        for place, thing in enumerate(theirs):
            if place not in self._taken:
                groups[thing].append(place)
        here: dict[Hashable, list[int]] = defaultdict(list)
        for place, thing in enumerate(mine):
            if place not in self.pairs and thing in groups:
                here[thing].append(place)
        yield from ((places, groups[thing]) for thing, places in here.items())

    def _unique(self, mine: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        here, there = _once(mine, self.pairs), _once(theirs, self._taken)
        for thing, place in here.items():
            partner = there.get(thing, SEVERAL)
            if SEVERAL not in (place, partner):
                self._pair(place, partner)

    def _in_order(self, mine: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        for here, there in self._open(mine, theirs):
            for pair in zip(here, there):
                self._pair(*pair)
                self._spread()

    def _spread(self) -> None:
        """Pair neighbours of what has been paired, and their neighbours."""
        while self._fresh:
            if len(self.pairs) % STRIDE == 0:
                progress.at("nodes matched", len(self.pairs), len(self._one))
            mine, theirs = self._fresh.popleft()
            for a, b in zip(self._one.below[mine], self._other.below[theirs]):
                if a is None or b is None or self.pairs.get(a[0]) == b[0]:
                    continue
                if not self._pair(a[0], b[0]):
                    self._look_through(a[0], b[0])
            self._users(mine, theirs)

    def _users(self, mine: int, theirs: int) -> None:
        """Pair users if no other uses it in the same way, or none that looks the same."""
        here = self._one.users_by_way(mine, self.pairs)
        there = self._other.users_by_way(theirs, self._taken)
        for way, users in here.items():
            if len(users) == len(there.get(way, ())) == 1:
                self._pair(users[0], there[way][0])

    def _look_through(self, mine: int, theirs: int) -> None:
        """Pair a node with the one of its kind below nodes that only the other graph has."""
        near = []
        if theirs not in self._taken:
            key = self._other.keys[theirs]
            far, found = _below(self._one, mine, self.pairs, key)
            near.append((far, found, theirs))
        if mine not in self.pairs:
            far, found = _below(self._other, theirs, self._taken, self._one.keys[mine])
            near.append((far, mine, found))
        if near and min(near)[0] <= FAR:
            self._pair(*min(near)[1:])


def _once(things: Sequence[Hashable], paired: Collection[int]) -> dict[Hashable, int]:
    """The node without a partner that is recognised by each thing, ``SEVERAL`` for several."""
    found: dict[Hashable, int] = {}
    for place, thing in enumerate(things):
        if place not in paired:
            found[thing] = SEVERAL if thing in found else place
    return found


def _below(side: Side, start: int, taken: Collection[int], key: Hashable) -> tuple[int, int]:
    """How far below a node without a partner the first of a kind is, and which."""
    waiting = deque([(0, start)])
    seen = {start}
    while waiting and len(seen) < MOST:
        far, place = waiting.popleft()
        if place in taken:
            continue
        if far and side.keys[place] == key:
            return far, place
        for entry in side.below[place] if far < FAR else ():
            if entry is not None and entry[0] not in seen:
                seen.add(entry[0])
                waiting.append((far + 1, entry[0]))
    return FAR + 1, -1
