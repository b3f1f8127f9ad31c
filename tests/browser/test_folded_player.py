"""The player of a recording with many nodes: its picture is folded, at every step."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import expect

import gradviz
from gradviz.analysis.fold import step_totals
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget, axe_violations, picture_faults
from tests.browser.test_folding import WINDOWS, Net

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def wire() -> dict[str, Any]:
    torch.manual_seed(0)
    model, x = Net(6), torch.ones(3, 8)
    with gradviz.record() as recording:
        loss = model(x).square().mean()
        loss.backward()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_totals, "DRAWN", 40)
        document: dict[str, Any] = Player(recording).wire
    return document


@pytest.fixture(params=WINDOWS, ids=("wide", "narrow"))
def player(bare: Bare, wire: dict[str, Any], request: pytest.FixtureRequest) -> Widget:
    bare.page.set_viewport_size(request.param)
    return bare.mount(wire, step=0)


def words_of(widget: Widget, fold: str) -> str:
    return " ".join(widget.node(fold).locator("text").all_text_contents())


def repeat_in(wire: dict[str, Any]) -> str:
    return next(one["id"] for one in wire["fold"]["folds"] if one["kind"] == "repeat")


def step_of(wire: dict[str, Any], kind: str) -> int:
    return next(view["number"][0] for view in wire["views"] if view["kind"] == kind)


def test_boxes_say_what_there_is_of_them_at_each_step(player: Widget, wire: dict[str, Any]) -> None:
    repeat = repeat_in(wire)
    assert "not made yet" in words_of(player, repeat)
    player.set("step", step_of(wire, "backward"))
    made = words_of(player, repeat)
    assert "saved" in made
    assert "ran" not in made
    player.set("step", wire["views"][-1]["number"][0])
    assert "freed" in words_of(player, repeat)
    assert ".grad norm" in words_of(player, repeat)
    player.set("step", step_of(wire, "backward"))
    assert words_of(player, repeat) == made
    # What a step is about lies in full over the compact picture, beside its card.
    assert [one for one in picture_faults(player.page) if "undefined" not in one] == []


def test_a_box_opens_at_a_step_and_goes_on_with_the_steps(
    player: Widget, wire: dict[str, Any]
) -> None:
    repeat = repeat_in(wire)
    player.set("step", step_of(wire, "backward"))
    player.node(repeat).press("Enter")
    expect(player.node(repeat)).to_have_attribute("aria-expanded", "true")
    first = next(one["id"] for one in wire["fold"]["folds"] if one["above"] == repeat)
    assert "saved" in words_of(player, first)
    player.set("step", wire["views"][-1]["number"][0])
    assert "freed" in words_of(player, first)
    assert "freed" in words_of(player, repeat)
    assert axe_violations(player.page, ".gradviz-root") == []


def test_a_run_of_a_backward_is_seen_on_its_box_and_opened_with_it(
    player: Widget, wire: dict[str, Any]
) -> None:
    repeat = repeat_in(wire)
    inside = {repeat}
    for one in wire["fold"]["folds"]:
        if one["above"] in inside:
            inside.add(one["id"])
    run = next(run for run in wire["runs"] if not run["open"] and run["fold"] in inside)
    player.set("step", wire["views"][run["last"]]["number"][0])
    box = player.node(repeat)
    expect(box).to_have_attribute("class", "gv-node gv-fold gv-now")
    box.press(">")
    expect(player.node(run["fold"])).to_have_attribute("aria-expanded", "true")
    assert "1 ran" in words_of(player, run["fold"])
