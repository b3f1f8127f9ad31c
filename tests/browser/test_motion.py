"""What moves when a step is taken: it says where gradients go, and leaves nothing of itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from gradviz.model import Recording
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare
from tests.browser.gallery import RECORDINGS
from tests.browser.waiting import drawn
from tests.view.recordings import product

pytestmark = pytest.mark.browser

# The picture without the class by which the window glides, and what moves in it.
_PICTURE = """() => document.querySelector('.gradviz-viewport > svg').outerHTML
  .replaceAll(/gradviz-[a-z0-9]+-gv/g, 'gv')"""
_MOVING = """document.querySelector('.gradviz-viewport').getAnimations({ subtree: true })
  .map((one) => [one.effect.target.classList.contains('gradviz-ghost') ? 'gradient'
    : one.effect.target.localName === 'svg' ? 'window' : one.effect.target.dataset.id,
    one.effect.getTiming().duration])"""
_STEP = f"(step) => {{ models.one.model.set('step', step); return {_MOVING}; }}"
_FAR = datetime(2100, 1, 1, tzinfo=UTC)
_LATER_MS = 1000
"""After so long a step is not taken for one that comes fast."""


@pytest.fixture
def moving(browser: Browser, page: Page) -> Iterator[Page]:
    """A page like the other where things may move."""
    context = browser.new_context(reduced_motion="no-preference", viewport=page.viewport_size)
    yield context.new_page()
    context.close()


@pytest.fixture
def still(page: Page) -> Page:
    """A page where the system asks for reduced motion."""
    page.emulate_media(reduced_motion="reduce")
    return page


def mounted(page: Page, recording: Recording, step: int) -> None:
    # By this clock it is judged whether steps come fast; what moves has a clock of its own.
    page.clock.install()
    Bare(page).mount(Player(recording).wire, step=step)
    drawn(page)


def stepped(page: Page, *steps: int) -> list[list[Any]]:
    """Goes from step to step, each to its end; returns what moves at the last, and how long."""
    moving: list[list[Any]] = []
    for step in steps:
        page.clock.fast_forward(_LATER_MS)
        moving = page.evaluate(_STEP, step)
        page.wait_for_function(f"() => {_MOVING}.length === 0")
    return moving


def test_a_gradient_travels_along_its_edge_and_a_new_card_fades_in(moving: Page) -> None:
    mounted(moving, product(), 3)
    seen = stepped(moving, 4)
    assert ["n0", 120] in seen
    assert {name for name, _ in seen} <= {"n0", "window"}
    stepped(moving, 8)
    seen = stepped(moving, 9)
    assert [one for one in seen if one[0] == "gradient"] == [["gradient", 240]] * 2


def test_when_the_first_node_is_made_no_card_goes_to_another_place(moving: Page) -> None:
    recording = RECORDINGS["mlp_one_step"]()
    made = next(step.index for step in recording.all_steps if step.graph.nodes)
    mounted(moving, recording, made - 1)
    for step in (made, made - 1):
        assert not [name for name, lasts in stepped(moving, step) if lasts == 240]


@pytest.mark.parametrize(
    "steps",
    [
        *([4, 5], [7], [9, 3]),
        *(pytest.param(one, marks=pytest.mark.exhaustive) for one in ([4], [9], [9, 10])),
    ],
)
def test_when_the_motion_is_over_the_picture_is_that_without_motion(
    moving: Page, still: Page, steps: list[int]
) -> None:
    for one in (moving, still):
        mounted(one, product(), 3)
        stepped(one, *steps)
    assert moving.evaluate(_PICTURE) == still.evaluate(_PICTURE)


def test_nothing_moves_where_the_system_asks_for_it(still: Page) -> None:
    mounted(still, product(), 3)
    for step in (4, 7, 9):
        assert stepped(still, step) == []


def test_steps_that_come_fast_end_what_moves_and_are_shown_at_once(
    moving: Page, still: Page
) -> None:
    for one in (moving, still):
        mounted(one, product(), 3)
        one.clock.pause_at(_FAR)
        assert [one.evaluate(_STEP, step) for step in (7, 8, 9)][-1] == []
    assert moving.evaluate(_PICTURE) == still.evaluate(_PICTURE)
