"""Findings made by hand, so that the tests of reports need neither torch nor an analysis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradviz.model import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.presentation import Printed
from gradviz.model.report import Column, Table
from gradviz.view.element import Element
from gradviz.view.figures.figure import Figure
from tests.view.graphs import product_and_sum

COLUMNS = (
    Column("parameter", help="Its name in the module."),
    Column("reached", "flag", "Whether a path of the graph leads from the output to it."),
    Column("norm", "number", "Norm of its gradient."),
    Column("kept", "bytes", "Bytes that are kept for backward."),
    Column("why", help="Where the path ends, and by what."),
)
ROWS = (
    ("a", True, 3.0, 24, ""),
    ("b", True, 2.0, 50_000, ""),
    ("c", True, 1.0, 24, ""),
    ("frozen", False, None, None, "requires_grad is False"),
)


@dataclass(frozen=True, slots=True)
class MadeUp(Printed):
    """What an audit might say."""

    title: str = "1 of 4 parameters gets no gradient from loss"
    sentences: tuple[str, ...] = (
        "frozen gets no gradient: requires_grad is False.",
        "a, b and c are reached.",
    )
    tables: tuple[Table, ...] = (Table("Parameters", COLUMNS, ROWS, ("n3", "n4", "n2", "")),)
    graph: Graph | None = field(default_factory=product_and_sum)
    marks: tuple[Highlight, ...] = (Highlight("n2", "unreached", "detach in line 3 cut the path"),)
    notes: tuple[str, ...] = ()
    seen: float = float("nan")

    def __getitem__(self, name: str) -> tuple[object, ...]:
        return next(row for row in self.tables[0].rows if row[0] == name)


@dataclass(frozen=True)
class Still:
    """A figure with a text of its own."""

    text: str

    def svg(self, *, variables: bool = True) -> str:
        return self.text


FIGURE: Any = Still(
    '<svg xmlns="http://www.w3.org/2000/svg" class="gradviz-svg" viewBox="0 0 400 60" '
    'role="img" aria-label="icicle">'
    "<style>.gv-bit{fill:var(--gv-held-fill,#eaf3fa);stroke:var(--gv-held,#0072b2)}"
    "text{fill:var(--gv-ink,#1c2128);font-size:11px}\n"
    "@media print{.gradviz-svg{--gv-ink:#000;}}</style>"
    '<g data-id="n1"><title>MulBackward0 keeps 24 B</title>'
    '<rect class="gv-bit" x="1" y="1" width="398" height="28"/>'
    '<text x="8" y="19">MulBackward0</text></g>'
    '<rect class="gv-bit" x="1" y="31" width="98" height="28"/></svg>'
)
BITS = Figure(
    "gv-bits",
    (400, 60),
    "icicle",
    ".gv-bit{fill:$held-fill;stroke:$held}\ntext{fill:$ink;font-size:11px;font-family:$font}",
    (
        Element(
            "g",
            {"data-id": "n1"},
            (
                Element("title", {}, ("MulBackward0 keeps 24 B",)),
                Element("rect", {"class": "gv-bit", "x": 1, "y": 1, "width": 398, "height": 28}),
                Element("text", {"x": 8, "y": 19}, ("MulBackward0",)),
            ),
        ),
        Element("rect", {"class": "gv-bit", "x": 1, "y": 31, "width": 98, "height": 28}),
    ),
)


def tables_of(wire: dict[str, Any]) -> list[dict[str, Any]]:
    """The tables that the browser gets."""
    return [part for part in wire["parts"] if part["is"] == "Rows"]


def many(rows: int) -> MadeUp:
    """Findings with a long table."""
    columns = (Column("node"), Column("nr", "number"))
    table = Table("Nodes", columns, tuple((f"node {i}", i) for i in range(rows)))
    return MadeUp(tables=(table,), graph=None, marks=())


def hostile(word: str) -> MadeUp:
    """Findings in which every text is the same word."""
    columns = (Column(word, "text", word), Column(word, "number", word))
    table = Table(word, columns, ((word, 1), (word, None)), ("n1", "n1"))
    return MadeUp(word, (word,), (table,), marks=(Highlight("n1", "cut", word),))
