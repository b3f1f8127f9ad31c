"""A widget whose picture may be folded: the browser asks it for what is inside of folds."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from gradviz.model.collector import no_collection
from gradviz.model.errors import UnknownNodeError
from gradviz.view.documents.fold_answers import FoldAnswers
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.widgets.base import GraphWidget


class FoldedWidget(GraphWidget):
    """Answers what the browser asks of a folded graph; of one that is not folded nothing."""

    @property
    def _drawing(self) -> GraphDrawing | None:
        """The graph as it was folded for the browser; ``None`` if it is not folded."""
        return None

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
        answers = FoldAnswers(drawing)
        with no_collection():
            if isinstance(query := what.get("find"), str):
                return answers.find(query)
            ids = what.get("inside")
            if isinstance(ids, list) and ids:
                return answers.inside(ids, self.shown_density)
        return None
