"""What ``gradviz.predict`` makes of a function: a question that is answered in the browser."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from typing import ClassVar

from gradviz.model.question import Question
from gradviz.view.contents.parts_of import html_of
from gradviz.view.documents.graph import FORMAT, compress
from gradviz.view.documents.question import question_document
from gradviz.view.documents.score import score_document
from gradviz.view.export.page import page_of
from gradviz.view.export.writing import write_as
from gradviz.view.graph.options import DrawOptions
from gradviz.view.parts.image import image_html
from gradviz.view.widgets.base import GraphWidget
from gradviz.view.widgets.player import Player


class QuestionWidget(GraphWidget):
    """A question with its program, its answers, and after an answer the player.

    Args:
        question: What is asked.
    """

    _holds: ClassVar[tuple[str, ...]] = ("_question",)

    def __init__(self, question: Question) -> None:
        self._question = question
        super().__init__(wire=question_document(question))

    @property
    def question(self) -> Question:
        """The question, with its key."""
        return self._question

    def player(self) -> Player:
        """The recording of the run, at the step that shows the answer."""
        question = self.question
        step = question.step
        opening = None if step is None else question.recording.numbers.number(step)
        return Player(question.recording, DrawOptions.of(hide=question.hide), step=opening)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the question as one HTML page that works without a network and without a kernel.

        The key is in the page, encoded, not secret; the page says so.

        Raises:
            OptionError: If the file name does not end with ``.html``.
        """
        self.check_open()
        write_as(path, "a question", {".html": self._page})

    def _page(self) -> str:
        still = html_of(self.question)
        note = "" if self.question.test else _NOTE
        return page_of(self.wire, {"wire": compress(self.wire)}, still, note)

    def _without_kernel(self, _svg: str) -> str:
        return html_of(self.question) + self._picture()

    def _picture(self) -> str:
        """The step that shows the answer, where answers are shown."""
        question = self.question
        if not question.is_answered or question.step is None:
            return ""
        with closing(self.player()) as player:
            return image_html(player.filmstrip(stops=[player.step]).image(), question.text)


_NOTE = (
    "<p>The answer is in this page, encoded, not secret: it is judged here, without a kernel.</p>\n"
)


def score_widget(test: str, questions: Sequence[Question]) -> GraphWidget:
    """A button that judges what was answered to the questions of a test."""
    return GraphWidget(wire=score_document(test, questions))


def forget_widget() -> GraphWidget:
    """A button that has the browser forget what was answered, in all questions."""
    return GraphWidget(
        wire={
            "format": FORMAT,
            "kind": "answered questions",
            "title": "answered questions",
            "summary": "What was answered is kept in this browser.",
            "text": "What was answered is kept in this browser; a button forgets it.",
        }
    )
