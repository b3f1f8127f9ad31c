"""The graph behind an error of a program that was not recorded, with the error explained."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from gradviz.model.arguments import flag
from gradviz.model.explanation import Explanation
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.model.without_values import explanation_without_values, graph_without_values
from gradviz.view.documents.folds import PAGE
from gradviz.view.documents.graph import compress, graph_document
from gradviz.view.export.files import refuse_animation, svg_to_png
from gradviz.view.export.page import page_of
from gradviz.view.export.writing import ending_of, write_as
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.html.explanation import explanation_card
from gradviz.view.outlines.explanation import explanation_text
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
        return f"{explanation_text(self._explanation)}\n\n{outline}"

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        animated: bool = False,
        stops: Iterable[int | str] | None = None,
        seconds: float | None = None,
        values: bool = True,
    ) -> None:
        """As of every picture, with marks in .svg, .png and .html; the HTML has the card too."""
        self.check_open()
        refuse_animation(path, animated, stops, seconds)
        writers: dict[str, Callable[[], str | bytes]] = {
            ".svg": lambda: self._still,
            ".png": self._png,
            ".html": self._page,
        }
        if ending_of(path) not in writers or not flag("values", values):
            super().save(path, values=values)
        else:
            write_as(path, "a picture", writers)

    def _without_values(self) -> ExplainedPicture:
        explanation = explanation_without_values(self._explanation)
        graph = graph_without_values(self.graph)
        return ExplainedPicture(
            graph, explanation, self._as_shown(self._options), self.height, self._fold
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """As of every picture, with the card below it."""
        data, metadata = super()._repr_mimebundle_(**kwargs)
        return {**data, "text/html": data["text/html"] + self._card}, metadata

    @property
    def _card(self) -> str:
        return explanation_card(self._explanation)

    def _png(self) -> bytes:
        return svg_to_png(self._as_drawn.text(variables=False))

    @property
    def _whole(self) -> dict[str, Any]:
        """What a saved page has of a folded graph: all of it that fits."""
        return graph_document(self.graph, self._options, folded=self._folded, insides=PAGE)

    def _page(self) -> str:
        wire = self.wire
        if self._folded is not None:
            wire = {**self._whole, "text": wire["text"]}
        traits = {
            "wire": compress(wire),
            "engine_arrows": self.engine_arrows,
            "density": self.density,
        }
        return page_of(wire, traits, self._still + self._card)
