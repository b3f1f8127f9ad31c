"""What matters is on one screen of a laptop's notebook, at every step of every recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Page

import gradviz
from tests.browser.bare import Bare, Widget
from tests.browser.conftest import Shoot
from tests.browser.gallery import GALLERY

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOK = {"width": 1030, "height": 646}
"""What JupyterLab leaves of a screen of 1366 by 768 pixels beside its side bar."""
TALLEST = 620
SMALLEST = 11
"""Pixels of text that a person reads without effort."""
FEW = ("mlp_three_steps", "write_in_place", "recurrent")
OTHER_WINDOWS = {"wide": (1280, 646), "tablet": (768, 646), "phone": (400, 780)}

_LOOK = """
async ([name, cards, told]) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => done()));
  await frame(); await frame();
  const root = document.querySelector(`#${name} .gradviz-root`);
  /** What of an element can be seen: its box within the window and all that clips it. */
  const seen = (element) => {
    const own = element.getBoundingClientRect();
    const box = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
    const clipTo = (clip) => {
      box.left = Math.max(box.left, clip.left); box.right = Math.min(box.right, clip.right);
      box.top = Math.max(box.top, clip.top); box.bottom = Math.min(box.bottom, clip.bottom);
    };
    clipTo(own);
    for (let around = element.parentElement; around?.parentElement; around = around.parentElement)
      if (getComputedStyle(around).overflow !== "visible") clipTo(around.getBoundingClientRect());
    return [own, box];
  };
  const isWhole = (element) => {
    const [own, box] = seen(element);
    return own.width > 0 && box.left <= own.left + 1 && box.top <= own.top + 1 &&
      box.right >= own.right - 1 && box.bottom >= own.bottom - 1;
  };
  /** What lies over its middle; the unfolded card shows what is below it. */
  const covers = (element) => {
    const [, box] = seen(element);
    const at = document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2);
    if (!at || element.contains(at) || at.closest(".gradviz-unfolded")) return undefined;
    return at.getAttribute("class");
  };
  const found = [];
  const must = (what, element) => {
    if (!element || !element.checkVisibility()) found.push(`${what} is not there`);
    else if (!isWhole(element)) found.push(`${what} is not whole in the window`);
    else {
      const by = covers(element);
      if (by !== undefined) found.push(`${what} is covered by ${by}`);
    }
  };
  must("Back", root.querySelector("button[aria-label=Back]"));
  must("Forward", root.querySelector("button[aria-label=Forward]"));
  const line = root.querySelector(".gradviz-code [aria-current=step]");
  if (told.line) must("line", line);
  const caption = root.querySelector(".gradviz-sentence");
  if (caption?.textContent) {
    const [own, box] = seen(caption);
    if (box.bottom - box.top < Math.min(own.height, 34) - 1 || box.top > own.top + 1)
      found.push("the caption's beginning cannot be read");
  }
  const svg = root.querySelector(".gradviz-viewport > svg");
  const shapes = cards.map((id) => svg.querySelector(`[data-id="${id}"]`));
  const whole = shapes.filter((card) => card && isWhole(card));
  if (shapes.length && !whole.length)
    found.push(`none of the cards ${cards} is whole in the window`);
  for (const card of whole) {
    const { id } = card.dataset;
    must(`card ${id}`, card);
    const zoom = card.getScreenCTM().a;
    for (const text of card.querySelectorAll("text")) {
      if (text.closest(".gv-port, .gv-stub, .gv-root, .gv-chip")) continue;
      const size = parseFloat(getComputedStyle(text).fontSize) * zoom;
      if (size < told.smallest - 0.05)
        found.push(`card ${id}: "${text.textContent}" is ${size.toFixed(1)} px`);
    }
  }
  const height = root.getBoundingClientRect().height;
  if (height > told.tallest + 1) found.push(`the player is ${height.toFixed(0)} px high`);
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) found.push(`the page is ${wide} px wide`);
  return [found, svg?.style.transform ?? ""];
}
"""


def subjects(recording: gradviz.Recording) -> dict[int, list[str]]:
    """The cards that matter at a step: of the node that has run, else of the outputs of a line.

    A line that makes several nodes is about those that none of the others uses.
    """
    history, made = recording.history, defaultdict[int | None, list[str]](list)
    for key in history.node_ids:
        if not any(row.variable for row in history.node_rows(key, len(recording.all_steps))):
            made[history.born(key)].append(key)
    found: dict[int, list[str]] = {}
    for step in recording.all_steps:
        born = made.get(step.index, [])
        rows = [row for key in born for row in history.node_rows(key, step.index + 1)]
        used = {entry[0] for row in rows for entry in row.next_functions if entry}
        found[step.index] = [step.node] if step.node else [key for key in born if key not in used]
    return found


def walk(widget: Widget, recording: gradviz.Recording, tallest: int) -> Iterator[str]:
    """Step to the end and back; yields what a person could not see."""
    document = widget.get("wire")
    cards = subjects(recording)
    seen: dict[int, str] = {}
    press = widget.page.keyboard.press
    widget.button("Forward").focus()
    for key, edge in (("ArrowRight", "End"), ("ArrowLeft", "Home")):
        press("Home" if edge == "End" else "End")
        before = None
        while (at := widget.get("step")) != before:
            index = recording[at].index
            view = document["views"][index]
            told = {"line": view["line"] is not None, "tallest": tallest, "smallest": SMALLEST}
            found, camera = widget.page.evaluate(_LOOK, [widget.name, cards[index], told])
            yield from (f"{key} to step {at}: {fault}" for fault in found)
            if seen.setdefault(at, camera) != camera:
                yield f"step {at}: {camera} from the right, {seen[at]} from the left"
            before = at
            press(key)


def shown(name: str, bare: Bare) -> tuple[Widget, gradviz.Recording]:
    recording = GALLERY[name]()
    return bare.mount(gradviz.show(recording).wire, step=-1, detail=False, speed=1), recording


@pytest.mark.parametrize("name", FEW)
def test_what_matters_is_in_the_window_at_every_step(
    name: str, page: Page, bare: Bare, shoot: Shoot
) -> None:
    check(name, page, bare, shoot, NOTEBOOK["width"], NOTEBOOK["height"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(set(GALLERY) - set(FEW)))
def test_what_matters_is_in_the_window_at_every_step_of_the_gallery(
    name: str, page: Page, bare: Bare, shoot: Shoot
) -> None:
    check(name, page, bare, shoot, NOTEBOOK["width"], NOTEBOOK["height"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("window", OTHER_WINDOWS)
@pytest.mark.parametrize("name", sorted(GALLERY))
def test_it_is_so_in_windows_of_other_widths(
    name: str, window: str, page: Page, bare: Bare, shoot: Shoot
) -> None:
    check(name, page, bare, shoot, *OTHER_WINDOWS[window])


def check(name: str, page: Page, bare: Bare, shoot: Shoot, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.add_style_tag(content="body { margin: 0 }")
    widget, recording = shown(name, bare)
    shoot(f"one-screen-{name}-{width}")
    faults: list[Any] = list(walk(widget, recording, TALLEST))
    assert faults == []
