"""What moves when a step is taken: it says where gradients go, and leaves nothing of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget
from tests.browser.gallery import RECORDINGS
from tests.view.recordings import product

pytestmark = pytest.mark.browser

# The picture without the class by which the window glides, and what moves in it.
_PICTURE = """() => document.querySelector('.gradviz-viewport > svg').outerHTML
  .replaceAll(/gradviz-[a-z0-9]+-gv/g, 'gv')"""
_MOVING = """document.querySelector('.gradviz-viewport').getAnimations({ subtree: true })
  .map((one) => [one.effect.target.classList.contains('gradviz-ghost') ? 'gradient'
    : one.effect.target.localName === 'svg' ? 'window' : one.effect.target.dataset.id,
    one.effect.getTiming().duration])"""
_STEPS = f"""async ([steps, pause]) => {{
  let moving;
  for (const step of steps) {{
    models.one.model.set('step', step);
    moving = {_MOVING};
    await new Promise((done) => setTimeout(done, pause));
  }}
  return moving;
}}"""


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


def mounted(page: Page) -> Widget:
    return Bare(page).mount(Player(product()).wire, step=3)


def stepped(page: Page, *steps: int, pause: int = 0) -> list[list[Any]]:
    """Goes from step to step; returns what moves at the last one, and for how long."""
    moving: list[list[Any]] = page.evaluate(_STEPS, [list(steps), pause])
    return moving


def test_a_gradient_travels_along_its_edge_and_a_new_card_fades_in(moving: Page) -> None:
    mounted(moving)
    moving.wait_for_timeout(300)
    seen = stepped(moving, 4, pause=400)
    assert ["n0", 120] in seen
    assert {name for name, _ in seen} <= {"n0", "window"}
    stepped(moving, 8, pause=400)
    seen = stepped(moving, 9)
    assert [one for one in seen if one[0] == "gradient"] == [["gradient", 260]] * 2


def test_when_the_first_node_is_made_the_cards_go_to_their_places_in_the_graph(
    moving: Page,
) -> None:
    recording = RECORDINGS["mlp_one_step"]()
    made = next(step.index for step in recording.all_steps if step.graph.nodes)
    cards = {node.id for node in recording.graph.nodes if node.variable}
    Bare(moving).mount(Player(recording).wire, step=made - 1)
    moving.wait_for_timeout(300)
    for step in (made, made - 1):
        seen = stepped(moving, step, pause=400)
        assert {name for name, lasts in seen if lasts == 260} >= cards


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
        mounted(one)
        one.wait_for_timeout(300)
        stepped(one, *steps, pause=330)
        one.wait_for_timeout(300)
        one.wait_for_function(f"() => {_MOVING}.length === 0")
    assert moving.evaluate(_PICTURE) == still.evaluate(_PICTURE)


def test_nothing_moves_where_the_system_asks_for_it(still: Page) -> None:
    mounted(still)
    still.wait_for_timeout(300)
    for step in (4, 7, 9):
        assert stepped(still, step, pause=330) == []


def test_steps_that_come_fast_end_what_moves_and_are_shown_at_once(
    moving: Page, still: Page
) -> None:
    for one in (moving, still):
        mounted(one)
        one.wait_for_timeout(300)
        assert stepped(one, 7, 8, 9, pause=20) == []
    assert moving.evaluate(_PICTURE) == still.evaluate(_PICTURE)
