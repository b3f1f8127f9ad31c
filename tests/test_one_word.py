"""A fact has one word wherever it stands, and is put into words once."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import gradviz
from gradviz.analysis.diff import facts as comparing
from gradviz.analysis.diff.graphs import differences_between
from gradviz.model import Graph, Hook, Recording, TensorInfo
from gradviz.model.facts import (
    FLAGS,
    NodeFacts,
    NodeKey,
    SlotKey,
    TensorFacts,
    TensorKey,
    node_facts,
    slot_facts,
    tensor_facts,
)
from gradviz.model.recording import RowChanges, StepRecord
from gradviz.view import aria, graph_index, inspector
from gradviz.view.animation.step_items import TENSOR_COLUMNS, TENSOR_KEYS
from gradviz.view.documents.graph import graph_document
from gradviz.view.documents.recording import recording_document
from gradviz.view.graph import card_lines, cards
from gradviz.view.graph.card_parts import Card, CardContent
from gradviz.view.graph_index import GraphIndex
from gradviz.view.outlines import graph as outline
from gradviz.view.outlines import recording as recording_outline
from gradviz.view.step_index import StepIndex
from tests.each import each
from tests.programs import PROGRAMS, named
from tests.view import recordings
from tests.view.graphs import every_mark, product_and_sum, rows_of, tensor

PACKAGE = Path(gradviz.__file__).parent
SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]
MOST = 60
"""Nodes and tensors of a graph that are looked at."""
OUTSIDE = "outside the graph"


def of_two_devices() -> Graph:
    there = tensor(0, "x", dtype="float64", version=None, is_inference=True, device="cuda:0")
    return Graph.of([], [], [there, tensor(1, "y", is_leaf=None, is_view=True, hooks=(HOOK,))])


HOOK = Hook("tensor", "clip")
GRAPHS: dict[str, Callable[[], Graph]] = {
    "every mark": every_mark,
    "product and sum": product_and_sum,
    "two devices": of_two_devices,
    **{p.name: lambda p=p: snapshot(p.name) for p in SMALL},  # type: ignore[misc]
}


def snapshot(name: str) -> Graph:
    built = named(name).build()
    return gradviz.snapshot(*built.outputs, names=built.names)


def tensors_of(graph: Graph) -> list[tuple[TensorInfo, TensorFacts]]:
    around = GraphIndex.of(graph)
    return [(info, tensor_facts(info, around)) for info in graph.tensors[:MOST]]


def nodes_of(graph: Graph) -> list[tuple[str, NodeFacts]]:
    around = GraphIndex.of(graph)
    known = {n.id: [i for i in graph.tensors if i.node == n.id] for n in graph.nodes[:MOST]}
    return [(n.id, node_facts(n, around, known[n.id])) for n in graph.nodes[:MOST]]


def text_of(card: Card) -> str:
    return "\n".join(line.whole for block in card.blocks for line in block.lines)


def recording_of(graph: Graph) -> Recording:
    """A recording in whose first line everything in the graph appears."""
    changes = RowChanges(
        nodes=tuple((node.id, node) for node in graph.nodes),
        tensors=tuple((info.id, info) for info in graph.tensors),
        roots=graph.roots,
    )
    start = StepRecord("start", 0, None, 0, None, (), RowChanges(), 0, None)
    line = StepRecord("line", 0, 1, 0, None, (), changes, 0, None)
    return Recording([start, line], device=graph.device)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_fact_has_one_word_wherever_it_stands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS[name]()
    details_say_label_and_words(graph)
    outline_and_table_say_short_forms(graph)
    screen_readers_are_told_long_forms(graph)
    cards_say_short_forms(graph)
    if len(graph) <= MOST:
        recordings_say_the_same(graph)
        comparisons_say_label_and_words(graph)
    a_document_puts_each_fact_into_words_once(graph, monkeypatch)


def details_say_label_and_words(graph: Graph) -> None:
    around = GraphIndex.of(graph)
    for info, facts in tensors_of(graph):
        rows = dict(inspector.tensor_section(info, around).rows)
        for key in (key for keys in inspector.TENSOR_KEYS for key in keys):
            assert rows.pop(facts[key].label, "") == facts[key].words
        assert rows.pop("flags") == ", ".join(facts.long(*FLAGS))
        assert rows.pop(facts["grad"].label).startswith(facts["grad"].words)
        assert rows == {}
    for node_id, node in nodes_of(graph):
        sections = inspector.node_sections(graph[node_id], around, tags=False)
        found = {section.heading: section.rows for section in sections}
        rows = dict(found[node["name"].words])
        for node_key in (*inspector.NODE_KEYS, "hooks"):
            assert rows.get(node[node_key].label, "") == node[node_key].words
        headings = {"gradient": "gradient", "derivative": inspector.FORMULA}
        for parts in ("saved numbers", "gradient", "derivative"):
            told = found.get(headings.get(parts, parts), ())
            assert told == tuple((p.label, p.words) for p in node[parts].parts)
        for slot, (label, words) in zip(node.saved, found.get("saved tensors", ()), strict=True):
            assert label == slot["name"].words
            assert all(form in words for form in slot.long("shape", "dtype", "storage"))


def outline_and_table_say_short_forms(graph: Graph) -> None:
    text = outline.outline(graph)
    listed = {
        key: dict(zip(outline.COLUMNS, map(str, row), strict=True))
        for key, row in rows_of(graph).items()
    }
    for info, facts in tensors_of(graph):
        start = " ".join((facts["name"].words, *facts.short(*outline.TENSOR_KEYS)))
        also = facts.short("aliases")
        line = " · ".join((start, *also, *facts.long(*FLAGS), *facts.short("grad")))
        assert line in text
        if info.id in listed:
            row = listed[info.id]
            assert (row["shape"], row["leads to"]) == (facts["shape"].words, facts["place"].short)
            assert row["facts"].startswith(line)
    for node_id, node in nodes_of(graph):
        row = listed[node_id]
        assert row["state"] == node["state"].words
        told = [*node.short("root"), *node.long("source", "module", "saved numbers")]
        assert all(form in row["facts"] for form in told)
        entries = ", ".join(f"{p.label}: {p.words}" for p in node["next_functions"].parts)
        assert row["leads to"] == entries
        for slot in node.saved:
            if slot["state"].value not in ("none", "freed"):
                shown = [slot["name"].short, *slot.short("state", "shape", "dtype", "storage")]
                assert all(form in text and form in row["saved"] for form in shown)


def screen_readers_are_told_long_forms(graph: Graph) -> None:
    around = GraphIndex.of(graph)
    for info, facts in tensors_of(graph):
        words = ", ".join((facts["name"].words, *facts.long(*aria.TENSOR_KEYS)))
        said = aria.of_tensor(info, around)
        assert said.startswith(words) or len(words) > 250
        assert said.endswith(OUTSIDE) == (info.node is None) == (facts["place"].words == OUTSIDE)


def cards_say_short_forms(graph: Graph) -> None:
    around = GraphIndex.of(graph)
    for info, facts in tensors_of(graph):
        if info.node is None:
            text = text_of(cards.tensor_card(info, around, CardContent()))
            assert facts["requires_grad"].short in text
            assert (OUTSIDE in text) == info.requires_grad
        elif around.is_drawn(info.node):
            text = text_of(cards.node_card(graph[info.node], around, CardContent()))
        if len(shown := " ".join(facts.short(*card_lines.TENSOR_KEYS))) < 16:
            assert shown in text
        assert all(form in text for form in facts.short("retains_grad"))
    for node_id, node in nodes_of(graph):
        text = text_of(cards.node_card(graph[node_id], around, CardContent()))
        for slot in node.saved[: cards.POCKETS]:
            forms = [slot["name"].short, slot["state"].short]
            if slot["state"].value != "none" and max(map(len, forms)) < 12:
                assert all(form in text for form in forms)


def recordings_say_the_same(graph: Graph) -> None:
    recording = recording_of(graph)
    text = " ".join(recording_outline.recording_outline(recording).replace("|", "").split())
    cells = recording_document(recording)["views"][1]["tensors"]
    for info, facts in tensors_of(graph):
        keys = recording_outline.NEW_TENSOR
        line = " ".join((facts["name"].words, "is", *facts.short(*keys)))
        assert " · ".join((line, *facts.short("aliases"), *facts.long(*FLAGS))) in text
        assert cells[info.id] == [facts[key].words for key in TENSOR_KEYS]
        assert list(TENSOR_COLUMNS) == [facts[key].label for key in TENSOR_KEYS]
    for _, node in nodes_of(graph):
        forms = [*node.short("module"), *(hook.long for hook in node["own hooks"].parts)]
        assert all(form in text for form in forms)


CHANGES: dict[TensorKey, Callable[[TensorInfo], TensorInfo]] = {
    "requires_grad": lambda t: replace(t, requires_grad=not t.requires_grad),
    "is_leaf": lambda t: replace(t, is_leaf=None if t.is_leaf else True),
    "retains_grad": lambda t: replace(t, retains_grad=not t.retains_grad),
    "version": lambda t: replace(t, version=None if t.version else 7),
    "shape": lambda t: replace(t, shape=(*t.shape, 9)),
    "dtype": lambda t: replace(t, dtype="int8"),
    "device": lambda t: replace(t, device="meta"),
    "hooks": lambda t: replace(t, hooks=(*t.hooks, HOOK)),
    "view": lambda t: replace(t, is_view=not t.is_view),
    "inference": lambda t: replace(t, is_inference=not t.is_inference),
}


def comparisons_say_label_and_words(graph: Graph) -> None:
    if not graph.tensors:
        return
    for key, change in CHANGES.items():
        info = graph.tensors[-1]
        changed = change(info)
        new = Graph.of(graph.nodes, graph.roots, [*graph.tensors[:-1], changed])
        told = [d for d in differences_between(graph, new) if d.subject == "tensor"]
        then, now = (tensor_facts(i, GraphIndex.of(g)) for i, g in ((info, graph), (changed, new)))
        (found,) = told
        assert found.fact == then[key].label
        if key == "device":  # of one device, the words are in the head line
            assert (found.before, found.after) == (info.device, changed.device)
        else:
            expected = (then[key].words or "none", now[key].words or "none")
            assert (found.before, found.after) == expected


def test_every_changed_fact_is_compared() -> None:
    assert set(CHANGES) == set(comparing.TENSOR_KEYS)


def test_each_thing_has_all_facts_of_its_kind() -> None:
    graph = every_mark()
    around = GraphIndex.of(graph)
    for node in graph.nodes:
        assert set(node_facts(node, around, ())) == set(get_args(NodeKey))
        for slot in node.saved:
            assert set(slot_facts(slot, around)) == set(get_args(SlotKey))
    for info in graph.tensors:
        assert set(tensor_facts(info, around)) == set(get_args(TensorKey))


RENDERERS = [
    *(f"view/{name}.py" for name in ("graph/cards", "inspector", "outlines/graph", "aria")),
    *("view/items.py", "view/outlines/recording.py", "view/animation/step_items.py"),
    *(f"analysis/diff/{name}.py" for name in ("facts", "saved")),
]


def chosen(source: str) -> Iterator[str]:
    """Keys by which a module chooses facts: in brackets, in calls and in tables of keys."""
    for item in ast.walk(ast.parse(source)):
        parts: list[ast.expr] = []
        if isinstance(item, ast.Subscript) and ast.unparse(item.value) in ("facts", "slot"):
            parts = [item.slice]
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            parts = item.args if item.func.attr in ("short", "long", "rows") else []
        elif isinstance(item, ast.AnnAssign) and "Key" in ast.unparse(item.annotation):
            parts = [item.value] if isinstance(item.value, ast.Tuple) else []
        for part in parts:
            words = (leaf for leaf in ast.walk(part) if isinstance(leaf, ast.Constant))
            yield from (str(leaf.value) for leaf in words if isinstance(leaf.value, str))


@each("path", RENDERERS)
def test_renderers_choose_keys_that_exist(path: str) -> None:
    found = set(chosen((PACKAGE / path).read_text("utf-8")))
    assert found
    assert found <= {*get_args(TensorKey), *get_args(NodeKey), *get_args(SlotKey)}


@each("line", ['facts["x"]', 'slot.short("x")', 'KEYS: tuple[SlotKey, ...] = ("x",)'])
def test_the_check_for_keys_sees(line: str) -> None:
    assert list(chosen(line)) == ["x"]


def counting(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the facts of each node and tensor are made."""
    made: Counter[str] = Counter()

    def counted(make: Callable[..., Any]) -> Callable[..., Any]:
        def called(row: Any, *rest: Any) -> Any:
            made[row.id] += 1
            return make(row, *rest)

        return called

    monkeypatch.setattr(graph_index, "node_facts", counted(node_facts))
    monkeypatch.setattr(graph_index, "tensor_facts", counted(tensor_facts))
    return made


def a_document_puts_each_fact_into_words_once(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counting(monkeypatch)
    graph_document(graph)
    assert set(made.values()) == {1}
    assert set(made) >= {node.id for node in graph.nodes[:MOST]}


@pytest.mark.parametrize("make", [recordings.product, recordings.cuts])
def test_a_moment_puts_each_fact_into_words_once(
    make: Callable[[], Recording], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, made = make(), counting(monkeypatch)
    advance = StepIndex.advance
    steps = []

    def goes_on(self: StepIndex, step: Any) -> set[str]:
        steps.append(step.index)
        assert set(made.values()) <= {1}
        made.clear()
        return advance(self, step)

    monkeypatch.setattr(StepIndex, "advance", goes_on)
    recording_document(recording)
    assert set(made.values()) <= {1}
    assert len(steps) == len(recording.records)
