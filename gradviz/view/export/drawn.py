"""The picture of a graph as SVG: folded or not, with marks."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.view.element import write_lines
from gradviz.view.graph.drawing import picture
from gradviz.view.graph.folded import FoldedDrawing
from gradviz.view.graph.highlights import highlighted_picture
from gradviz.view.graph.options import DEFAULT, DrawOptions


def drawn(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    folding: Folding | None = None,
    marks: Iterable[Highlight] = (),
    *,
    variables: bool = True,
) -> str:
    """SVG text.

    Args:
        graph: What is drawn.
        options: How.
        folding: How it is folded; if not given it is not.
        marks: Marks of findings.
        variables: Colours as CSS variables; ``False`` for programs that know none.
    """
    if folding is not None:
        return FoldedDrawing(folding, options, marks).text(variables=variables)
    plain = picture(graph, options, variables=variables)
    return write_lines(highlighted_picture(plain, marks, variables=variables))
