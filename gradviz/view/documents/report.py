"""What the browser gets of a report: its parts, and the picture with its marks.

``widgets/src/documents/report.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from itertools import takewhile
from typing import Any

from gradviz.model.fold import FoldTree
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.report import Block, Report, Table, TableLine
from gradviz.view.contents.report import report_parts
from gradviz.view.documents.folds import WIDGET, Room
from gradviz.view.documents.graph import FORMAT, LARGE, graph_document
from gradviz.view.documents.report_json import report_json
from gradviz.view.figures.figure import Figures
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.highlight_style import OVERLAYS
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.scene import LIMIT
from gradviz.view.parts.data import as_data
from gradviz.view.parts.part import Rows
from gradviz.view.parts.text import as_text
from gradviz.view.text import clean


def report_document(
    findings: Report,
    options: DrawOptions = DEFAULT,
    figures: Figures = (),
    *,
    room: int = LARGE,
    folded: GraphDrawing | None = None,
    insides: Room = WIDGET,
) -> dict[str, Any]:
    """Everything a widget or an HTML page shows of findings, without a kernel.

    Args:
        findings: What is shown.
        options: How its graph is drawn.
        figures: More pictures with their captions.
        room: Bytes above which ``"json"`` is left out.
        folded: The graph folded, with the marks; if not given it is drawn as it is, up to a limit.
        insides: How much of the insides of folds there is.
    """
    title, said = clean(findings.title), " ".join(map(clean, findings.sentences))
    graph = findings.graph
    drawn = None
    if graph is not None:
        drawn = graph_document(
            graph, options, marks=findings.marks, room=0, folded=folded, insides=insides
        )
    shown = _Items(graph, folded.tree if folded else None)
    marks = _marks(findings.marks, shown)
    parts = report_parts(
        findings, figures, tables=lambda table: Rows(table, partial(shown.of_row, table), marks)
    )
    document: dict[str, Any] = {
        "format": FORMAT,
        "kind": "report",
        "title": title,
        "summary": f"{title}: {said}" if said else title,
        "text": as_text(parts),
        "density": drawn["density"] if drawn else "normal",
        "pictures": drawn["pictures"] if drawn else {},
        "legend": drawn["legend"] if drawn else [],
        "parts": as_data(tuple(parts)),
        "marked": list(marks),
        # Pictures and legend are fields of the document already.
        "picture": drawn and {k: drawn[k] for k in ("title", "summary", "items", "outline")},
    }
    if drawn:
        document |= {name: drawn[name] for name in ("extent", "fold") if name in drawn}
    text = "" if graph and len(graph) > LIMIT else report_json(findings)
    if text and len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


class _Items:
    """What in the picture rows and marks are about.

    Args:
        graph: The graph of the picture.
        tree: How it is folded, ``None`` if it is not.
    """

    def __init__(self, graph: Graph | None, tree: FoldTree | None) -> None:
        self._graph, self._tree = graph, tree
        self._of: dict[str, str] = {}
        if graph is not None:
            self._of = {info.id: info.id for info in graph.tensors}
            leaves = ((key, place) for place, key in enumerate(graph.variables) if key)
            self._of |= {key: graph.nodes[place].id for key, place in leaves}

    def of(self, key: str) -> str:
        """The item of a node, a tensor or a part of them: a leaf's tensor is part of its node;
        ``""`` if the picture has none."""
        key = key.partition(".")[0]
        is_node = self._graph is not None and self._graph.place_of(key) is not None
        return key if is_node else self._of.get(key, "")

    def of_row(self, table: Table, line: TableLine) -> str:
        """The item that a row is about; of a block that around all of it."""
        if isinstance(line.member, Block) and table.ids:
            return self._around(table.ids[place] for place in line.member.rows)
        return self.of(table.id(line))

    def _around(self, keys: Iterable[str]) -> str:
        """The innermost fold that has several things in it, but for the whole graph."""
        common: tuple[str, ...] | None = None
        for key in filter(None, map(self.of, keys)):
            if self._tree is None or self._tree.graph.place_of(key) is None:
                return ""
            around = tuple(fold.id for fold in self._tree.around(key))
            same = zip(around, around if common is None else common, strict=False)
            common = tuple(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], same))
        return common[-1] if common and len(common) > 1 else ""


def _marks(marks: Iterable[Highlight], items: _Items) -> dict[str, str]:
    """Per node or tensor the word of the first mark on it, or on a part of it."""
    found: dict[str, str] = {}
    for mark in marks:
        found.setdefault(items.of(mark.id), OVERLAYS[mark.kind].word)
    found.pop("", None)
    return found
