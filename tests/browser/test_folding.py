"""Folded graphs in the browser: boxes open and close in place, and every node can be reached."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import ViewportSize, expect
from torch import Tensor, nn

import gradviz
from gradviz.view.documents.folds import PAGE
from gradviz.view.documents.graph import graph_document
from tests.browser.bare import Bare, Widget, axe_violations, picture_faults

pytestmark = pytest.mark.browser

WINDOWS: tuple[ViewportSize, ...] = ({"width": 1366, "height": 768}, {"width": 400, "height": 800})


class Block(nn.Module):
    """A residual block: two branches, so that links go past boxes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """One step."""
        hidden = torch.relu(self.up(self.norm(x)))
        branch: Tensor = self.down(hidden)
        return x + branch


class Net(nn.Module):
    """Blocks one after the other."""

    def __init__(self, depth: int, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.last = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The prediction."""
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        prediction: Tensor = self.last(x)
        return prediction


@pytest.fixture(scope="module")
def folded() -> dict[str, Any]:
    torch.manual_seed(0)
    model = Net(8)
    loss = model(torch.ones(3, 8)).square().mean()
    widget = gradviz.show(loss, model=model)
    assert widget._drawing is not None
    # As in a saved page, where no kernel is asked for what is missing.
    return graph_document(widget.graph, folded=widget._drawing, insides=PAGE)


def kinds(wire: dict[str, Any], kind: str) -> list[str]:
    return [fold["id"] for fold in wire["fold"]["folds"] if fold["kind"] == kind]


def place_of(widget: Widget, fold: str) -> dict[str, float]:
    """Where the card of a closed box, or the header of an open one, is on the screen."""
    found: dict[str, float] = widget.node(fold).evaluate(
        "(shape) => { const part = shape.querySelector(':scope > .gv-header')"
        " ?? shape.querySelector(':scope > .gv-card:not(.gv-stack)');"
        " const { left, top, right } = part.getBoundingClientRect();"
        " return { left, top, right }; }"
    )
    return found


def picture_of(widget: Widget) -> str:
    return widget.root.locator(".gradviz-viewport > svg").evaluate(
        "(svg) => [svg.style.transform, ...[...svg.querySelectorAll('[data-id]')].map("
        "(e) => `${e.dataset.id} ${e.parentNode.getAttribute('transform')}`)].join()"
    )


@pytest.mark.parametrize(
    ("window", "theme"),
    [
        pytest.param(WINDOWS[0], "light", id="wide-light", marks=pytest.mark.exhaustive),
        pytest.param(WINDOWS[0], "dark", id="wide-dark", marks=pytest.mark.exhaustive),
        pytest.param(WINDOWS[1], "light", id="narrow-light", marks=pytest.mark.exhaustive),
        pytest.param(WINDOWS[1], "dark", id="narrow-dark"),
    ],
)
def test_it_reads_well_folded_and_unfolded(
    bare: Bare, folded: dict[str, Any], window: Any, theme: str
) -> None:
    bare.page.set_viewport_size(window)
    widget = bare.mount(folded, theme=theme)
    levels = widget.root.get_by_role("radiogroup", name="Unfolded")
    for level in ("folded", "depth 2", "all"):
        levels.get_by_role("radio", name=level).click()
        assert picture_faults(bare.page) == []
        assert axe_violations(bare.page, "#one") == []
    boxes = widget.root.locator(".gradviz-viewport .gv-fold:not(.gv-open)")
    expect(boxes).to_have_count(0)


def test_a_box_opens_in_place_and_closing_restores_what_was(
    bare: Bare, folded: dict[str, Any]
) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    repeat = kinds(folded, "repeat")[0]
    box = widget.node(repeat)
    box.focus()
    before, at_first = picture_of(widget), place_of(widget, repeat)
    expect(box).to_have_attribute("aria-expanded", "false")
    bare.page.keyboard.press("Enter")
    expect(box).to_have_attribute("aria-expanded", "true")
    now = place_of(widget, repeat)
    assert abs(now["top"] - at_first["top"]) <= 1
    middle = (at_first["left"] + at_first["right"]) / 2
    assert now["left"] - 1 <= middle <= now["right"] + 1
    assert widget.focused == repeat
    assert "unfolded: " in widget.said
    bare.page.keyboard.press("Enter")
    assert picture_of(widget) == before
    assert widget.saved("selected") == []


def test_the_pointer_opens_and_closes_where_it_is(bare: Bare, folded: dict[str, Any]) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    repeat = kinds(folded, "repeat")[0]
    box = widget.node(repeat)
    title, sign = box.locator("> .gv-title"), box.locator(".gradviz-sign.is-toggle")
    # A second click at once does nothing, wherever it lands.
    for part, times in ((title, 1), (sign, 1), (title, 2), (sign, 2)):
        part.click(click_count=times)
        expect(box).to_have_attribute("aria-expanded", "true")
        before = place_of(widget, repeat)
        box.locator("> .gv-header").click(position={"x": 60, "y": 10})
        expect(box).to_have_attribute("aria-expanded", "false")
        assert abs(place_of(widget, repeat)["top"] - before["top"]) <= 1
    assert widget.get("selected") == ""


def test_details_are_of_the_box_that_the_pointer_opens(bare: Bare, folded: dict[str, Any]) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    repeat = kinds(folded, "repeat")[0]
    title = widget.root.locator(".gradviz-inspector .gradviz-inspector-title")
    widget.node(repeat).locator("> .gv-title").click(modifiers=["ControlOrMeta"])
    assert widget.get("selected") == repeat
    expect(widget.node(repeat)).to_have_attribute("aria-expanded", "false")
    expect(title).to_have_text(next(f["label"] for f in folded["items"] if f["id"] == repeat))
    widget.node(repeat).locator("> .gv-title").click()
    expect(widget.node(repeat)).to_have_attribute("aria-expanded", "true")
    inner = next(fold for fold in folded["fold"]["folds"] if fold["above"] == repeat)
    widget.node(inner["id"]).locator("> .gv-title").click()
    expect(title).to_have_text(inner["label"])
    expect(widget.node(inner["id"])).to_have_attribute("aria-expanded", "true")


@pytest.mark.parametrize("window", WINDOWS, ids=["wide", "narrow"])
def test_find_opens_what_is_around_a_match_and_moves_there(
    bare: Bare, folded: dict[str, Any], window: Any
) -> None:
    bare.page.set_viewport_size(window)
    widget = bare.mount(folded)
    inner = next(item for item in folded["items"] if item["label"] == "ReluBackward0")
    expect(widget.node(inner["id"])).to_have_count(0)
    widget.root.locator(".gradviz-viewport [tabindex='0']").focus()
    bare.page.keyboard.press("/")
    bare.page.keyboard.type("relu")
    assert widget.said == "8 matches"
    expect(widget.root.locator(".gradviz-found").first).to_have_text("8 found")
    # The focus is on the match, so that keys act on it; g goes on.
    for key in ["Enter", *"ggggggg"]:
        bare.page.keyboard.press(key)
        node = widget.node(widget.get("selected"))
        expect(node).to_be_in_viewport()
        expect(node).to_be_focused()
        assert node.get_attribute("aria-label", timeout=1000)
    expect(widget.root.locator(".gradviz-found")).to_have_count(0)
    bare.page.keyboard.press("/")
    bare.page.keyboard.press("Escape")
    expect(widget.node(widget.get("selected"))).to_be_focused()
    expect(widget.root.locator(".is-match")).to_have_count(0)


def test_find_shows_a_match_large_enough_to_be_read(bare: Bare, folded: dict[str, Any]) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    widget.root.get_by_role("radio", name="all").click()
    widget.root.locator(".gradviz-viewport [tabindex='0']").focus()
    for _ in range(6):
        bare.page.keyboard.press("-")
    inner = next(item for item in folded["items"] if item["label"] == "ReluBackward0")
    title = widget.node(inner["id"]).locator("text").first
    height = "(text) => text.getBoundingClientRect().height"
    assert title.evaluate(height) < 5
    field = widget.root.locator(".gradviz-find input")
    field.fill(inner["id"])
    field.press("Enter")
    expect(widget.node(inner["id"])).to_be_in_viewport(ratio=1)
    assert title.evaluate(height) > 11


def test_the_focus_stays_where_details_are_made_anew(bare: Bare, folded: dict[str, Any]) -> None:
    widget = bare.mount(folded)
    inner = next(item for item in folded["items"] if item["label"] == "ReluBackward0")
    widget.set("selected", inner["id"])
    neighbours = widget.button(f"Show neighbours: {inner['label']}")
    neighbours.click()
    expect(neighbours).to_be_focused()
    bare.page.keyboard.press("Enter")
    expect(neighbours).to_be_focused()


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_a_node_is_two_actions_away(bare: Bare, folded: dict[str, Any], every: int) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    nodes = [item["id"] for item in folded["items"] if item["kind"] in ("node", "leaf")]
    assert len(nodes) == folded["fold"]["folds"][0]["nodes"]
    for node in nodes[::every]:
        widget.root.get_by_role("radio", name="folded").click()
        widget.set("selected", node)
        expect(widget.node(node)).to_be_in_viewport()


def test_one_module_is_shown_alone_and_the_crumbs_lead_back(
    bare: Bare, folded: dict[str, Any]
) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    block = next(f for f in folded["fold"]["folds"] if f["path"].endswith("blocks.3"))
    widget.set("selected", block["id"])
    widget.button(f"Show only this: {block['label']}").click()
    crumbs = widget.root.locator(".gradviz-crumb")
    expect(crumbs.last).to_have_attribute("aria-current", "true")
    expect(crumbs.last).to_have_text("blocks.3")
    expect(widget.node(block["id"])).to_have_count(0)
    assert axe_violations(bare.page, "#one") == []
    crumbs.first.click()
    expect(widget.node(block["id"])).to_be_visible()


def test_a_small_map_moves_the_window_of_a_large_picture(
    bare: Bare, folded: dict[str, Any]
) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    widget.root.get_by_role("radio", name="all").click()
    small = widget.root.locator(".gradviz-minimap")
    expect(small).to_be_visible()
    expect(small).to_have_attribute("aria-hidden", "true")
    svg = widget.root.locator(".gradviz-viewport > svg")
    frame = small.locator("svg").bounding_box()
    assert frame is not None
    places = []
    for part in (0.05, 0.95):
        x, y = frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] * part
        bare.page.mouse.click(x, y)
        places.append(svg.evaluate("(svg) => svg.getBoundingClientRect().top"))
    assert places[1] < places[0] - 400
    assert widget.get("selected") == ""
    bare.page.set_viewport_size(WINDOWS[1])
    expect(small).to_be_hidden()


def test_the_small_map_lies_where_it_hides_fewest_cards(bare: Bare, folded: dict[str, Any]) -> None:
    bare.page.set_viewport_size(WINDOWS[0])
    widget = bare.mount(folded)
    widget.root.get_by_role("radio", name="all").click()
    small = widget.root.locator(".gradviz-minimap")
    expect(small).to_be_visible()
    widget.root.locator(".gradviz-viewport [tabindex='0']").focus()
    sides = set()
    for key in ("Shift+ArrowLeft",) * 8 + ("Shift+ArrowRight",) * 16:
        bare.page.keyboard.press(key)
        own, other, side = small.evaluate(_HIDDEN)
        assert own <= other
        sides.add(side)
    assert sides


_HIDDEN = """(small) => {
    const pane = small.closest('.gradviz-viewport');
    const [frame, own] = [pane.getBoundingClientRect(), small.getBoundingClientRect()];
    const cards = [...pane.querySelectorAll('.gv-node > .gv-card:not(.gv-stack)')]
        .map((card) => card.getBoundingClientRect());
    const over = (left) => cards.filter((card) => card.right > left && card.left < left + own.width
        && card.bottom > own.top && card.top < own.bottom).length;
    const [left, right] = [frame.left + 8, frame.right - 8 - own.width];
    const isLeft = own.left < (left + right) / 2;
    return [over(own.left), over(isLeft ? right : left), isLeft ? 'left' : 'right'];
}"""
