"""A graph folded into boxes: a tree whose innermost members are the nodes of the graph."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from gradviz.model.errors import UnknownNodeError
from gradviz.model.graph import Graph
from gradviz.model.records import Number

FoldKind: TypeAlias = Literal["graph", "module", "repeat", "turn", "part", "leaves"]
"""What a fold is: ``"graph"``, all of it; ``"module"``, what calls of a module made;
``"repeat"``, parts of equal structure one after the other, such as layers and time steps;
``"turn"``, one of them that is not a module; ``"part"``, consecutive nodes or parts of a repeat;
``"leaves"``, leaves of one fold."""

Member: TypeAlias = "int | Fold"
"""A node, by its place in ``graph.nodes``, or a fold."""
Value: TypeAlias = tuple[int, int]
"""An output of a node: place of the node and output number."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One box for many nodes."""

    id: str
    """``"f0"`` for the whole graph, then ``"f1"``, … in the order of the forward, a fold before
    those in it."""
    kind: FoldKind
    members: tuple[Member, ...] = field(repr=False)
    """What is in it: leaves, then nodes and folds in the order of the forward."""
    nodes: int
    """How many nodes are in it and in the folds in it, leaves included."""
    first: int
    """Position of the first of them, see :attr:`FoldTree.positions`."""
    path: str = ""
    """Path of the module that made all of it: ``"model.layers.0"``; ``""`` if none is known."""
    type: str = ""
    """Class of that module, ``""`` if it is not known."""
    calls: int | None = None
    """Of a module, how many calls of it made what is in it: 0 if only modules in it were called;
    ``None`` if that is not known."""
    times: int = 0
    """Of a repeat and its parts, how many equal parts are in it; else 0."""
    equal: bool = True
    """Of a repeat, whether its first and last part have the structure of the others too."""

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The folds among its members."""
        return tuple(one for one in self.members if isinstance(one, Fold))

    @property
    def places(self) -> tuple[int, ...]:
        """The nodes among its members, by their places."""
        return tuple(one for one in self.members if isinstance(one, int))


@dataclass(frozen=True, slots=True)
class FoldLink:
    """A value that goes from one member of a fold to another, or over the rim of the fold."""

    value: Value
    """The output that is used."""
    tail: int | None
    """Number of the member that made it; ``None``: it comes from outside."""
    head: int | None
    """Number of the member that uses it; ``None``: it is used outside, or a root."""
    entries: tuple[tuple[int, int], ...]
    """The entries of ``next_functions`` that it is: place of the node and slot; none at the way out
    of a fold, where the links outside have them."""


@dataclass(frozen=True, slots=True)
class Inside:
    """The members of one fold and the values between them."""

    fold: Fold
    inputs: tuple[Value, ...]
    """Values that come from outside, in the order in which they are first used."""
    outputs: tuple[Value, ...]
    """Values made inside that are used outside, or are roots, in the order in which they were
    made."""
    links: tuple[FoldLink, ...]
    """One per value, member it comes from and member it goes to."""


@dataclass(frozen=True, slots=True)
class FoldTotals:
    """What is in one fold, and in the folds in it, as numbers."""

    nodes: int
    """Nodes, leaves included."""
    leaves: int
    """Leaves among them. One that is used outside of the fold, too, is in it only if it is the
    first of several calls of a module that use it."""
    parameters: int
    """Elements of these leaves."""
    saved_bytes: int
    """Bytes that its saved tensors keep alive, each storage counted once, as
    :attr:`Graph.saved_bytes`."""
    held: int
    """Saved tensors that are held and not modified."""
    modified: int
    """Saved tensors that were written in place since they were saved."""
    freed: int
    """Saved tensors that are freed."""
    packed: int
    """Saved tensors that a hook packed."""
    grads: int
    """Leaves that have a ``.grad``."""
    grad_norm: Number | None
    """Norm of these together: ``"nan"`` and ``"inf"`` are text; ``None`` if there is none, or if
    not all of them were read."""
    bad_grads: int
    """Tensors whose ``.grad`` has nan or inf."""
    hooks: int
    """Hooks that can be seen."""

    @property
    def problems(self) -> int:
        """How many of its tensors have something wrong: modified ones, gradients with nan."""
        return self.modified + self.bad_grads


@dataclass(frozen=True, slots=True)
class Opening:
    """Which folds of a graph are open when it is first shown."""

    ids: frozenset[str]
    """Ids of the open folds; the fold that an open one is in is open, too. Empty: the whole graph
    is one box."""
    note: str = ""
    """Why it is not as it was asked for, in a sentence; ``""`` if it is."""


class FoldTree:
    """How a graph is folded; nothing of the graph is missing, nothing is in two folds.

    Args:
        graph: The graph.
        root: The fold with the whole graph.
        inferred: Places of the nodes whose module is not known, but follows from those before
            and after them.
        makers: By place the path of the module that made a node, ``None`` where no module did or
            that is not known. Not given, none is known.
        pairs: Nodes in the box of a node beside them, each with that one, as
            :func:`~gradviz.model.boxes.pairs_of` finds them; both are in the same fold.

    Examples:
        >>> from gradviz.model import Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> tree = FoldTree(graph, Fold("f0", "graph", (0,), 1, 0))
        >>> tree["f0"].nodes, [fold.id for fold in tree.around("n0")]
        (1, ['f0'])
    """

    __slots__ = (
        "_above",
        "_folds",
        "_rims",
        "graph",
        "inferred",
        "makers",
        "pairs",
        "places",
        "positions",
        "root",
    )

    def __init__(
        self,
        graph: Graph,
        root: Fold,
        inferred: frozenset[int] = frozenset(),
        makers: Sequence[str | None] | None = None,
        pairs: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        self.graph = graph
        self.root = root
        self.inferred = inferred
        self.makers: Sequence[str | None] = makers or [None] * len(graph)
        self.pairs = pairs
        self._folds: dict[str, Fold] = {}
        self._above: dict[str, Fold] = {}
        self.places: MutableSequence[int] = array("q")
        """All nodes, by their places, as they are in the tree from its beginning to its end."""
        self.positions: MutableSequence[int] = array("q", [-1]) * len(graph)
        """For each place, where it is in :attr:`places`; the nodes of a fold are side by side."""
        self._rims: dict[str, array[int]] | None = None
        todo: list[Member] = [root]
        while todo:
            one = todo.pop()
            if isinstance(one, int):
                self.positions[one] = len(self.places)
                self.places.append(one)
                continue
            self._folds[one.id] = one
            for member in one.members:
                if isinstance(member, Fold):
                    self._above[member.id] = one
            todo += reversed(one.members)

    def __getitem__(self, fold_id: str) -> Fold:
        """The fold with this id.

        Raises:
            UnknownNodeError: If there is none.
        """
        try:
            return self._folds[fold_id]
        except KeyError:
            raise UnknownNodeError(
                f"there is no fold {fold_id!r}; the folds of this graph run from 'f0' to "
                f"'f{len(self._folds) - 1}'"
            ) from None

    def __len__(self) -> int:
        return len(self._folds)

    def __iter__(self) -> Iterator[Fold]:
        """All folds, a fold before those in it."""
        return iter(self._folds.values())

    def above(self, fold_id: str) -> Fold | None:
        """The fold that a fold is a member of."""
        return self._above.get(fold_id)

    def around(self, key: str) -> tuple[Fold, ...]:
        """The folds that a node, or a fold, is in, the whole graph first; a fold is not in itself.

        Raises:
            UnknownNodeError: If there is no such node or fold.
        """
        if key in self._folds:
            found = []
            fold = self.above(key)
            while fold is not None:
                found.append(fold)
                fold = self.above(fold.id)
            return tuple(reversed(found))
        place = self.graph.place_of(self.graph[key].id)
        assert place is not None
        found, fold = [self.root], self.root
        position = self.positions[place]
        while isinstance(member := self._member_at(fold, position), Fold):
            found.append(member)
            fold = member
        return tuple(found)

    def cards(self, fold: Fold) -> int:
        """How many cards an open fold has: its members, those in one box together."""
        return sum(1 for one in fold.members if one not in self.pairs)

    def nodes_of(self, fold: Fold) -> Sequence[int]:
        """Places of all nodes of a fold."""
        return self.places[fold.first : fold.first + fold.nodes]

    def _member_at(self, fold: Fold, position: int) -> Member:
        return fold.members[bisect_right(fold.members, position, key=self._start) - 1]

    def by_depth(self) -> Iterator[Fold]:
        """All folds, the outer ones first."""
        level = [self.root]
        while level:
            yield from level
            level = [inner for fold in level for inner in fold.folds]

    def _start(self, one: Member) -> int:
        return one.first if isinstance(one, Fold) else self.positions[one]

    def inside(self, fold: Fold) -> Inside:
        """The members of a fold, and how values go between them and over its rim.

        The time grows with the members of the fold and with the values over their rims; the first
        time with the whole graph.
        """
        following, users, positions = self.graph.targets, self.graph.users, self.positions
        low, high = fold.first, fold.first + fold.nodes
        starts = [*map(self._start, fold.members)]

        def member(place: int) -> int | None:
            position = positions[place]
            return bisect_right(starts, position) - 1 if low <= position < high else None

        inputs: dict[Value, None] = {}
        outputs: dict[Value, None] = {}
        found: dict[tuple[Value, int | None, int | None], list[tuple[int, int]]] = {}
        for place in self._at_rims(fold):
            head = member(place)
            for slot, entry in enumerate(following[place]):
                if entry is None:
                    continue
                tail = member(entry[0])
                if tail is None:
                    inputs[entry] = None
                if tail != head:
                    found.setdefault((entry, tail, head), []).append((place, slot))
            for user, slot in users[place]:
                value = following[user][slot]
                if value is not None and member(user) is None:
                    outputs[value] = None
        outputs |= {value: None for value in self.graph.root_places if member(value[0]) is not None}
        for value in outputs:
            found.setdefault((value, member(value[0]), None), [])
        links = tuple(
            FoldLink(value, tail, head, tuple(entries))
            for (value, tail, head), entries in found.items()
        )
        made = sorted(outputs, key=lambda value: (positions[value[0]], value[1]))
        return Inside(fold, tuple(inputs), tuple(made), links)

    def _at_rims(self, fold: Fold) -> Iterator[int]:
        """Places of the nodes of a fold that have entries from one of its members to another one,
        or over its rim, and of those that these lead to."""
        if self._rims is None:
            self._rims = _rims(self)
        for one in fold.members:
            if isinstance(one, int):
                yield one
            else:
                yield from self._rims[one.id]


def _rims(tree: FoldTree) -> dict[str, array[int]]:
    """Per fold the places of its nodes that have entries over its rim, or to which such lead."""
    targets, positions = tree.graph.targets, tree.positions
    low, high = array("q", positions), array("q", positions)
    """By place, the first and the last position that an entry from or to a node has."""
    for place, row in enumerate(targets):
        own = positions[place]
        for entry in row:
            if entry is not None:
                low[place] = min(low[place], positions[entry[0]])
                high[place] = max(high[place], positions[entry[0]])
                low[entry[0]] = min(low[entry[0]], own)
                high[entry[0]] = max(high[entry[0]], own)
    found: dict[str, array[int]] = {}
    for fold in reversed(list(tree)):
        end = fold.first + fold.nodes
        rim = array("q")
        for one in fold.members:
            for place in (one,) if isinstance(one, int) else found[one.id]:
                if low[place] < fold.first or high[place] >= end:
                    rim.append(place)
        found[fold.id] = rim
    return found
