"""What a picture shows as boxes of text and links, for programs that place and draw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.model.facts import argument_of
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.records import Node
from gradviz.view import aria
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.scene import DrawnLink
from gradviz.view.graph_index import GraphIndex


@dataclass(frozen=True, slots=True)
class TextBox:
    """A card: what is written on it, line by line, and what it is."""

    id: str
    lines: tuple[str, ...]
    kinds: tuple[str, ...]
    """Classes of the card, as the picture has them, and ``"gv-modified"`` where a saved tensor
    was modified."""


@dataclass(frozen=True, slots=True)
class TextFrame:
    """An open fold: a frame around what is in it."""

    id: str
    label: str
    parts: tuple[TextPart, ...]


TextPart: TypeAlias = TextBox | TextFrame


@dataclass(frozen=True, slots=True)
class TextLink:
    """A link between two boxes."""

    tail: str
    head: str
    count: int = 1
    """How many entries of ``next_functions`` it is."""
    argument: str = ""
    """What the data is to the operation that takes it, where that is known."""
    is_edge: bool = True
    """Whether it is an edge of the graph; else a saved tensor from outside."""


@dataclass(frozen=True, slots=True)
class TextDrawing:
    """Everything that is drawn of a graph."""

    title: str
    note: str
    """What of the graph is not drawn, or drawn as one box; ``""`` if nothing is."""
    parts: tuple[TextPart, ...]
    links: tuple[TextLink, ...]


def text_drawing(graph: Graph, options: DrawOptions, folding: Folding | None) -> TextDrawing:
    """The cards and links of a picture.

    Args:
        graph: What is drawn.
        options: How.
        folding: How it is folded; if not given it is not.

    Examples:
        >>> from gradviz.model import Node
        >>> sine = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> text_drawing(sine, DrawOptions(), None).parts[0].lines
        ('sin (root)', 'SinBackward0', '0: no grad')
    """
    drawing = GraphDrawing(graph, options, folding)
    graph_index, scenes = drawing.graph_index, drawing.scenes.source
    opened = drawing.folding.opening.ids if drawing.folding else ()
    shown: set[str] = set()

    def parts_in(fold_id: str) -> Iterator[TextPart]:
        for card in scenes.scene(fold_id, drawing.opening).cards:
            if card.id in opened:
                label = drawing.words.label(drawing.words.fold(card.id))
                yield TextFrame(card.id, label, tuple(parts_in(card.id)))
                continue
            node = graph[card.id] if graph.place_of(card.id) is not None else None
            shown.add(card.id)
            yield _box(card, node, graph_index)

    title, parts = aria.title(graph_index), tuple(parts_in(drawing.root))
    if drawing.folding is not None:
        # How many nodes are drawn as how many boxes, and why so.
        sizes = f"{len(graph):,} nodes are drawn folded, as {drawing.boxes:,} boxes."
        note = " ".join(filter(None, (sizes, drawing.scenes.note)))
        return TextDrawing(title, note, parts, tuple(_between(graph, drawing.folding, shown)))
    wires = scenes.scene(drawing.root, drawing.opening).wires
    parts = parts or (TextBox("nothing", (title,), ("gv-more",)),)
    links = tuple(_link(wire, graph) for wire in wires)
    return TextDrawing(title, drawing.scenes.extent.drawn_words, parts, links)


def _between(graph: Graph, folding: Folding, shown: Collection[str]) -> Iterator[TextLink]:
    """The links between the boxes of a folded graph."""
    boxes = [_box_of(one, folding, shown) for one in range(len(graph))]
    entries = Counter(
        (boxes[entry[0]], boxes[place])
        for place, row in enumerate(graph.targets)
        for entry in row
        if entry is not None and boxes[entry[0]] != boxes[place]
    )
    yield from (TextLink(tail, head, count) for (tail, head), count in entries.items())
    for tensor, node_id, _ in graph.saving():
        place = graph.place_of(node_id)
        if tensor in shown and place is not None and boxes[place] == node_id:
            yield TextLink(tensor, node_id, is_edge=False)


def _box_of(place: int, folding: Folding, shown: Collection[str]) -> str:
    """The card in which a node is seen: its own, or that of a closed fold."""
    node_id = folding.tree.graph.nodes[place].id
    around = (fold.id for fold in folding.tree.around(node_id))
    return next((key for key in around if key in shown), node_id)


def _box(card: Card, node: Node | None, graph_index: GraphIndex) -> TextBox:
    is_modified = any("gv-modified" in block.css.split() for block in card.blocks)
    kinds = (*card.css.split(), *(["gv-modified"] if is_modified else []))
    return TextBox(card.id, tuple(_lines(card, node, graph_index, is_modified)), kinds)


def _lines(
    card: Card, node: Node | None, graph_index: GraphIndex, is_modified: bool
) -> Iterator[str]:
    """The text of a card, line by line."""
    kind = card.chip or ("leaf" if "gv-leaf" in card.css.split() else "")
    state = ", ".join(filter(None, (kind, "modified" if is_modified else "")))
    first = True
    for block in card.blocks:
        for line in block.lines:
            root = " (root)" if first and card.id in graph_index.roots else ""
            chip = f" [{state}]" if first and state else ""
            indent = "  " if block.framed else ""
            yield f"{indent}{line.whole}{chip}{root}"
            first = False
    for port in card.inputs if node is not None else ():
        if port.css == "gv-stub":
            yield port.label if ":" in port.label else f"{port.slot}: no grad"


def _link(wire: DrawnLink, graph: Graph) -> TextLink:
    argument = ""
    if wire.is_edge and wire.slot is not None:
        argument = argument_of(graph[wire.source], wire.slot) or ""
    link = wire.link
    count = wire.count if wire.slot is None else 1
    return TextLink(link.tail, link.head, count, argument, wire.is_edge)
