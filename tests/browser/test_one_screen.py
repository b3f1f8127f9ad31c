"""The player on one screen: how high it is, what is in view at every step, and where things open."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import Page, expect

import gradviz
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot

pytestmark = pytest.mark.browser

SIZES = [(1280, 720), (1030, 646), (768, 646), (400, 646)]
TALLEST = 620


def perceptron() -> gradviz.Recording:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    with gradviz.record() as recording:
        for _ in range(2):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
    return recording


def spoilt() -> gradviz.Recording:
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        h = w.exp()
        y = (h * h).sum()
        h.add_(1)
        y.backward()
    return recording


PROGRAMS = {"perceptron": perceptron, "spoilt": spoilt}


@cache
def document(name: str) -> str:
    return json.dumps(Player(PROGRAMS[name]()).wire)


def wire_of(name: str) -> dict[str, Any]:
    wire: dict[str, Any] = json.loads(document(name))
    return wire


def sized(bare: Bare, size: tuple[int, int]) -> None:
    bare.page.set_viewport_size({"width": size[0], "height": size[1]})
    bare.page.evaluate("() => { document.body.style.margin = '4px'; }")


# What a person must see at a step and does not: outside the window, or of the part it is in.
UNSEEN = """
() => {
  const box = (element) => element.getBoundingClientRect();
  const root = document.querySelector(".gradviz-root");
  const holds = (a, b) =>
    a.left <= b.left + 1 && b.right <= a.right + 1 && a.top <= b.top + 1 && b.bottom <= a.bottom + 1;
  const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const unseen = [];
  const need = (name, element, within) => {
    if (!element || !box(element).height) return unseen.push(`no ${name}`);
    if (!holds(screen, box(element))) unseen.push(`${name} outside the window`);
    if (within && !holds(box(within), box(element))) unseen.push(`${name} cut`);
  };
  const find = (selector) => root.querySelector(selector);
  need("widget", root);
  need("line", find(".gradviz-code [aria-current=step]") ?? find(".gradviz-line.is-next"),
    find(".gradviz-code"));
  need("caption", find(".gradviz-caption"));
  for (const name of ["Back", "Forward"]) need(name, find(`[aria-label="${name}"]`), root);
  const view = find(".gradviz-viewport");
  for (const card of root.querySelectorAll(".gradviz-viewport :is(.gv-now, .gv-raised)[role=img]")) {
    need(card.dataset.id, card, view);
    for (const text of card.querySelectorAll("text")) {
      const scale = text.getScreenCTM().a;
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < 10.99) unseen.push(`${card.dataset.id}: text of ${size.toFixed(1)} px`);
    }
  }
  return unseen;
}
"""


def transform(widget: Widget) -> str:
    return str(widget.root.locator(".gradviz-viewport > svg").evaluate("e => e.style.transform"))


@pytest.mark.parametrize("size", SIZES[:3])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_step_is_whole_in_the_window_and_the_same_from_both_sides(
    bare: Bare, name: str, size: tuple[int, int]
) -> None:
    sized(bare, size)
    widget = bare.mount(wire_of(name), step=0)
    last = int(widget.root.locator(".gradviz-where strong").inner_text().split()[-1])
    views = {}
    for place in range(last + 1):
        assert bare.page.evaluate(UNSEEN) == [], f"step {place}"
        views[place] = transform(widget)
        if place == 0:
            widget.root.get_by_role("slider", name="Step").focus()
        bare.page.keyboard.press("ArrowRight")
    for place in reversed(range(last)):
        bare.page.keyboard.press("ArrowLeft")
        assert bare.page.evaluate(UNSEEN) == [], f"back at step {place}"
        assert transform(widget) == views[place], f"step {place}"
    assert len(set(views.values())) > 1 or name == "spoilt"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_no_higher_than_the_window(bare: Bare, name: str, size: tuple[int, int]) -> None:
    sized(bare, size)
    widget = bare.mount(wire_of(name))
    for height in (size[1], 520, 900):
        bare.page.set_viewport_size({"width": size[0], "height": height})
        bare.page.wait_for_function(
            "(most) => document.querySelector('.gradviz-root').offsetHeight <= most",
            arg=min(TALLEST, height - 8),
        )
        assert bare.page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
    assert widget.root.evaluate("e => e.offsetHeight") == TALLEST
