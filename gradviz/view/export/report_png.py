"""The picture of a report as PNG: the graph with its marks, or the first figure."""

from __future__ import annotations

from gradviz.model.report import Report
from gradviz.view.export.files import svg_to_png
from gradviz.view.figures.figure import Figures
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DrawOptions


def report_png(
    findings: Report,
    figures: Figures,
    options: DrawOptions,
    folded: GraphDrawing | None = None,
) -> bytes:
    """PNG on white; ``options`` are those of the drawing, ``folded`` is the graph if it is."""
    if findings.graph is None:
        return svg_to_png(figures[0][1].svg(variables=False))
    drawing = folded or GraphDrawing(findings.graph, options, None, findings.marks)
    return svg_to_png(drawing.text(variables=False))
