"""What the browser gets: one JSON document per picture, whose schema ``widgets/`` shares."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gradviz.model.facts import TensorFacts
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.view import aria
from gradviz.view.element import classes_of, write_lines
from gradviz.view.graph.drawing import LIMIT, pictures
from gradviz.view.graph.highlights import highlighted_document
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph_index import GraphIndex
from gradviz.view.items import node_item, tensor_item
from gradviz.view.outlines.graph import LIMIT as LISTED
from gradviz.view.outlines.graph import outline_of, table_of
from gradviz.view.style import MARKS

FORMAT: Final = 1
LARGE: Final = 600_000
"""Bytes, before compression, above which the JSON of the graph is left out."""
_LEVEL: Final = 9


def graph_document(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    *,
    marks: Iterable[Highlight] = (),
    legends: Mapping[HighlightKind, str] | None = None,
    before: Mapping[str, TensorFacts] | None = None,
    room: int = LARGE,
) -> dict[str, Any]:
    """Everything a widget or an HTML page shows of a graph, without a kernel.

    Args:
        graph: What is shown.
        options: How it is drawn.
        marks: Marks of findings.
        legends: Sentences for marks that replace those of the legend.
        before: Facts of tensors in a graph before; what differs is shown as old → new.
        room: Bytes above which ``"json"`` is left out.

    Returns:
        The document; ``widgets/src/documents/graph.ts`` describes its fields. ``"json"``, the
        graph as :meth:`Graph.to_json` writes it, is left out of large documents.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> wire = graph_document(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> wire["title"], [item["id"] for item in wire["items"]]
        ('autograd graph of SinBackward0', ['n0'])
    """
    graph_index, marks = GraphIndex.of(graph, LIMIT), tuple(marks)
    graph_index.before = before or {}
    opening, drawn = pictures(graph, options, graph_index)
    listed = table_of(graph_index)
    document: dict[str, Any] = {
        "format": FORMAT,
        "title": aria.title(graph_index),
        "density": opening,
        "pictures": {} if marks else {name: write_lines(one) for name, one in drawn.items()},
        "items": list(_items(graph_index)),
        "legend": legend(set().union(*(classes_of(one.inside) for one in drawn.values()))),
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
        >>> sent = compress({"format": 1, "title": "autograd graph of loss"})
        >>> list(sent), expand(sent)["title"]
        (['format', 'deflate'], 'autograd graph of loss')
    """
    if "format" not in wire:
        return wire
    # Escapes carry what UTF-8 cannot, a lone surrogate, and cost nothing once compressed.
    text = json.dumps(wire, ensure_ascii=True, separators=(",", ":"))
    deflated = b64encode(zlib.compress(text.encode("ascii"), _LEVEL)).decode("ascii")
    return {"format": wire["format"], "deflate": deflated}


def expand(sent: dict[str, Any]) -> dict[str, Any]:
    """What :func:`compress` compressed; a document that is not compressed stays as it is."""
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
