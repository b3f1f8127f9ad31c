"""What is in a picture, or in one open fold of it, before it is placed: cards, links, references.

A graph that is drawn whole is one scene; of a folded graph each fold is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from gradviz.model.folding import Folding
from gradviz.model.records import Node
from gradviz.view.graph import cards
from gradviz.view.graph.card_parts import (
    MORE,
    Block,
    Card,
    CardContent,
    Density,
    Line,
    Port,
    thinned,
)
from gradviz.view.graph.layout import Link, depths
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import SIZES
from gradviz.view.text import cells, shorten

FEW: Final = 2
"""Nodes that use a tensor and are all joined to its own card."""
ROOM: Final = 16
"""Characters of a name."""


def used_often(uses: Iterable[tuple[str, str]]) -> set[str]:
    """The tensors that get references, of pairs of a tensor and a node that uses it.

    Examples:
        >>> used_often([("w", "n0"), ("w", "n1"), ("w", "n1")])
        set()
        >>> used_often(("w", node) for node in ("n0", "n1", "n2"))
        {'w'}
    """
    nodes: dict[str, set[str]] = {}
    for tensor, node in uses:
        nodes.setdefault(tensor, set()).add(node)
    return {tensor for tensor, using in nodes.items() if len(using) > FEW}


def references(links: Sequence[Link], often: Collection[str]) -> dict[Link, str]:
    """The links that leave from a reference, with the id of the reference.

    Args:
        links: All links.
        often: The boxes of tensors that are used often.

    Examples:
        >>> links = [Link("w", 0, head, 0) for head in "abc"] + [Link("c", 0, "b", 1)]
        >>> references(links, {"w"}).values()
        dict_values(['w.ref.b', 'w.ref.c'])
    """
    if not often:
        return {}
    depth = depths([*dict.fromkeys(end for link in links for end in (link.tail, link.head))], links)
    first: dict[str, str] = {}
    for link in links:
        head = first.setdefault(link.tail, link.head)
        if depth[link.head] < depth[head]:
            first[link.tail] = link.head
    return {
        link: reference_id(link.tail, link.head)
        for link in links
        if link.tail in often and link.head != first[link.tail]
    }


def reference_id(tail: str, head: str) -> str:
    """The id of the reference to one card beside another."""
    return f"{tail}.ref.{head}"


def reference_card(card: Card, head: str) -> Card:
    """The reference to a card beside the card ``head``."""
    name = card.blocks[0].lines[0].text
    line = Line(shorten(name, ROOM), "gv-name", SIZES["text"], icon="ref")
    kind = "gv-ref" if card.tensor else "gv-ref gv-outside"
    return Card(
        id=reference_id(card.id, head),
        css=f"{kind} gv-{card.status}" if card.status else kind,
        blocks=(Block("title", (line,)),),
        title=name if cells(name) > ROOM else "",
        aria=f"reference to {name}",
        outputs=(Port(),),
        tensor=card.tensor,
        refers=card.id,
    )


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link that is drawn: an entry of ``next_functions``, all entries that lead to or come from
    nodes that are not drawn, or a tensor saved from outside."""

    link: Link
    source: str
    """The card where it is an entry, or that saved."""
    target: str
    """The card that it points to, or the tensor that was saved."""
    key: str = ""
    """Its id in the picture; a tensor saved from outside has none."""
    slot: int | None = None
    """Place in ``next_functions``, if it is one entry of a node that is drawn."""
    count: int = 1
    """How many entries of a node that is drawn it is."""
    entries: tuple[tuple[str, int], ...] = ()
    """The entries of ``next_functions`` that it is: node and slot."""

    @property
    def is_edge(self) -> bool:
        """Whether it is an entry of ``next_functions``."""
        return bool(self.key)

    @property
    def own_id(self) -> str:
        """An id that a tensor saved from outside has, too."""
        return self.key or f"{self.source}.{self.target}"


@dataclass(frozen=True, slots=True)
class Scene:
    """What is in a picture, or in one open fold of it."""

    cards: tuple[Card, ...]
    wires: tuple[DrawnLink, ...]
    ports: tuple[int, int] = (0, 0)
    """How many places there are on the rim, where values come in and where they go out."""
    is_whole: bool = False
    """Whether it is all of a picture, in which nothing is opened."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Cards that share the place of another card, with that card."""

    @property
    def links(self) -> list[Link]:
        """The links between places."""
        place = self.places.get
        return [
            Link(place(one.tail, one.tail), one.tail_port, place(one.head, one.head), one.head_port)
            for one in (wire.link for wire in self.wires)
        ]

    def referred(self) -> Scene:
        """The same with references to the tensors that many nodes use; links still say where they
        lead."""
        tensors = {card.id: card for card in self.cards if card.is_of_tensor}
        often = used_often(
            (wire.link.tail, wire.link.head) for wire in self.wires if wire.link.tail in tensors
        )
        links, place = self.links, dict(self.places)
        beside = references(list(dict.fromkeys(links)), {place.get(key, key) for key in often})
        added: dict[str, Card] = {}
        shared: dict[str, str] = {}
        wires = []
        for wire, link in zip(self.wires, links, strict=True):
            if link in beside:
                tail, head = wire.link.tail, wire.link.head
                own_id = reference_id(tail, head)
                added[own_id] = reference_card(tensors[tail], head)
                place[own_id] = shared.setdefault(beside[link], own_id)
                wire = replace(wire, link=replace(wire.link, tail=own_id, tail_port=0))
            wires.append(wire)
        cards = (*self.cards, *added.values())
        return replace(self, cards=cards, wires=tuple(wires), places=place)


def thin(
    made: dict[str, Card], wires: Sequence[DrawnLink], content: CardContent
) -> list[DrawnLink]:
    """Leave out the ports that a density does not have; links keep the port they arrive at."""
    linked: dict[str, set[int]] = {}
    for wire in wires:
        linked.setdefault(wire.link.head, set()).add(wire.link.head_port)
    places: dict[str, list[int]] = {}
    for key, card in made.items():
        kept = thinned(card.inputs, linked.get(key, ()), content)
        made[key], places[key] = replace(card, inputs=tuple(kept.values())), list(kept)
    return [
        replace(wire, link=replace(link, head_port=places[link.head].index(link.head_port)))
        if (link := wire.link).head in places
        else wire
        for wire in wires
    ]


def output_port(card: Card, output_nr: int) -> int:
    """The port of a card from which an output leaves."""
    return next(i for i, port in enumerate(card.outputs) if port.slot == output_nr)


def way_in(made: dict[str, Card], node_id: str, name: str) -> int:
    """The port where a tensor from outside enters: its argument's, else one of its own."""
    card = made[node_id]
    for place, port in enumerate(card.inputs):
        if port.css == "gv-stub" and port.label == f"{shorten(name, 14)}: no grad":
            return place
    made[node_id] = replace(
        card, inputs=(*card.inputs, Port(shorten(name, 14), "gv-port gv-extra", -1))
    )
    return len(card.inputs)


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
