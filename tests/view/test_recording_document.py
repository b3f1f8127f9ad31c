from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from gradviz.model import OptionError, Recording
from gradviz.model.recording import Code, StepRecord
from gradviz.view.animation.animation import Animations
from gradviz.view.captions.caption import caption
from gradviz.view.documents.graph import compress, graph_document
from gradviz.view.documents.recording import recording_document
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph_index import GraphIndex
from gradviz.view.inspector import node_sections
from gradviz.view.outlines.graph import COLUMNS
from gradviz.view.outlines.recording import recording_outline
from tests.view.documents import check_document, look_of
from tests.view.explanations import FREED, SILENT, explained
from tests.view.graphs import rows_of
from tests.view.recordings import ALL, animation_of, cuts, loop, product

# The front end's tests draw "cuts" compact.
OPTIONS = {name: DrawOptions(density="compact" if name == "cuts" else "auto") for name in ALL}
WIRES = {name: recording_document(one, options=OPTIONS[name]) for name, one in ALL.items()}


def at_every_step(wire: dict[str, Any], part: str) -> list[dict[str, Any]]:
    """A part of the document as the browser knows it at each step."""
    found: list[dict[str, Any]] = []
    now: dict[str, Any] = {}
    for view in wire["views"]:
        now = {k: v for k, v in {**now, **view[part]}.items() if v is not None}
        found.append(now)
    return found


@pytest.mark.parametrize("name", [*ALL, "explained"])
def test_wire_is_the_stored_one(name: str, check_golden: Callable[[str, str], None]) -> None:
    recording = ALL.get(name) or explained(SILENT, FREED)
    wire = WIRES.get(name) or recording_document(recording)
    # The front end's tests draw this one.
    check_document(check_golden, f"recording/{name}", wire, with_drawing=name == "cuts")
    assert wire["text"] == recording_outline(recording)


@pytest.mark.parametrize("name", ALL)
def test_the_document_says_of_every_step_what_its_graph_and_animation_say(name: str) -> None:
    assert_items_are_those_of_the_graph_of_the_step(name)
    assert_items_refer_to_items(name)
    assert_outline_rows_are_those_of_the_graph_of_the_step(name)
    assert_the_table_of_tensors_is_true_at_every_step(name)
    assert_looks_and_picture_are_those_of_the_animation(name)
    assert_leaves_have_the_tensors_of_their_cards(name)


def assert_items_are_those_of_the_graph_of_the_step(name: str) -> None:
    recording = ALL[name]
    for step, items in zip(recording.all_steps, at_every_step(WIRES[name], "items"), strict=True):
        expected = {item["id"]: item for item in graph_document(step.graph)["items"]}
        leaves = {n.variable for n in recording.graph.nodes}
        for key, item in items.items():
            if key in expected:
                assert item == expected[key]
            else:
                assert item["kind"] == "leaf"
        assert {key for key in expected if key not in leaves} <= set(items)


def assert_items_refer_to_items(name: str) -> None:
    for items in at_every_step(WIRES[name], "items"):
        for item in items.values():
            assert {*item["next"], *item["prev"]} <= set(items)


def assert_outline_rows_are_those_of_the_graph_of_the_step(name: str) -> None:
    recording = ALL[name]
    for step, rows in zip(recording.all_steps, at_every_step(WIRES[name], "rows"), strict=True):
        expected = rows_of(step.graph)
        for key, cells in rows.items():
            if key in expected:
                assert cells == expected[key]
            else:
                assert cells[2] == "in no graph now"
    assert WIRES[name]["outline_columns"] == list(COLUMNS)


def assert_the_table_of_tensors_is_true_at_every_step(name: str) -> None:
    for step, rows in zip(ALL[name].all_steps, at_every_step(WIRES[name], "tensors"), strict=True):
        assert set(rows) == {info.id for info in step.tensors}
        for info in step.tensors:
            told = dict(zip(WIRES[name]["tensor_columns"], rows[info.id], strict=True))
            assert told["requires_grad"] == str(info.requires_grad)
            assert told["retains_grad"] == str(info.retains_grad)
            assert told["version"] == str(info.version)
            assert (told[".grad"] == "None") == (info.grad is None)


def assert_looks_and_picture_are_those_of_the_animation(name: str) -> None:
    wire, animations = WIRES[name], Animations(ALL[name], OPTIONS[name])
    assert wire["density"] == animations.opening
    assert list(wire["pictures"]) == [wire["density"], "full"]
    for density, picture in wire["pictures"].items():
        now: dict[str, int] = {}
        for step, view in enumerate(wire["views"]):
            now |= view["at"][density]
            body = "\n".join(
                look_of(wire, density, key, number) or f'<g id="{key}" class="gv-absent"></g>'
                for key, number in now.items()
            )
            assert f"</style>\n{body}\n</svg>" in animations[density].svg(step)
        assert picture["svg"] == animations[density].svg(wire["open"])


def test_an_animation_of_its_own_is_that_of_its_density() -> None:
    animations = Animations(product())
    for density, animation in animations.items():
        alone = animation_of(product(), DrawOptions(density=density))
        assert [alone.svg(i) for i in range(23)] == [animation.svg(i) for i in range(23)]
    assert animation_of(product(), density=animations.opening).svg(4) == animations[
        animations.opening
    ].svg(4)


def test_a_view_holds_only_what_differs() -> None:
    for wire in WIRES.values():
        changes = [[view[part] for view in wire["views"]] for part in ("items", "rows", "tensors")]
        changes += [[view["at"][density] for view in wire["views"]] for density in wire["pictures"]]
        for steps in changes:
            now: dict[str, Any] = {}
            for change in steps:
                assert [k for k, v in change.items() if now.get(k) == v] == []
                now.update(change)


def test_captions_are_those_of_the_steps_in_pieces() -> None:
    for name, wire in WIRES.items():
        for step, view in zip(ALL[name].all_steps, wire["views"], strict=True):
            told = caption(ALL[name], step.index)
            parts = {"words": told.words, "place": told.place, "details": told.details}
            if step.index == wire["open"]:
                del parts["words"], parts["place"]  # the player says how many nodes are ready
            for part, words in parts.items():
                found = view["caption"].get(part, [])
                assert "".join(p if isinstance(p, str) else p["text"] for p in found) == words


def test_a_piece_of_the_drawing_is_sent_once_for_all_elements_steps_and_densities() -> None:
    for wire in WIRES.values():
        assert len(set(wire["pieces"])) == len(wire["pieces"])
        used = {
            place
            for picture in wire["pictures"].values()
            for looks in picture["elements"].values()
            for look in looks
            for place in look
        }
        assert used == set(range(len(wire["pieces"])))


def test_terms_name_something_that_the_page_has() -> None:
    for name, wire in WIRES.items():
        known = {node.id for node in ALL[name].graph.nodes}
        known |= {info.id for info in ALL[name].graph.tensors}
        for view in wire["views"]:
            told = view["caption"]
            cells = chain.from_iterable(row[1:] for row in told.get("rows", ()))
            found = [told["words"], told["details"], told.get("place", ()), *cells]
            for piece in chain.from_iterable(found):
                if not isinstance(piece, str):
                    assert piece["id"] in known or re.fullmatch(r"line:0:\d", piece["id"])


def test_opens_where_it_is_told_to_else_at_the_error_or_where_the_forward_is_done(
    subtests: pytest.Subtests,
) -> None:
    for recording, step, opening in [
        (product(), None, 5),
        (product(), 4, 4),
        (product(), 7, 8),
        (product(), "7.1", 7),
        (product(), "line:5", 5),
        (product(), "backward", 6),
        (product(), "MulBackward0", 14),
        (product(), -1, 22),
        (ALL["second"], "error", 25),
        (ALL["second"], "backward:2", 22),
        (ALL["second"], None, 25),
        (ALL["second"], 0, 0),
        (loop(), None, 1),
    ]:
        with subtests.test(recording=recording, step=step):
            assert recording_document(recording, step)["open"] == opening


def test_a_step_that_does_not_exist_is_refused(subtests: pytest.Subtests) -> None:
    missing: list[Any] = [14, -15, 1.0, "7.2", "", True, "error", "line:9", "ExpBackward0"]
    for step in missing:
        with subtests.test(step=step):
            there = (
                r"this recording has no step .*; it has the steps 0 to 13 "
                r"\(and 9 sub-steps, such as 7\.1\), backward, line:1, .*, line:6, "
                r"AddBackward0, AccumulateGrad \(3\), MulBackward0$"
            )
            with pytest.raises(OptionError, match=f"^step: {there}"):
                recording_document(product(), step)
            with pytest.raises(OptionError, match=f"^stops: {there}"):
                recording_document(product(), stops=[step])


def test_stops_are_in_order_and_each_once() -> None:
    stops = recording_document(product(), stops=[-1, 4, 13, "backward", "7.1"])["stops"]
    assert stops == [4, 6, 7, 22]


def assert_leaves_have_the_tensors_of_their_cards(name: str) -> None:
    looks = (look for looks in animation_of(ALL[name]).elements.values() for look in looks if look)
    cards = {(look.text("data-id"), look.text("data-tensor")) for look in looks}
    told = {(n, t) for n, tensors in WIRES[name]["links"]["leaves"].items() for t in tensors}
    assert told == {(node, tensor) for node, tensor in cards if node and tensor}
    assert told


def test_code_travels_as_lines() -> None:
    facts = product().records
    wire = recording_document(Recording(facts, [Code("a\tb", 7, "if x:\n\ty = 1\n")], "cpu"))
    assert wire["codes"] == [{"name": "a\\tb", "first": 7, "lines": ["if x:", "    y = 1"]}]


def test_the_recording_itself_travels_while_the_document_is_small() -> None:
    assert Recording.from_json(WIRES["product"]["json"]) == product()
    assert "json" not in recording_document(product(), room=1000)


def test_what_travels_is_small() -> None:
    for wire in WIRES.values():
        assert len(json.dumps(compress(wire))) < 30_000  # three densities


def test_details_follow_the_step() -> None:
    recording = product()
    items = at_every_step(WIRES["product"], "items")
    for step in (4, 14):
        sections = node_sections(
            recording.graph_at(step)["n0"], GraphIndex.of(recording.graph_at(step)), tags=False
        )
        assert [s["heading"] for s in items[step]["n0"]["details"]] == [s.heading for s in sections]
        assert items[step]["n0"]["details"][-1]["rows"] == [list(r) for r in sections[-1].rows]


def test_a_recording_of_nothing_is_a_document_too() -> None:
    start: StepRecord = cuts().records[0]
    wire = recording_document(Recording([start]))
    assert wire["open"] == 0
    assert [picture["elements"] for picture in wire["pictures"].values()] == [{}, {}]
    assert wire["views"][0]["caption"] == {
        "words": ["Starts before the first line."],
        "details": ["before the first line"],
    }
