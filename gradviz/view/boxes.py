"""The boxes of several nodes in a picture, and where what they are of is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gradviz.model.boxes import heads_of, pairs_of
from gradviz.model.graph import Graph
from gradviz.model.operations import VIEWS

CROSS_ENTROPY: Final = "cross entropy"
ROWS: Final = 6
"""Rows up to which the name that torch gives a node is on its card."""
Saving: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""The tensors outside the graph that may be drawn, each with the nodes that save it and the names
of the slots."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of several nodes in a graph.

    Examples:
        >>> from gradviz.model import Node
        >>> leaf = Node("n2", "AccumulateGrad", (), variable="t0")
        >>> view = Node("n1", "TBackward0", (("n2", 0),))
        >>> product = Node("n0", "MmBackward0", (None, ("n1", 0)))
        >>> Boxes.of(Graph.of([product, view, leaf], [("n0", 0)])).heads
        {'n1': 'n0'}
    """

    heads: Mapping[str, str] = field(default_factory=dict)
    """The node that a box is called by, for each other node in it."""
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The other nodes in the box of each such node, in the order of the forward."""
    ends: Mapping[str, str] = field(default_factory=dict)
    """The node in the box of each such node whose outputs are used outside: no other one's are."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """What such a node is called together with the others."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """For each parameter and buffer that a module alone uses which has it, the path of the module:
    its box says it."""

    is_tight: bool = False
    """Whether there are so many rows that compact cards say one line."""
    are_inside: bool = False
    """Whether what is beside a box is inside of it, since columns of it are too wide."""

    def name(self, tensor: str, name: str) -> str:
        """The name of a tensor without the path that its box says."""
        return name.removeprefix(f"{self.owners[tensor]}.") if tensor in self.owners else name

    def with_leaves(self, groups: Iterable[Sequence[str]]) -> Boxes:
        """The same where leaves are inside of their boxes, those of a group as one card.

        Args:
            groups: The nodes of leaves that the same boxes alone use.

        Examples:
            >>> Boxes().with_leaves([("n2", "n1")]).heads
            {'n1': 'n2'}
        """
        members = {first: tuple(others) for first, *others in groups if others}
        return replace(
            self,
            heads={**self.heads, **{one: key for key, ones in members.items() for one in ones}},
            members={**self.members, **members},
            ends={**self.ends, **dict(zip(members, members))},
            are_inside=True,
        )

    @classmethod
    def of(
        cls, graph: Graph, saving: Saving | None = None, is_drawn: Callable[[str], bool] = bool
    ) -> Boxes:
        """The boxes of a graph; a node with a hook that the graph knows has one of its own.

        Args:
            graph: The graph.
            saving: Tensors outside the graph with the nodes that save them.
            is_drawn: Whether a node is drawn; if not given all are.
        """
        made = cls.of_pairs(graph, pairs_of(graph), is_drawn)
        owners = dict(_owners(graph, made.heads, saving or {}))
        return replace(made, owners=owners, is_tight=_rows(graph, made.heads) > ROWS)

    @classmethod
    def of_pairs(
        cls, graph: Graph, pairs: Mapping[int, int], is_drawn: Callable[[str], bool]
    ) -> Boxes:
        """The boxes of nodes that are in the box of a node beside them.

        Args:
            graph: The graph.
            pairs: Such nodes, each with the one beside it, by their places.
            is_drawn: Whether a node is drawn, and not apart.
        """
        key, names = graph.id_at, graph.names
        pairs = {a: b for a, b in pairs.items() if is_drawn(key(a)) and is_drawn(key(b))}
        heads, boxes = heads_of(pairs), dict[int, list[int]]()
        inside = {*heads, *heads.values()}
        for place in filter(inside.__contains__, graph.order):
            boxes.setdefault(heads.get(place, place), []).append(place)
        return cls(
            {key(place): key(head) for place, head in heads.items()},
            {key(head): tuple(key(k) for k in keys if k != head) for head, keys in boxes.items()},
            {key(head): key(places[-1]) for head, places in boxes.items()},
            {key(head): CROSS_ENTROPY for a, head in heads.items() if names[a] not in VIEWS},
        )


def _rows(graph: Graph, heads: Mapping[str, str]) -> int:
    """How many boxes are below each other, with a row for what is above them."""
    found: dict[str, int] = {}
    for place in graph.order:
        key = graph.id_at(place)
        before = (graph.id_at(target) for target, _ in filter(None, graph.targets[place]))
        above = max((found.get(heads.get(one, one), 1) for one in before), default=1)
        own = heads.get(key, key)
        found[own] = max(found.get(own, 1), above + (key == own))
    return max(found.values(), default=0)


def _owners(graph: Graph, heads: Mapping[str, str], saving: Saving) -> Iterator[tuple[str, str]]:
    """Tensors of modules that only nodes of that module use, each with its path."""
    used: dict[str, set[str | None]] = {}
    for place, row in enumerate(graph.targets):
        key = graph.id_at(place)
        for target, _ in filter(None, row):
            if (variable := graph.variables[target]) is not None:
                used.setdefault(variable, set()).add(graph[heads.get(key, key)].module)
    for tensor, savers in saving.items():
        modules = {graph[heads.get(key, key)].module for key, _ in savers}
        used.setdefault(tensor, set()).update(modules)
    for tensor, path in modules_of_tensors(graph).items():
        if used.get(tensor) == {path}:
            yield tensor, path


def modules_of_tensors(graph: Graph) -> Mapping[str, str]:
    """The parameters and buffers of modules, each with the path of its module: as the modules list
    them, or as their names say."""
    known = graph.modules_by_path
    found = {info.id: (info.name or "").rpartition(".")[0] for info in graph.tensors}
    listed = {key: one.path for one in graph.modules for key in (*one.tensors, *one.buffers)}
    return {key: path for key, path in found.items() if path in known} | listed


def without_unused(saving: Saving, graph: Graph) -> Saving:
    """Tensors without those of modules that need no gradient and that nothing saves.

    Args:
        saving: Tensors with the nodes that save them.
        graph: The graph, with its modules.
    """
    unused = {key for key in modules_of_tensors(graph) if not graph.tensor(key).requires_grad}
    return {key: savers for key, savers in saving.items() if savers or key not in unused}


NO_BOXES: Final = Boxes()
"""None: each node has its own."""
