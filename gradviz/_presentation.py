"""How objects of the model read when the whole package is there; what answers is imported with the
first question of its kind."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from gradviz.model.explanation import Explanation
from gradviz.model.explanations import Explanations
from gradviz.model.fold_runs import FoldRun
from gradviz.model.folding import FoldedSteps
from gradviz.model.presentation import Presentation
from gradviz.model.progress import ProgressDisplay
from gradviz.model.recording import Recording
from gradviz.model.turns import Head, Turn

if TYPE_CHECKING:
    from gradviz.view.widgets.base import GraphWidget


class FullPresentation(Presentation):
    """Texts, captions and cards of the view, explanations and turns of the analysis."""

    def text(self, thing: object) -> str:
        from gradviz.view.outlines.text_of import text_of

        return text_of(thing)

    def caption(self, recording: Recording, index: int) -> str:
        from gradviz.view.captions.caption import caption

        return caption(recording, index).words

    def details(self, recording: Recording, index: int) -> str:
        from gradviz.view.captions.details import details

        return details(recording, index)

    def outline(self, recording: Recording) -> str:
        from gradviz.view.outlines.recording import recording_outline

        return recording_outline(recording)

    def explanations(self, recording: Recording) -> tuple[Explanation, ...]:
        from gradviz.analysis.explain import explanations_of

        return explanations_of(recording)

    def turns(self, recording: Recording) -> tuple[Turn, ...]:
        from gradviz.analysis.code.turns import turns_of

        return turns_of(recording)

    def heads(self, recording: Recording) -> tuple[Head, ...]:
        from gradviz.analysis.code.turns import heads_of

        return heads_of(recording)

    def fold_runs(self, recording: Recording) -> tuple[FoldRun, ...]:
        from gradviz.analysis.fold.fold_runs import fold_runs_of

        return fold_runs_of(recording)

    def progress_display(self, is_alone: bool) -> ProgressDisplay | None:
        from gradviz.view.widgets.progress_display import progress_display

        return progress_display(is_alone)

    def folded_steps(self, recording: Recording) -> FoldedSteps | None:
        from gradviz.analysis.fold.step_totals import folded_steps

        return folded_steps(recording)

    def bundle(self, thing: object) -> Any:
        if isinstance(thing, (Explanation, Explanations)):
            return {"text/plain": self.text(thing), "text/html": self.html(thing)}
        from comm import DummyComm

        widget = self._widget(thing)
        found = widget.as_mimebundle()
        if isinstance(widget.comm, DummyComm):  # no browser, as in a terminal
            widget.close()
        return found

    def html(self, thing: object) -> str | None:
        if isinstance(thing, (Explanation, Explanations)):
            from gradviz.view.contents.parts_of import html_of

            return html_of(thing)
        with closing(self._widget(thing)) as widget:
            return widget.as_html()

    @staticmethod
    def _widget(thing: object) -> GraphWidget:
        from gradviz.api import show

        return show(thing)
