"""The graph behind an error of a program that was not recorded, with the error explained."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from gradviz.model.explanation import Explanation
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.without_values import explanation_without_values, graph_without_values
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.folds import PAGE
from gradviz.view.documents.graph import compress, graph_document
from gradviz.view.export.page import page_of
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.outlines.text_of import text_of
from gradviz.view.widgets.picture import Picture


class ExplainedPicture(Picture):
    """A picture with the marks of an explanation, whose text is before the outline.

    Args:
        graph: What to show.
        explanation: What is explained.
        options: How to draw it.
        height: Height in CSS pixels, 0 for automatic.
        fold: How the graph is folded, ``None`` if it is not; if not given no graph is.
    """

    _holds: ClassVar[tuple[str, ...]] = (*Picture._holds, "_explanation")

    def __init__(
        self,
        graph: Graph,
        explanation: Explanation,
        options: DrawOptions = DEFAULT,
        height: int = 0,
        fold: Callable[[Graph], Folding | None] | None = None,
    ) -> None:
        self._explanation = explanation
        super().__init__(graph, options, height, fold)

    def __str__(self) -> str:
        return self._explained(super().__str__())

    def _document(self) -> dict[str, Any]:
        wire = super()._document()
        return {**wire, "text": self._explained(wire["text"])}

    @property
    def _marks(self) -> tuple[Highlight, ...]:
        return self._explanation.marks

    def _explained(self, outline: str) -> str:
        if "_explanation" not in self.__dict__:
            return outline
        return f"{text_of(self._explanation)}\n\n{outline}"

    def _without_values(self) -> ExplainedPicture:
        explanation = explanation_without_values(self._explanation)
        graph = graph_without_values(self.graph)
        return ExplainedPicture(
            graph, explanation, self._as_shown(self._options), self.height, self._fold
        )

    def _without_kernel(self, svg: str) -> str:
        """As of every picture, with the card below it."""
        return super()._without_kernel(svg) + html_of(self._explanation)

    def _page(self) -> str:
        wire = self.wire
        if self._drawing is not None:  # all of it that fits
            whole = graph_document(self.graph, self._options, folded=self._drawing, insides=PAGE)
            wire = {**whole, "text": wire["text"]}
        traits = {
            "wire": compress(wire),
            "engine_arrows": self.engine_arrows,
            "density": self.density,
        }
        return page_of(wire, traits, self._still + html_of(self._explanation))
