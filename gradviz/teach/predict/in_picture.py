"""Forms that are answered in the picture of the graph: their picture, and their key."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradviz.model import OptionError
from gradviz.model.forms.click import Click
from gradviz.model.forms.edges import Edges
from gradviz.model.forms.form import Form
from gradviz.teach.predict.question_pictures import RunPicture
from gradviz.teach.predict.question_run import QuestionRun


@dataclass(frozen=True, slots=True)
class Answered:
    """A form after the run."""

    form: Form
    key: Any
    step: int | None = None
    """The place of the step that shows the key, where the form knows it."""


def in_picture(
    form: Form, done: QuestionRun, address: int | str | None, hide: Collection[str] | None
) -> Answered:
    """The form with its picture, and the key.

    Args:
        form: As the teacher typed it.
        done: The run.
        address: The step after which the picture shows the graph.
        hide: Parts that the picture does not have.

    Raises:
        OptionError: If the answer is not in the picture.
    """
    run = RunPicture.of(done.recording, address)
    if isinstance(form, Click):
        return _click(form, run, done, hide)
    assert isinstance(form, Edges)
    return _edges(form, run, done, hide)


def _click(
    form: Click, run: RunPicture, done: QuestionRun, hide: Collection[str] | None
) -> Answered:
    value = done.returned
    if done.error is not None:
        value = run.raised()
        if value is None:
            raise OptionError(
                f"the function raised {type(done.error).__name__}, and not in a node of backward: "
                "catch it, and return the right choice"
            ) from done.error
    picture = run.click(form.of_, form.many, hide)
    labels = tuple(choice.label for choice in run.offered(form.of_))
    is_id = done.error is not None
    key = run.picked(form.of_, form.many, value, is_id=is_id)
    wrong = {run.label(form.of_, name): words for name, words in form.sentences.items()}
    return Answered(replace(form, sentences=wrong, labels=labels, picture=picture), key)


def _edges(
    form: Edges, run: RunPicture, done: QuestionRun, hide: Collection[str] | None
) -> Answered:
    if done.error is not None and not run.gradients:
        raise OptionError(
            f"the function raised {type(done.error).__name__} before any gradient was passed on"
        ) from done.error
    blanks = run.edges(form.names)
    picture = run.typing(blanks, hide)
    labels = tuple(blank.label for blank in blanks)
    wrong = _by_label(run, form.sentences)
    made = replace(form, sentences=wrong, labels=labels, picture=picture)
    return Answered(made, run.typed(blanks), run.last_step(blanks))


def _by_label(run: RunPicture, sentences: Mapping[str, str]) -> dict[str, str]:
    return {run.edges(name)[0].label: words for name, words in sentences.items()}
