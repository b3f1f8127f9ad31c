"""The scenes of a graph: one with all of it where it is drawn whole, else one per fold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from gradviz.model.folding import Folding
from gradviz.model.records import Node
from gradviz.view.graph import cards
from gradviz.view.graph.card_parts import MORE, Card, CardContent, Density
from gradviz.view.graph.layout_links import Link
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.scene import DrawnLink, Scene, output_port, thin, way_in
from gradviz.view.graph_index import GraphIndex

LIMIT: Final = 400
"""Nodes that are drawn; a stub counts the rest."""
OUTSIDE: Final = 60
"""How many tensors outside the graph are drawn."""
ALL: Final = ""
"""Id of what is around everything: of a graph that is drawn whole all of it, of a folded graph one
box."""

Saving: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""The tensors outside the graph that may be drawn, each with the nodes that save it and the names
of the slots."""


class Scenes(ABC):
    """What is in a graph, or in each of its folds, in each density.

    Args:
        graph_index: The graph.
        options: What cards show.
        saving: The tensors outside the graph that may be drawn.
    """

    folding: Folding | None = None
    """The folds; ``None`` if nothing is folded."""
    outside: Collection[str]
    """The tensors outside the graph that are drawn."""

    def __init__(self, graph_index: GraphIndex, options: DrawOptions, saving: Saving) -> None:
        self.graph_index, self.options, self.saving = graph_index, options, saving

    @abstractmethod
    def scene(self, fold_id: str, density: Density) -> Scene:
        """What is in a fold, or around everything."""

    def _scene(
        self,
        made: dict[str, Card],
        wires: Iterable[DrawnLink],
        outside: Iterable[str],
        content: CardContent,
    ) -> Scene:
        """Cards and links with those of tensors outside the graph."""
        wires = [*wires]
        for key in outside:
            for node_id, name in self.saving[key]:
                if node_id in made:
                    link = Link(key, 0, node_id, way_in(made, node_id, name))
                    wires.append(DrawnLink(link, node_id, key))
        nodes = {key: card for key, card in made.items() if key[0] == "n"}
        wires = thin(nodes, wires, content)
        index = self.graph_index
        tensors = (cards.tensor_card(index.tensors[key], index, content) for key in outside)
        return Scene((*tensors, *(made | nodes).values()), tuple(wires))


class WholeScenes(Scenes):
    """A graph that is drawn as it is, up to a limit."""

    def __init__(self, graph_index: GraphIndex, options: DrawOptions, saving: Saving) -> None:
        super().__init__(graph_index, options, saving)
        self.outside = tuple(saving)[:OUTSIDE]

    @property
    def count(self) -> int:
        """How many cards there are."""
        index = self.graph_index
        return len(index.nodes) + len(self.outside) + (index.hidden > 0)

    def scene(self, fold_id: str, density: Density) -> Scene:
        """All of it."""
        index, content = self.graph_index, self.options.content(density)
        made = {node.id: cards.node_card(node, index, content) for node in index.nodes}
        wires = [wire for node in index.nodes for wire in _entries(node, made)]
        for place, (target, output_nr) in enumerate(index.hidden_uses):
            link = Link(target, output_port(made[target], output_nr), MORE, place)
            wires.append(DrawnLink(link, MORE, target, f"{MORE}.{target}.{output_nr}"))
        if index.hidden:
            made[MORE] = cards.more_card(index.hidden, index.hidden_uses.values())
        scene = self._scene(made, wires, self.outside, content)
        return Scene(scene.cards, scene.wires, is_whole=True)


def saving_of(graph_index: GraphIndex, options: DrawOptions) -> Saving:
    """The tensors outside a graph that may be drawn, with the nodes that save them."""
    every = "constants" in options.parts
    shown = (info for info in graph_index.outside if every or info.requires_grad)
    return {info.id: graph_index.saved_by.get(info.id, ()) for info in shown}


def _entries(node: Node, made: Mapping[str, Card]) -> Iterator[DrawnLink]:
    """A link per port of a node at which entries of ``next_functions`` arrive."""
    for place, port in enumerate(made[node.id].inputs):
        entry = node.next_functions[port.slot]
        if entry is None:
            continue
        target, output_nr = entry
        own_id, entries = f"{node.id}.{port.slot}", ((node.id, port.slot),)
        if target in made:
            link = Link(target, output_port(made[target], output_nr), node.id, place)
            yield DrawnLink(link, node.id, target, own_id, port.slot, 1, entries)
            continue
        link = Link(MORE, 0, node.id, place)
        if port.count == 1:
            yield DrawnLink(link, node.id, target, own_id, port.slot, 1, entries)
        else:
            yield DrawnLink(link, node.id, MORE, f"{node.id}.{MORE}", None, port.count, entries)
