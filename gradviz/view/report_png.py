"""The picture of a report as PNG: the graph with its marks, or the first figure."""

from __future__ import annotations

import re

from gradviz.model.findings import Findings
from gradviz.view.drawing import draw
from gradviz.view.export import svg_to_png
from gradviz.view.options import DrawOptions
from gradviz.view.overlay import overlay_svg
from gradviz.view.report_wire import Figures
from gradviz.view.style import FONT, PNG_FONT


def report_png(findings: Findings, figures: Figures, options: DrawOptions) -> bytes:
    """PNG on white; ``options`` are those of the drawing."""
    if findings.graph is None:
        return svg_to_png(without_variables(figures[0][1]))
    return svg_to_png(overlay_svg(draw(findings.graph, options, variables=False), findings.marks))


def without_variables(svg: str) -> str:
    """A figure in its light colours, for programs that know no variables.

    Examples:
        >>> without_variables("<style>text{fill:var(--gv-ink,#1c2128)}</style>")
        '<style>text{fill:#1c2128}</style>'
    """
    light = re.sub(r"var\(--gv-[a-z-]+,\s*([^()]*)\)", r"\1", svg)
    light = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", light)
    return light.replace(FONT, f'"{PNG_FONT}",monospace')
