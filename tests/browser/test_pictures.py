"""Real graphs in the built bundle: what Python sends and what the browser shows must agree."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import expect

import gradviz
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph.options import DrawOptions
from tests.browser.bare import Bare, axe_violations, picture_faults
from tests.browser.conftest import Shoot
from tests.programs import named

pytestmark = pytest.mark.browser

PROGRAMS = (
    "linear_relu",
    "shared_input",
    "custom_function",
    "inplace_after_save",
    "freed_after_backward",
    "saved_tensors_hooks",
    "views_share_storage",
    "tensor_hooks",
    "partially_freed",
    "mlp",
    "transformer",
)
FEW = ("shared_input", "freed_after_backward", "views_share_storage", "tensor_hooks", "transformer")
"""Those of which every item is looked at each time."""


def wire_of(name: str, **options: Any) -> dict[str, Any]:
    built = named(name).build()
    return graph_document(
        gradviz.snapshot(*built.outputs, names=built.names), DrawOptions.of(**options)
    )


@pytest.mark.parametrize(
    "name",
    [
        name if name in FEW else pytest.param(name, marks=pytest.mark.exhaustive)
        for name in PROGRAMS
    ],
)
def test_every_item_has_a_card_and_every_row_an_item(bare: Bare, name: str, shoot: Shoot) -> None:
    sent = wire_of(name)
    widget = bare.mount(sent)
    cards = widget.root.locator(".gradviz-viewport [data-id]")
    said = "all => all.map(e => `${e.dataset.id} ${e.dataset.others ?? ''}`).join(' ')"
    ids = set(cards.evaluate_all(said).split())
    assert [item for item in sent["items"] if item["id"] not in ids] == []
    items = {item["id"] for item in sent["items"]}
    assert {row["id"] for row in sent["outline"]["rows"]} <= items
    shoot(f"picture-{name}")
    assert picture_faults(bare.page) == []
    widget.set("selected", sent["items"][-1]["id"])
    details = widget.root.get_by_role("group", name="Details", exact=True)
    expect(details).to_contain_text(sent["items"][-1]["label"])
    assert axe_violations(bare.page, "#one") == []


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_arrow_keys_reach_every_node_along_the_edges(bare: Bare, direction: str) -> None:
    sent = wire_of("linear_relu", direction=direction, density="full")
    widget = bare.mount(sent)
    towards_inputs = {"TB": "ArrowUp", "LR": "ArrowLeft"}[direction]
    nodes = [item for item in sent["items"] if item["kind"] != "tensor"]
    for item in nodes:
        widget.node(item["id"]).focus()
        bare.page.keyboard.press(towards_inputs)
        assert widget.focused == (item["next"] or [item["id"]])[0]


def test_enter_goes_on_to_the_tensors_of_a_card(bare: Bare) -> None:
    sent = wire_of("linear_relu")
    widget = bare.mount(sent)
    widget.node("n0").focus()
    tags = [i["id"] for i in sent["items"] if i["kind"] == "tensor" and i["next"] == ["n0"]]
    for _ in range(len(tags) + 2):
        bare.page.keyboard.press("Enter")
    assert widget.saved("selected") == ["n0", *tags, "n0"]


def test_a_large_graph_opens_readable_at_its_root(bare: Bare, shoot: Shoot) -> None:
    widget = bare.mount(wire_of("transformer"))
    root = widget.node("n0").bounding_box()
    window = widget.root.locator(".gradviz-viewport").bounding_box()
    assert root is not None
    assert window is not None
    assert window["y"] <= root["y"] <= window["y"] + window["height"]
    title = widget.node("n0").locator("text").first.bounding_box()
    assert title is not None
    assert title["height"] >= 8
    shoot("picture-large")
    widget.button("Fit").click()
    shoot("picture-large-fit")
