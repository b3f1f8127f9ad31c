"""A widget with the picture of a graph. Where it is folded the browser asks for what is inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from gradviz.model.collector import no_collection
from gradviz.model.errors import UnknownNodeError
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.base import GraphWidget


class FoldedWidget(GraphWidget):
    """Answers what the browser asks of a folded graph; of one that is not folded nothing.

    A class gives :attr:`graph` and sets ``_options``, how it is drawn, and ``_fold``, what folds
    it.
    """

    _options: DrawOptions
    _fold: Callable[[Graph], Folding | None] | None

    @property
    def graph(self) -> Graph | None:
        """The graph of the picture, ``None`` if there is no picture."""
        return None

    @property
    def _marks(self) -> Sequence[Highlight]:
        """What is marked."""
        return ()

    @cached_property
    def _folding(self) -> Folding | None:
        with no_collection():
            return self._fold(self.graph) if self._fold and self.graph is not None else None

    @cached_property
    def _drawing(self) -> GraphDrawing | None:
        """The graph as it was folded for the browser; ``None`` if it is not folded."""
        if self.is_closed or self._folding is None:
            return None
        with no_collection():
            return GraphDrawing(self._folding.tree.graph, self._options, self._folding, self._marks)

    @property
    def _still(self) -> str:
        """The picture for readers without a kernel; folded it is sent in one density only."""
        known, options = super()._still, self._as_shown(self._options)
        if known or self.graph is None:
            return known
        return GraphDrawing(self.graph, options, self._folding, self._marks).text()

    def _has(self, key: str) -> bool:
        """Whether something can be selected: of a folded graph all nodes and folds, listed or
        not."""
        drawing = self._drawing
        if drawing is not None:
            with suppress(UnknownNodeError):
                drawing.tree.around(key)
                return True
        return super()._has(key)

    def _answer_to(self, what: Any) -> bytes | None:
        """The insides of folds, ``{"inside": ids}``, or what is found, ``{"find": query}``."""
        drawing = self._drawing
        if drawing is None or not isinstance(what, dict):
            return None
        from gradviz.view.documents.fold_answers import FoldAnswers

        answers = FoldAnswers(drawing)
        with no_collection():
            if isinstance(query := what.get("find"), str):
                return answers.find(query)
            ids = what.get("inside")
            if isinstance(ids, list) and ids:
                return answers.inside(ids, self.shown_density)
        return None
