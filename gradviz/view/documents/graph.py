"""What the browser gets: one JSON document per picture, whose schema ``widgets/`` shares."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from gradviz.model.facts import TensorFacts
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.model.in_pieces import completed
from gradviz.model.records import Node, TensorInfo
from gradviz.model.run_values import RunValues
from gradviz.view import aria
from gradviz.view.documents.folds import WIDGET, FoldDocument, Room
from gradviz.view.element import classes_of, write_lines
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.extent import listed_places
from gradviz.view.graph.highlights import highlight_legend
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.scene import LIMIT
from gradviz.view.items import item_of
from gradviz.view.outlines.graph import COLUMNS, cells_of, listed, outline_of
from gradviz.view.outlines.graph import LIMIT as IN_TEXT
from gradviz.view.style import MARKS

FORMAT: Final = 1
LARGE: Final = 600_000
"""Bytes, before compression, above which the JSON of the graph is left out."""
_LEVEL: Final = 6
"""Level 9 takes twice the time for 3 % less."""
_ENTRIES: Final = 100
"""Entries of a list that are compressed at once."""


def graph_document(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    *,
    marks: Iterable[Highlight] = (),
    legends: Mapping[HighlightKind, str] | None = None,
    before: Mapping[str, TensorFacts] | None = None,
    values: RunValues | None = None,
    room: int = LARGE,
    in_text: int = IN_TEXT,
    folded: GraphDrawing | None = None,
    insides: Room = WIDGET,
) -> dict[str, Any]:
    """Everything a widget or an HTML page shows of a graph, without a kernel.

    Args:
        graph: What is shown.
        options: How it is drawn.
        marks: Marks of findings; of a folded graph those that its drawing has.
        legends: Sentences for marks that replace those of the legend.
        before: Facts of tensors in a graph before; what differs is shown as old → new.
        values: Numbers of a run: on the cards what nodes made, on the edges gradients.
        room: Bytes above which ``"json"`` is left out.
        in_text: How many nodes the outline as text has.
        folded: The graph folded; if not given it is drawn as it is, up to a limit.
        insides: How much of the insides of folds there is.

    Returns:
        The document; ``widgets/src/documents/graph.ts`` describes its fields. ``"json"``, the
        graph as :meth:`Graph.to_json` writes it, is left out of large documents.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> wire = graph_document(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> wire["title"], [item["id"] for item in wire["items"]]
        ('autograd graph of SinBackward0', ['n0'])
    """
    drawing = folded or GraphDrawing(graph, options, None, marks, values)
    shown = WholeDocument(drawing) if folded is None else FoldDocument(folded, insides)
    graph_index = drawing.graph_index
    graph_index.before = before or {}
    items, rows = [], []
    for one in listed(graph_index, shown.nodes):
        items.append(shown.item(one))
        rows.append({"id": one.id, "cells": list(cells_of(one, graph_index))})
    # Others are put together from insides.
    densities = drawing.densities if folded is None else (drawing.opening,)
    drawn = {density: drawing[density].element() for density in densities}
    used = set[str]().union(*(classes_of(one.inside) for one in drawn.values()))
    document: dict[str, Any] = {
        "format": FORMAT,
        "title": aria.title(graph_index),
        "density": drawing.opening,
        "pictures": {name: write_lines(one) for name, one in drawn.items()},
        "items": [*items, *shown.items],
        "legend": [*highlight_legend(drawing.marks.marks, legends), *legend(used)],
        "outline": {"columns": list(COLUMNS), "rows": rows},
        "text": outline_of(graph_index, min(in_text, shown.in_text)),
        "summary": drawing.scenes.summary(0),
        **shown.fields,
    }
    graph_index.forget()
    text = graph_json(graph) if len(graph) <= LIMIT else ""
    if text and len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


class Packed(dict[str, Any]):
    """A document that has been compressed already.

    Args:
        document: The document.
        sent: As it travels.
    """

    def __init__(self, document: dict[str, Any], sent: dict[str, Any]) -> None:
        super().__init__(document)
        self.sent = sent


def packed(document: dict[str, Any]) -> Generator[None, None, Packed]:
    """A document, compressed piece by piece."""
    compressor, pieces = zlib.compressobj(_LEVEL), list[bytes]()
    for text in _texts(document):
        # Escapes carry what UTF-8 cannot, a lone surrogate, and cost nothing once compressed.
        pieces.append(compressor.compress(text.encode("ascii")))
        yield
    deflated = b64encode(b"".join((*pieces, compressor.flush()))).decode("ascii")
    return Packed(document, {"format": document["format"], "deflate": deflated})


def _texts(document: dict[str, Any]) -> Iterator[str]:
    """Its JSON in pieces: long lists in several."""
    for number, (key, value) in enumerate(document.items()):
        start = f"{',' if number else '{'}{_encoded(key)}:"
        if not isinstance(value, list) or len(value) <= _ENTRIES:
            yield f"{start}{_encoded(value)}"
            continue
        for at in range(0, len(value), _ENTRIES):
            yield f"{',' if at else f'{start}['}{_encoded(value[at : at + _ENTRIES])[1:-1]}"
        yield "]"
    yield "}"


_encoded: Final = json.JSONEncoder(separators=(",", ":")).encode


def compress(wire: dict[str, Any]) -> dict[str, Any]:
    """The document as it travels and lies in notebooks, for 50 nodes an eighth of its size.

    Examples:
        >>> sent = compress({"format": 1, "title": "autograd graph of loss"})
        >>> list(sent), expand(sent)["title"]
        (['format', 'deflate'], 'autograd graph of loss')
    """
    if "format" not in wire:
        return wire
    return (wire if isinstance(wire, Packed) else completed(packed(wire))).sent


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


class WholeDocument:
    """What is listed of a graph that is drawn as it is, up to a limit.

    Args:
        drawing: The graph.
    """

    items: Sequence[dict[str, Any]] = ()
    in_text = LARGE
    """How many nodes the text lists."""

    def __init__(self, drawing: GraphDrawing) -> None:
        self._index, self._marks, scenes = drawing.graph_index, drawing.marks, drawing.scenes
        self._left_out = scenes.source.saving.keys() - set(scenes.source.outside)
        """Tensors outside the graph that are not drawn, since there are too many."""
        graph = self._index.graph
        self.nodes = map(graph.nodes.__getitem__, listed_places(graph, self._index.focus))
        extent = scenes.extent.document
        self.fields = {"extent": extent} if extent else {}

    def item(self, one: Node | TensorInfo) -> dict[str, Any]:
        """What can be found and selected: a node, a tensor it made, or one outside the graph."""
        return self._marks.item(item_of(one, self._index, self._left_out))
