"""Look-ups in a graph of which any part may be drawn: nodes are made when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from gradviz.model.graph import Graph
from gradviz.model.records import Node
from gradviz.view.graph_index import GraphIndex, LookUp


class WholeIndex(GraphIndex):
    """The index of a graph that is folded: all of its nodes can be drawn.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, 0, graph.device)
        self.places = range(len(graph))
        # Who asks these, asks for a node.
        self.consumers = LookUp((), self._consumers_of)
        self._put_others()

    @property
    def titles(self) -> Mapping[str, str]:
        """None: folds are called by their modules."""
        return {}

    def is_drawn(self, node_id: str) -> bool:
        """Whether there is such a node."""
        return self.graph.place_of(node_id) is not None

    def drawn_node(self, node_id: str) -> Node | None:
        """Any node, by its id."""
        return self.node_at(node_id)

    @cached_property
    def used_outputs(self) -> Mapping[str, tuple[int, ...]]:
        """Output numbers of each node that an edge or a root uses."""
        first, others = bytearray(len(self.graph)), set(self.graph.root_places)
        for row in self.graph.targets:
            for entry in row:
                if entry is not None and entry[1]:
                    others.add(entry)
                elif entry is not None:
                    first[entry[0]] = True
        more: dict[int, list[int]] = {}
        for place, output_nr in sorted(others):
            more.setdefault(place, []).append(output_nr)

        def used(key: str) -> tuple[int, ...]:
            place = self.graph.place_of(key)
            if place is None:
                return ()
            return tuple(sorted({*more.get(place, ()), *([0] if first[place] else [])}))

        return LookUp((), used)

    def _consumers_of(self, key: str) -> tuple[str, ...]:
        place = self.graph.place_of(key)
        if place is None:
            return ()
        users = dict.fromkeys(user for user, _ in self.graph.users[place])
        return tuple(map(self.graph.id_at, users))
