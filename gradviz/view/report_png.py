"""The picture of a report as PNG: the graph with its marks, or the first figure."""

from __future__ import annotations

from gradviz.model.findings import Findings
from gradviz.view.drawing import picture
from gradviz.view.element import write_lines
from gradviz.view.export import svg_to_png
from gradviz.view.figure import Figures
from gradviz.view.options import DrawOptions
from gradviz.view.overlay import overlaid_picture


def report_png(findings: Findings, figures: Figures, options: DrawOptions) -> bytes:
    """PNG on white; ``options`` are those of the drawing."""
    if findings.graph is None:
        return svg_to_png(figures[0][1].svg(variables=False))
    drawn = picture(findings.graph, options, variables=False)
    return svg_to_png(write_lines(overlaid_picture(drawn, findings.marks, variables=False)))
