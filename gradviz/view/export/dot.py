"""The graph as DOT text, for other tools and for PDF."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import graphviz

from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.view.export.text_drawing import TextBox, TextLink, TextPart, text_drawing
from gradviz.view.graph.card_parts import times
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.text import clean

_LOOK: Final = {
    "gv-leaf": {"style": "rounded,filled", "fillcolor": "#e8f5f0", "color": "#007a5a"},
    "gv-tensor": {"style": "rounded,dotted"},
    "gv-freed": {"style": "dashed"},
    "gv-packed": {"color": "#9a3f73"},
    "gv-modified": {"peripheries": "2"},
    "gv-more": {"style": "dotted"},
    "gv-fold": {"color": "#0072b2", "penwidth": "1.6"},
}


def to_dot(graph: Graph, options: DrawOptions = DEFAULT, folding: Folding | None = None) -> str:
    r"""Plain DOT of the same cards and links as the picture; text is quoted, never markup.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> dot = to_dot(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> print(dot.splitlines()[4].strip())
        n0 [label="sin (root)\lSinBackward0\l0: no grad\l"]
    """
    drawing = text_drawing(graph, options, folding)
    font = {"fontname": "monospace", "fontsize": "11"}
    dot = graphviz.Digraph(
        quoted(clean(drawing.title)),
        comment=clean(drawing.note) or None,
        graph_attr={"rankdir": options.direction},
        node_attr={"shape": "box", **font},
        edge_attr={**font, "fontsize": "10"} | ({"dir": "back"} if options.engine_arrows else {}),
    )
    _put(drawing.parts, dot)
    for link in drawing.links:
        dot.edge(link.tail, link.head, **_link_look(link))
    return str(dot.source)


def _put(parts: Iterable[TextPart], into: graphviz.Digraph) -> None:
    for part in parts:
        if isinstance(part, TextBox):
            look = {k: v for kind in part.kinds for k, v in _LOOK.get(kind, {}).items()}
            into.node(part.id, left_aligned(part.lines), **look)
        else:
            label = {"label": quoted(part.label)}
            with into.subgraph(name=f"cluster_{part.id}", graph_attr=label) as frame:
                _put(part.parts, frame)


def _link_look(link: TextLink) -> dict[str, Any]:
    if not link.is_edge:
        return {"style": "dotted", "dir": "none"}
    if link.argument:
        return {"headlabel": quoted(clean(link.argument))}
    return {"label": times(link.count)} if link.count > 1 else {}


def left_aligned(lines: Iterable[str]) -> str:
    r"""Lines that end in ``\l``, left aligned; a label of this form is never read as HTML."""
    return "".join(f"{quoted(line)}\\l" for line in lines)


def quoted(text: str) -> str:
    """Text that dot shows as it is: it would read escapes, entities and ``<...>`` as markup."""
    return graphviz.escape(text.replace("&", "&amp;"))  # type: ignore[no-any-return]
