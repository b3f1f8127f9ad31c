"""What audit, memory and compare return: a widget of findings, with tables and a picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import traitlets

from gradviz.model.errors import OptionError
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.report import Cell, Report, Table
from gradviz.view.contents.report import report_parts
from gradviz.view.documents.folds import PAGE
from gradviz.view.documents.graph import compress
from gradviz.view.documents.report import report_document
from gradviz.view.documents.report_json import report_json, table_csv
from gradviz.view.export.files import refuse_animation, svg_to_png, to_png
from gradviz.view.export.page import page_of
from gradviz.view.export.writing import write_as
from gradviz.view.figures.figure import Figures
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.outlines.text_of import text_of
from gradviz.view.parts.html import as_html
from gradviz.view.parts.part import Image
from gradviz.view.widgets.folded import FoldedWidget


class ReportWidget(FoldedWidget):
    """Findings as sentences, tables that can be sorted, and a picture with what matters marked.

    In a notebook it is a widget that needs no running kernel; printed, saved or without a kernel
    it is text. Iterating gives the rows of the first table as
    dictionaries, as ``pandas.DataFrame(list(report))`` takes them; ``report[name]`` is what the
    findings have under a name.

    Args:
        findings: What is shown.
        options: How its graph is drawn.
        height: Height of the picture in CSS pixels, 0 for automatic.
        figures: More pictures, each with its caption, or what makes them when they are looked at.
        fold: How its graph is folded, ``None`` if it is not; if not given no graph is.

    Nothing is drawn before somebody looks: before it is displayed or saved, or ``wire`` is read.

    Examples:
        >>> from types import SimpleNamespace
        >>> from gradviz.model.report import Column
        >>> table = Table("parameters", (Column("name"), Column("norm", "number")), (("w", 2.0),))
        >>> report = ReportWidget(SimpleNamespace(
        ...     title="audit of loss", sentences=(), tables=(table,), graph=None, marks=()))
        >>> list(report)
        [{'name': 'w', 'norm': 2.0}]
    """

    _holds: ClassVar[tuple[str, ...]] = ("_findings", "_figures", "_folding", "_drawing")

    def __init__(
        self,
        findings: Report | Any,
        options: DrawOptions = DEFAULT,
        height: int = 0,
        figures: Figures | Callable[[], Figures] = (),
        fold: Callable[[Graph], Folding | None] | None = None,
    ) -> None:
        self._findings = findings
        self._options = options
        self._figures = figures
        self._fold = fold
        super().__init__(
            engine_arrows=options.engine_arrows,
            density=options.density,
            height=height,
        )

    @traitlets.default("wire")
    def _document(self) -> dict[str, Any]:
        figures = self._drawn_figures
        return report_document(self._findings, self._options, figures, folded=self._drawing)

    @property
    def _marks(self) -> Sequence[Highlight]:
        marks: Sequence[Highlight] = self._findings.marks
        return marks

    @property
    def _drawn_figures(self) -> Figures:
        return tuple(self._figures() if callable(self._figures) else self._figures)

    @property
    def findings(self) -> Any:
        """All facts, as plain data."""
        return self._findings

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables; ``table.dicts()`` has a dictionary per row."""
        tables: tuple[Table, ...] = self._findings.tables
        return tables

    @property
    def graph(self) -> Graph | None:
        """The graph of the picture, ``None`` if there is no picture."""
        graph: Graph | None = self._findings.graph
        return graph

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return iter(self.tables[0] if self.tables else ())

    def __len__(self) -> int:
        return len(self.tables[0]) if self.tables else 0

    def __bool__(self) -> bool:
        """True for every report, also without rows."""
        return True

    def __str__(self) -> str:
        return text_of(self._findings) if "_findings" in self.__dict__ else super().__str__()

    def __getitem__(self, name: Any) -> Any:
        """What the findings have under a name.

        Raises:
            KeyError: If they have nothing under it.
            TypeError: If they have no names.
        """
        find = getattr(type(self._findings), "__getitem__", None)
        if find is None:
            raise TypeError(f"{type(self._findings).__name__} has no names; list(report) has rows")
        return find(self._findings, name)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        animated: bool = False,
        stops: Iterable[int | str] | None = None,
        seconds: float | None = None,
        shape: str | None = None,
    ) -> None:
        """Write to a file; the ending says what: .html .svg .png .json .csv.

        The HTML is the whole report in one file that works without a network and without a
        kernel, the JSON all facts, the CSV the first table; the others are the picture with its
        marks, or the first figure. ``animated``, ``stops``, ``seconds`` and ``shape`` are
        options of a recording.

        Raises:
            OptionError: If the ending is none of these, there is no picture, or an animation is
                asked for.
        """
        self.check_open()
        refuse_animation(path, animated, stops, seconds, shape)
        writers: dict[str, Callable[[], str | bytes]] = {
            ".html": self._page,
            ".svg": self._svg,
            ".png": self._png,
            ".json": lambda: report_json(self._findings) + "\n",
            ".csv": self._csv,
        }
        write_as(path, "a report", writers)

    def _without_kernel(self, svg: str, is_page: bool = False) -> str:
        """Sentences, tables and pictures."""
        graph = self.wire["picture"]
        picture = Image(self._drawn, graph["summary"]) if graph else None
        parts = report_parts(self._findings, self._drawn_figures, picture)
        return as_html(parts, is_page=is_page) + "\n"

    def _ids(self) -> list[str]:
        picture = self.wire.get("picture") or {"items": (), "outline": {"rows": ()}}
        return list(
            dict.fromkeys(e["id"] for e in (*picture["items"], *picture["outline"]["rows"]))
        )

    def _svg(self) -> str:
        if not self._still:
            raise OptionError("this report has no picture; save it as .html, .json or .csv")
        return self._still

    @property
    def _drawn(self) -> str:
        """The picture of the graph, empty without one."""
        return super()._still

    @property
    def _still(self) -> str:
        """The picture of the graph, else the first figure."""
        return self._drawn or next((figure.svg() for _, figure in self._drawn_figures), "")

    def _png(self) -> bytes:
        self._svg()
        if self.graph is None:
            return svg_to_png(self._drawn_figures[0][1].svg(variables=False))
        return to_png(self.graph, self._as_shown(self._options), self._folding, self._marks)

    def _csv(self) -> str:
        if not self.tables:
            raise OptionError("this report has no table; save it as .html or .json")
        return table_csv(self.tables[0])

    def _page(self) -> str:
        wire = self.wire
        if drawing := self._drawing:
            figures = self._drawn_figures
            wire = report_document(
                self._findings, self._options, figures, folded=drawing, insides=PAGE
            )
        traits = {
            "wire": compress(wire),
            "engine_arrows": self.engine_arrows,
            "density": self.density,
            "selected": self.selected,
        }
        still = self._without_kernel("", is_page=True)
        return page_of({**wire, "summary": ""}, traits, still, summary="")
