"""What the browser gets: one JSON document per picture, whose schema ``widgets/`` shares."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.model.records import Node, TensorInfo
from gradviz.view import aria, inspector
from gradviz.view.element import classes_of, write_lines
from gradviz.view.graph.drawing import LIMIT, picture
from gradviz.view.graph.highlights import highlighted_document
from gradviz.view.graph_index import GraphIndex
from gradviz.view.options import DEFAULT, DrawOptions
from gradviz.view.outlines.graph import LIMIT as LISTED
from gradviz.view.outlines.graph import outline_of, table_of
from gradviz.view.style import MARKS
from gradviz.view.text import clean

FORMAT: Final = 1
LARGE: Final = 300_000
"""Bytes, before compression, above which the JSON of the graph is left out."""
_LEVEL: Final = 9


def graph_document(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    *,
    marks: Iterable[Highlight] = (),
    legends: Mapping[HighlightKind, str] | None = None,
    room: int = LARGE,
) -> dict[str, Any]:
    """Everything a widget or an HTML page shows of a graph, without a kernel.

    Args:
        graph: What is shown.
        options: How it is drawn.
        marks: What findings mark in it.
        legends: Sentences for marks that replace those of the legend.
        room: Bytes above which ``"json"`` is left out.

    Returns:
        The document; ``widgets/src/documents/graph.ts`` describes its fields. ``"json"``, the
        graph as :meth:`Graph.to_json` writes it, is only there when the document stays small.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> wire = to_wire(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> wire["title"], [item["id"] for item in wire["items"]]
        ('autograd graph of SinBackward0', ['n0'])
    """
    graph_index = GraphIndex.of(graph, LIMIT)
    drawn, marks = picture(graph, options, graph_index), tuple(marks)
    listed = table_of(graph_index)
    document: dict[str, Any] = {
        "format": FORMAT,
        "title": aria.title(graph_index),
        "svg": "" if marks else write_lines(drawn),
        "items": list(_items(graph_index)),
        "legend": legend(classes_of(drawn.inside)),
        "outline": {
            "columns": [column.name for column in listed.columns],
            "rows": [
                {"id": key, "cells": list(cells)}
                for key, cells in zip(listed.ids, listed.rows, strict=True)
            ],
        },
        "text": outline_of(graph_index.first(LISTED)),
        "summary": aria.of_graph(graph_index),
    }
    if marks:
        document = highlighted_document(document, drawn, marks, legends)
    text = graph_json(graph) if len(graph) <= LIMIT else ""
    if text and len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


def compress(wire: dict[str, Any]) -> dict[str, Any]:
    """The document as it travels and lies in notebooks, for 50 nodes an eighth of its size.

    Examples:
        >>> sent = compress_wire({"format": 1, "title": "autograd graph of loss"})
        >>> list(sent), expand_wire(sent)["title"]
        (['format', 'deflate'], 'autograd graph of loss')
    """
    if "format" not in wire:
        return wire
    # Escapes carry what UTF-8 cannot, a lone surrogate, and cost nothing once compressed.
    text = json.dumps(wire, ensure_ascii=True, separators=(",", ":"))
    deflated = b64encode(zlib.compress(text.encode("ascii"), _LEVEL)).decode("ascii")
    return {"format": wire["format"], "deflate": deflated}


def expand(sent: dict[str, Any]) -> dict[str, Any]:
    """What :func:`compress_wire` compressed; a document that is not compressed stays as it is."""
    if "deflate" not in sent:
        return sent
    document: dict[str, Any] = json.loads(zlib.decompress(b64decode(sent["deflate"])))
    return document


def graph_json(graph: Graph) -> str:
    """The graph as :meth:`Graph.to_json` writes it, in a form that UTF-8 can always carry."""
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", graph.to_json())


def legend(used: set[str]) -> list[dict[str, str]]:
    """The marks of a picture in which these classes are drawn, in the order of the table."""
    return [
        {"class": mark.css, "label": mark.legend}
        for mark in MARKS.values()
        if (mark.drawn or mark.css) in used
    ]


def _items(graph_index: GraphIndex) -> Iterator[dict[str, Any]]:
    for node in graph_index.nodes:
        yield node_item(node, graph_index)
        for tag in graph_index.tags.get(node.id, ()):
            yield tensor_item(tag, graph_index, following=[node.id], before=[])
    for info in graph_index.outside:
        savers = dict.fromkeys(node for node, _ in graph_index.saved_by.get(info.id, ()))
        yield tensor_item(info, graph_index, following=[], before=list(savers))


def node_item(node: Node, graph_index: GraphIndex) -> dict[str, Any]:
    """What the browser knows of a node."""
    targets = (entry[0] for entry in node.next_functions if entry is not None)
    following = dict.fromkeys(t for t in targets if graph_index.is_drawn(t))
    kept = (slot.tensor or slot.view_of for slot in node.saved)
    following |= dict.fromkeys(t for t in kept if t and graph_index.is_outside(t))
    words = [node.id, node.name, node.state, node.variable and graph_index.names.get(node.variable)]
    words += [
        node.source,
        node.module,
        *(graph_index.names[t.id] for t in graph_index.tags.get(node.id, ())),
    ]
    words += [slot["tensor"].words for slot in graph_index.of_node(node).saved]
    return {
        "id": node.id,
        "kind": "leaf" if node.variable else "node",
        "label": graph_index.node_name(node.id).removeprefix("leaf "),
        "aria": aria.of_node(node, graph_index),
        "find": words_to_find(words),
        "next": list(following),
        "prev": list(graph_index.consumers.get(node.id, ())),
        "details": sections_of(inspector.node_sections(node, graph_index, tags=False)),
    }


def tensor_item(
    info: TensorInfo, graph_index: GraphIndex, following: list[str], before: list[str]
) -> dict[str, Any]:
    """What the browser knows of a tensor that is not a leaf of the graph."""
    return {
        "id": info.id,
        "kind": "tensor",
        "label": graph_index.of_tensor(info)["name"].words,
        "aria": aria.of_tensor(info, graph_index),
        "find": words_to_find([info.id, info.name, info.dtype]),
        "next": following,
        "prev": before,
        "details": sections_of((inspector.tensor_section(info, graph_index),)),
    }


def words_to_find(words: list[str | None]) -> str:
    """Words of an item in lower case, each once."""
    return " ".join(dict.fromkeys(clean(word).lower() for word in words if word))


def sections_of(sections: tuple[inspector.Section, ...]) -> list[dict[str, Any]]:
    """Sections as plain data."""
    return [{"heading": s.heading, "rows": [list(row) for row in s.rows]} for s in sections]
