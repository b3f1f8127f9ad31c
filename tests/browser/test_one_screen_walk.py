"""What matters is on one screen of a laptop's notebook, at every step of all that is shown."""

from __future__ import annotations

from functools import cache

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page

from tests.browser.bare import Bare
from tests.browser.conftest import Shoot
from tests.browser.gallery import GALLERY
from tests.browser.lesson_widgets import lesson_widgets
from tests.browser.walk import Shown, walk
from tests.lessons.lesson_files import LESSONS

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WINDOWS = {
    "notebook": (930, 646),
    "wide": (1280, 646),
    "tablet": (768, 646),
    "phone": (400, 780),
}
"""The first is what JupyterLab leaves an output of a screen of 1366 by 768 pixels, beside its side
bar and the prompts."""
OF_LESSONS = ("notebook", "phone")
"""The lessons are walked in two of the windows, so that all of it takes about five minutes."""


@cache
def gallery(name: str) -> dict[str, Shown]:
    """One program of the gallery, run once for all windows."""
    return {name: Shown.of(GALLERY[name]())}


def test_what_matters_is_in_the_window_at_every_step(page: Page, bare: Bare, shoot: Shoot) -> None:
    check(gallery("write_in_place"), "notebook", page, bare, shoot)


@pytest.mark.exhaustive
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", sorted(GALLERY))
def test_it_is_so_for_the_gallery_in_every_window(
    name: str, window: str, page: Page, bare: Bare, shoot: Shoot
) -> None:
    check(gallery(name), window, page, bare, shoot)


@pytest.mark.exhaustive
@pytest.mark.parametrize("window", OF_LESSONS)
@pytest.mark.parametrize("lesson", LESSONS)
def test_it_is_so_for_every_widget_of_the_lessons(
    lesson: str, window: str, page: Page, bare: Bare, shoot: Shoot
) -> None:
    check(lesson_widgets(lesson), window, page, bare, shoot)


def check(widgets: dict[str, Shown], window: str, page: Page, bare: Bare, shoot: Shoot) -> None:
    width, height = WINDOWS[window]
    page.set_viewport_size({"width": width, "height": height})
    page.add_style_tag(content="body { margin: 0 }")
    faults: list[str] = []
    for name, shown in widgets.items():
        widget = bare.mount(shown.wire, **shown.traits)
        shoot(f"one-screen-{name}-{width}")
        faults += [f"{name}: {fault}" for fault in walk(widget, shown)]
        widget.unmount()
    assert not faults, "\n".join(faults)
