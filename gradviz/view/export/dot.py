"""The graph as DOT text, for other tools and for PDF."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import graphviz

from gradviz.model.facts import argument_of
from gradviz.model.graph import Graph
from gradviz.model.records import Node
from gradviz.view import aria
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.drawing import DrawnLink, Scene, compose
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.text import clean

_LOOK: Final = {
    "gv-leaf": {"style": "rounded,filled", "fillcolor": "#e8f5f0", "color": "#007a5a"},
    "gv-tensor": {"style": "rounded,dotted"},
    "gv-freed": {"style": "dashed"},
    "gv-packed": {"color": "#9a3f73"},
    "gv-more": {"style": "dotted"},
}


def to_dot(graph: Graph, options: DrawOptions = DEFAULT) -> str:
    r"""Plain DOT of the same cards and links as the picture; text is quoted, never markup.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> dot = to_dot(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> print(dot.splitlines()[4].strip())
        n0 [label="SinBackward0 (root)\l0: no grad\l"]
    """
    scene = compose(graph, options)
    font = {"fontname": "monospace", "fontsize": "11"}
    dot = graphviz.Digraph(
        _quoted(clean(aria.title(scene.graph_index))),
        graph_attr={"rankdir": options.direction},
        node_attr={"shape": "box", **font},
        edge_attr={**font, "fontsize": "10"} | ({"dir": "back"} if options.engine_arrows else {}),
    )
    nodes = {node.id: node for node in scene.graph_index.nodes}
    for card in scene.cards:
        dot.node(card.id, _label(_lines(card, nodes.get(card.id), scene)), **_look(card))
    for wire in scene.wires:
        if wire.is_edge:
            dot.edge(wire.link.tail, wire.link.head, **_edge_label(wire, nodes))
        else:
            dot.edge(wire.link.tail, wire.link.head, style="dotted", dir="none")
    return str(dot.source)


def _lines(card: Card, node: Node | None, scene: Scene) -> Iterator[str]:
    """The text of a card, line by line."""
    first = True
    for block in card.blocks:
        for line in block.lines:
            root = " (root)" if first and card.id in scene.graph_index.roots else ""
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
