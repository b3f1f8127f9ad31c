from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.model import Graph, Node, Recording, TensorInfo
from gradviz.model.events import NodeRan
from gradviz.model.recording import RowChanges, StepRecord
from gradviz.view.captions.details import all_details
from gradviz.view.documents.recording import recording_document
from gradviz.view.graph.options import DrawOptions
from gradviz.view.outlines.recording import recording_outline
from tests.view.graphs import graphs
from tests.view.recordings import animation_of, assert_moments_know_what_their_graphs_know


def reachable(graph: Graph, start: set[str]) -> set[str]:
    found, waiting = set(), list(start)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += [entry[0] for entry in graph[key].next_functions if entry]
    return found


@st.composite
def recordings(draw: st.DrawFn) -> Recording:
    """Steps that build, change and tear down one graph in any order."""
    base = draw(graphs(most=6))
    rows: dict[str, Any] = {}
    steps = []
    for number in range(draw(st.integers(1, 6))):
        keys = [node.id for node in base.nodes]
        alive = reachable(base, set(draw(st.lists(st.sampled_from(keys), max_size=3))))
        now: dict[str, Any] = {}
        for node in base.nodes:
            if node.id in alive:
                state = draw(st.sampled_from([node.state, "freed"]))
                now[node.id] = replace(node, state=state, saved=node.saved)
        for info in base.tensors:
            has_node = info.node in alive
            owned = any(base[key].variable == info.id for key in alive)
            if has_node or owned or draw(st.booleans()):
                now[info.id] = replace(
                    info,
                    node=info.node if has_node else None,
                    version=draw(st.sampled_from([info.version, 7])),
                    name=draw(st.sampled_from([info.name, "renamed", None])),
                    storage=draw(st.sampled_from([info.storage, "s0", None])),
                )
        roots = tuple(root for root in base.roots if root[0] in alive)
        ran = draw(st.sampled_from([None, *sorted(alive)]))
        event = NodeRan(1, ran, (None,), (None,) * len(base[ran].next_functions)) if ran else None
        steps.append(
            StepRecord(
                "start" if not number else "node" if ran else "line",
                1 if ran and number else 0,
                number,
                0,
                ran if number else None,
                (event,) if event and number else (),
                changes(rows, now, roots),
                0,
                None,
                1 if ran and number else None,
            )
        )
        rows = now
    return Recording(steps, (), "cpu", "code")


def changes(before: dict[str, Any], now: dict[str, Any], roots: tuple[Any, ...]) -> RowChanges:
    keys = sorted({*before, *now}, key=lambda key: (key[0], int(key[1:])))
    changed = [(key, now.get(key)) for key in keys if before.get(key) != now.get(key)]
    nodes: list[tuple[str, Node | None]] = [pair for pair in changed if pair[0][0] == "n"]
    tensors: list[tuple[str, TensorInfo | None]] = [p for p in changed if p[0][0] == "t"]
    return RowChanges(tuple(nodes), tuple(tensors), roots)


@settings(deadline=None, max_examples=80)
@given(recordings())
def test_the_moment_never_falls_behind(recording: Recording) -> None:
    assert_moments_know_what_their_graphs_know(recording)


@settings(deadline=None, max_examples=30)
@given(recordings())
def test_what_is_kept_from_step_to_step_is_what_would_be_made_anew(recording: Recording) -> None:
    """An animation of the step alone, between the same neighbours, has the same words on cards."""
    wire = recording_document(recording)
    alone = [
        recording_document(Recording([*settled(recording, i)], (), "cpu", "code"))
        for i in range(len(recording.records))
    ]
    items: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    for view, fresh in zip(wire["views"], alone, strict=True):
        items.update(view["items"])
        rows.update(view["rows"])
        last = fresh["views"][-1]
        assert {k: v for k, v in items.items() if v is not None} == known(fresh, "items")
        assert {k: v for k, v in rows.items() if v is not None} == known(fresh, "rows")
        assert last["summary"] == view["summary"]


def settled(recording: Recording, step: int) -> list[StepRecord]:
    """Two steps: one that sees everything there ever is, and then all at once this step."""
    union, graph = recording.graph, recording.graph_at(step)
    everything = {row.id: row for row in (*union.nodes, *union.tensors)}
    there = {row.id: row for row in (*graph.nodes, *graph.tensors)}
    plain = StepRecord("start", 0, None, 0, None, (), changes({}, everything, union.roots), 0, None)
    return [plain, replace(plain, kind="line", changes=changes(everything, there, graph.roots))]


def known(wire: dict[str, Any], part: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for view in wire["views"]:
        found.update(view[part])
    return {key: value for key, value in found.items() if value is not None}


@settings(deadline=None, max_examples=30)
@given(recordings(), st.sampled_from(["TB", "LR"]))
def test_every_step_can_be_drawn_and_told(recording: Recording, direction: Any) -> None:
    animation = animation_of(recording, DrawOptions(direction))
    for step in range(len(recording.records)):
        ids = [
            item.get("id") for item in ET.fromstring(animation.svg(step)).iter() if item.get("id")
        ]
        assert len(ids) == len(set(ids))
    assert len(all_details(recording)) == len(recording.records)
    assert recording_outline(recording) == recording_outline(
        Recording.from_json(recording.to_json())
    )
