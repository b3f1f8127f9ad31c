"""Look-ups that every description of a graph needs, made once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

from gradviz.model.fact_list import NodeFacts, TensorFacts, node_facts, tensor_facts
from gradviz.model.facts import Node, TensorInfo
from gradviz.model.graph import Graph
from gradviz.view import phrases
from gradviz.view.text import clean


class Context:
    """A graph with its tensors by id, by node and by storage.

    Args:
        graph: The graph that is described.
        limit: How many nodes are described, the first ones.
    """

    def __init__(self, graph: Graph, limit: int = 400) -> None:
        self.graph = graph
        self.nodes: tuple[Node, ...] = graph.nodes[:limit]
        self.tensors = {info.id: info for info in graph.tensors}
        self.names = {info.id: phrases.tensor_name(info) for info in graph.tensors}
        """Name of each tensor, its id when it has none."""
        self.roots: dict[str, list[int]] = {}
        """Output numbers of each node that is a root."""
        for node_id, output_nr in graph.roots:
            self.roots.setdefault(node_id, []).append(output_nr)
        self._node_facts: dict[str, NodeFacts] = {}
        self._tensor_facts: dict[str, TensorFacts] = {}

    def of_node(self, node: Node) -> NodeFacts:
        """What there is to say of a node, made once."""
        if node.id not in self._node_facts:
            self._node_facts[node.id] = node_facts(node, self, self._tensors_on(node))
        return self._node_facts[node.id]

    def of_tensor(self, info: TensorInfo) -> TensorFacts:
        """What there is to say of a tensor, made once."""
        if info.id not in self._tensor_facts:
            self._tensor_facts[info.id] = tensor_facts(info, self)
        return self._tensor_facts[info.id]

    def first(self, limit: int) -> Context:
        """The same graph, of whose nodes as many are described; what is said is made once."""
        other = Context(self.graph, limit)
        other._node_facts, other._tensor_facts = self._node_facts, self._tensor_facts
        return other

    def _tensors_on(self, node: Node) -> list[TensorInfo]:
        variable = self.tensors.get(node.variable or "")
        return [*self.tags.get(node.id, ()), *([variable] if variable else [])]

    def tidy(self, text: str, /) -> str:
        """Text of the user's program, fit to be shown."""
        return clean(text)

    @cached_property
    def tags(self) -> dict[str, tuple[TensorInfo, ...]]:
        """Live tensors by the node that made them, leaves not among them."""
        found: dict[str, list[TensorInfo]] = {}
        for info in self.graph.tensors:
            if info.node is not None and self.graph[info.node].variable != info.id:
                found.setdefault(info.node, []).append(info)
        return {node: tuple(sorted(t, key=lambda i: i.output_nr)) for node, t in found.items()}

    @cached_property
    def outside(self) -> tuple[TensorInfo, ...]:
        """Known tensors that no node of the graph made."""
        return tuple(info for info in self.graph.tensors if info.node is None)

    @cached_property
    def saved_by(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Where each known tensor is saved: pairs of node id and slot name."""
        found: dict[str, list[tuple[str, str]]] = {}
        for node in self.nodes:
            for slot in node.saved:
                known = slot.tensor or slot.view_of
                if known is not None:
                    found.setdefault(known, []).append((node.id, slot.name))
        return {tensor: tuple(places) for tensor, places in found.items()}

    @cached_property
    def sharing(self) -> dict[str, tuple[str, ...]]:
        """Names of the other tensors on the same storage, and so with the same version."""
        groups: dict[str, list[str]] = defaultdict(list)
        for info in self.graph.tensors:
            if info.storage is not None:
                groups[info.storage].append(info.id)
        return {
            one: tuple(self.names[other] for other in group if other != one)
            for group in groups.values()
            if len(group) > 1
            for one in group
        }

    @cached_property
    def consumers(self) -> dict[str, tuple[str, ...]]:
        """Nodes that point to each node, each once."""
        found: dict[str, dict[str, None]] = {}
        for node in self.nodes:
            for entry in filter(None, node.next_functions):
                found.setdefault(entry[0], {})[node.id] = None
        return {target: tuple(sources) for target, sources in found.items()}

    @cached_property
    def used_outputs(self) -> dict[str, tuple[int, ...]]:
        """Output numbers of each node that an edge or a root uses."""
        found: dict[str, set[int]] = {}
        for target, output_nr in self.graph.roots:
            found.setdefault(target, set()).add(output_nr)
        for node in self.nodes:
            for target, output_nr in filter(None, node.next_functions):
                found.setdefault(target, set()).add(output_nr)
        return {target: tuple(sorted(used)) for target, used in found.items()}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many of each, as :attr:`gradviz.Graph.counts` counts them."""
        return self.graph.counts

    @cached_property
    def saved_bytes(self) -> int:
        """Bytes that saved tensors keep."""
        return self.graph.saved_bytes

    def is_outside(self, tensor_id: str) -> bool:
        """Whether it is a known tensor that no node of the graph made."""
        return tensor_id in self.tensors and self.tensors[tensor_id].node is None

    def is_drawn(self, node_id: str) -> bool:
        """Whether a node is among those that are described."""
        place = self.graph.place_of(node_id)
        return place is not None and place < len(self.nodes)

    def node_name(self, node_id: str | None) -> str:
        """Name of a node, for a leaf with its variable: ``leaf w``."""
        if node_id is None:
            return ""
        place = self.graph.place_of(node_id)
        drawn = place is not None and place < len(self.nodes)
        node = self.nodes[place or 0] if drawn else self.graph[node_id]
        return (
            f"leaf {self.names[node.variable]}" if node.variable in self.names else clean(node.name)
        )

    @property
    def has_one_device(self) -> bool:
        """Whether all tensors share a device, which then goes without saying."""
        return self._device is not None

    @cached_property
    def _device(self) -> str | None:
        return self.graph.device

    @cached_property
    def devices(self) -> str:
        """All devices, for the header line."""
        if self._device is not None:
            return clean(self._device)
        found = {info.device for info in self.graph.tensors}
        found.update(s.device for n in self.nodes for s in n.saved if s.device is not None)
        return ", ".join(map(clean, sorted(found)))

    @cached_property
    def subject(self) -> str:
        """What the graph belongs to: the names of the root outputs, else of the root nodes."""
        infos = reversed(self.tensors.values())
        by_place = {(i.node, i.output_nr): self.names[i.id] for i in infos if i.name}
        roots = [(node_id, nr) for node_id, numbers in self.roots.items() for nr in numbers]
        names = dict.fromkeys(by_place.get(root) or self.node_name(root[0]) for root in roots)
        shown = list(names)[:4]
        return ", ".join(shown) + (", …" if len(names) > 4 else "")
