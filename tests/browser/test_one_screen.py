"""The player on one screen: how high it is, what is in view at each step, where things open."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import expect

import gradviz
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget, axe_violations
from tests.browser.conftest import Shoot
from tests.browser.gallery import long_chain, write_in_place

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


PROGRAMS: dict[str, Callable[[], gradviz.Recording]] = {
    "perceptron": perceptron,
    "spoilt": write_in_place,
    "deep": long_chain,
}


@cache
def document(name: str) -> str:
    made = loop() if name == "loop" else PROGRAMS[name]()
    return json.dumps(Player(made).wire)


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
  const before = (one, other) => one <= other + 1;
  const holds = (a, b) =>
    before(a.left, b.left) && before(b.right, a.right) &&
    before(a.top, b.top) && before(b.bottom, a.bottom);
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
  // Where all of the picture is in the window, its text is a little smaller.
  const svg = box(view.querySelector("svg"));
  const smallest = holds(box(view), svg) ? 8.79 : 10.99;
  const current = ".gradviz-viewport :is(.gv-now, .gv-raised)[role=img]:not(.gv-ref)";
  for (const card of root.querySelectorAll(current)) {
    need(card.dataset.id, card, view);
    for (const text of card.querySelectorAll("text")) {
      const scale = text.getScreenCTM().a;
      const size = parseFloat(getComputedStyle(text).fontSize) * scale;
      if (size < smallest) unseen.push(`${card.dataset.id}: text of ${size.toFixed(1)} px`);
    }
  }
  return unseen;
}
"""


def loop() -> gradviz.Recording:
    """More than a hundred steps, in turns; the last raises."""
    w = torch.ones(2, requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        for _ in range(14):
            loss = (w * w).sum()
            loss.backward()
            w.grad = None
        loss.backward()
    return recording


# The marks of a timeline: how large, and which are seen in its window.
MARKS = """
() => {
  const find = (selector) => document.querySelector(`.gradviz-timeline ${selector}`);
  const box = (element) => element.getBoundingClientRect();
  const seen = box(find(".gradviz-around"));
  const ticks = [...find(".gradviz-ticks").children];
  const middle = (element) => (box(element).left + box(element).right) / 2;
  return {
    narrowest: Math.min(...ticks.map((tick) => box(tick).width)),
    apart: Math.min(...ticks.map(middle).sort((a, b) => a - b)
      .flatMap((at, i, all) => i ? [at - all[i - 1]] : [])),
    window: [seen.left, seen.right],
    overview: box(find(".gradviz-overview")).height,
    error: box(find(".gradviz-overview .is-error")).left,
  };
}
"""


def transform(widget: Widget) -> str:
    return str(widget.root.locator(".gradviz-viewport > svg").evaluate("e => e.style.transform"))


@pytest.mark.parametrize(
    "size", [SIZES[0], *(pytest.param(size, marks=pytest.mark.exhaustive) for size in SIZES[1:3])]
)
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
    assert (len(set(views.values())) > 1) == (name == "deep")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_no_higher_than_the_window(bare: Bare, name: str, size: tuple[int, int]) -> None:
    sized(bare, size)
    bare.mount(wire_of(name))
    bare.page.set_viewport_size({"width": size[0], "height": 2 * TALLEST})
    own = bare.page.evaluate("() => document.querySelector('.gradviz-root').offsetHeight")
    for height in (size[1], 520, 900):
        bare.page.set_viewport_size({"width": size[0], "height": height})
        bare.page.wait_for_function(
            "(all) => document.querySelector('.gradviz-root').offsetHeight === all",
            arg=min(TALLEST, own, height - 12),
        )
        assert bare.page.evaluate("() => document.documentElement.scrollWidth") <= size[0]


def test_a_window_that_a_person_has_moved_goes_only_where_it_must(bare: Bare) -> None:
    sized(bare, (1030, 646))
    widget = bare.mount(wire_of("perceptron"), step=8)
    own = transform(widget)
    viewport = widget.root.locator(".gradviz-viewport")
    viewport.hover(position={"x": 20, "y": 20})
    bare.page.keyboard.down("Control")
    bare.page.mouse.wheel(0, -60)
    bare.page.keyboard.up("Control")
    zoom = transform(widget).split("scale")[1]
    assert zoom != own.split("scale")[1]
    for step in range(8, 16):
        widget.set("step", step)
        assert transform(widget).split("scale")[1] == zoom
        assert [seen for seen in bare.page.evaluate(UNSEEN) if "px" not in seen] == []
    widget.set("step", 8)
    widget.button("Fit").click()
    assert (
        bare.page.evaluate(
            "() => document.querySelector('.gradviz-viewport > svg').getBoundingClientRect().height"
        )
        <= 560
    )
    widget.button("Fit").click()
    assert transform(widget) == own


def test_a_long_timeline_shows_the_steps_around_the_current_one_at_full_size(bare: Bare) -> None:
    sized(bare, (1030, 646))
    widget = bare.mount(wire_of("loop"), step=1)
    slider = widget.root.get_by_role("slider", name="Step")
    last = int(slider.get_attribute("max") or 0)
    assert last > 100
    slider.focus()
    for keys in ((), ("PageUp",) * 4, ("ArrowRight",) * 3, ("End",), ("Home", "PageUp")):
        for key in keys:
            bare.page.keyboard.press(key)
        found = bare.page.evaluate(MARKS)
        assert found["narrowest"] >= 11.9
        assert found["apart"] >= 11.9
        assert found["overview"] > 5
        left, right = found["window"]
        thumb = bare.page.evaluate(
            "(last) => { const e = document.querySelector('.gradviz-scale input');"
            " const { left, width } = e.getBoundingClientRect();"
            " return left + 8 + (width - 16) * e.value / last; }",
            last,
        )
        assert left <= thumb <= right
        assert left <= found["error"] <= right
    line = widget.root.locator(".gradviz-overview").bounding_box()
    assert line is not None
    bare.page.mouse.click(line["x"] + line["width"] / 2, line["y"] + 3)
    assert abs(int(slider.input_value()) - last / 2) < 3
    before = int(slider.input_value())
    window = widget.root.locator(".gradviz-around").bounding_box()
    thumb = slider.bounding_box()
    assert window is not None
    assert thumb is not None
    x, y = window["x"] + window["width"] / 2, thumb["y"] + thumb["height"] / 2
    bare.page.mouse.move(x, y)
    bare.page.mouse.down()
    bare.page.mouse.move(x + 36, y, steps=6)
    bare.page.mouse.up()
    assert int(slider.input_value()) - before in (2, 3, 4)


def test_a_short_timeline_is_seen_whole(bare: Bare) -> None:
    sized(bare, (1030, 646))
    widget = bare.mount(wire_of("spoilt"), step=1)
    whole, seen = (
        widget.root.locator(f".gradviz-timeline {part}").bounding_box()
        for part in (".gradviz-scale", ".gradviz-around")
    )
    assert whole is not None
    assert seen is not None
    assert (whole["x"], whole["width"]) == (seen["x"], seen["width"])
    assert not widget.root.locator(".gradviz-overview").is_visible()


def test_the_code_is_made_wider_and_narrower(bare: Bare) -> None:
    sized(bare, (1030, 646))
    widget = bare.mount(wire_of("spoilt"))
    line = widget.root.get_by_role("separator", name="Width of the code")
    side = widget.root.locator(".gradviz-side")

    def width() -> int:
        found: int = side.evaluate("e => e.offsetWidth")
        expect(line).to_have_attribute("aria-valuenow", str(found))
        return found

    first = width()
    line.press("ArrowRight")
    assert width() == first + 16
    line.press("ArrowLeft")
    line.press("ArrowLeft")
    assert width() == first - 16
    line.press("Home")
    assert str(width()) == line.get_attribute("aria-valuemin")
    line.press("End")
    assert str(width()) == line.get_attribute("aria-valuemax")
    assert bare.page.evaluate(UNSEEN) == []
    line.dblclick()
    assert width() == first
    place = line.bounding_box()
    assert place is not None
    bare.page.mouse.move(place["x"] + 2, place["y"] + 300)
    bare.page.mouse.down()
    bare.page.mouse.move(place["x"] + 102, place["y"] + 300, steps=3)
    bare.page.mouse.up()
    assert width() == first + 100
    assert widget.saved("step") == []


_FILLS = """
() => {
  const { left, top, width, height } = document.querySelector(".gradviz-root")
    .getBoundingClientRect();
  return [left, top, width - innerWidth, height - innerHeight].every((one) => Math.abs(one) < 2);
}
"""


def test_the_whole_screen_is_the_graphs(bare: Bare) -> None:
    sized(bare, (1030, 900))
    widget = bare.mount(wire_of("perceptron"), step=8)
    widget.button("Full screen").click()
    bare.page.wait_for_function(_FILLS)
    assert bare.page.evaluate("() => document.fullscreenElement?.className ?? ''").startswith(
        "gradviz-root"
    )
    assert bare.page.evaluate(UNSEEN) == []
    bare.page.keyboard.press("f")
    bare.page.wait_for_function("() => !document.fullscreenElement")
    assert widget.root.evaluate("e => e.offsetHeight") <= TALLEST


def test_where_the_host_forbids_it_the_widget_fills_the_window(bare: Bare) -> None:
    sized(bare, (1030, 900))
    widget = bare.mount(wire_of("perceptron"), step=8)
    bare.page.evaluate(
        """() => {
          Object.defineProperty(document, "fullscreenEnabled", { value: false });
          const host = document.getElementById("one");
          host.style.cssText = "transform: translate(30px, 40px); overflow: hidden; height: 500px";
        }"""
    )
    widget.node("n0").focus()
    bare.page.keyboard.press("f")
    bare.page.wait_for_function(_FILLS)
    assert bare.page.evaluate(UNSEEN) == []
    assert axe_violations(bare.page, "#one") == []
    bare.page.keyboard.press("Escape")
    assert not bare.page.evaluate(_FILLS)
    assert widget.root.evaluate("e => e.offsetHeight") <= TALLEST
    assert widget.focused == "n0"


def test_one_finger_scrolls_the_page_and_two_are_the_graphs(browser: Any) -> None:
    context = browser.new_context(viewport={"width": 1000, "height": 500}, has_touch=True)
    page = context.new_page()
    bare = Bare(page)
    widget = bare.mount(wire_of("perceptron"), step=8)
    page.evaluate("() => { document.body.style.paddingBottom = '900px'; }")
    before = transform(widget)
    place = widget.root.locator(".gradviz-viewport").bounding_box()
    assert place is not None
    x, y = place["x"] + 300, place["y"] + 200
    touch = context.new_cdp_session(page)

    def fingers(kind: str, *points: tuple[float, float]) -> None:
        listed = [{"x": x, "y": y, "id": number} for number, (x, y) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": listed})

    fingers("touchStart", (x - 20, y), (x + 20, y))
    for apart in (30, 40, 60):
        fingers("touchMove", (x - apart, y), (x + apart, y))
    fingers("touchEnd")
    after = transform(widget)
    assert float(after.split("scale(")[1][:-1]) > 2 * float(before.split("scale(")[1][:-1])
    assert page.evaluate("() => scrollY") == 0
    fingers("touchStart", (x, y))
    for step in range(1, 8):
        fingers("touchMove", (x, y - 20 * step))
    fingers("touchEnd")
    page.wait_for_function("() => scrollY > 60")
    assert transform(widget) == after
    page.evaluate("() => scrollTo(0, 0)")
    widget.button("Fit").tap()
    widget.node("n2").tap(force=True)
    assert widget.get("selected") == "n2"
    context.close()


@pytest.mark.exhaustive
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pictures_of_it_are_kept(
    bare: Bare, shoot: Shoot, size: tuple[int, int], theme: str
) -> None:
    sized(bare, size)
    ground = "#fff" if theme == "light" else "#111"
    bare.page.evaluate("(ground) => { document.body.style.background = ground; }", ground)
    for name in PROGRAMS:
        widget = bare.mount(wire_of(name), theme=theme)
        shoot(f"screen-{name}-{size[0]}-{theme}")
        assert axe_violations(bare.page, "#one") == []
        widget.unmount()


def test_presented_it_is_code_graph_and_caption_in_large_type(bare: Bare) -> None:
    sized(bare, (1280, 720))
    widget = bare.mount(wire_of("perceptron"), step=6)
    widget.root.get_by_role("slider", name="Step").focus()
    before = transform(widget)
    bare.page.keyboard.press("p")
    for hidden in (".gradviz-bar", ".gradviz-tabs", ".gradviz-where"):
        expect(widget.root.locator(hidden)).to_be_hidden()
    for shown in (".gradviz-line.is-now code", ".gradviz-sentence"):
        size = widget.root.locator(shown).first.evaluate("e => getComputedStyle(e).fontSize")
        assert size == "20px", shown
    bare.page.keyboard.press("ArrowRight")
    assert widget.get("step") == 7
    bare.page.keyboard.press("Escape")
    expect(widget.root.locator(".gradviz-bar")).to_be_visible()
    bare.page.keyboard.press("ArrowLeft")
    bare.page.wait_for_function(
        "(own) => document.querySelector('.gradviz-viewport > svg').style.transform === own",
        arg=before,
    )
