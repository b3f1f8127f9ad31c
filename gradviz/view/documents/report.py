"""What the browser gets of a report: sentences, tables, figures, and the picture with its marks.

``widgets/src/documents/report.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.report import Block, Cell, Column, Report, Table, TableLine
from gradviz.view.documents.graph import FORMAT, LARGE, graph_document
from gradviz.view.documents.report_json import report_json
from gradviz.view.figures.figure import Figures
from gradviz.view.graph.drawing import LIMIT
from gradviz.view.graph.highlight_style import OVERLAYS
from gradviz.view.graph.options import DEFAULT, DrawOptions
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
) -> dict[str, Any]:
    """Everything a widget or an HTML page shows of findings, without a kernel.

    Args:
        findings: What is shown.
        options: How its graph is drawn.
        figures: More pictures with their captions.
        room: Bytes above which ``"json"`` is left out.
    """
    title = clean(findings.title)
    sentences = [clean(sentence) for sentence in findings.sentences]
    drawn = _picture(findings, options)
    shown = _places(findings.graph)
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
    if drawn and "extent" in drawn:
        document["extent"] = drawn["extent"]
    text = "" if findings.graph and len(findings.graph) > LIMIT else report_json(findings)
    if text and len(json.dumps(document, ensure_ascii=False)) + len(text) <= room:
        document["json"] = text
    return document


def _picture(findings: Report, options: DrawOptions) -> dict[str, Any] | None:
    if findings.graph is None:
        return None
    return graph_document(findings.graph, options, marks=findings.marks, room=0)


def _table(table: Table, shown: dict[str, str], marks: dict[str, str]) -> dict[str, Any]:
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


def _row(
    table: Table, line: TableLine, shown: dict[str, str], marks: dict[str, str]
) -> dict[str, Any]:
    """A row; one of a table with blocks has its level, a block also the number of its rows."""
    id_ = shown.get(_thing(table.id(line)), "")
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


def _places(graph: Graph | None) -> dict[str, str]:
    """The item of each node or tensor: a leaf's tensor is part of its node."""
    if graph is None:
        return {}
    places = {info.id: info.id for info in graph.tensors}
    for node in graph.nodes:
        places[node.id] = node.id
        if node.variable:
            places[node.variable] = node.id
    return places


def _thing(key: str) -> str:
    """The node of an edge or of a saved tensor."""
    return key.partition(".")[0]


def _marks(marks: Iterable[Highlight], places: dict[str, str]) -> dict[str, str]:
    """Per node or tensor the word of the first mark on it, or on a part of it."""
    found: dict[str, str] = {}
    for mark in marks:
        found.setdefault(places.get(_thing(mark.id), ""), OVERLAYS[mark.kind].word)
    found.pop("", None)
    return found
