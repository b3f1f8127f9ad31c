"""The file of ``save("steps.svg", animated=True)``, as a browser plays it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import Page

import gradviz
from gradviz.view.export.animated.frames import Frames, frames_of
from gradviz.view.widgets.player import Player
from tests.browser.conftest import Shoot
from tests.browser.gallery import write_in_place

pytestmark = pytest.mark.browser

WIDTH = 800
"""Of the column of text on GitHub, and less."""

_SEEN = """
(seconds) => {
  for (const one of document.getAnimations()) {
    one.pause();
    one.currentTime = seconds * 1000;
  }
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom };
  };
  const shown = (all) => [...all].filter((e) => getComputedStyle(e).visibility === "visible");
  const [graph, code] = [...document.querySelectorAll("svg svg")].map(box);
  const sizes = shown(document.querySelectorAll("text")).map(
    (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a);
  return {
    graph, code, smallest: Math.min(...sizes),
    words: shown(document.querySelectorAll("text")).map((text) => text.textContent),
    cards: shown(document.querySelectorAll(":is(.gv-now, .gv-raised) > .gv-card")).map(box),
    lines: shown(document.querySelectorAll(".gv-line-now, .gv-line-raised")).map(box),
  };
}
"""


def training() -> gradviz.Recording:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    with gradviz.record() as recording:
        optimizer.zero_grad()
        prediction = model(x)
        loss = torch.nn.functional.mse_loss(prediction, y)
        loss.backward()
        optimizer.step()
    return recording


PROGRAMS = {"training": training, "spoilt": write_in_place}


def saved(recording: gradviz.Recording, folder: Path) -> tuple[str, Frames]:
    Player(recording).save(folder / "steps.svg", animated=True)
    return (folder / "steps.svg").as_uri(), frames_of(recording, ())


@pytest.fixture
def moving(browser: Any) -> Iterator[Page]:
    """A page without a wish for less motion."""
    context = browser.new_context(viewport={"width": WIDTH, "height": 700})
    yield context.new_page()
    context.close()


def holds(outer: dict[str, float], inner: dict[str, float]) -> bool:
    return (
        outer["left"] <= inner["left"] + 1
        and inner["right"] <= outer["right"] + 1
        and outer["top"] <= inner["top"] + 1
        and inner["bottom"] <= outer["bottom"] + 1
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_at_every_step_what_runs_is_whole_in_view_and_readable(
    moving: Page, tmp_path: Path, name: str
) -> None:
    address, frames = saved(PROGRAMS[name](), tmp_path)
    moving.goto(address)
    moving.evaluate(f"document.documentElement.setAttribute('width', {WIDTH})")
    moving.evaluate("document.documentElement.removeAttribute('height')")
    # Where all of the graph is seen, its text is a little smaller.
    smallest = 9.9 if moving.locator(".gv-fade").count() == 0 else 11
    for i, (start, length) in enumerate(zip(frames.starts, frames.seconds, strict=True)):
        seen = moving.evaluate(_SEEN, start + 0.9 * length)
        assert f"step {frames.numbers[i]} of {frames.of}" in seen["words"]
        assert seen["smallest"] >= smallest
        assert [card for card in seen["cards"] if not holds(seen["graph"], card)] == []
        assert [line for line in seen["lines"] if not holds(seen["code"], line)] == []
        assert len(seen["lines"]) == 1


def test_with_less_motion_it_rests_at_the_error(page: Page, tmp_path: Path, shoot: Shoot) -> None:
    address, frames = saved(write_in_place(), tmp_path)
    page.goto(address)
    assert page.evaluate("document.getAnimations().length") == 0
    seen = page.evaluate(_SEEN, 0)
    assert f"step {frames.of} of {frames.of}" in seen["words"]
    assert "! culprit" in seen["words"]
    assert [card for card in seen["cards"] if not holds(seen["graph"], card)] == []
    shoot("animated-still")


def test_it_plays_as_an_image_in_a_page_without_scripts(browser: Any, tmp_path: Path) -> None:
    address, _ = saved(write_in_place(), tmp_path)
    (tmp_path / "page.html").write_text(f'<img width="{WIDTH}" src="{address}">')
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    first = page.screenshot()
    ends = time.monotonic() + 60
    while page.screenshot() == first:
        assert time.monotonic() < ends, "it does not play"
    context.close()
