"""Decks of slides and pages of notebooks, opened from a file: no network, no kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page, expect

from gradviz.publish.documents import page_html, slides_html
from gradviz.publish.source import notebook_of
from tests.browser.conftest import Shoot
from tests.browser.waiting import steady
from tests.lessons.lesson_files import LESSONS, NOTEBOOKS
from tests.publish.notebooks import ran

pytestmark = pytest.mark.browser

HERE = "section.present:not(.stack)"


LAYOUT = f"""
() => [...document.querySelectorAll(`{HERE}, {HERE} *`)].map((element) => [
  element.scrollWidth, element.scrollHeight, element.getBoundingClientRect().top])
"""
"""Where all of a slide is, as a function of JavaScript."""


class Deck:
    """A deck that is open."""

    def __init__(self, page: Page, file: Path, html: str) -> None:
        self.page = page
        self.asked: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        file.write_text(html, "utf-8")
        page.set_viewport_size({"width": 1366, "height": 768})
        page.goto(file.as_uri())
        page.locator(".reveal.ready").wait_for()
        self.slides: int = page.locator("section:not(.stack)").count()

    @property
    def here(self) -> Any:
        return self.page.locator(HERE).locator("visible=true").last

    @property
    def number(self) -> int:
        words = self.page.locator(".slide-number").inner_text()
        return int(words.split("/")[0])

    def ready(self) -> None:
        """Wait until the widgets of the slide are alive."""
        self.page.wait_for_function(
            "selector => [...document.querySelectorAll(`${selector} [data-gradviz-state]`)]"
            ".every(place => place.querySelector('.gradviz-root[data-ready]'))",
            arg=HERE,
        )

    def beyond(self) -> int:
        """By how many pixels the slide is larger than the window."""
        scrolled = "slide => Math.max(slide.scrollHeight - slide.clientHeight,"
        return int(self.here.evaluate(f"{scrolled} slide.scrollWidth - slide.clientWidth)"))


@pytest.fixture
def deck(page: Page, tmp_path: Path) -> Deck:
    return Deck(page, tmp_path / "lecture.slides.html", slides_html(*ran(), "A lecture"))


def go_to(deck: Deck, selector: str) -> Any:
    """Turn slides until there is such an element; returns it."""
    while not deck.here.locator(selector).count():
        before = deck.number
        deck.page.keyboard.press("ArrowRight")
        assert deck.number == before + 1
        deck.ready()
    return deck.here.locator(selector).first


def test_arrows_and_space_go_through_all_slides_and_back(deck: Deck) -> None:
    for number in range(1, deck.slides):
        assert deck.number == number
        deck.page.keyboard.press("Space" if number % 2 else "ArrowRight")
    assert deck.number == deck.slides
    deck.page.keyboard.press("ArrowLeft")
    assert deck.number == deck.slides - 1
    assert [url for url in deck.asked if not url.startswith(("file:", "data:", "blob:"))] == []


def test_keys_of_a_player_in_focus_step_and_do_not_turn_the_slide(deck: Deck) -> None:
    slider = go_to(deck, "input[type=range]")
    number, step = deck.number, slider.input_value()
    forward = deck.here.get_by_role("button", name="Forward").first
    forward.focus()
    deck.page.keyboard.press("Space")
    expect(slider).not_to_have_value(step)
    after = slider.input_value()
    deck.page.keyboard.press("ArrowLeft")
    expect(slider).not_to_have_value(after)
    assert deck.number == number
    deck.page.keyboard.press("PageDown")  # what a remote control sends
    assert deck.number == number + 1


def test_escape_gives_the_keys_back_to_the_deck(deck: Deck) -> None:
    go_to(deck, "input[type=range]").focus()
    number = deck.number
    deck.page.keyboard.press("Escape")
    deck.page.keyboard.press("ArrowRight")
    assert deck.number == number + 1


def test_a_question_on_a_slide_is_answered_by_keyboard(deck: Deck) -> None:
    go_to(deck, "input[type=radio]").focus()
    number = deck.number
    deck.page.keyboard.press("ArrowDown")
    deck.page.keyboard.press("ArrowDown")
    deck.page.keyboard.press("ArrowUp")
    check = deck.here.get_by_role("button", name="Check")
    check.focus()
    deck.page.keyboard.press("Space")
    expect(deck.here.get_by_text("The square doubles it.")).to_be_visible()
    assert deck.number == number


@pytest.mark.exhaustive
def test_a_picture_that_has_little_room_below_its_code_is_whole_beside_it(
    page: Page, tmp_path: Path
) -> None:
    lesson = NOTEBOOKS / "12-hunting-in-real-code.ipynb"
    deck = Deck(page, tmp_path / "a.slides.html", slides_html(*notebook_of(lesson), "A"))
    picture = go_to(deck, ".jp-CodeCell:has(.jp-InputArea) [data-gradviz-state]")
    deck.ready()
    code = deck.here.locator(".jp-InputArea").first.bounding_box()
    shown = picture.bounding_box()
    assert code["x"] + code["width"] <= shown["x"]
    cards = deck.here.locator(".gv-node, .gv-leaf")
    assert cards.count() >= 6
    viewport = deck.here.locator(".gradviz-viewport").bounding_box()
    for card in cards.all():
        box = card.bounding_box()
        assert viewport["y"] <= box["y"]
        assert box["y"] + box["height"] <= viewport["y"] + viewport["height"] + 1


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_a_page_of_a_notebook_is_alive(
    shade: Any, page: Page, tmp_path: Path, shoot: Shoot
) -> None:
    file = tmp_path / "lecture.html"
    file.write_text(page_html(*ran(), "A lecture"), "utf-8")
    page.emulate_media(color_scheme=shade)
    page.goto(file.as_uri())
    expect(page.locator(".gradviz-root[data-ready]")).to_have_count(2)
    slider = page.locator("input[type=range]").first
    step = slider.input_value()
    page.get_by_role("button", name="Forward").first.click()
    expect(slider).not_to_have_value(step)
    expect(page.locator(f".gradviz-root[data-theme={shade}]")).to_have_count(2)
    shoot(f"page-of-a-notebook-{shade}")


@pytest.mark.exhaustive
@pytest.mark.parametrize("lesson", LESSONS)
def test_no_slide_of_a_lesson_is_larger_than_the_window(
    lesson: str, page: Page, tmp_path: Path, shoot: Shoot
) -> None:
    html = slides_html(*notebook_of(NOTEBOOKS / f"{lesson}.ipynb"), lesson)
    deck = Deck(page, tmp_path / "lesson.slides.html", html)
    for number in range(1, deck.slides + 1):
        deck.ready()
        steady(page, LAYOUT)
        shoot(f"slide-{lesson[:2]}-{number:02}")
        assert deck.beyond() == 0, f"slide {number}"
        page.keyboard.press("ArrowRight")
