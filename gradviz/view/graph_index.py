"""Look-ups that every description of a graph, or of one step of a recording, needs."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, TypeVar

from gradviz.model.devices import devices_of
from gradviz.model.errors import OptionError, UnknownNodeError
from gradviz.model.facts import NodeFacts, TensorFacts, node_facts, tensor_facts
from gradviz.model.graph import Graph
from gradviz.model.ids import by_number, number_of
from gradviz.model.node_titles import titles_of
from gradviz.model.records import Node, TensorInfo, ValueSummary
from gradviz.view import formatting
from gradviz.view.text import clean

Row = TypeVar("Row")
Kept = TypeVar("Kept")
SHARING: Final = 8
"""Names of other tensors on the same storage; ``others`` stands for more."""
LISTED: Final = 10_000
"""Nodes that a widget or a page can find and list; ``print`` and JSON have all."""


KEPT: Final = 4096
"""Of how many nodes, and of how many tensors, the facts are kept."""


class LookUp(Mapping[str, tuple[Row, ...]]):
    """Rows by id, found when read; an id without rows is not in it.

    Args:
        keys: Ids that may have rows, as they are now.
        find: The rows of an id.
    """

    __slots__ = ("_find", "_keys")

    def __init__(self, keys: Iterable[str], find: Callable[[str], tuple[Row, ...]]) -> None:
        self._keys = keys
        self._find = find

    def __getitem__(self, key: str) -> tuple[Row, ...]:
        if found := self._find(key):
            return found
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The rows of an id."""
        return self._find(key) or default

    def __iter__(self) -> Iterator[str]:
        return (key for key in self._keys if self._find(key))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class GraphIndex:
    """Nodes and tensors by id, by node and by storage, kept up to date as rows are put.

    :meth:`of` has all rows of a graph; :class:`~gradviz.view.step_index.StepIndex` goes from step
    to step of a recording.

    Args:
        graph: The graph that is described; nothing of it is put yet.
        limit: How many nodes are drawn.
        device: The one device all tensors are on.
        focus: The node around which they are; if not given they are the first ones.

    Raises:
        OptionError: If the graph does not have that node.
    """

    def __init__(self, graph: Graph, limit: int, device: str | None, focus: str = "") -> None:
        self.graph = graph
        self.focus = focus
        self.places = places_of(graph, limit, focus)
        """Places of the nodes that are drawn among all nodes of the graph."""
        self.nodes: tuple[Node, ...] = tuple(map(graph.nodes.__getitem__, self.places))
        self._drawn = {node.id: node for node in self.nodes}
        self.leaf_node = graph.leaf_nodes
        """The ``AccumulateGrad`` of each leaf."""
        self.rows: dict[str, Node] = {}
        """Nodes that exist."""
        self.tensors: dict[str, TensorInfo] = {}
        self.names: dict[str, str] = {}
        """Name of each tensor, its id when it has none."""
        self.roots: dict[str, list[int]] = {}
        """Output numbers of each node that is a root."""
        self.before: Mapping[str, TensorFacts] = {}
        """Facts in a graph before, of the tensors that are compared with it."""
        self.outputs: Mapping[tuple[str, int], ValueSummary] = {}
        """What nodes made in a run, by node and number of the output, where that was noted."""
        self.keeps_room = False
        """Whether numbers have room for longer ones, since another run may follow."""
        self._device = device
        self._sources: dict[str, dict[str, None]] = {}
        self._savers: dict[str, dict[str, tuple[str, ...]]] = {}
        self._made: dict[str, list[str]] = {}
        """Tensors that each node made, by number."""
        self._storages: dict[str, list[str]] = {}
        """Tensors on each storage, by number."""
        self._node_facts: dict[str, NodeFacts] = {}
        self._tensor_facts: dict[str, TensorFacts] = {}
        self.tags: Mapping[str, tuple[TensorInfo, ...]] = LookUp(self._made, self._tags_of)
        """Existing tensors by the node that made them, without leaves."""
        self.saved_by: Mapping[str, tuple[tuple[str, str], ...]] = LookUp(
            self._savers, self._savers_of
        )
        """Where each known tensor is saved: pairs of node id and slot name."""
        self.sharing: Mapping[str, tuple[str, ...]] = LookUp(self.tensors, self._sharing_with)
        """Names of the other tensors on the same storage, and so with the same version."""
        self.consumers: Mapping[str, tuple[str, ...]] = LookUp(
            self._sources, lambda key: by_number(self._sources.get(key, ()))
        )
        """Nodes that point to each node, each once."""

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The classes of modules that nodes are called by."""
        return titles_of(self.graph)

    @classmethod
    def of(cls, graph: Graph, limit: int = 400, focus: str = "") -> GraphIndex:
        """The index of a graph, of which at most ``limit`` nodes are drawn."""
        graph_index = cls(graph, limit, graph.device, focus)
        for node in graph_index.nodes:
            graph_index._put_node(node.id, node)
        graph_index._put_others()
        return graph_index

    def _put_others(self) -> None:
        """Put what nodes that are not drawn save, all tensors, and the roots."""
        for tensor, node_id, slot in self.graph.saving() if self.hidden else ():
            savers = self._savers.setdefault(tensor, {})
            if node_id not in self._drawn:
                savers[node_id] = (*savers.get(node_id, ()), slot)
        for info in self.graph.tensors:
            self._put_tensor(info.id, info)
        self._put_roots(self.graph.roots)

    def _put_node(self, key: str, node: Node | None) -> Node | None:
        """Put the new row of a node, ``None`` if it no longer exists; returns the old row."""
        old = self.rows.pop(key, None)
        if old is not None:
            for target in targets_of(old):
                self._sources[target].pop(key, None)
            for tensor in slots_of(old):
                self._savers[tensor].pop(key, None)
        if node is not None:
            self.rows[key] = node
            for target in targets_of(node):
                self._sources.setdefault(target, {})[key] = None
            for tensor, slots in slots_of(node).items():
                self._savers.setdefault(tensor, {})[key] = slots
        return old

    def _put_tensor(self, key: str, info: TensorInfo | None) -> TensorInfo | None:
        """Put the new row of a tensor, ``None`` if it no longer exists; returns the old row."""
        old = self.tensors.get(key)
        if old is not None:
            _leave(self._made, old.node, key)
            _leave(self._storages, old.storage, key)
        if info is None:
            self.tensors.pop(key, None)
            self.names.pop(key, None)
            return old
        self.tensors[key], self.names[key] = info, formatting.tensor_name(info)
        if info.node is not None:
            _join(self._made, info.node, key)
        if info.storage is not None:
            _join(self._storages, info.storage, key)
        return old

    def _put_roots(self, roots: Iterable[tuple[str, int]]) -> None:
        self.roots = {}
        for node_id, output_nr in roots:
            self.roots.setdefault(node_id, []).append(output_nr)

    def of_node(self, node: Node) -> NodeFacts:
        """The facts of a node; those of the last ones are kept."""
        return _kept(
            self._node_facts, node.id, lambda: node_facts(node, self, self._tensors_on(node))
        )

    def of_tensor(self, info: TensorInfo) -> TensorFacts:
        """The facts of a tensor; those of the last ones are kept."""
        return _kept(
            self._tensor_facts, info.id, lambda: tensor_facts(info, self, self.before.get(info.id))
        )

    def forget(self) -> None:
        """Keep no facts: of what changed, or of what nothing more is said for now."""
        self._node_facts.clear()
        self._tensor_facts.clear()

    @property
    def hidden(self) -> int:
        """How many nodes are not drawn."""
        return len(self.graph) - len(self.nodes)

    def _tensors_on(self, node: Node) -> list[TensorInfo]:
        variable = self.tensors.get(node.variable or "")
        return [*self.tags.get(node.id, ()), *([variable] if variable else [])]

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""
        return clean(text)

    def _tags_of(self, node_id: str) -> tuple[TensorInfo, ...]:
        if not (made := self._made.get(node_id)):
            return ()
        tags = [self.tensors[key] for key in made if self.leaf_node.get(key) != node_id]
        return tuple(sorted(tags, key=lambda info: info.output_nr))

    def _savers_of(self, tensor_id: str) -> tuple[tuple[str, str], ...]:
        savers = self._savers.get(tensor_id, {})
        return tuple((node, slot) for node in by_number(savers) for slot in savers[node])

    def _sharing_with(self, tensor_id: str) -> tuple[str, ...]:
        """Names of the tensors on the same storage: the first few, and whether there are more."""
        info = self.tensors.get(tensor_id)
        group = [] if info is None or info.storage is None else self._storages[info.storage]
        shown = [self.names[other] for other in group[: SHARING + 1] if other != tensor_id]
        return (*shown[:SHARING], *(["others"] if len(group) > SHARING + 1 else []))

    def named_on(self, storage: str) -> tuple[str, ...]:
        """What :attr:`sharing` says of the tensors on a storage depends on these names."""
        return tuple(self.names[key] for key in self._storages.get(storage, ())[: SHARING + 2])

    @property
    def outside(self) -> tuple[TensorInfo, ...]:
        """Known tensors that no node of the graph made."""
        return tuple(info for info in self.tensors.values() if info.node is None)

    @cached_property
    def used_outputs(self) -> Mapping[str, tuple[int, ...]]:
        """Output numbers of each node that an edge or a root of the graph uses."""
        found: dict[str, set[int]] = {}
        for target, output_nr in (*self.graph.roots, *self.hidden_uses):
            found.setdefault(target, set()).add(output_nr)
        for node in self.nodes:
            for target, output_nr in filter(None, node.next_functions):
                found.setdefault(target, set()).add(output_nr)
        return {target: tuple(sorted(used)) for target, used in found.items()}

    @cached_property
    def hidden_uses(self) -> Mapping[tuple[str, int], int]:
        """How many entries of nodes that are not drawn point to each output of those that are, by
        node id and output number."""
        return self.graph.uses_outside(self.places) if self.hidden else {}

    @property
    def counts(self) -> Mapping[str, int]:
        """How many of each, as :attr:`gradviz.Graph.counts` counts them."""
        return self._totals[0]

    @property
    def saved_bytes(self) -> int:
        """Bytes that saved tensors keep."""
        return self._totals[1]

    @cached_property
    def _totals(self) -> tuple[Mapping[str, int], int]:
        """Counts and bytes of the whole graph, counted once: it may have a million nodes."""
        return self.graph.counts, self.graph.saved_bytes

    def is_outside(self, tensor_id: str) -> bool:
        """Whether it is a known tensor that no node of the graph made."""
        return tensor_id in self.tensors and self.tensors[tensor_id].node is None

    def waiting(self, node_id: str) -> TensorInfo | None:
        """The leaf of an ``AccumulateGrad`` that does not exist now; in a graph all do."""
        return None

    def is_drawn(self, node_id: str) -> bool:
        """Whether a node is among those that are drawn."""
        return node_id in self._drawn

    def drawn_node(self, node_id: str) -> Node | None:
        """A node that is drawn, by its id; ``None`` while it does not exist."""
        return self.rows.get(node_id)

    def node_at(self, node_id: str) -> Node | None:
        """A node by its id, also one that is not drawn; ``None`` if it does not exist."""
        place = None if node_id in self.rows else self.graph.place_of(node_id)
        return self.rows.get(node_id) if place is None else self.graph.nodes[place]

    def node_name(self, node_id: str | None) -> str:
        """Name of a node, for a leaf with its variable: ``leaf w``."""
        if node_id is None:
            return ""
        node = self._drawn.get(node_id) or self.graph[node_id]
        return (
            f"leaf {self.names[node.variable]}" if node.variable in self.names else clean(node.name)
        )

    @property
    def has_one_device(self) -> bool:
        """Whether all tensors are on one device, which facts then leave out."""
        return self._device is not None

    @property
    def devices(self) -> str:
        """All devices, for the header line."""
        if self._device is not None:
            return clean(self._device)
        return ", ".join(map(clean, devices_of(self.graph.tensors, self.nodes)))

    @property
    def subject(self) -> str:
        """What the graph belongs to: the names of the root outputs, else of the root nodes."""
        names: dict[str, None] = {}
        for node_id, numbers in self.roots.items():
            made = [self.tensors[key] for key in self._made.get(node_id, ())]
            named = {i.output_nr: self.names[i.id] for i in reversed(made) if i.name}
            names |= dict.fromkeys(named.get(nr) or self.node_name(node_id) for nr in numbers)
        shown = list(names)[:4]
        return ", ".join(shown) + (", …" if len(names) > 4 else "")

    @property
    def subject_typed(self) -> str:
        """The names of the roots, as a person types them; ``"…"`` where one has none."""
        named = {(i.node, i.output_nr): i for i in self.tensors.values() if i.name}
        found = [named.get(root) for root in self.graph.roots]
        names = list(dict.fromkeys(self.names[i.id] for i in found if i is not None))
        return ", ".join(names) if names and all(found) and len(names) <= 4 else "…"


def places_of(graph: Graph, limit: int, focus: str = "") -> range | Sequence[int]:
    """Places of at most ``limit`` nodes of a graph: the first ones, or those around a node.

    Raises:
        OptionError: If there is no such node; the message says which there are.
    """
    if not focus:
        return range(min(limit, len(graph)))
    try:
        return graph.nearest(focus, limit)
    except UnknownNodeError as error:
        raise OptionError(f"focus: {error}") from None


def targets_of(node: Node | None) -> set[str]:
    """Nodes that a node points to."""
    return set() if node is None else {entry[0] for entry in node.next_functions if entry}


def slots_of(node: Node | None) -> dict[str, tuple[str, ...]]:
    """Names of the slots in which a node saves each known tensor."""
    found: dict[str, tuple[str, ...]] = {}
    for slot in node.saved if node else ():
        known = slot.tensor or slot.view_of
        if known is not None:
            found[known] = (*found.get(known, ()), slot.name)
    return found


def _kept(facts: dict[str, Kept], key: str, make: Callable[[], Kept]) -> Kept:
    """The facts of a node or tensor, made where they are not kept."""
    known = facts.get(key)
    if known is None:
        if len(facts) >= KEPT:
            facts.clear()
        known = facts[key] = make()
    return known


def _join(groups: dict[str, list[str]], group: str, key: str) -> None:
    """Put a key into a group, by its number; nearly all groups have one."""
    known = groups.get(group)
    if known is None:
        groups[group] = [key]
    else:
        insort(known, key, key=number_of)


def _leave(groups: dict[str, list[str]], group: str | None, key: str) -> None:
    """Take a key out of its group."""
    known = groups.get(group or "", [])
    place = bisect_left(known, number_of(key), key=number_of)
    if known[place : place + 1] == [key]:
        del known[place]
