from __future__ import annotations

import re
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.model import Node, Recording
from gradviz.model.recording import RowChanges, StepRecord
from gradviz.view.graph import cards
from gradviz.view.graph.card_parts import Block, Card, CardContent, Line
from gradviz.view.graph.geometry import measure
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.graph_index import GraphIndex
from gradviz.view.step_index import StepIndex, step_indexes
from gradviz.view.widgets.player import Player
from tests.view.graphs import tensor
from tests.view.recordings import (
    ALL,
    Script,
    animation_of,
    assert_moments_know_what_their_graphs_know,
    cuts,
    loop,
    product,
    texts_of,
)

FULL = DrawOptions(density="full")
STAGES = {name: animation_of(recording, FULL) for name, recording in ALL.items()}
EVERYWHERE = [
    pytest.param(name, direction, id=f"{name} {direction}")
    for name in ALL
    for direction in ("TB", "LR")
]


def staged(name: str, direction: Any = "TB") -> StepPictures:
    return (
        STAGES[name]
        if direction == "TB"
        else animation_of(ALL[name], DrawOptions(direction, density="full"))
    )


def element(svg: str, key: str) -> ET.Element:
    root = ET.fromstring(svg)
    return next(item for item in root.iter() if item.get("id") == f"gv-{key}")


def words(svg: str, key: str) -> str:
    return " ".join(" ".join(element(svg, key).itertext()).split())


def classes(svg: str, key: str) -> set[str]:
    return set((element(svg, key).get("class") or "").split())


def step_where(recording: Recording, kind: str, node: str | None = None) -> int:
    return next(
        i for i, f in enumerate(recording.records) if f.kind == kind and node in (None, f.node)
    )


@pytest.mark.parametrize("name", ALL)
def test_every_step_is_drawn_as_its_graph_is(name: str) -> None:
    assert_moments_know_what_their_graphs_know(ALL[name])
    assert_subjects_are_those_of_the_steps_graph(name)
    assert_cards_are_those_of_the_steps_graph(name)
    assert_what_does_not_exist_at_a_step_is_not_there(name)
    assert_a_card_has_one_place_and_one_size(name)
    assert_a_link_begins_at_the_end_of_its_card_at_every_step(name)
    assert_a_step_is_made_of_the_looks_that_travel(name)
    assert_ids_are_unique_at_every_step(name)
    assert_what_a_step_has_made_is_marked_at_that_step_and_at_no_other(name)


def assert_subjects_are_those_of_the_steps_graph(name: str) -> None:
    for step, step_index, _ in step_indexes(ALL[name]):
        assert step_index.subject == GraphIndex.of(step.graph).subject


def assert_cards_are_those_of_the_steps_graph(name: str) -> None:
    """What is not made anew at a step is what would be made anew."""
    recording, everything = ALL[name], CardContent()
    union = GraphIndex.of(recording.graph)
    animation = STAGES[name]
    for step in recording.all_steps:
        graph_index = GraphIndex.of(step.graph)
        graph_index.used_outputs = union.used_outputs
        if step.index:
            before = GraphIndex.of(recording.graph_at(recording.numbers.starts[step.index] - 1))
            now = {info.id for info in step.tensors}
            graph_index.before = {
                info.id: before.of_tensor(info) for info in before.graph.tensors if info.id in now
            }
        svg = animation.svg(step.index)
        for node in graph_index.nodes:
            card = cards.node_card(node, graph_index, everything)
            shown = words(svg, node.id)
            for block in card.blocks:
                for line in block.lines:
                    assert " ".join(line.whole.split()) in shown


def assert_what_does_not_exist_at_a_step_is_not_there(name: str) -> None:
    recording, animation = ALL[name], STAGES[name]
    for step in recording.all_steps:
        alive = {node.id for node in step.graph.nodes}
        waiting = {
            node.id
            for node in recording.graph.nodes
            if node.id not in alive and node.variable in {t.id for t in step.tensors}
        }
        svg = animation.svg(step.index)
        for node in recording.graph.nodes:
            there = "gv-absent" not in classes(svg, node.id)
            assert there == (node.id in alive | waiting)
            for slot, entry in enumerate(node.next_functions):
                if entry is not None:
                    seen = "gv-absent" not in classes(svg, f"{node.id}.{slot}")
                    assert seen == (node.id in alive)


@pytest.mark.parametrize(("name", "direction"), EVERYWHERE)
def test_no_box_moves_and_neither_boxes_nor_gradients_overlap(name: str, direction: str) -> None:
    assert_no_box_moves_and_none_overlap(name, direction)
    assert_gradients_stand_clear_of_cards_and_of_each_other(name, direction)


def assert_no_box_moves_and_none_overlap(name: str, direction: str) -> None:
    animation = staged(name, direction)
    places: dict[str, set[tuple[str, str | None, float]]] = {}
    for step in range(len(ALL[name])):
        boxes = []
        for item in ET.fromstring(animation.svg(step)):
            found = item.find("{*}rect[@class='gv-card']")
            if found is None:
                continue
            at = item.get("transform") or ""
            x, y = map(float, re.findall(r"[\d.]+", at))
            boxes.append((x, y, float(found.get("width", 0)), float(found.get("height", 0))))
            # Where data flows down a card is as high as what is on it.
            height = boxes[-1][3] if direction == "LR" else 0.0
            places.setdefault(item.get("id") or "", set()).add((at, found.get("width"), height))
        for (x0, y0, w0, h0), (x1, y1, w1, h1) in combinations(boxes, 2):
            assert x0 + w0 <= x1 or x1 + w1 <= x0 or y0 + h0 <= y1 or y1 + h1 <= y0
    assert {key for key, found in places.items() if len(found) > 1} == set()


def assert_a_card_has_one_place_and_one_size(name: str) -> None:
    places: dict[str | None, set[object]] = {}
    for step in range(len(ALL[name])):
        for item in ET.fromstring(STAGES[name].svg(step)):
            card = item.find("{*}rect[@class='gv-card']")
            if card is not None:
                sizes = card.get("width"), card.get("height")
                places.setdefault(item.get("id"), set()).add((item.get("transform"), *sizes))
    assert all(len(found) == 1 for found in places.values())


def assert_a_link_begins_at_the_end_of_its_card_at_every_step(name: str) -> None:
    for step in range(len(ALL[name])):
        drawn = list(ET.fromstring(STAGES[name].svg(step)))
        ends: dict[str | None, set[float]] = {}
        for item in drawn:
            card = item.find("{*}rect[@class='gv-card']")
            if card is not None:
                _, top = map(float, re.findall(r"[\d.]+", item.get("transform") or ""))
                height = float(card.get("height", 0))
                # A pill for an output reaches over the rim.
                ends.setdefault(item.get("data-id"), set()).update((top + height, top + height + 9))
        for edge in drawn:
            line = edge.find("{*}path")
            tail = edge.get("data-target") or edge.get("data-tensor")
            if line is not None and edge.get("data-source") and tail in ends:
                start = float(re.findall(r"-?[\d.]+", line.get("d") or "")[1])
                assert min(abs(start - end) for end in ends[tail]) < 0.2


def is_pill(item: ET.Element) -> bool:
    return item.get("class") in ("gv-port", "gv-stub", "gv-root", "gv-port gv-extra")


def assert_gradients_stand_clear_of_cards_and_of_each_other(name: str, direction: str) -> None:
    animation = staged(name, direction)
    for step in range(len(ALL[name])):
        boxes, labels = [], []
        for item in ET.fromstring(animation.svg(step)):
            card = item.find("{*}rect[@class='gv-card']")
            label = item.find("{*}g[@class='gv-gradient']/{*}rect")
            if card is not None:
                x, y = map(float, re.findall(r"[\d.]+", item.get("transform") or ""))
                boxes.append((x, y, float(card.get("width", 0)), float(card.get("height", 0))))
            if label is not None:
                sizes = (float(label.get(n, 0)) for n in ("x", "y", "width", "height"))
                labels.append(tuple(sizes))
        for x0, y0, w0, h0 in labels:
            for x1, y1, w1, h1 in [*boxes, *(b for b in labels if b != (x0, y0, w0, h0))]:
                assert x0 + w0 <= x1 or x1 + w1 <= x0 or y0 + h0 <= y1 or y1 + h1 <= y0


def test_backward_says_what_is_done_now_and_next() -> None:
    recording = product()
    svg = STAGES["product"].svg(step_where(recording, "node", "n0"))
    assert {"gv-now"} <= classes(svg, "n0")
    assert "now" in words(svg, "n0").split()
    assert {"gv-done"} <= classes(svg, "n3")
    assert "done" in words(svg, "n3").split()
    assert {"gv-next"} <= classes(svg, "n1")
    assert "next" in words(svg, "n1").split()
    assert not classes(svg, "n2") & {"gv-now", "gv-done", "gv-next"}
    assert "done" in (element(svg, "n3").get("aria-label") or "")


def test_gradients_travel_on_the_edges_until_they_have_arrived() -> None:
    recording, animation = product(), STAGES["product"]
    before = animation.svg(step_where(recording, "backward"))
    assert classes(before, "n0.0") == {"gv-edge"}
    during = animation.svg(step_where(recording, "node", "n0"))
    assert classes(during, "n0.0") == {"gv-edge", "gv-flow"}
    assert words(during, "n0.0") == "gradient 3.0 3.0"
    assert words(during, "n0.1") == "gradient 2.0 2.0"
    assert classes(during, "n3.1") == {"gv-edge", "gv-flowed"}
    after = animation.svg(len(recording.records) - 1)
    assert classes(after, "n0.0") == {"gv-edge"}


def test_the_node_that_raised_is_marked() -> None:
    svg = STAGES["second"].svg(len(ALL["second"].records) - 1)
    assert "gv-raised" in classes(svg, "n0")
    assert "raised" in words(svg, "n0").split()
    assert "gv-flow" in classes(svg, "n3.0")


def test_a_leaf_waits_at_its_place_for_its_accumulate_grad() -> None:
    animation = STAGES["product"]
    svg = animation.svg(1)
    assert classes(svg, "n1") == {"gv-node", "gv-leaf", "gv-waiting", "gv-made"}
    assert words(svg, "n1").endswith("in no graph now leaf new")
    assert "AccumulateGrad" in words(animation.svg(4), "n1")


def test_a_cut_stands_on_the_card_that_the_value_came_from() -> None:
    last = step_where(cuts(), "line") + 5
    shown = words(STAGES["cuts"].svg(last), "n0")
    assert "detach() → z" in shown
    assert "add under no_grad → k" in shown
    assert "item() → 12.0" in shown
    assert "detach()" not in words(STAGES["cuts"].svg(2), "n0")


@pytest.mark.parametrize("css", ["gv-node", "gv-tensor"])
def test_what_stands_on_a_card_never_lies_over_other_lines(css: str) -> None:
    title, lines = Block("title", (Line("w"),)), Block("text", (Line("(2,) v0"), Line("view")))
    cut = Block("cut", (Line("detach() → z", icon="cut"),))
    for blocks in ((title, lines, cut, cut), (title, cut, lines)):
        frame = measure(Card("t0", css, blocks, "", ""), "TB")
        ends = [0.0, *(top + b.height for top, b in zip(frame.tops, blocks, strict=True))]
        assert all(top >= end for top, end in zip((*frame.tops, frame.height), ends, strict=True))


def test_graphs_of_one_form_that_follow_each_other_have_one_place() -> None:
    animation, places = STAGES["loop"], set()
    for step in range(len(loop())):
        for key in ("n1", "n2", "n3"):
            item = element(animation.svg(step), key)
            if item.get("transform"):
                places.add(item.get("transform"))
    assert len(places) == 1


def test_graphs_that_live_at_the_same_time_have_places_of_their_own() -> None:
    script = Script("y = w * w\nz = w * w\n")
    script.step("start", None, tensor(0, "w"))
    leaf = Node("n0", "AccumulateGrad", (), variable="t0")
    for number in (1, 2):
        node = Node(f"n{number}", "MulBackward0", (("n0", 0), ("n0", 0)))
        script.step("line", number, leaf, node)
    svg = animation_of(script.end()).svg(2)
    assert element(svg, "n1").get("transform") != element(svg, "n2").get("transform")


def assert_a_step_is_made_of_the_looks_that_travel(name: str) -> None:
    animation = STAGES[name]
    texts, shown = texts_of(animation), dict[str, int]()
    for step, turn in enumerate(animation.changes):
        shown.update(turn)
        body = animation.svg(step).split("</style>\n")[1].removesuffix("</svg>\n")
        looks = [
            texts[key][number] or f'<g id="{key}" class="gv-absent"></g>'
            for key, number in shown.items()
        ]
        assert body == "\n".join(looks) + "\n"
    assert set(animation.changes[0]) == set(animation.elements)
    assert all(len(set(looks)) == len(looks) for looks in texts.values())


def test_a_step_names_only_what_differs_from_the_step_before() -> None:
    for animation in STAGES.values():
        shown: dict[str, int] = {}
        for turn in animation.changes:
            assert [key for key, number in turn.items() if shown.get(key) == number] == []
            shown.update(turn)


def assert_ids_are_unique_at_every_step(name: str) -> None:
    for step in range(len(ALL[name])):
        ids = re.findall(r' id="([^"]*)"', STAGES[name].svg(step))
        assert len(ids) == len(set(ids))


def test_the_same_recording_gives_the_same_bytes() -> None:
    again = animation_of(Recording.from_json(product().to_json()), FULL)
    assert [again.svg(i) for i in range(23)] == [STAGES["product"].svg(i) for i in range(23)]


def test_parts_can_be_hidden() -> None:
    svg = animation_of(product(), DrawOptions.of(hide=["values", "saved"])).svg(4)
    assert "2.0" not in words(svg, "n1")
    assert '<g class="gv-pocket' not in svg


def test_nothing_recorded_is_a_picture_too() -> None:
    start = StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None)
    assert ET.fromstring(animation_of(Recording([start])).svg(0)) is not None


def test_nodes_beyond_the_limit_are_counted_not_drawn() -> None:
    script = Script("many()")
    script.step("start")
    nodes = [Node(f"n{i}", "SinBackward0", ((f"n{i + 1}", 0),)) for i in range(404)]
    nodes.append(Node("n404", "AccumulateGrad", (), variable="t0"))
    script.step("line", 1, *nodes, tensor(0, "x", node="n404"))
    svg = animation_of(script.end()).svg(1)
    assert svg.count('class="gv-node') == 400
    assert words(svg, "more") == "… 5 more nodes not drawn … 5 more nodes not drawn"
    assert "gv-absent" in classes(animation_of(script.end()).svg(0), "more")


def test_links_between_drawn_nodes_and_those_that_are_not_are_one_with_their_number() -> None:
    script = Script("many()")
    script.step("start")
    entries = tuple((f"n{i}", 0) for i in range(1, 1_000))
    nodes = [Node("n0", "StackBackward0", entries)]
    nodes += [Node(key, "AccumulateGrad", ()) for key, _ in entries]
    script.step("line", 1, *nodes)
    script.step("line", 2, Node("n1000", "MulBackward0", (("n0", 0), ("n0", 0))))
    script.step("line", 3, Node("n1001", "ExpBackward0", (("n0", 0),)))
    script.step("line", 4, gone=("n1000",))
    animation = animation_of(script.end())
    assert all("×600" in words(animation.svg(step), "n0.more") for step in range(1, 5))
    stubs = [words(animation.svg(step), "more") for step in range(1, 5)]
    said = [re.findall(r"×\d+|\d+ more", stub) for stub in stubs]
    assert [one[-2:] for one in said] == [
        ["600 more", "600 more"],
        ["601 more", "×2"],
        ["602 more", "×3"],
        ["601 more", "601 more"],
    ]
    assert ["gv-edge" in classes(animation.svg(step), "more.n0.0") for step in range(1, 5)] == [
        False,
        True,
        True,
        True,
    ]


def test_the_moment_before_the_first_step_is_empty() -> None:
    step_index = StepIndex(product())
    assert not step_index.rows
    assert not step_index.tensors


def test_tensors_share_a_place_in_whichever_order_they_live() -> None:
    script = Script("pass")
    script.step("start", None, tensor(1, "x"))
    script.step("line", 1, gone=("t1",))
    script.step("line", 1, tensor(0, "x"))
    animation = animation_of(script.end())
    assert {"gv-t0", "gv-t1"} <= animation.elements.keys()
    places = [
        re.findall(r"translate\([^)]*\)", texts_of(animation)[f"gv-{key}"][0])
        for key in ("t0", "t1")
    ]
    assert places[0] == places[1]


def assert_what_a_step_has_made_is_marked_at_that_step_and_at_no_other(name: str) -> None:
    recording, animation = ALL[name], STAGES[name]
    there: dict[int, set[str]] = {}
    for step in recording.all_steps:
        drawn = animation.there(step.index)
        there[step.index] = {key for key in drawn if "gv-more" not in drawn[key].classes}
        marked = {key for key, look in drawn.items() if "gv-made" in look.classes}
        if step.index == 0:
            assert marked == set()
            continue
        before = there[recording.numbers.starts[step.index] - 1]
        uses = {key for key in drawn if "gv-uses" in drawn[key].classes}
        statuses = {"gv-now", "gv-next", "gv-done", "gv-raised"}
        running = {key for key, look in drawn.items() if statuses & set(look.classes)}
        assert marked == there[step.index] - before - uses - running


def test_the_mark_of_what_is_new_is_a_class_a_glyph_and_the_word() -> None:
    animation = STAGES["product"]
    made, after = animation.svg(4), animation.svg(5)
    assert "new" in words(made, "n0").split()
    assert "new" not in words(after, "n0").split()
    assert 'class="gv-chip gv-new-chip"' in made
    assert "gv-made" in classes(made, "n0.1")
    assert ", new" in made
    assert any(entry["class"] == "gv-made" for entry in Player(product()).wire["legend"])


def test_a_version_and_a_gradient_that_change_say_what_they_were() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        loss = (w * w).sum()
        loss.backward()
        with torch.no_grad():
            w.mul_(2)
        w.grad = None
    animation = animation_of(recording, DrawOptions.of(density="full"))
    leaf = recording.graph.tensor("w").node or ""

    def said(step: int | str) -> str:
        return words(animation.svg(recording[step].index), leaf)

    assert ".grad None → [2.0, 4.0]" in said("AccumulateGrad")
    assert ".grad [2.0, 4.0]" in said(f"line:{recording['backward'].line}")
    written = next(step for step in recording if "mul_" in str(step.details))
    assert "version 0 → 1" in said(written.number)
    assert "= [1.0, 2.0] → [2.0, 4.0]" in said(written.number)
    assert ".grad [2.0, 4.0] → None" in said(-1)


def test_a_step_that_calls_a_function_marks_what_the_function_has_made() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y + 1

    w = torch.tensor(1.0, requires_grad=True)
    with gradviz.record(into=[double]) as recording:
        out = double(w)
        out.backward()
    animation = animation_of(recording)
    marked = {
        step.number: {
            key for key, look in animation.there(step.index).items() if "gv-made" in look.classes
        }
        for step in recording.all_steps
    }
    assert marked["1.1"] == {"gv-n0", "gv-n0.0"}
    assert marked[1] >= marked["1.1"] | marked["1.2"]
    assert marked[2] == set()


def test_a_step_of_the_optimizer_shows_a_number_beside_the_one_before_it() -> None:
    w = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        optimizer = torch.optim.SGD([w], lr=0.5)
        loss = w * w
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    animation = animation_of(recording, DrawOptions.of(density="compact"))
    leaf = recording.graph.tensor("w").node or ""
    stepped, cleared = recording[-2], recording[-1]
    assert "w 2.0 → 0.0 .grad 4.0" in words(animation.svg(stepped.index), leaf)
    assert "w 0.0 .grad" in words(animation.svg(cleared.index), leaf)
