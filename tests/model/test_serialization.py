from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gradviz.model import Graph, Recording
from gradviz.model.events import EVENTS
from gradviz.model.serialization.formats import GRAPH as GRAPH_FORMAT
from gradviz.model.serialization.formats import refusal as format_refusal
from gradviz.model.serialization.reader import reader
from tests.each import each
from tests.view.graphs import every_mark
from tests.view.recordings import ALL

Change = Callable[[Any], Any]
GRAPH: dict[str, Any] = json.loads(every_mark().to_json())
RECORDING: dict[str, Any] = json.loads(ALL["product"].to_json())


def put(*place: Any, value: Any) -> Change:
    def change(document: Any) -> None:
        for key in place[:-1]:
            document = document[key]
        document[place[-1]] = value

    return change


def leave_out(*place: Any) -> Change:
    def change(document: Any) -> None:
        for key in place[:-1]:
            document = document[key]
        del document[place[-1]]

    return change


def refusal(kind: Any, document: dict[str, Any], change: Change) -> str:
    copy = json.loads(json.dumps(document))
    change(copy)
    with pytest.raises(ValueError) as raised:  # noqa: PT011 (the tests look at the message)
        kind.from_json(json.dumps(copy))
    return str(raised.value)


SAVED = next(i for i, node in enumerate(GRAPH["nodes"]) if node.get("saved"))


@each(
    ("change", "said"),
    [
        (
            put("nodes", SAVED, "saved", 0, "state", value="hold"),
            "nodes[{}].saved[0].state: 'hold'",
        ),
        (put("nodes", SAVED, "saved", 0, "more", value=1), "nodes[{}].saved[0]: has 'more', which"),
        (leave_out("nodes", SAVED, "name"), "nodes[{}]: has no 'name'"),
        (
            put("nodes", SAVED, "next_functions", 0, value=["n99", 0]),
            "nodes[{}].next_functions[0][0]",
        ),
        (put("nodes", SAVED, "id", value="n99"), "nodes[1].id: 'n1' is not larger"),
        (
            put("nodes", SAVED, "attributes", value=[["x", float("nan")]]),
            "nodes[{}].attributes[0][1]: nan",
        ),
        (put("nodes", value=None), "nodes: null is not a list"),
        (put("tensors", 1, "id", value="t0"), "tensors[1].id: 't0' is the id of two"),
        (
            put("tensors", 0, "version", value=-1),
            "tensors[0].version: -1 is not a number from 0 on",
        ),
        (put("tensors", 0, "shape", value=[1, 2.5]), "tensors[0].shape[1]: 2.5"),
        (put("tensors", 0, "requires_grad", value=1), "tensors[0].requires_grad: 1 is not true"),
        (put("roots", 0, value=["n0"]), "roots[0]: a list of 1 is not a list of 2"),
        (put("device", value=3), "device: 3 is not text"),
        (leave_out("tensors"), "the document: has no 'tensors'"),
    ],
)
def test_what_is_wrong_in_a_graph_is_named_with_its_place(change: Change, said: str) -> None:
    message = refusal(Graph, GRAPH, change)
    assert message.startswith(said.format(SAVED))
    assert message.endswith("write it again, or undo the change")


def place_of(name: str) -> tuple[int, int]:
    """Step and place of the first event of a kind."""
    return next(
        (i, j)
        for i, step in enumerate(RECORDING["steps"])
        for j, event in enumerate(step.get("events", ()))
        if event["kind"] == name
    )


def test_what_is_wrong_in_a_recording_is_named_with_its_place() -> None:
    i, j = place_of("node")
    event = ("steps", i, "events", j)
    assert refusal(Recording, RECORDING, put(*event, "kind", value="nod")).startswith(
        f"steps[{i}].events[{j}]: this is no event"
    )
    assert refusal(Recording, RECORDING, put(*event, "grad_outputs", 0, value=[])).startswith(
        f"steps[{i}].events[{j}].grad_outputs[0]: a list of 0 is not an object"
    )
    assert refusal(Recording, RECORDING, leave_out(*event, "backward")).startswith(
        f"steps[{i}].events[{j}]: has no 'backward'"
    )
    assert refusal(Recording, RECORDING, put("steps", i, "kind", value="x")).startswith(
        f"steps[{i}].kind: 'x' is not one of 'start', 'line'"
    )
    first = next(i for i, step in enumerate(RECORDING["steps"]) if step.get("nodes"))
    assert refusal(Recording, RECORDING, put("steps", first, "nodes", 0, 0, value="n7")).startswith(
        f"steps[{first}].nodes[0][1].id: 'n0' is not 'n7'"
    )


def first_with(rows: str) -> int:
    """The first step at which rows change."""
    return next(i for i, step in enumerate(RECORDING["steps"]) if step.get(rows))


@each(
    ("rows", "place", "value", "said"),
    [
        (
            "nodes",
            ("next_functions", 0, 0),
            "n99",
            "next_functions[0][0]: 'n99' is the id of nothing",
        ),
        ("nodes", ("variable",), "t99", "variable: 't99' is the id of nothing"),
        ("tensors", ("node",), "n99", "node: 'n99' is the id of nothing"),
    ],
)
def test_ids_in_a_recording_refer_to_what_it_has(
    rows: str, place: tuple[Any, ...], value: str, said: str
) -> None:
    i = first_with(rows)
    message = refusal(Recording, RECORDING, put("steps", i, rows, 0, 1, *place, value=value))
    assert message.startswith(f"steps[{i}].{rows}[0][1].{said}")


def test_roots_of_a_recording_are_nodes_that_it_has() -> None:
    i = first_with("roots")
    message = refusal(Recording, RECORDING, put("steps", i, "roots", value=[["n99", 0]]))
    assert message.startswith(f"steps[{i}].roots[0][0]: 'n99' is the id of nothing")


def test_the_entries_of_a_node_do_not_change_in_number() -> None:
    def change(document: Any) -> None:
        changed = [row for s in document["steps"] for _, row in s.get("nodes", ()) if row]
        again = next(row for row in changed[1:] if row["id"] == changed[0]["id"])
        again["next_functions"].append(None)

    assert "entries, 2 at an earlier step" in refusal(Recording, RECORDING, change)


def test_a_node_that_is_gone_though_another_points_to_it_is_refused() -> None:
    def change(document: Any) -> None:
        last = document["steps"][-1]
        entry = next(
            node["next_functions"][0][0]
            for step in document["steps"]
            for _, node in step.get("nodes", ())
            if node and node["next_functions"]
        )
        document["steps"] = [
            s
            for s in document["steps"][:-1]
            if not any(row is None for _, row in s.get("nodes", ()))
        ]
        document["steps"].append({**last, "nodes": [[entry, None]], "tensors": []})

    assert "is gone, but a node or a tensor has it" in refusal(Recording, RECORDING, change)


@each("text", ["", "{", "[]", "null", '{"format": []}', "[" * 100_000, "9" * 5000])
@each("kind", [Graph, Recording])
def test_what_is_no_document_is_refused_in_words(kind: Any, text: str) -> None:
    with pytest.raises(ValueError, match=r"^this is (not|no) .*to_json\(\)"):
        kind.from_json(text)


@each(
    ("kind", "name", "said"),
    [
        (Graph, "gradviz graph 0", "which only gradviz before 0.1.0 reads; this one reads"),
        (Graph, "gradviz graph 2", "which a newer gradviz wrote and reads; this one reads"),
        (Graph, "gradviz graph 2 since 0.3.0", "which gradviz 0.3.0 and newer read; this one"),
        (Graph, "gradviz recording 2", "not one of a graph: gradviz.Recording.from_json(text)"),
        (Recording, "gradviz recording 1", "which only gradviz before 0.1.0 reads"),
        (Recording, "gradviz recording 3 since 1.0", "which gradviz 1.0 and newer read"),
        (Recording, "gradviz graph 1", "not one of a recording: gradviz.Graph.from_json(text)"),
    ],
)
def test_a_document_of_another_format_is_refused_with_the_version_that_reads_it(
    kind: Any, name: str, said: str
) -> None:
    document = json.dumps({**(GRAPH if kind is Graph else RECORDING), "format": name})
    with pytest.raises(ValueError, match=f"^this is a '{name.split(' since')[0]}' document") as e:
        kind.from_json(document)
    assert said in str(e.value)
    is_newer = "newer" in said
    assert str(e.value).endswith("pip install -U gradviz-kit") is is_newer


def test_the_name_of_a_later_format_says_since_when_it_is_read() -> None:
    later = replace(GRAPH_FORMAT, number=2, since="0.2.0", is_since_named=True)
    assert "gradviz 0.2.0 and newer read" in format_refusal(later.name, GRAPH_FORMAT)


@each("kind", EVENTS.values())
def test_every_event_can_be_read(kind: Any) -> None:
    assert callable(reader(kind))


def test_wrong_values_are_shown_short_and_escaped() -> None:
    message = refusal(Graph, GRAPH, put("roots", value="\u202e\n" * 1000))
    assert message.isprintable()
    assert len(message) < 200
