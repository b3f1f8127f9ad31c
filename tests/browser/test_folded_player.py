"""The player of a recording with many nodes: its picture is folded, at every step."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

import torch
from playwright.sync_api import expect

import gradviz
from gradviz.view.animation.animation import Animations
from gradviz.view.documents.recording import recording_document
from gradviz.view.widgets.player import Player
from tests.browser.bare import Bare, Widget, axe_violations, picture_faults
from tests.browser.test_folding import WINDOWS, Net

pytestmark = pytest.mark.browser


_KERNEL = """
(name) => {
  const { model } = models[name];
  const { on } = model;
  const heard = new Set();
  model.on = (event, listen) => (event === "msg:custom" ? heard.add(listen) : on(event, listen));
  model.send = async ({ ask, number }) => {
    const bytes = new TextEncoder().encode(await window.kernel(ask));
    for (const listen of heard) listen({ answer: number, error: "" }, [new DataView(bytes.buffer)]);
  };
}
"""


@pytest.fixture(scope="module")
def recorded() -> Player:
    torch.manual_seed(0)
    model, x = Net(6), torch.ones(3, 8)
    with gradviz.record() as recording:
        loss = model(x).square().mean()
        loss.backward()
    return Player(recording)


@pytest.fixture(scope="module")
def wire(recorded: Player) -> dict[str, Any]:
    document: dict[str, Any] = recorded.wire
    return document


@pytest.fixture(scope="module")
def loop() -> dict[str, Any]:
    """Three turns of training."""
    torch.manual_seed(0)
    model, x = Net(3), torch.ones(3, 8)
    with gradviz.record() as recording:
        for _ in range(3):
            loss = model(x).square().mean()
            loss.backward()
    document: dict[str, Any] = Player(recording).wire
    return document


@pytest.fixture(
    params=[
        pytest.param(WINDOWS[0], id="wide"),
        pytest.param(WINDOWS[1], id="narrow", marks=pytest.mark.exhaustive),
    ]
)
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
    assert "ran node 1 of 4" in words_of(player, run["fold"])


def open_turns(widget: Widget, loop: dict[str, Any]) -> list[str]:
    """The turns of the outermost loop that are open."""
    frames = widget.root.locator(".gradviz-viewport .gv-open").evaluate_all(
        "(shapes) => shapes.map((shape) => shape.dataset.id)"
    )
    label = {one["id"]: one["label"] for one in loop["fold"]["folds"]}
    return [label[one] for one in frames if label[one].startswith("turn ")]


def turn(loop: dict[str, Any], number: int) -> str:
    label = f"turn {number} of 3"
    return next(one["id"] for one in loop["fold"]["folds"] if one["label"] == label)


def test_the_turn_that_runs_is_open_and_the_others_are_closed(
    bare: Bare, loop: dict[str, Any]
) -> None:
    widget = bare.mount(loop, step=0)
    starts = [loop["views"][step]["number"][0] for step, _ in loop["fold"]["current"]]
    for number, start in enumerate(starts, 1):
        widget.set("step", start)
        assert open_turns(widget, loop) == [f"turn {number} of 3"]
    widget.set("step", starts[0])
    assert open_turns(widget, loop) == ["turn 1 of 3"]


def test_a_step_leaves_as_it_is_what_a_person_opened_or_closed(
    bare: Bare, loop: dict[str, Any]
) -> None:
    widget = bare.mount(loop, step=0)
    starts = [loop["views"][step]["number"][0] for step, _ in loop["fold"]["current"]]
    widget.node(turn(loop, 3)).press("Enter")
    assert open_turns(widget, loop) == ["turn 1 of 3", "turn 3 of 3"]
    widget.set("step", starts[1])
    assert open_turns(widget, loop) == ["turn 2 of 3", "turn 3 of 3"]
    widget.node(turn(loop, 2)).press("Enter")
    assert open_turns(widget, loop) == ["turn 3 of 3"]
    widget.set("step", starts[0])
    widget.set("step", starts[1])
    assert open_turns(widget, loop) == ["turn 3 of 3"]


def test_the_closed_box_that_holds_the_node_of_a_step_says_it_and_opens_with_one_click(
    player: Widget, wire: dict[str, Any]
) -> None:
    homes, repeat = dict[str, str](), repeat_in(wire)
    for view in wire["views"]:
        homes |= {k: item["fold"] for k, item in view["items"].items() if item and "fold" in item}
    inside = {repeat}
    for one in wire["fold"]["folds"]:
        if one["above"] in inside:
            inside.add(one["id"])
    steps = [v for v in wire["views"] if v["kind"] == "node" and homes[v["node"]] in inside]
    said = []
    for view in steps[:: len(steps) // 3]:
        player.set("step", ".".join(map(str, view["number"])))
        box = player.root.locator(".gradviz-viewport .gv-fold.gv-now:not(.gv-open)")
        expect(box).to_have_count(1)
        expect(box).to_be_in_viewport(ratio=1)
        said.append(words_of(player, repeat))
    number = [int(one.split("ran node ")[1].split(" of ")[0]) for one in said]
    assert number == sorted(set(number))
    player.node(repeat).locator("text").first.click()
    expect(player.node(repeat)).to_have_attribute("aria-expanded", "true")


def test_the_kernel_has_the_insides_that_the_document_has_not(bare: Bare, recorded: Player) -> None:
    few = Animations(recorded.recording, room=0)
    made = recording_document(recorded.recording, animations=few)
    bare.page.expose_function("kernel", lambda ask: (recorded._answer_to(ask) or b"").decode())
    widget = bare.mount(made, step=0)
    repeat = repeat_in(made)
    widget.node(repeat).press("Enter")
    expect(widget.root.get_by_text("needs a kernel").first).to_be_visible()
    expect(widget.node(repeat)).to_have_attribute("aria-expanded", "false")
    bare.page.evaluate(_KERNEL, "one")
    widget.set("step", step_of(made, "backward"))
    widget.node(repeat).press("Enter")
    expect(widget.node(repeat)).to_have_attribute("aria-expanded", "true")
    first = next(one["id"] for one in made["fold"]["folds"] if one["above"] == repeat)
    for step in (step_of(made, "backward"), made["views"][-1]["number"][0]):
        widget.set("step", step)
        whole = bare.mount(recorded.wire, "two", step=step)
        whole.node(repeat).press("Enter")
        assert words_of(widget, first) == words_of(whole, first) != ""
        whole.unmount()
