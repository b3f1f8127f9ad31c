from __future__ import annotations

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from gradviz.view.documents.graph import compress, graph_document
from gradviz.view.graph.options import DrawOptions
from tests.browser.bare import Bare, axe_violations
from tests.view.graphs import chain

pytestmark = pytest.mark.browser


def test_a_node_far_from_what_is_drawn_is_found_by_keyboard(bare: Bare) -> None:
    bare.page.set_viewport_size({"width": 400, "height": 800})
    widget = bare.mount(compress(graph_document(chain(6000))))
    banner = widget.root.locator(".gradviz-extent")
    expect(banner).to_contain_text("400 of 6,000 nodes are drawn: n0 to n399.")
    frame, shown = widget.root.bounding_box(), banner.bounding_box()
    assert frame is not None
    assert shown is not None
    assert frame["x"] <= shown["x"]
    assert shown["x"] + shown["width"] <= frame["x"] + frame["width"]
    assert shown["y"] + shown["height"] <= frame["y"] + frame["height"]
    widget.node("n0").focus()
    bare.page.keyboard.press("/")
    bare.page.keyboard.type("n5000")
    bare.page.keyboard.press("Enter")
    assert widget.said == "match 1 of 1: SinBackward0, not drawn"
    assert widget.saved("selected") == ["n5000"]
    details = widget.root.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text('gradviz.show(…, focus="n5000")')
    outline = widget.open("Outline")
    expect(outline).to_contain_text("rows 5,001 to 5,500 of 6,000")
    expect(outline.locator("tr.is-selected")).to_have_attribute("data-row", "n5000")
    expect(outline.locator("tr.is-selected")).to_be_in_viewport()


@pytest.mark.exhaustive
def test_axe_finds_nothing_wrong_with_a_large_picture_and_its_rows(bare: Bare) -> None:
    widget = bare.mount(compress(graph_document(chain(6000))))
    widget.open("Outline")
    assert axe_violations(bare.page, "#one") == []


def test_a_picture_around_a_node_opens_at_it(bare: Bare) -> None:
    document = graph_document(chain(1000), DrawOptions(focus="n600"))
    widget = bare.mount(compress(document), selected="n600", focus="n600")
    expect(widget.node("n600")).to_be_in_viewport()
    expect(widget.root.locator(".gradviz-extent")).to_contain_text("the nearest to n600")
    expect(widget.open("Outline").locator("tr.is-selected")).to_be_in_viewport()
