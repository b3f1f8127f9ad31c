"""How an answer to a question of any form is given, by its data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator

from gradviz.model.question import Question


def choose(root: Locator, question: Question, answer: Any) -> None:
    root.get_by_role("radio").nth(list(question.form.sentences).index(answer)).click()


def tick(root: Locator, question: Question, answer: Any) -> None:
    boxes = root.get_by_role("checkbox")
    for place, option in enumerate(question.form.sentences):
        boxes.nth(place).set_checked(option in answer)
    boxes.nth(len(question.form.sentences)).set_checked(not answer)


def table(root: Locator, _question: Question, answer: Any) -> None:
    boxes = root.get_by_role("combobox")
    values = [value for row in answer.values() for value in row.values()]
    assert boxes.count() == len(values)
    for place, value in enumerate(values):
        boxes.nth(place).select_option(label=value)


def typed(root: Locator, _question: Question, answer: Any) -> None:
    root.get_by_role("textbox").fill(answer)


def order(root: Locator, _question: Question, answer: Any) -> None:
    shown = root.locator(".gradviz-order-words")
    for place, one in enumerate(answer):
        while (at := shown.all_inner_texts().index(one.replace("`", ""))) > place:
            root.locator("[data-way]").nth(2 * at).click()


def click(root: Locator, question: Question, answer: Any) -> None:
    form: Any = question.form
    for choice in form.picture["choices"]:
        if choice["label"] not in form.labels:
            continue
        card = root.locator(f"button.gradviz-pick[data-id='{choice['id']}']:not([aria-hidden])")
        is_picked = card.get_attribute("aria-pressed") == "true"
        if is_picked != (choice["label"] in answer) and (form.many or not is_picked):
            card.click()


def edges(root: Locator, question: Question, answer: Any) -> None:
    form: Any = question.form
    fields = root.get_by_role("textbox")
    assert fields.count() == len(form.labels)
    for place, label in enumerate(form.labels):
        fields.nth(place).fill(answer[label])


FILL: dict[str, Callable[[Locator, Question, Any], None]] = {
    "choose": choose,
    "tick": tick,
    "table": table,
    "typed": typed,
    "order": order,
    "click": click,
    "edges": edges,
}
"""Gives a complete answer, from whatever was answered before, by the form's kind."""
