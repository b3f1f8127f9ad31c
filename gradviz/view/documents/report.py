"""What the browser gets of a report: sentences, tables, figures, and the picture with its marks.

``widgets/src/documents/report.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final

from gradviz.model.fold import FoldTree
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.report import Block, Cell, Column, Report, Table, TableLine
from gradviz.view.documents.folds import WIDGET, Room
from gradviz.view.documents.graph import FORMAT, LARGE, graph_document
from gradviz.view.documents.report_json import report_json
from gradviz.view.figures.figure import Figures
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.highlight_style import OVERLAYS
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.scene import LIMIT
from gradviz.view.outlines.report import cell_text, left_out, report_text
from gradviz.view.text import clean

ROWS: Final = 2000
"""How many rows of a table the browser gets; a line says how many it does not."""
FOLDED_ROWS: Final = 5000
"""The same, with the blocks, of a table with blocks, of which the open ones are drawn."""
_LARGEST: Final = 1.7976931348623157e308


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
    title = clean(findings.title)
    sentences = [clean(sentence) for sentence in findings.sentences]
    drawn = _picture(findings, options, folded, insides)
    shown = _Items(findings.graph, folded.tree if folded else None)
    marks = _marks(findings.marks, shown)
    document: dict[str, Any] = {
        "format": FORMAT,
        "kind": "report",
        "title": title,
        "summary": f"{title}: {' '.join(sentences)}" if sentences else title,
        "text": report_text(findings),
        "density": drawn["density"] if drawn else "normal",
        "pictures": drawn["pictures"] if drawn else {},
        "legend": drawn["legend"] if drawn else [],
        "sentences": sentences,
        "tables": [_table(table, shown, marks) for table in findings.tables],
        "marked": list(marks),
        "figures": [{"caption": clean(caption), "svg": one.svg()} for caption, one in figures],
        # Pictures and legend are fields of the document already.
        "picture": drawn and {k: drawn[k] for k in ("title", "summary", "items", "outline")},
    }
    if drawn:
        document |= {name: drawn[name] for name in ("extent", "fold") if name in drawn}
    text = "" if findings.graph and len(findings.graph) > LIMIT else report_json(findings)
    if text and len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


def _picture(
    findings: Report, options: DrawOptions, folded: GraphDrawing | None, insides: Room
) -> dict[str, Any] | None:
    graph, marks = findings.graph, findings.marks
    if graph is None:
        return None
    return graph_document(graph, options, marks=marks, room=0, folded=folded, insides=insides)


def _table(table: Table, shown: _Items, marks: dict[str, str]) -> dict[str, Any]:
    columns = [
        {"name": clean(c.name), "kind": c.kind, "help": clean(c.help)} for c in table.columns
    ]
    lines = list(table.lines(closed=True))
    sent = _sent(lines, FOLDED_ROWS if table.members else ROWS)
    missing = len(table.rows) - sum(isinstance(line.member, int) for line in sent)
    return {
        "caption": clean(table.caption),
        "columns": columns,
        "rows": [_row(table, line, shown, marks) for line in sent],
        "more": "".join(left_out(missing, 0)),
    }


def _sent(lines: Sequence[TableLine], most: int) -> Sequence[TableLine]:
    """The lines that are sent, in their order: of too many those of the outer blocks first."""
    if len(lines) <= most:
        return lines
    outer = sorted(range(len(lines)), key=lambda place: lines[place].level)
    return [lines[place] for place in sorted(outer[:most])]


def _row(table: Table, line: TableLine, shown: _Items, marks: dict[str, str]) -> dict[str, Any]:
    """A row; one of a table with blocks has its level, a block also the number of its rows."""
    id_ = shown.of(table.id(line))
    if isinstance(line.member, Block) and table.ids:
        id_ = shown.around(table.ids[place] for place in line.member.rows)
    cells = [
        _cell(cell, column) for cell, column in zip(table.cells(line), table.columns, strict=True)
    ]
    row: dict[str, Any] = {"id": id_, "mark": marks.get(id_, ""), "cells": cells}
    if table.members:
        row["level"] = line.level
    if isinstance(line.member, Block):
        row |= {"inside": len(line.member.rows), "open": line.member.is_open}
    return row


def _cell(cell: Cell, column: Column) -> dict[str, Any]:
    return {"text": cell_text(cell, column), "sort": _sort_key(cell)}


def _sort_key(cell: Cell) -> str | int | float | None:
    """The sort key of a cell; nan, which JSON lacks, is sorted as not known."""
    if isinstance(cell, bool):
        return int(cell)
    if isinstance(cell, float):
        return None if math.isnan(cell) else max(-_LARGEST, min(cell, _LARGEST))
    return clean(cell) if isinstance(cell, str) else cell


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

    def around(self, keys: Iterable[str]) -> str:
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
