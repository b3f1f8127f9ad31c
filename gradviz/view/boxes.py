"""Which nodes are one box: what a person wrote as one operation.

A view has the numbers of what it is made of. Where those have no name, it is in the box of the node
that made them, if no other module did; where it has none itself, in the box of the one node that
uses it. So the transposed weight of a linear layer is in its box. Cross entropy is two nodes, with
nothing named between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gradviz.model.fold import Users
from gradviz.model.graph import Graph
from gradviz.model.operations import VIEWS
from gradviz.view.node_titles import titles_of

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
        found = _Pairs(graph).heads()
        pairs = {key: head for key, head in found if is_drawn(key) and is_drawn(head)}
        order = {graph.id_at(place): at for at, place in enumerate(graph.order)}
        heads, members, titles = dict[str, str](), dict[str, list[str]](), dict[str, str]()
        for key in sorted(pairs, key=order.__getitem__):
            head = pairs[key]
            while head in pairs:
                head = pairs[head]
            heads[key] = head
            members.setdefault(head, []).append(key)
            if graph[key].name not in VIEWS:
                titles[head] = CROSS_ENTROPY
        ends = {one: max((one, *keys), key=order.__getitem__) for one, keys in members.items()}
        rest = {one: tuple(keys) for one, keys in members.items()}
        owners = dict(_owners(graph, heads, saving or {}))
        return cls(heads, rest, ends, titles, owners, _rows(graph, heads) > ROWS)


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


class _Pairs:
    """Nodes that are in the box of a node beside them."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._titles = graph, titles_of(graph)
        self._named = {info.node for info in graph.tensors if info.name or info.retains_grad}
        self._roots = {place for place, _ in graph.root_places}
        self._entries = Users(graph)

    def heads(self) -> Iterator[tuple[str, str]]:
        """Such nodes, each with the one that it is with."""
        graph, with_maker = self._graph, set[int]()
        for place in graph.order:
            if not self._is_view(place):
                continue
            (maker,) = {target for target, _ in filter(None, graph.targets[place])}
            is_part = maker in with_maker or not self._is_view(maker)
            is_part = is_part and graph.makers[maker] == graph.makers[place]
            if is_part and graph.variables[maker] is None and self._is_passed(maker):
                with_maker.add(place)
                yield graph.id_at(place), graph.id_at(maker)
        for place in graph.order:
            if place in with_maker or not self._is_passed(place):
                continue
            (user,) = self._users(place)
            pair = graph.names[place], graph.names[user]
            is_part = pair in _ONE_OPERATION and graph.id_at(place) not in self._titles
            if self._is_view(place) or is_part:
                yield graph.id_at(place), graph.id_at(user)

    def _is_view(self, place: int) -> bool:
        """Whether it is a view that no module is called for, with one input and without a hook."""
        graph = self._graph
        key, inputs = graph.id_at(place), set(filter(None, graph.targets[place]))
        is_own = graph.names[place] not in VIEWS or key in self._titles
        return not is_own and len(inputs) == 1 and not graph.nodes[place].hooks

    def _is_passed(self, place: int) -> bool:
        """Whether what it makes has no name and goes to one node only."""
        graph = self._graph
        is_known = graph.id_at(place) in self._named or place in self._roots
        return not is_known and len(self._users(place)) == 1 and not graph.nodes[place].hooks

    def _users(self, place: int) -> set[int]:
        return {user for user, _ in self._entries[place]}


NO_BOXES: Final = Boxes()
"""None: each node has its own."""
TIGHT: Final = Boxes(is_tight=True)
"""The same in a folded graph, which has many rows."""
_ONE_OPERATION: Final = frozenset(
    ("LogSoftmaxBackward0", f"NllLoss{kind}Backward0") for kind in ("", "2D")
)
"""Nodes that compute one thing together."""
