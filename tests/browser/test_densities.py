"""Densities in a real browser: the control, the key, and the card that unfolds."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.browser.test_one_screen import PROGRAMS, wire_of

pytestmark = pytest.mark.browser

_AROUND = """
(root) => {
  const found = root.querySelector(".gradviz-unfolded");
  if (!found) return null;
  const box = (e) => e.getBoundingClientRect();
  const before = (one, other) => one <= other + 1;
  const apart = (a, b) =>
    before(a.right, b.left) || before(b.right, a.left) ||
    before(a.bottom, b.top) || before(b.bottom, a.top);
  const own = box(found.querySelector(".gv-card"));
  const frame = box(root.querySelector(".gradviz-viewport"));
  const id = found.dataset.unfolds;
  const joined = new Set();
  for (const edge of root.querySelectorAll(".gv-edge, .gv-uses")) {
    const { source, target, tensor } = edge.dataset;
    if ([source, target, tensor].includes(id))
      for (const end of [source, target, tensor]) if (end && end !== id) joined.add(end);
  }
  const hidden = [...joined].filter((other) => {
    const card = root.querySelector(`.gradviz-viewport [data-id="${other}"] > .gv-card`);
    return card && !apart(own, box(card));
  });
  const inside = own.left >= frame.left - 1 && own.right <= frame.right + 1 &&
    own.top >= frame.top - 1 && own.bottom <= frame.bottom + 1;
  const ids = [...root.querySelectorAll("[id]")].map((e) => e.id);
  const sizes = [...found.querySelectorAll("text")].map(
    (text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a);
  const smallest = Math.min(...sizes);
  return { id, hidden, inside, smallest, width: own.width, twice: ids.length - new Set(ids).size };
}
"""


def mount(bare: Bare, name: str, **traits: Any) -> Widget:
    bare.page.set_viewport_size({"width": 1366, "height": 768})
    given: dict[str, Any] = {"step": -1, "detail": False, "speed": 1.0, "density": "auto"} | traits
    return bare.mount(wire_of(name), **given)


def around(widget: Widget) -> Any:
    return widget.root.evaluate(_AROUND)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_selected_card_unfolds_in_the_window(bare: Bare, name: str) -> None:
    options, seen = DrawOptions(density="compact"), 0
    wire = json.loads(json.dumps(Player(PROGRAMS[name](), options).wire))
    bare.page.set_viewport_size({"width": 1366, "height": 768})
    widget = bare.mount(wire, step=0)
    for step, view in enumerate(wire["views"]):
        if view["level"] > 1 or view["node"] is None:
            continue
        widget.set("step", step)
        assert around(widget) is None, step
        widget.set("selected", view["node"])
        found = around(widget)
        widget.set("selected", "")
        if found is None:
            continue
        seen += 1
        assert found["inside"], step
        # No wider than that, with its outline, but for text that is read without effort.
        assert found["width"] <= 300 + 2 or found["smallest"] < 11.1, step
        assert found["smallest"] > 10.95, step
        assert found["twice"] == 0, step
    assert seen


def test_a_click_on_it_is_a_click_on_its_card(bare: Bare) -> None:
    widget = mount(bare, "perceptron", step=9, selected="n0")
    widget.root.locator(".gradviz-unfolded text").first.click()
    assert widget.get("selected") == around(widget)["id"] == "n0"
    expect(widget.root.locator(".gradviz-unfolded")).to_have_attribute("aria-hidden", "true")


def test_the_full_picture_unfolds_nothing(bare: Bare) -> None:
    widget = mount(bare, "perceptron", step=9, density="full", selected="n0")
    assert around(widget) is None


def test_the_key_goes_through_the_densities_and_keeps_the_card_in_view(bare: Bare) -> None:
    widget, card = mount(bare, "perceptron", step=9), "n0"
    widget.node(card).focus()
    shown = []
    for _ in range(6):
        bare.page.keyboard.press("d")
        shown.append(widget.get("density"))
        assert widget.focused == card
        box = widget.node(card).locator(".gv-card").first.bounding_box()
        frame = widget.root.locator(".gradviz-viewport").bounding_box()
        assert box is not None
        assert frame is not None
        assert frame["y"] - 1 <= box["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"] + 1
    assert shown == ["full", "compact"] * 3


def test_it_does_not_fade_where_motion_is_reduced(bare: Bare) -> None:
    bare.page.emulate_media(reduced_motion="reduce")
    widget = mount(bare, "perceptron", step=9, selected="n0")
    name = "e => getComputedStyle(e).animationName"
    assert widget.root.locator(".gradviz-unfolded").evaluate(name) == "none"
    bare.page.emulate_media(reduced_motion="no-preference")
    assert widget.root.locator(".gradviz-unfolded").evaluate(name) == "gradviz-unfold"


@pytest.mark.parametrize(
    "density",
    ["compact", *(pytest.param(one, marks=pytest.mark.exhaustive) for one in ("normal", "full"))],
)
def test_nothing_is_wrong_for_assistive_technology(bare: Bare, density: str, shoot: Shoot) -> None:
    mount(bare, "perceptron", step=9, density=density)
    assert axe_violations(bare.page, ".gradviz-root") == []
    shoot(f"density-{density}")
