"""Answers to a question of any form: the right one, and wrong ones, taken from its data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradviz.model.forms.form import Form
from gradviz.model.forms.numbers import words
from gradviz.model.question import Question

FAR_OFF = "12345"
"""A number that is nobody's gradient."""


def wrong_answers(question: Question) -> list[Any]:
    """Complete answers that torch does not give; those that have a sentence come first."""
    form = question.form
    every = [one for one in candidates(form, question.key) if form.is_answered(one)]
    wrong = [one for one in every if not form.judge(question.key, one).is_right]
    return sorted(wrong, key=lambda one: not sentences_for(question, [one]))


def sentences_for(question: Question, answers: list[Any]) -> list[str]:
    """What is to be said of these answers."""
    form = question.form
    parts = [part for one in answers for part in form.judge(question.key, one).wrong]
    found = (form.sentences.get(part, "") for part in dict.fromkeys(parts))
    return [one for one in found if one]


def right_answer(question: Question) -> Any:
    """The key as a learner gives it."""
    key = question.key
    if question.form.kind == "typed":
        return words(key)
    if question.form.kind == "edges":
        return {label: words(value) for label, value in key.items()}
    return key


def candidates(form: Form, key: Any) -> Iterator[Any]:
    """Answers near the right one: one option more or less, one cell or field that differs."""
    data: Any = form
    match form.kind:
        case "choose":
            yield from form.sentences
        case "tick":
            for option in form.sentences:
                yield [one for one in form.sentences if (one in key) != (one == option)]
        case "table":
            for row, columns in data.cells.items():
                for column, choices in columns.items():
                    for choice in choices:
                        yield {**key, row: {**key[row], column: choice}}
        case "typed":
            yield from (*form.sentences, FAR_OFF, f"[{FAR_OFF}, {FAR_OFF}]")
        case "order":
            for at in range(len(key) - 1):
                yield [*key[:at], key[at + 1], key[at], *key[at + 2 :]]
        case "click":
            for label in data.labels:
                yield [one for one in data.labels if (one in key) != (one == label)]
                yield [label]
        case "edges":
            typed = {label: words(value) for label, value in key.items()}
            yield from ({**typed, label: FAR_OFF} for label in data.labels)
