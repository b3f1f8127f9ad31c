"""From a graph to SVG: cards are measured, Graphviz places them, this module draws them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gradviz.model.graph import Graph
from gradviz.model.records import Node, TensorInfo
from gradviz.view import aria
from gradviz.view.element import Element, style, svg, write_lines
from gradviz.view.graph import card_svg, cards
from gradviz.view.graph.card_parts import (
    MORE,
    Card,
    CardContent,
    Density,
    Port,
    thinned,
)
from gradviz.view.graph.extent import Extent, banner, below, extent_of, fits_screen, written
from gradviz.view.graph.geometry import CardFrame, count_gap, measure
from gradviz.view.graph.layout import Direction, Layout, lay_out
from gradviz.view.graph.layout_links import Link, spines
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.references import reference_card, references, used_often
from gradviz.view.graph_index import GraphIndex
from gradviz.view.style import css
from gradviz.view.text import shorten

LIMIT: Final = 400
"""Nodes that are drawn; a stub counts the rest."""
OUTSIDE: Final = 60
"""How many tensors outside the graph are drawn."""

CLOSE_GAP: Final[dict[str, float]] = {"TB": 20.0, "LR": 30.0}
"""Pixels between ranks of a picture that fits a screen if they are closer than usual."""
CLOSER: Final = 1.4
"""How much larger than a screen a picture may be that closer ranks could make fit."""


@dataclass(frozen=True, slots=True)
class DrawnLink:
    """A link that is drawn: an entry of ``next_functions``, all entries that lead to or come from
    nodes that are not drawn, or a tensor saved from outside."""

    link: Link
    source: str
    target: str
    key: str = ""
    """Its id in the picture; a tensor saved from outside has none."""
    slot: int | None = None
    """Place in ``next_functions``, if it is one entry of a node that is drawn."""
    count: int = 1
    """How many entries of a node that is drawn it is."""

    @property
    def is_edge(self) -> bool:
        """Whether it is an entry of ``next_functions``."""
        return bool(self.key)


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything in a picture before it is placed."""

    graph_index: GraphIndex
    cards: tuple[Card, ...]
    wires: tuple[DrawnLink, ...]
    extent: Extent


def draw(graph: Graph, options: DrawOptions = DEFAULT, *, variables: bool = True) -> str:
    """Draw a graph as SVG text, the same bytes for the same graph.

    Args:
        graph: What is drawn; of more than 400 nodes the first 400, or those around the focus.
        options: How.
        variables: Colours as CSS variables; ``False`` for programs that know none.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> svg = draw(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> svg.count('class="gv-stub"')
        1
    """
    return write_lines(picture(graph, options, variables=variables))


def picture(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    graph_index: GraphIndex | None = None,
    *,
    variables: bool = True,
) -> Element:
    """The same as elements, so that highlights can be added before it is written."""
    return _drawn(compose(graph, options, graph_index), options, variables)


def opening_density(options: DrawOptions, graph_index: GraphIndex) -> Density:
    """The density in which a picture opens."""
    return options.density_of(_count(options, graph_index))


def pictures(graph: Graph, options: DrawOptions, graph_index: GraphIndex) -> dict[Density, Element]:
    """The picture in each density."""
    return {
        density: _drawn(compose(graph, replace(options, density=density), graph_index), options)
        for density in options.densities_of(_count(options, graph_index))
    }


def is_readable(graph: Graph, options: DrawOptions = DEFAULT) -> bool:
    """Whether all of a graph, drawn without folds, can be read on a screen at once."""
    scene = with_references(compose(graph, options))
    return fits_screen(placed(scene, options)[1])


def _drawn(scene: Scene, options: DrawOptions, variables: bool = True) -> Element:
    """A scene, placed."""
    scene = with_references(scene)
    direction, arrows = options.direction, options.engine_arrows
    frames, layout = placed(scene, options)
    empty = "" if scene.cards else aria.title(scene.graph_index)
    words = written(empty, layout.width) or banner(scene.extent, layout.width)
    layout = below(layout, words)
    sheet = css(variables=variables, engine_arrows=arrows)
    cards_drawn = (
        card_svg.card(frame, layout.places[frame.card.id], direction) for frame in frames.values()
    )
    return svg(
        (layout.width, layout.height),
        aria.of_graph(scene.graph_index),
        arrows,
        (style(sheet), *words, *wires_drawn(scene, frames, layout, direction), *cards_drawn),
    )


def placed(scene: Scene, options: DrawOptions) -> tuple[dict[str, CardFrame], Layout]:
    """The cards of a scene and their places: closer together where all of them fit a screen so."""
    links = [wire.link for wire in scene.wires]
    spine = spines([card.id for card in scene.cards], links)
    direction = options.direction
    frames = {card.id: measure(card, direction, spine.get(card.id, -1)) for card in scene.cards}
    boxes = [frame.box for frame in frames.values()]
    gap = count_gap((wire.count for wire in scene.wires), direction)
    layout = lay_out(boxes, links, direction, options.engine, gap)
    if not gap and not fits_screen(layout) and fits_screen(layout, CLOSER):
        closer = lay_out(boxes, links, direction, options.engine, CLOSE_GAP[direction])
        layout = closer if fits_screen(closer) else layout
    return frames, layout


def compose(
    graph: Graph, options: DrawOptions = DEFAULT, graph_index: GraphIndex | None = None
) -> Scene:
    """Decide what is in the picture: a card per node, tensor and stub, and the links."""
    graph_index = graph_index or GraphIndex.of(graph, LIMIT, options.focus)
    content = options.content(options.density_of(_count(options, graph_index)))
    made = {node.id: cards.node_card(node, graph_index, content) for node in graph_index.nodes}
    wires = [wire for node in graph_index.nodes for wire in _entries(node, made)]
    wires += [
        DrawnLink(
            Link(target, output_port(made[target], output_nr), MORE, place),
            MORE,
            target,
            f"{MORE}.{target}.{output_nr}",
        )
        for place, (target, output_nr) in enumerate(graph_index.hidden_uses)
    ]
    shown = outside_cards(graph_index, options)
    for info in shown:
        for node_id, name in graph_index.saved_by.get(info.id, ()):
            if node_id not in made:
                continue
            port = way_in(made, node_id, name)
            wires.append(DrawnLink(Link(info.id, 0, node_id, port), node_id, info.id))
    everything = [cards.tensor_card(info, graph_index, content) for info in shown]
    wires = thin(made, wires, content)
    everything += made.values()
    if graph_index.hidden:
        everything.append(cards.more_card(graph_index.hidden, graph_index.hidden_uses.values()))
    extent = drawing_extent(graph_index, options)
    return Scene(graph_index, tuple(everything), tuple(wires), extent)


def _count(options: DrawOptions, graph_index: GraphIndex) -> int:
    """How many cards there are."""
    outside = outside_cards(graph_index, options)
    return len(graph_index.nodes) + len(outside) + (graph_index.hidden > 0)


def drawing_extent(graph_index: GraphIndex, options: DrawOptions) -> Extent:
    """How much of a graph is drawn."""
    outside = _outside(graph_index, options)
    return extent_of(graph_index, (min(OUTSIDE, len(outside)), len(outside)))


def outside_cards(graph_index: GraphIndex, options: DrawOptions) -> list[TensorInfo]:
    """Tensors outside the graph that have a card."""
    return _outside(graph_index, options)[:OUTSIDE]


def outside_left_out(graph_index: GraphIndex, options: DrawOptions) -> list[TensorInfo]:
    """Tensors outside the graph that would have a card if there were fewer of them."""
    return _outside(graph_index, options)[OUTSIDE:]


def _outside(graph_index: GraphIndex, options: DrawOptions) -> list[TensorInfo]:
    """Tensors outside the graph that may have a card."""
    every = "constants" in options.parts
    return [info for info in graph_index.outside if every or info.requires_grad]


def thin(made: dict[str, Card], wires: list[DrawnLink], content: CardContent) -> list[DrawnLink]:
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


def with_references(scene: Scene) -> Scene:
    """The same with references, where many nodes use a tensor; links still say where they lead."""
    shown, wires = referenced(scene.cards, scene.wires)
    return replace(scene, cards=shown, wires=wires)


def referenced(
    shown: tuple[Card, ...], wires: Sequence[DrawnLink]
) -> tuple[tuple[Card, ...], tuple[DrawnLink, ...]]:
    """Cards and links with references to the tensors that many nodes use."""
    tensors = {card.id: card for card in shown if card.is_of_tensor}
    links = [wire.link for wire in wires]
    often = used_often((link.tail, link.head) for link in links if link.tail in tensors)
    found = references(links, often)
    beside = {own_id: link for link, own_id in found.items()}
    added = (reference_card(tensors[link.tail], link.head) for link in beside.values())
    joined = (
        replace(wire, link=replace(wire.link, tail=found[wire.link], tail_port=0))
        if wire.link in found
        else wire
        for wire in wires
    )
    return (*shown, *added), tuple(joined)


def _entries(node: Node, made: Mapping[str, Card]) -> Iterator[DrawnLink]:
    """A link per port of a node at which entries of ``next_functions`` arrive."""
    for place, port in enumerate(made[node.id].inputs):
        entry = node.next_functions[port.slot]
        if entry is None:
            continue
        target, output_nr = entry
        key, slot, count = f"{node.id}.{port.slot}", port.slot, port.count
        if target in made:
            link = Link(target, output_port(made[target], output_nr), node.id, place)
            yield DrawnLink(link, node.id, target, key, slot)
        elif count == 1:
            yield DrawnLink(Link(MORE, 0, node.id, place), node.id, target, key, slot)
        else:
            link = Link(MORE, 0, node.id, place)
            yield DrawnLink(link, node.id, MORE, f"{node.id}.{MORE}", count=count)


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


def wires_drawn(
    scene: Scene, frames: dict[str, CardFrame], layout: Layout, direction: Direction
) -> Iterator[Element]:
    """The links of a scene, placed."""
    for wire, path in zip(scene.wires, layout.paths, strict=True):
        head = frames[wire.link.head]
        tail = frames[wire.link.tail]
        yield card_svg.link(
            path,
            wire.source,
            wire.target,
            wire.slot,
            card_svg.reach(tail, wire.link.tail_port, False, direction),
            card_svg.reach(head, wire.link.head_port, True, direction),
            is_edge=wire.is_edge,
            own_id=f"gv-{wire.key}" if wire.is_edge else "",
            label=card_svg.count(wire.count, path[-1], direction),
        )
