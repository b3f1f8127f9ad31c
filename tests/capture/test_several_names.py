"""A tensor that several names lead to keeps them all."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import nn

import gradviz
from gradviz.model import Graph, Recording
from gradviz.view.graph_index import GraphIndex
from gradviz.view.inspector import tensor_section


def names_in(recording: Recording, key: str) -> list[tuple[str, ...]]:
    """The names of a tensor after each line, each time they change."""
    found: list[tuple[str, ...]] = []
    for step in range(len(recording.records)):
        row = recording.history.tensor_at(key, step)
        if row is not None and (not found or found[-1] != row.names):
            found.append(row.names)
    return found


def key_of(recording: Recording, name: str) -> str:
    return recording.history.named(name, 0)[0]


def test_a_snapshot_has_all_names_of_a_tensor_plain_variables_first() -> None:
    model = nn.Linear(2, 1, bias=False)
    params = {"w": model.weight, "again": [model.weight]}
    w = model.weight
    graph = gradviz.snapshot(model(torch.ones(2)))
    (leaf,) = graph.leaves
    assert leaf.name == "w"
    assert leaf.names == ("w", "model.weight", 'params["w"]', 'params["again"][0]')
    assert "w (1, 2) v1" in str(graph)
    assert 'also model.weight, params["w"]' in str(graph)
    rows = dict(tensor_section(leaf, GraphIndex.of(graph)).rows)
    assert rows["other names"] == 'model.weight, params["w"] and params["again"][0]'
    del params, w


def test_given_names_come_first_and_a_tensor_without_a_name_has_none() -> None:
    w = torch.ones(2, requires_grad=True)
    graph = gradviz.snapshot(w * torch.ones(2, requires_grad=True), names={"weight": w})
    assert [info.names for info in graph.leaves] == [("weight", "w"), ()]


def test_names_that_another_tensor_object_has_are_not_its_names() -> None:
    w = torch.ones(2, requires_grad=True)
    alias, part = w.view(2), w.detach()
    graph = gradviz.snapshot(alias * part)
    assert {info.names for info in graph.tensors} >= {("w",), ("alias",), ("part",)}


def test_documents_keep_the_names_and_older_ones_load() -> None:
    w = torch.ones(2, requires_grad=True)
    params = {"w": w}
    graph = gradviz.snapshot(w * 2)
    assert Graph.from_json(graph.to_json()) == graph
    document: dict[str, Any] = json.loads(graph.to_json())
    (entry,) = (one for one in document["tensors"] if one.get("name") == "w")
    assert entry.pop("aliases") == ['params["w"]']
    older = Graph.from_json(json.dumps(document))
    assert [info.names for info in older.leaves] == [("w",)]
    del params


def test_a_name_that_goes_away_goes_away_in_a_recording() -> None:
    w = torch.ones(2, requires_grad=True)
    params = {"w": w}
    with gradviz.record() as recording:
        y = w * 2
        other = w
        both = [w, w]
        del other
        params["w"] = y
        both.pop()
        both.clear()
    assert names_in(recording, key_of(recording, "w")) == [
        ("w", 'params["w"]'),
        ("w", "other", 'params["w"]'),
        ("w", "other", 'params["w"]', "both[0]", "both[1]"),
        ("w", 'params["w"]', "both[0]", "both[1]"),
        ("w", "both[0]", "both[1]"),
        ("w", "both[0]"),
        ("w",),
    ]
    assert Recording.from_json(recording.to_json()) == recording
    assert 'w: other names params["w"] -> other and params["w"]' in " ".join(
        recording.outline(full=True).split()
    )


def test_the_names_of_the_block_stay_while_functions_come_and_go() -> None:
    model = nn.Linear(2, 2)
    x = torch.ones(2, requires_grad=True)

    def function(given: torch.Tensor) -> torch.Tensor:
        inner = given
        return model(inner * 2)

    with gradviz.record(into=[function, nn.Linear.forward]) as recording:
        for _ in range(3):
            y = function(x)
    assert names_in(recording, key_of(recording, "x")) == [("x",)]
    assert names_in(recording, key_of(recording, "model.weight")) == [("model.weight",)]
    del y


def test_what_many_names_lead_to_is_listed_with_a_count() -> None:
    w = torch.ones(2, requires_grad=True)
    many = [w] * 10_000
    graph = gradviz.snapshot(w * 2)
    assert len(graph.leaves[0].names) == 10_001
    assert "also many[0], many[1], many[2], many[3] and 9996 more" in str(graph)
    del many
