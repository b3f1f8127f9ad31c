"""Questions in a picture, in the built bundle: picked and typed by mouse and by keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Locator, expect

from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.teach.picture_questions import picture_questions

pytestmark = pytest.mark.browser

FORMS = ("node", "tensors", "edges")
RIGHT = {"node": ["ExpBackward0"], "tensors": ["a", "y"], "edges": ["1", "1", "3", "2"]}
WRONG = {"node": ["AddBackward0"], "tensors": ["a", "b"], "edges": ["1", "1", "2", "3"]}
WHY_NOT = {
    "node": "The derivative of a sum needs no saved tensor.",
    "tensors": "It does not require grad.",
    "edges": "with respect to a is b.",
}
STEP = {"node": "raised", "tensors": "", "edges": "MulBackward0"}
"""A word of the caption at the step that shows the answer."""

Way = Callable[[Widget, str, list[str]], None]


def mount(bare: Bare, form: str, width: int = 1366, height: int = 768) -> Widget:
    bare.page.set_viewport_size({"width": width, "height": height})
    # As wide as the output of a cell in a laptop's notebook.
    bare.page.evaluate("() => { document.body.style.cssText = 'max-width: 1000px; margin: 4px'; }")
    return bare.mount(json.loads(json.dumps(picture_questions()[form].wire)))


def choice(question: Widget, label: str) -> Locator:
    """The control of something in the picture, by the name that a screen reader begins with."""
    buttons = question.root.locator("button.gradviz-pick:not([aria-hidden])")
    return buttons.and_(question.root.locator(f"[aria-label^='{label},']"))


def picked(question: Widget) -> list[str]:
    there = question.root.locator("button.gradviz-pick[aria-pressed=true]:not([aria-hidden])")
    labels = there.evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
    return [label.partition(",")[0] for label in labels]


def by_mouse(question: Widget, form: str, answer: list[str]) -> None:
    if form == "edges":
        for field, text in zip(question.root.get_by_role("textbox").all(), answer, strict=True):
            field.fill(text)
        return
    for label in set(picked(question)) ^ set(answer):
        if form == "tensors" or label in answer:
            choice(question, label).click()


def by_keyboard(question: Widget, form: str, answer: list[str]) -> None:
    """With Tab into the picture, and arrow keys and Space or typing inside of it."""
    press, page = question.page.keyboard.press, question.page
    question.root.locator(".gradviz-program").focus()
    press("Tab")
    if form == "edges":
        for text in answer:
            press("Control+a")
            page.keyboard.type(text)
            press("Tab")
        return
    for label in sorted(set(picked(question)) ^ set(answer)):
        if form == "tensors" or label in answer:
            walk_to(question, label)
            press("Space")


def walk_to(question: Widget, label: str) -> None:
    """From card to card by the arrow keys: every one can be reached."""
    ways: dict[str, list[str]] = {}
    press = question.page.keyboard.press
    press("Home")
    start = question.focused
    wanted = choice(question, label).get_attribute("data-id") or ""
    waiting: list[tuple[str, list[str]]] = [(start, [])]
    while waiting:
        at, keys = waiting.pop(0)
        if at in ways:
            continue
        ways[at] = keys
        if at == wanted:
            break
        for key in ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"):
            press("Home")
            for step in (*keys, key):
                press(step)
            waiting.append((question.focused, [*keys, key]))
    press("Home")
    for key in ways[wanted]:
        press(key)
    assert question.focused == wanted


def status(question: Widget) -> Locator:
    return question.root.locator(".gradviz-question-status").first


@pytest.mark.parametrize(
    ("form", "way"),
    [
        pytest.param(form, way, marks=() if is_quick else pytest.mark.exhaustive)
        for form in FORMS
        for way, is_quick in ((by_mouse, form == "node"), (by_keyboard, form != "node"))
    ],
)
def test_a_wrong_answer_has_a_second_try_and_then_the_player_opens(
    bare: Bare, form: str, way: Way
) -> None:
    question = mount(bare, form)
    check = question.button("Check")
    expect(check).to_have_attribute("aria-disabled", "true")
    way(question, form, WRONG[form])
    expect(check).to_have_attribute("aria-disabled", "false")
    if form != "edges":
        assert sorted(picked(question)) == sorted(WRONG[form])
    check.press("Enter") if way is by_keyboard else check.click()
    expect(status(question)).to_have_text("Not what torch says. Try once more.")
    expect(question.root.locator(".gradviz-question-result")).to_be_hidden()
    assert question.root.locator("[data-verdict=right], [data-verdict=missed]").count() == 0
    way(question, form, RIGHT[form])
    check.press("Enter") if way is by_keyboard else check.click()
    expect(status(question)).to_have_text("✓ Right.")
    expect(question.root.locator(".gradviz-question-why")).to_contain_text(WHY_NOT[form])
    player = question.root.locator(".gradviz-root[data-ready=true]")
    expect(player.locator(".gradviz-caption")).to_contain_text(STEP[form])
    expect(question.root.locator("[data-verdict=right]")).to_have_count(len(RIGHT[form]))
    assert axe_violations(question.page, "#one") == []


def test_a_click_beside_a_choice_picks_nothing(bare: Bare) -> None:
    question = mount(bare, "node")
    frame = question.root.locator(".gradviz-asked-sheet")
    frame.click(position={"x": 2, "y": 2})
    assert picked(question) == []
    expect(question.root.locator(".gradviz-asked-said")).to_contain_text("Pick one node")
    choice(question, "ExpBackward0").click()
    choice(question, "w").click()
    assert picked(question) == ["w"]
    expect(question.root.locator(".gradviz-asked-said")).to_have_text("Picked: w")


@pytest.mark.parametrize("form", FORMS)
def test_everything_is_on_one_screen_and_can_be_read(bare: Bare, form: str, shoot: Shoot) -> None:
    question = mount(bare, form)
    page = question.page
    shoot(f"question-picture-{form}")
    box = question.root.bounding_box()
    assert box is not None
    assert box["height"] <= 520
    check = question.button("Check").bounding_box()
    assert check is not None
    assert check["y"] + check["height"] <= 768
    fits = "(e) => e.scrollWidth <= e.clientWidth && e.scrollHeight <= e.clientHeight"
    assert question.root.locator(".gradviz-asked").evaluate(fits)
    small = question.root.locator(".gradviz-asked svg text").evaluate_all(
        "(all) => Math.min(...all.map((one) => one.getBoundingClientRect().height))"
    )
    assert small >= 9
    by_mouse(question, form, WRONG[form])
    question.button("Check").click()
    by_mouse(question, form, {"node": ["MulBackward0"], "tensors": ["out"]}.get(form, ["0"] * 4))
    question.button("Check").click()
    expect(status(question)).to_have_text("✗ Not what torch says.")
    shoot(f"question-picture-{form}-answered")
    page.evaluate("() => { document.body.style.background = '#111'; }")
    question.set("theme", "dark")
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    shoot(f"question-picture-{form}-answered-dark-400")
    assert axe_violations(page, "#one") == []


@pytest.mark.parametrize("form", FORMS)
def test_on_400_pixels_it_is_answered_as_well(bare: Bare, form: str, shoot: Shoot) -> None:
    question = mount(bare, form, 400, 900)
    page = question.page
    shoot(f"question-picture-{form}-400")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 400
    if form == "edges":
        expect(question.root.locator(".gradviz-typing.is-list")).to_have_count(1)
        rows = question.root.locator(".gradviz-blank-name")
        assert rows.all_inner_texts()[0].split() == ["1", "AddBackward0", "→", "MulBackward0"]
        for field in question.root.get_by_role("textbox").all():
            box = field.bounding_box()
            assert box is not None
            assert box["height"] >= 24
            assert box["x"] + box["width"] <= 400
    by_keyboard(question, form, RIGHT[form])
    question.button("Check").press("Enter")
    expect(status(question)).to_have_text("✓ Right.")


def test_fields_move_below_the_picture_and_back_with_what_was_typed(bare: Bare) -> None:
    question = mount(bare, "edges")
    field = question.root.get_by_role("textbox").nth(2)
    expect(field).to_have_accessible_name("3: gradient on the edge MulBackward0 → a")
    field.fill("3")
    in_picture = question.root.locator(".gradviz-asked .gradviz-blanks")
    expect(in_picture).to_have_count(1)
    bare.page.set_viewport_size({"width": 400, "height": 900})
    expect(in_picture).to_have_count(0)
    expect(field).to_have_value("3")
    expect(field).to_be_focused()
    bare.page.set_viewport_size({"width": 1366, "height": 768})
    expect(in_picture).to_have_count(1)
    expect(field).to_have_value("3")


def test_fields_are_on_their_edges(bare: Bare) -> None:
    question = mount(bare, "edges")
    places = question.root.locator(".gradviz-asked svg .gv-blank > rect")
    expect(places).to_have_count(4)
    for number, field in enumerate(question.root.get_by_role("textbox").all()):
        inside, around = field.bounding_box(), places.nth(number).bounding_box()
        assert inside is not None
        assert around is not None
        assert around["x"] <= inside["x"]
        assert inside["x"] + inside["width"] <= around["x"] + around["width"] + 1
        assert around["y"] - 1 <= inside["y"]
        assert inside["y"] + inside["height"] <= around["y"] + around["height"] + 1
        assert inside["height"] >= 20


@pytest.mark.parametrize("form", FORMS)
def test_nothing_of_the_answer_is_in_the_page_before_it_is_checked(bare: Bare, form: str) -> None:
    question = mount(bare, form)
    html = question.root.evaluate("(e) => e.outerHTML")
    asked = picture_questions()[form].question
    for sentence in (*asked.form.sentences.values(), asked.why):
        assert not sentence or sentence not in html
    for word in ('data-verdict="', 'gv-modified"', 'gv-freed"', 'gv-raised"', 'gv-gradient"'):
        assert word not in html
