"""Which node of a graph is which node of another graph that the same or similar code left."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from typing import Final

from gradviz.analysis.matching_side import Numbers, Side, shared_names
from gradviz.model.graph import Graph

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


def match_nodes(before: Graph, after: Graph) -> dict[str, str]:
    """Pair the nodes of two graphs; the other way round it is the same pairs.

    Only nodes with the same name are paired, and leaves of the same variable; a leaf whose
    variable the other graph does not know may be paired with one of the same shape. What speaks
    for a pair: everything below it is the same, all ways from the roots to it are the same, it
    made a tensor of the same name, a neighbour is paired, also beyond nodes that were put in
    between or taken out.

    Returns:
        The id in ``before`` for each id in ``after`` that has a partner.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> sin = Node("n0", "SinBackward0", (None,))
        >>> exp = Node("n0", "ExpBackward0", (("n1", 0),))
        >>> below = Node("n1", "SinBackward0", (None,))
        >>> match_nodes(Graph.of([sin], [("n0", 0)]), Graph.of([exp, below], [("n0", 0)]))
        {'n1': 'n0'}
    """
    shared = shared_names(before, after)
    sides = Side(before, shared), Side(after, shared)
    # Where evidence is equal the order of the nodes decides, seen from one of the two.
    is_turned = _rank(sides[1]) < _rank(sides[0])
    one, other = sides[::-1] if is_turned else sides
    pairs = _best(one, other)
    if not is_turned:
        pairs = {theirs: mine for mine, theirs in pairs.items()}
    old, new = sides
    return {new.nodes[place].id: old.nodes[pairs[place]].id for place in sorted(pairs)}


def _rank(side: Side) -> tuple[int, str]:
    return len(side.nodes), repr((side.keys, side.below, side.roots, sorted(side.named.items())))


def _best(one: Side, other: Side) -> dict[int, int]:
    """Pairs from ``one`` to ``other`` in the order of evidence that fits best."""
    evidence = _Evidence(one, other)
    found: list[tuple[tuple[int, int], dict[int, int]]] = []
    for order in ORDERS:
        pairs = _Matching(evidence, order).pairs
        cost = _cost(one, other, pairs)
        unlike = sum(one.unlike(mine, other, theirs) for mine, theirs in pairs.items())
        found.append(((cost, unlike), pairs))
        if not cost:
            break
    return min(found, key=lambda entry: entry[0])[1]


def _cost(one: Side, other: Side, pairs: dict[int, int]) -> int:
    """How many nodes, entries, names and roots differ."""
    cost = len(one.nodes) + len(other.nodes) - 2 * len(pairs)
    for mine, theirs in pairs.items():
        image = [e and (pairs.get(e[0]), e[1]) for e in one.below[mine]]
        entries = other.below[theirs]
        cost += abs(len(image) - len(entries))
        cost += sum(there != here for there, here in zip(image, entries))
    cost += sum(
        pairs.get(place) != other.named[name]
        for name, place in one.named.items()
        if name in other.named
    )
    return cost + sum(
        (pairs.get(place), nr) != root for (place, nr), root in zip(one.roots, other.roots)
    )


class _Evidence:
    """What the nodes of two graphs can be recognised by, for every order."""

    def __init__(self, one: Side, other: Side) -> None:
        self.one, self.other = one, other
        numbers: Numbers = {}
        below = one.structures(numbers), other.structures(numbers)
        above = one.paths(numbers), other.paths(numbers)
        around = one.surroundings(), other.surroundings()
        self.whole = [list(zip(b, a)) for b, a in zip(below, above)]
        self.of = {"structures": below, "paths": above, "surroundings": around}


class _Matching:
    def __init__(self, evidence: _Evidence, order: Sequence[str]) -> None:
        self.pairs: dict[int, int] = {}
        self._taken: set[int] = set()
        self._one, self._other = evidence.one, evidence.other
        self._fresh: deque[tuple[int, int]] = deque()
        self._names(lambda place: bool(self._one.nodes[place].variable))
        self._unique(*evidence.whole)
        for kind in order:
            if kind == "names":
                self._names(lambda _place: True)
            else:
                self._unique(*evidence.of[kind])
        for (mine, _), (theirs, _) in zip(self._one.roots, self._other.roots):
            self._pair(mine, theirs)
        self._spread()
        self._unique(*evidence.of["surroundings"])
        self._spread()
        for kind in ("structures", "surroundings"):
            self._in_order(*evidence.of[kind])

    def _pair(self, mine: int, theirs: int) -> bool:
        if mine in self.pairs or theirs in self._taken:
            return False
        if self._one.keys[mine] != self._other.keys[theirs]:
            return False
        self.pairs[mine] = theirs
        self._taken.add(theirs)
        self._fresh.append((mine, theirs))
        return True

    def _names(self, wanted: Callable[[int], bool]) -> None:
        for name, place in self._one.named.items():
            if name in self._other.named and wanted(place):
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
        for here, there in self._open(mine, theirs):
            if len(here) == len(there) == 1:
                self._pair(here[0], there[0])

    def _in_order(self, mine: Sequence[Hashable], theirs: Sequence[Hashable]) -> None:
        for here, there in self._open(mine, theirs):
            for pair in zip(here, there):
                self._pair(*pair)
                self._spread()

    def _spread(self) -> None:
        """Pair neighbours of what has been paired, and their neighbours."""
        while self._fresh:
            mine, theirs = self._fresh.popleft()
            for a, b in zip(self._one.below[mine], self._other.below[theirs]):
                if a is None or b is None or self.pairs.get(a[0]) == b[0]:
                    continue
                if not self._pair(a[0], b[0]):
                    self._look_through(a[0], b[0])
            self._users(mine, theirs)

    def _users(self, mine: int, theirs: int) -> None:
        """Pair users if there is no other that uses it in the same way."""
        here: dict[Hashable, list[int]] = defaultdict(list)
        there: dict[Hashable, list[int]] = defaultdict(list)
        for user, slot, nr in self._one.users[mine]:
            if user not in self.pairs:
                here[self._one.keys[user], slot, nr].append(user)
        for user, slot, nr in self._other.users[theirs]:
            if user not in self._taken:
                there[self._other.keys[user], slot, nr].append(user)
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
