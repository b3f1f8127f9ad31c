"""What is in a picture, or in one open fold of it, before it is placed: cards, links, references.

A graph that is drawn whole is one scene; of a folded graph each fold is one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from gradviz.model.folding import Folding
from gradviz.model.ids import number_of
from gradviz.view.boxes import NO_BOXES, Boxes, Saving, modules_of_tensors, without_unused
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
ABOVE: Final = 2
"""Tensors that are above a card at which nothing else arrives."""
ROOM: Final = 16
"""Characters of a name."""
NAMES: Final = 22
"""Characters of the names of several."""


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
    room = NAMES if card.others else ROOM
    line = Line(shorten(name, room), "gv-name", SIZES["text"], icon="ref")
    kind = "gv-ref" if card.tensor else "gv-ref gv-outside"
    return Card(
        id=reference_id(card.id, head),
        css=f"{kind} gv-{card.status}" if card.status else kind,
        blocks=(Block("title", (line,)),),
        title=name if cells(name) > room else "",
        aria=f"reference to {name}",
        outputs=(Port(),),
        tensor=card.tensor,
        refers=card.id,
        others=card.others,
        tensors=card.tensors,
    )


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link that is drawn: an entry of ``next_functions``, all entries that lead to or come from
    nodes that are not drawn, or a tensor saved from outside."""

    link: Link
    source: str
    """The node or fold where it is an entry, or that saved; its card may be that of its box."""
    target: str
    """What it points to, or the tensor that was saved."""
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


@dataclass(frozen=True)
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
    are_inside: bool = False
    """Whether what is beside a card is inside of it, below what it says."""

    @property
    def beside(self) -> dict[str, list[str]]:
        """The places beside a place, from above."""
        found: dict[str, dict[str, None]] = {}
        pairs = [*zip(self.wires, self.links, strict=True)]
        for wire, link in sorted(pairs, key=lambda pair: pair[0].link.head_port):
            if self._is_beside(wire.link):
                found.setdefault(link.head, {})[link.tail] = None
        return {key: [*tails] for key, tails in found.items()}

    @cached_property
    def within(self) -> frozenset[str]:
        """The cards that are inside of others."""
        inside = {key for keys in self.beside.values() for key in keys} if self.are_inside else ()
        return frozenset(c.id for c in self.cards if self.places.get(c.id, c.id) in inside)

    @cached_property
    def _beside_ports(self) -> set[tuple[str, int]]:
        return {
            (card.id, number)
            for card in self.cards
            for number, port in enumerate(card.inputs)
            if port.is_beside
        }

    def _is_beside(self, link: Link) -> bool:
        return (link.head, link.head_port) in self._beside_ports

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
        uses = [wire.link for wire in self.wires if wire.link.tail in tensors]
        often = used_often((link.tail, link.head) for link in uses)
        often |= {one.tail for one in uses if self._is_beside(one)}
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


def beside(
    made: dict[str, Card],
    wires: Sequence[DrawnLink],
    parameters: Collection[str],
    modules: Collection[str],
    are_inside: bool,
) -> list[DrawnLink]:
    """Put ports on the right at which a tensor arrives that has its place beside the card; links
    keep theirs.

    Beside a card is what comes from no other card and goes to it alone; but where nothing else
    arrives data are above it, or leaves of no module where there are no data. A parameter has its
    place beside each card that uses it; where that is inside of cards, a tensor outside the graph
    has, too.

    Args:
        made: The cards.
        wires: The links.
        parameters: The parameters and buffers of modules.
        modules: The cards of modules to which data without a gradient were given.
        are_inside: Whether what is beside a card is inside of it.
    """
    heads: dict[str, set[str]] = {}
    into: dict[str, dict[int, str]] = {}
    for link in (wire.link for wire in wires):
        heads.setdefault(link.tail, set()).add(link.head)
        into.setdefault(link.head, {})[link.head_port] = link.tail
    given = {key for key in heads if key not in into and made[key].is_of_tensor}
    of_modules = {key for key in given if (made[key].tensor or key) in parameters}
    alone = {key for key in given if len(heads[key]) == 1 or len(heads[key]) > FEW} | of_modules
    alone |= {key for key in given if are_inside and key[0] == "t"}
    of_parameters = _only_from(of_modules, {key: into[key] for key in into if key not in modules})
    places: dict[str, list[int]] = {}
    for head, ports in into.items():
        found = {port: tail for port, tail in ports.items() if tail in alone}
        data = {port for port, tail in found.items() if tail not in of_modules}
        rest = [port for port in ports if port not in found]
        if all(ports[port] in of_parameters for port in rest):
            constant = {port for port in data if not made[found[port]].tensor}
            for port in sorted(constant or data)[:ABOVE]:
                del found[port]
                rest.append(port)
        # What is beside a card is read after what is above it.
        for port in data & found.keys():
            if rest and port < min(rest):
                del found[port]
        if found:
            card = made[head]
            # Parameters as their module has them: weight, bias.
            numbers = {port: number_of(made[key].tensor or key) for port, key in found.items()}
            order = sorted(range(len(card.inputs)), key=lambda port: numbers.get(port, -1))
            inputs = (
                replace(card.inputs[k], label="", is_beside=True) if k in found else card.inputs[k]
                for k in order
            )
            made[head], places[head] = replace(card, inputs=tuple(inputs)), order
    return [
        replace(wire, link=replace(link, head_port=places[link.head].index(link.head_port)))
        if (link := wire.link).head in places
        else wire
        for wire in wires
    ]


def _only_from(given: Collection[str], into: Mapping[str, Mapping[int, str]]) -> set[str]:
    """These cards, and those at which nothing else arrives, from others or from some of them."""
    found, before = set(given), -1
    while len(found) > before:
        before = len(found)
        found |= {head for head, ports in into.items() if found.issuperset(ports.values())}
    return found


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
    boxes: Boxes = NO_BOXES
    """Its boxes of several nodes, which brief cards are of."""

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
        boxes = self.boxes if content.is_brief else NO_BOXES
        for key in outside:
            for node_id, name in self.saving[key]:
                if (card := boxes.heads.get(node_id, node_id)) in made:
                    link = Link(key, 0, card, way_in(made, card, name))
                    wires.append(DrawnLink(link, node_id, key))
        nodes = {key: card for key, card in made.items() if key[0] == "n"}
        wires = thin(nodes, wires, content)
        index = self.graph_index
        tensors = (cards.tensor_card(index.tensors[key], index, content, boxes) for key in outside)
        return Scene((*tensors, *(made | nodes).values()), tuple(wires))


class WholeScenes(Scenes):
    """A graph that is drawn as it is, up to a limit.

    Args:
        graph_index: The graph.
        options: What cards show.
        saving: The tensors outside the graph that may be drawn.
        is_gathered: Whether brief cards are of boxes, with what is beside them.
        apart: Nodes that have a box of their own, since something is said of them alone.
    """

    def __init__(
        self,
        graph_index: GraphIndex,
        options: DrawOptions,
        saving: Saving,
        is_gathered: bool = True,
        apart: Collection[str] = (),
    ) -> None:
        super().__init__(graph_index, options, saving)
        self.outside = tuple(saving)[:OUTSIDE]
        self._has_columns = is_gathered and options.direction == "TB"
        self._parameters = modules_of_tensors(graph_index.graph)
        if is_gathered:

            def is_drawn(key: str) -> bool:
                return key not in apart and graph_index.is_drawn(key)

            self.boxes = Boxes.of(graph_index.graph, saving, is_drawn)

    @property
    def count(self) -> int:
        """How many cards there are, but in the full density."""
        index = self.graph_index
        nodes = len(index.nodes) - len(self.boxes.heads)
        return nodes + len(self.outside) + (index.hidden > 0)

    def scene(self, fold_id: str, density: Density) -> Scene:
        """All of it."""
        index, content = self.graph_index, self.options.content(density)
        boxes = self.boxes if content.is_brief else NO_BOXES
        heads = (node for node in index.nodes if node.id not in boxes.heads)
        made = {one.id: cards.node_card(one, index, content, boxes=boxes) for one in heads}
        wires = [wire for key in made for wire in _entries(key, made, index, boxes)]
        for place, (target, output_nr) in enumerate(index.hidden_uses):
            card = boxes.heads.get(target, target)
            link = Link(card, output_port(made[card], output_nr), MORE, place)
            wires.append(DrawnLink(link, MORE, target, f"{MORE}.{target}.{output_nr}"))
        if index.hidden:
            made[MORE] = cards.more_card(index.hidden, index.hidden_uses.values())
        scene = self._scene(made, wires, self.outside, content)
        made, wires = {card.id: card for card in scene.cards}, [*scene.wires]
        if content.is_brief and self._has_columns:
            wires = beside(made, wires, self._parameters, {*self._given(made)}, boxes.are_inside)
        are_inside = boxes.are_inside
        return Scene(tuple(made.values()), tuple(wires), is_whole=True, are_inside=are_inside)

    def _given(self, keys: Iterable[str]) -> Iterator[str]:
        """The cards of modules at which a tensor without a gradient arrives."""
        titles, rows = self.graph_index.titles, self.graph_index.rows
        for key in keys:
            if key in titles and None in rows[key].next_functions:
                yield key

    def put_inside(self, apart: Collection[str]) -> None:
        """Have what is beside a box inside of it, leaves that the same boxes use as one card.

        Args:
            apart: Nodes and tensors that something is said of alone.
        """
        heads: dict[str, list[str]] = {}
        for head, keys in self.scene(ALL, "compact").beside.items():
            for key in keys:
                heads.setdefault(key, []).append(head)
        groups: dict[tuple[str, ...], list[str]] = {}
        plain = {key: own for key in heads if (own := self._plain_leaf(key, apart))}
        for key in sorted(plain, key=lambda one: number_of(plain[one])):
            groups.setdefault(tuple(heads[key]), []).append(key)
        self.boxes = self.boxes.with_leaves(groups.values())

    def _plain_leaf(self, key: str, apart: Collection[str]) -> str | None:
        """The leaf that a card is of, if nothing is said of it alone."""
        graph = self.graph_index.graph
        if (place := graph.place_of(key)) is None or (own := graph.variables[place]) is None:
            return None
        is_root = any(place == root for root, _ in graph.root_places)
        is_hooked = graph.nodes[place].hooks or graph.tensor(own).hooks
        return None if is_root or is_hooked or {key, own} & {*apart} else own


def saving_of(graph_index: GraphIndex, options: DrawOptions) -> Saving:
    """The tensors outside a graph that may be drawn, with the nodes that save them."""
    every = "constants" in options.parts
    shown = (info for info in graph_index.outside if every or info.requires_grad)
    saving = {info.id: graph_index.saved_by.get(info.id, ()) for info in shown}
    return without_unused(saving, graph_index.graph)


def _entries(
    key: str, made: Mapping[str, Card], graph_index: GraphIndex, boxes: Boxes
) -> Iterator[DrawnLink]:
    """A link per port of a card at which entries of ``next_functions`` arrive."""
    for place, port in enumerate(made[key].inputs):
        entry = graph_index.rows[port.node].next_functions[port.slot]
        if entry is None:
            continue
        target, output_nr = entry
        own_id, entries = f"{port.node}.{port.slot}", ((port.node, port.slot),)
        if (card := boxes.heads.get(target, target)) in made:
            link = Link(card, output_port(made[card], output_nr), key, place)
            yield DrawnLink(link, port.node, target, own_id, port.slot, 1, entries)
            continue
        link = Link(MORE, 0, key, place)
        if port.count == 1:
            yield DrawnLink(link, port.node, target, own_id, port.slot, 1, entries)
        else:
            own_id = f"{port.node}.{MORE}"
            yield DrawnLink(link, port.node, MORE, own_id, None, port.count, entries)
