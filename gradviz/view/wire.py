"""What the browser gets: one JSON document per picture, whose schema ``widgets/`` shares."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gradviz.model.facts import Node, TensorInfo
from gradviz.model.graph import Graph
from gradviz.model.marks import Mark, MarkKind
from gradviz.view import details, sentences
from gradviz.view.context import Context
from gradviz.view.drawing import LIMIT, picture
from gradviz.view.element import classes_of, write_lines
from gradviz.view.options import DEFAULT, DrawOptions
from gradviz.view.outline import LIMIT as LISTED
from gradviz.view.outline import outline_of, table_of
from gradviz.view.overlay import overlay_wire
from gradviz.view.style import MARKS
from gradviz.view.text import clean

FORMAT: Final = 1
LARGE: Final = 300_000
"""Bytes, before compression, above which the JSON of the graph is left out."""
_LEVEL: Final = 9


def to_wire(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    *,
    marks: Iterable[Mark] = (),
    legends: Mapping[MarkKind, str] | None = None,
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
        The document; ``widgets/src/wire.ts`` describes its fields. ``"json"``, the graph as
        :meth:`Graph.to_json` writes it, is only there when the document stays small.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> wire = to_wire(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> wire["title"], [item["id"] for item in wire["items"]]
        ('autograd graph of SinBackward0', ['n0'])
    """
    context = Context.of(graph, LIMIT)
    drawn, marks = picture(graph, options, context), tuple(marks)
    listed = table_of(context)
    document: dict[str, Any] = {
        "format": FORMAT,
        "title": sentences.title(context),
        "svg": "" if marks else write_lines(drawn),
        "items": list(_items(context)),
        "legend": legend(classes_of(drawn.inside)),
        "outline": {
            "columns": list(listed.columns),
            "rows": [{"id": row.id, "cells": list(row.cells)} for row in listed.rows],
        },
        "text": outline_of(context.first(LISTED)),
        "summary": sentences.of_graph(context),
    }
    if marks:
        document = overlay_wire(document, drawn, marks, legends)
    text = graph_json(graph) if len(graph) <= LIMIT else ""
    if text and len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


def compress_wire(wire: dict[str, Any]) -> dict[str, Any]:
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


def expand_wire(sent: dict[str, Any]) -> dict[str, Any]:
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


def _items(context: Context) -> Iterator[dict[str, Any]]:
    for node in context.nodes:
        yield node_item(node, context)
        for tag in context.tags.get(node.id, ()):
            yield tensor_item(tag, context, following=[node.id], before=[])
    for info in context.outside:
        savers = dict.fromkeys(node for node, _ in context.saved_by.get(info.id, ()))
        yield tensor_item(info, context, following=[], before=list(savers))


def node_item(node: Node, context: Context) -> dict[str, Any]:
    """What the browser knows of a node."""
    targets = (entry[0] for entry in node.next_functions if entry is not None)
    following = dict.fromkeys(t for t in targets if context.is_drawn(t))
    kept = (slot.tensor or slot.view_of for slot in node.saved)
    following |= dict.fromkeys(t for t in kept if t and context.is_outside(t))
    words = [node.id, node.name, node.state, node.variable and context.names.get(node.variable)]
    words += [
        node.source,
        node.module,
        *(context.names[t.id] for t in context.tags.get(node.id, ())),
    ]
    words += [slot["tensor"].words for slot in context.of_node(node).saved]
    return {
        "id": node.id,
        "kind": "leaf" if node.variable else "node",
        "label": context.node_name(node.id).removeprefix("leaf "),
        "aria": sentences.of_node(node, context),
        "find": words_to_find(words),
        "next": list(following),
        "prev": list(context.consumers.get(node.id, ())),
        "details": sections_of(details.node_sections(node, context, tags=False)),
    }


def tensor_item(
    info: TensorInfo, context: Context, following: list[str], before: list[str]
) -> dict[str, Any]:
    """What the browser knows of a tensor that is not a leaf of the graph."""
    return {
        "id": info.id,
        "kind": "tensor",
        "label": context.of_tensor(info)["name"].words,
        "aria": sentences.of_tensor(info, context),
        "find": words_to_find([info.id, info.name, info.dtype]),
        "next": following,
        "prev": before,
        "details": sections_of((details.tensor_section(info, context),)),
    }


def words_to_find(words: list[str | None]) -> str:
    """Words of an item in lower case, each once."""
    return " ".join(dict.fromkeys(clean(word).lower() for word in words if word))


def sections_of(sections: tuple[details.Section, ...]) -> list[dict[str, Any]]:
    """Sections as plain data."""
    return [{"heading": s.heading, "rows": [list(row) for row in s.rows]} for s in sections]
