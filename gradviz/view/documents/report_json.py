"""Findings as JSON and CSV, the same bytes for the same findings."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any, Final

from gradviz.model.graph import Graph
from gradviz.model.report import Cell, Report, Table

_FORMULA: Final = re.compile(r"[=@\t\r]|[+-](?! )")


def report_json(findings: Report) -> str:
    """Title, sentences, tables, graph, marks, and then all other fields of the findings.

    Examples:
        >>> from types import SimpleNamespace
        >>> print(report_json(SimpleNamespace(title="a", sentences=(), tables=(), marks=(),
        ...     graph=None)))
        {"format":1,"kind":"simplenamespace","title":"a","sentences":[],"tables":[],"marks":[],\
"graph":null}
    """
    document = {"format": 1, "kind": type(findings).__name__.lower()}
    common = ("title", "sentences", "tables", "marks", "graph")
    document |= {name: plain(getattr(findings, name)) for name in common}
    known: Any = findings
    if is_dataclass(known):
        own = (f.name for f in fields(known) if f.compare and f.name not in common)
        document |= {name: plain(getattr(findings, name)) for name in own}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)


def plain(value: Any) -> Any:
    """Dataclasses as objects, graphs as their own JSON says, floats that JSON lacks by name.

    Fields that do not count when findings are compared are left out.

    Raises:
        TypeError: If there is something without a JSON form.

    Examples:
        >>> from gradviz.model.highlights import Highlight
        >>> plain([Highlight("n0", "cut"), {1: float("nan")}, frozenset("ba")])
        [{'id': 'n0', 'kind': 'cut', 'words': ''}, {'1': 'nan'}, ['a', 'b']]
    """
    if isinstance(value, Graph):
        return json.loads(value.to_json())
    if is_dataclass(value) and not isinstance(value, type):
        kept = (f for f in fields(value) if f.compare)
        found = {f.name: plain(getattr(value, f.name)) for f in kept}
        optional = {f.name for f in fields(value) if "left out" in f.metadata}
        return {name: one for name, one in found.items() if one or name not in optional}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, AbstractSet):
        return [plain(entry) for entry in sorted(value)]
    if isinstance(value, (tuple, list)):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{type(value).__name__} has no JSON form")


def table_csv(table: Table) -> str:
    """A table with a line of column names; numbers as they are, ``None`` empty.

    Text that a spreadsheet would run as a formula gets an apostrophe before it.

    Examples:
        >>> from gradviz.model.report import Column
        >>> rows = ((1.5, "=1+1"), (None, "w, b"))
        >>> print(table_csv(Table("", (Column("norm", "number"), Column("name")), rows)), end="")
        norm,name
        1.5,'=1+1
        ,"w, b"
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_harmless(column.name) for column in table.columns])
    writer.writerows([_harmless(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def _harmless(cell: Cell) -> Cell:
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\0", "\\x00")  # of which some readers of CSV make an error
    return f"'{text}" if _FORMULA.match(text) else text
