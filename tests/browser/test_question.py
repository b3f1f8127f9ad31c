"""Questions in the built bundle: each form by mouse and by keyboard, wrong first, then right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, Page, expect

from tests.browser.bare import Bare, Widget, axe_violations, mount_in
from tests.browser.conftest import Shoot
from tests.teach.questions import questions

pytestmark = pytest.mark.browser

FORMS = ("choose", "tick", "table", "typed", "order")
FLAGS = {"a": ("True", "True"), "b": ("True", "False"), "c": ("False", "True")}
KEYS = {
    "choose": "it raises RuntimeError",
    "tick": "a",
    "table": "MulBackward0",
    "typed": "[4, 4]",
    "order": "1. SumBackward0",
}


def mount(bare: Bare, form: str) -> Widget:
    return bare.mount(json.loads(json.dumps(questions()[form].wire)))


def cell(question: Widget, row: str, column: str) -> Locator:
    return question.root.get_by_role("combobox", name=f"{column} of {row}")


def fill_table(question: Widget, choose: Callable[[Locator, str], object], **wrong: str) -> None:
    for row, values in FLAGS.items():
        for column, value in zip(("is_leaf", "requires_grad"), values):
            choose(cell(question, row, column), wrong.get(f"{row}_{column}", value))
    choose(cell(question, "c", "grad_fn"), "MulBackward0")


def by_mouse(question: Widget, form: str, right: bool) -> None:
    root = question.root
    if form == "choose":
        root.get_by_text("it raises" if right else "it does nothing").click()
    elif form == "tick":
        if right:
            root.get_by_role("checkbox", name="c", exact=True).click()
        else:
            for name in ("a", "c"):
                root.get_by_role("checkbox", name=name, exact=True).click()
    elif form == "table":
        fill_table(question, Locator.select_option, c_is_leaf="False" if right else "True")
    elif form == "typed":
        root.get_by_role("textbox", name="a.grad").fill("4, 4" if right else "[2, 2]")
    elif right:
        root.get_by_role("button", name="Move down: `AccumulateGrad`").click()
    else:
        root.get_by_role("button", name="Move up: `AccumulateGrad`").click()
        root.get_by_role("button", name="Move up: `SumBackward0`").click()


def by_keyboard(question: Widget, form: str, right: bool) -> None:
    press, root = question.page.keyboard.press, question.root
    if form == "choose":
        if right:
            root.get_by_role("radio", name="it does nothing").focus()
            press("ArrowUp")
        else:
            root.get_by_role("radio", name="it works").focus()
            press("Space")
            press("ArrowDown")
            press("ArrowDown")
    elif form == "tick":
        for name in ("c",) if right else ("a", "c"):
            root.get_by_role("checkbox", name=name, exact=True).focus()
            press("Space")
    elif form == "table":

        def choose(box: Locator, value: str) -> None:
            box.focus()
            press("Home")
            for option in box.locator("option").all_inner_texts():
                if option == value:
                    return
                press("ArrowDown")

        fill_table(question, choose, c_is_leaf="False" if right else "True")
    elif form == "typed":
        root.get_by_role("textbox", name="a.grad").focus()
        press("Control+a")
        question.page.keyboard.type("[4, 4]" if right else "[2, 2]")
    else:
        root.get_by_role("button", name="Move up: `AccumulateGrad`").focus()
        for key in ("ArrowDown",) if right else ("ArrowUp", "ArrowDown"):
            press(key)


QUICK = (("choose", by_mouse), ("order", by_keyboard))
"""What runs in every test run; all forms with -m exhaustive."""


def status(question: Widget) -> Locator:
    return question.root.locator(".gradviz-question-status").first


@pytest.mark.parametrize(
    ("form", "way"),
    [
        pytest.param(
            form,
            way,
            marks=[] if (form, way) in QUICK else pytest.mark.exhaustive,
        )
        for form in FORMS
        for way in (by_mouse, by_keyboard)
    ],
)
def test_a_wrong_answer_has_a_second_try_and_then_torch_answers(
    bare: Bare, form: str, way: Callable[[Widget, str, bool], None]
) -> None:
    question = mount(bare, form)
    check = question.button("Check")
    expect(check).to_have_attribute("aria-disabled", "true")
    check.click(force=True)
    expect(status(question)).to_have_text("")
    way(question, form, False)
    expect(check).to_have_attribute("aria-disabled", "false")
    check.press("Enter") if way is by_keyboard else check.click()
    expect(status(question)).to_have_text("Not what torch says. Try once more.")
    expect(check).to_have_attribute("aria-disabled", "true")
    expect(question.root.locator(".gradviz-question-result")).to_be_hidden()
    way(question, form, True)
    check.press("Enter") if way is by_keyboard else check.click()
    expect(status(question)).to_have_text("✓ Right.")
    expect(question.root.locator(".gradviz-question-key")).to_contain_text(KEYS[form])
    player = question.root.locator(".gradviz-root[data-ready=true]")
    expect(player.get_by_role("button", name="Back", exact=True)).to_be_visible()
    expect(check).to_be_hidden()
    assert axe_violations(question.page, "#one") == []


@pytest.mark.parametrize(
    "form",
    [pytest.param(f, marks=[] if f == "table" else pytest.mark.exhaustive) for f in FORMS],
)
def test_two_wrong_answers_are_explained_light_dark_and_narrow(
    bare: Bare, form: str, shoot: Shoot
) -> None:
    page = bare.page
    page.set_viewport_size({"width": 1366, "height": 768})
    question = mount(bare, form)
    shoot(f"question-{form}")
    height = question.root.bounding_box()
    assert height is not None
    assert height["height"] <= 440
    page.set_viewport_size({"width": 400, "height": 768})
    shoot(f"question-{form}-400")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    page.set_viewport_size({"width": 1366, "height": 768})
    wrong_twice(question, form)
    shoot(f"question-{form}-answered")
    expect(status(question)).to_have_text("✗ Not what torch says.")
    expect(question.root.locator(".gradviz-question-key")).to_contain_text(KEYS[form])
    told = question.root.locator(".gradviz-question-why li")
    sentences = {
        "choose": ["Backward always", "A second gradient"],
        "tick": ["It is no leaf", "It is a leaf"],
        "table": ["An operation made it", "Nobody asked"],
        "typed": ["That is b", "a is a leaf"],
        "order": ["It waits for the gradient", "It ends the path"],
    }[form]
    assert sorted(s for s in sentences if s in " ".join(told.all_inner_texts())) == sorted(
        sentences
    )
    page.evaluate("() => { document.body.style.background = '#111'; }")
    question.set("theme", "dark")
    page.set_viewport_size({"width": 400, "height": 768})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    assert axe_violations(page, "#one") == []
    shoot(f"question-{form}-dark-400")
    for width in (400, 300):
        page.set_viewport_size({"width": width, "height": 768})
        assert cut_off(question) == []


def cut_off(question: Widget) -> list[str]:
    """Controls, and cells of the corrected table, that are not whole inside of the widget."""
    found: list[str] = question.root.first.evaluate(
        """(root) => {
          const { left, right } = root.getBoundingClientRect();
          const seen = root.querySelectorAll("button, select, .gradviz-tab, .gradviz-flags td");
          const isCut = (one) => {
            const box = one.getBoundingClientRect();
            return box.width > 0 && (box.left < left || box.right > right);
          };
          return [...seen].filter(isCut).map((one) => one.textContent || one.ariaLabel);
        }"""
    )
    return found


def wrong_twice(question: Widget, form: str) -> None:
    by_mouse(question, form, False)
    question.button("Check").click()
    root = question.root
    expect(status(question)).to_contain_text("once more")
    if form == "choose":
        root.get_by_text("it works").click()
    elif form == "tick":
        root.get_by_role("checkbox", name="none of these").click()
    elif form == "table":
        cell(question, "b", "requires_grad").select_option("True")
    elif form == "typed":
        root.get_by_role("textbox", name="a.grad").fill("None")
    else:
        for _ in range(2):
            root.get_by_role("button", name="Move up: `MulBackward0`").click()
    question.button("Check").click()


@pytest.mark.parametrize(
    "form",
    [pytest.param(f, marks=[] if f == "typed" else pytest.mark.exhaustive) for f in FORMS],
)
def test_nothing_of_the_answer_is_in_the_page_before_it_is_checked(bare: Bare, form: str) -> None:
    question = mount(bare, form)
    by_mouse(question, form, False)
    question.button("Check").click()
    expect(status(question)).to_contain_text("once more")
    html = question.root.evaluate("(e) => e.outerHTML")
    asked = questions()[form].question
    for sentence in (*asked.form.sentences.values(), asked.why):
        assert not sentence or sentence not in html
    assert "gradviz-question-key" not in html


def saved(page: Page, folder: Path) -> Widget:
    path = folder / "question.html"
    questions()["choose"].save(path)
    page.goto(path.as_uri())
    page.locator(".gradviz-root[data-ready=true]").first.wait_for()
    widget = Widget(page, "gradviz-page")
    widget.root = page.locator("#gradviz-page > div > .gradviz-root")
    return widget


def test_a_saved_page_keeps_what_was_answered_and_starts_again(page: Page, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    question = saved(page, tmp_path)
    expect(page.locator("body")).to_contain_text("encoded, not secret")
    wrong_twice(question, "choose")
    expect(status(question)).to_have_text("✗ Not what torch says.")
    page.reload()
    expect(status(question)).to_have_text("✗ Not what torch says.")
    expect(question.root.get_by_role("radio", name="it works")).to_be_checked()
    expect(question.root.locator(".gradviz-root[data-ready=true]")).to_be_visible()
    question.button("Start again").click()
    expect(question.root.locator(".gradviz-question-result")).to_be_hidden()
    assert question.focused == "it works, and `y.grad` is all 4" or question.root.get_by_role(
        "radio"
    ).first.evaluate("(e) => e === document.activeElement")
    page.reload()
    expect(question.button("Check")).to_have_attribute("aria-disabled", "true")
    expect(status(question)).to_have_text("")
    assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {page.url}


def test_a_button_forgets_what_was_answered_in_all_questions(page: Page, tmp_path: Path) -> None:
    import gradviz

    question = saved(page, tmp_path)
    by_mouse(question, "choose", False)
    question.button("Check").click()
    expect(status(question)).to_contain_text("once more")
    wire: dict[str, Any] = json.loads(json.dumps(gradviz.predict.reset().wire))
    mount_in(page, "forget", {"wire": wire, "theme": "auto"})
    forget = Widget(page, "forget")
    expect(status(question)).to_contain_text("once more")
    forget.button("Forget all answers").click()
    expect(forget.root.get_by_role("status")).to_have_text("1 answer is forgotten.")
    expect(status(question)).to_have_text("")
    assert page.evaluate("() => Object.keys(localStorage).length") == 0
