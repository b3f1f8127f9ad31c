"""What is in a picture, or in one open fold of it, before it is placed: cards and links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gradviz.view.graph.card_parts import Card, CardContent, Port, thinned
from gradviz.view.graph.layout_links import Link
from gradviz.view.graph.references import reference_card, reference_id, references, used_often
from gradviz.view.text import shorten


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
            replace(
                wire.link,
                tail=place(wire.link.tail, wire.link.tail),
                head=place(wire.link.head, wire.link.head),
            )
            for wire in self.wires
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
