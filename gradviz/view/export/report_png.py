"""The picture of a report as PNG: the graph with its marks, or the first figure."""

from __future__ import annotations

from gradviz.model.report import Report
from gradviz.view.element import write_lines
from gradviz.view.export.files import svg_to_png
from gradviz.view.figures.figure import Figures
from gradviz.view.graph.drawing import picture
from gradviz.view.graph.folded import FoldedDrawing
from gradviz.view.graph.highlights import highlighted_picture
from gradviz.view.graph.options import DrawOptions


def report_png(
    findings: Report,
    figures: Figures,
    options: DrawOptions,
    folded: FoldedDrawing | None = None,
) -> bytes:
    """PNG on white; ``options`` are those of the drawing, ``folded`` is the graph if it is."""
    if findings.graph is None:
        return svg_to_png(figures[0][1].svg(variables=False))
    if folded is not None:
        return svg_to_png(folded.text(variables=False))
    drawn = picture(findings.graph, options, variables=False)
    return svg_to_png(write_lines(highlighted_picture(drawn, findings.marks, variables=False)))
