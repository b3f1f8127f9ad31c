"""Pictures as the kernel sends them, compressed, in the built bundle."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

from gradviz.view.documents.graph import compress, graph_document
from tests.browser.bare import Bare, axe_violations
from tests.browser.conftest import Shoot
from tests.browser.test_pictures import wire_of
from tests.view.graphs import chain

pytestmark = pytest.mark.browser

# Changes that arrive before the browser has had time for any of them.
_AT_ONCE = "([wires]) => { for (const wire of wires) models.one.model.set('wire', wire); }"


@pytest.mark.parametrize("name", ["linear_relu", "transformer"])
def test_it_shows_the_same_as_one_that_is_not_compressed(bare: Bare, name: str) -> None:
    sent = wire_of(name)
    plain, compressed = bare.mount(sent, "one"), bare.mount(compress(sent), "two")
    for item in sent["items"]:
        assert compressed.node(item["id"]).count() == 1
    # At its title: a tag lies in the middle of a card.
    compressed.node("n0").click(position={"x": 24, "y": 12})
    assert compressed.saved("selected") == ["n0"]
    plain.set("selected", "n0")
    for panel in ("Outline", "Legend", "Details"):
        shown = []
        for widget in (plain, compressed):
            if panel != "Details":
                widget.open(panel)
            shown.append(widget.root.get_by_role("group", name=panel, exact=True).text_content())
        assert shown[0]
        assert shown[0] == shown[1]


def test_a_picture_of_400_boxes_arrives(bare: Bare) -> None:
    widget = bare.mount(compress(graph_document(chain(420))))
    assert widget.node("n399").count() == 1


def test_what_is_selected_before_it_can_be_read_is_shown(bare: Bare, wire: Any) -> None:
    widget = bare.mount(compress(wire), wait=False)
    widget.set("selected", "n2")
    details = widget.root.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text("held · saved v0, now v0")
    bare.page.evaluate(
        "([wire]) => { const { model } = models.one;"
        " model.set('wire', wire); model.set('selected', 'n1'); }",
        [compress({**wire, "title": "second"})],
    )
    expect(widget.root).to_have_attribute("aria-label", "second")
    expect(details).to_contain_text("AddBackward0")


def test_of_two_quick_changes_the_later_is_shown(bare: Bare, wire: Any) -> None:
    widget = bare.mount(compress(wire))
    slow, quick = graph_document(chain(400)), {**wire, "title": "the later"}
    bare.page.evaluate(_AT_ONCE, [[compress(slow), compress(quick)]])
    expect(widget.root).to_have_attribute("aria-label", "the later")
    bare.page.evaluate(_AT_ONCE, [[compress(slow), {**wire, "title": "plain"}]])
    # The same data in another widget, which got it later: now the first has read it, too.
    bare.mount(compress(slow), "two")
    expect(widget.root).to_have_attribute("aria-label", "plain")
    assert widget.node("n399").count() == 0


def test_damaged_data_is_said_and_the_next_picture_shown(
    bare: Bare, wire: Any, shoot: Shoot
) -> None:
    sent = compress(wire)
    widget = bare.mount({**sent, "deflate": sent["deflate"][:400]}, wait=False)
    sentence = "the data of this picture is damaged: run the cell again"
    expect(widget.root.get_by_role("status")).to_contain_text(sentence)
    shoot("bare-damaged")
    assert axe_violations(bare.page, "#one") == []
    widget.set("wire", sent)
    expect(widget.node("n0")).to_be_visible()
    middle = len(sent["deflate"]) // 2
    flipped = sent["deflate"][:middle] + "AAAA" + sent["deflate"][middle + 4 :]
    widget.set("wire", {**sent, "deflate": flipped})
    expect(widget.root.get_by_role("status")).to_contain_text(sentence)


def test_a_view_that_ends_while_a_picture_is_on_its_way_stays_as_it_is(
    bare: Bare, wire: Any
) -> None:
    bare.mount(wire)
    sent = compress({**wire, "title": "second"})
    before = bare.page.evaluate(
        """([wire]) => {
          const { model, abort } = models.one;
          model.set("wire", wire);
          abort.abort();
          return document.querySelector("#one").innerHTML;
        }""",
        [sent],
    )
    # The same data in another view, which got it later: now it has arrived in the first, too.
    bare.mount(sent, "two")
    assert bare.page.evaluate("() => models.one.model.count()") == 0
    assert bare.page.evaluate("() => document.querySelector('#one').innerHTML") == before
