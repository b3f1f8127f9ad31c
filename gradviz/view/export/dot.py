"""The graph as DOT text, for other tools and for PDF."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

import graphviz

from gradviz.model.facts import argument_of
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.records import Node
from gradviz.view import aria
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.drawing import DrawnLink, compose
from gradviz.view.graph.folded import FoldedDrawing
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean

_LOOK: Final = {
    "gv-leaf": {"style": "rounded,filled", "fillcolor": "#e8f5f0", "color": "#007a5a"},
    "gv-tensor": {"style": "rounded,dotted"},
    "gv-freed": {"style": "dashed"},
    "gv-packed": {"color": "#9a3f73"},
    "gv-more": {"style": "dotted"},
    "gv-fold": {"color": "#0072b2", "penwidth": "1.6"},
}


def to_dot(graph: Graph, options: DrawOptions = DEFAULT, folding: Folding | None = None) -> str:
    r"""Plain DOT of the same cards and links as the picture; text is quoted, never markup.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> dot = to_dot(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> print(dot.splitlines()[4].strip())
        n0 [label="SinBackward0 (root)\l0: no grad\l"]
    """
    if folding is not None:
        return _folded(graph, options, folding)
    scene = compose(graph, options)
    dot = _digraph(aria.title(scene.graph_index), options)
    nodes = {node.id: node for node in scene.graph_index.nodes}
    for card in scene.cards:
        lines = _lines(card, nodes.get(card.id), scene.graph_index)
        dot.node(card.id, _label(lines), **_look(card))
    for wire in scene.wires:
        if wire.is_edge:
            dot.edge(wire.link.tail, wire.link.head, **_edge_label(wire, nodes))
        else:
            dot.edge(wire.link.tail, wire.link.head, style="dotted", dir="none")
    return str(dot.source)


def _folded(graph: Graph, options: DrawOptions, folding: Folding) -> str:
    """The same of a folded graph: an open fold is a cluster."""
    drawing = FoldedDrawing(folding, options)
    folding, graph_index = drawing.folding, drawing.graph_index
    density = drawing.densities[0]
    dot = _digraph(aria.title(graph_index), options)
    shown: set[str] = set()

    def put(fold_id: str, into: graphviz.Digraph) -> None:
        for placed in drawing.drawings.drawn(fold_id, density).cards:
            card = placed.card
            if card.id in folding.opening.ids:
                label = _quoted(drawing.words.label(folding.tree[card.id]))
                with into.subgraph(name=f"cluster_{card.id}", graph_attr={"label": label}) as part:
                    put(card.id, part)
            elif not card.refers:
                node = graph[card.id] if graph.place_of(card.id) is not None else None
                lines = _lines(card, node, graph_index)
                into.node(card.id, _label(lines), **_look(card))
                shown.add(card.id)

    put(drawing.root, dot)
    boxes = [_box(one, folding, shown) for one in range(len(graph))]
    links = Counter(
        (boxes[entry[0]], boxes[place])
        for place, row in enumerate(graph.targets)
        for entry in row
        if entry is not None and boxes[entry[0]] != boxes[place]
    )
    for (tail, head), count in links.items():
        dot.edge(tail, head, **({"label": f"×{count:,}"} if count > 1 else {}))
    for tensor, node_id, _ in graph.saving():
        place = graph.place_of(node_id)
        if tensor in shown and place is not None and boxes[place] == node_id:
            dot.edge(tensor, node_id, style="dotted", dir="none")
    return str(dot.source)


def _box(place: int, folding: Folding, shown: Collection[str]) -> str:
    """The card in which a node is seen: its own, or that of a closed fold."""
    node_id = folding.tree.graph.nodes[place].id
    around = (fold.id for fold in folding.tree.around(node_id))
    return next((key for key in around if key in shown), node_id)


def _digraph(title: str, options: DrawOptions) -> graphviz.Digraph:
    font = {"fontname": "monospace", "fontsize": "11"}
    return graphviz.Digraph(
        _quoted(clean(title)),
        graph_attr={"rankdir": options.direction},
        node_attr={"shape": "box", **font},
        edge_attr={**font, "fontsize": "10"} | ({"dir": "back"} if options.engine_arrows else {}),
    )


def _lines(card: Card, node: Node | None, graph_index: GraphIndex) -> Iterator[str]:
    """The text of a card, line by line."""
    first = True
    for block in card.blocks:
        for line in block.lines:
            root = " (root)" if first and card.id in graph_index.roots else ""
            state = f" [{card.chip}]" if first and card.chip else ""
            indent = "  " if block.framed else ""
            yield f"{indent}{line.whole}{state}{root}"
            first = False
    for port in card.inputs if node is not None else ():
        if port.css == "gv-stub":
            yield port.label if ":" in port.label else f"{port.slot}: no grad"


def _label(lines: Iterator[str]) -> str:
    r"""Lines that end in ``\l``, left aligned; a label of this form is never read as HTML."""
    return "".join(f"{_quoted(line)}\\l" for line in lines)


def _quoted(text: str) -> str:
    """Text that dot shows as it is: it would read escapes, entities and ``<...>`` as markup."""
    return graphviz.escape(text.replace("&", "&amp;"))  # type: ignore[no-any-return]


def _edge_label(wire: DrawnLink, nodes: Mapping[str, Node]) -> dict[str, str]:
    if wire.slot is None:
        return {"label": f"×{wire.count:,}"} if wire.count > 1 else {}
    argument = argument_of(nodes[wire.source], wire.slot)
    return {"headlabel": _quoted(clean(argument))} if argument else {}


def _look(card: Card) -> dict[str, Any]:
    return {k: v for css in card.css.split() for k, v in _LOOK.get(css, {}).items()}
