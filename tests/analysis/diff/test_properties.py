"""What holds for every comparison."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz.analysis.diff.graphs import differences_between, differences_of, renamed
from gradviz.analysis.diff.matching.matching import match_nodes
from gradviz.analysis.diff.pairing import NodePairs
from gradviz.analysis.diff.report import comparison_of
from gradviz.model import Graph, Node
from gradviz.model.diff import Difference
from gradviz.view.documents.report import report_document
from tests.analysis.diff.changed_graphs import (
    NODE_CHANGES,
    SLOT_CHANGES,
    TENSOR_CHANGES,
    random_graph,
    replaced,
    with_other_ids,
)
from tests.view.graphs import graphs

FEW = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
SEEDS = st.integers(0, 10**6).map(Random)


@FEW
@given(graphs())
def test_a_graph_does_not_differ_from_itself(graph: Graph) -> None:
    comparison = comparison_of(graph, graph)
    assert comparison.differences == ()
    assert comparison.marks == ()
    assert comparison.graph == graph
    assert not comparison


@FEW
@given(SEEDS)
def test_other_ids_are_no_difference(random: Random) -> None:
    graph = random_graph(random, 25)
    other = with_other_ids(graph, random)
    assert len(match_nodes(graph, other)) == len(graph)
    assert differences_between(graph, other) == ()


TURNED = {"new": "gone", "gone": "new", "changed": "changed"}


def facts(found: Difference, with_words: bool, is_turned: bool = False) -> tuple[str, ...]:
    words, ids = (found.before, found.after), (found.before_id, found.after_id)
    if is_turned:
        words, ids = words[::-1], ids[::-1]
    kind = TURNED[found.kind] if is_turned else found.kind
    bare = [word.removeprefix("another ") for word in words] if with_words else []
    return (kind, found.subject, *ids, *bare)


@FEW
@given(SEEDS)
def test_the_other_way_round_what_was_new_is_gone(random: Random) -> None:
    one, other = random_graph(random), random_graph(random)
    there, back = differences_between(one, other), differences_between(other, one)
    turned = [facts(found, True, True) for found in back]
    assert sorted(facts(found, True) for found in there) == sorted(turned)


@FEW
@given(graphs(), graphs())
def test_any_two_graphs_differ_in_the_same_places_the_other_way_round(
    one: Graph, other: Graph
) -> None:
    there, back = differences_between(one, other), differences_between(other, one)
    turned = [facts(found, False, True) for found in back]
    assert sorted(facts(found, False) for found in there) == sorted(turned)


@FEW
@given(SEEDS, st.sampled_from(list(NODE_CHANGES)))
def test_one_change_of_a_node_is_one_difference(random: Random, fact: str) -> None:
    graph = random_graph(random)
    node = random.choice([node for node in graph.nodes if node.variable is None])
    changed = replaced(graph, node, NODE_CHANGES[fact](node))
    (found,) = differences_between(graph, changed)
    assert (found.fact, found.before_id, found.after_id) == (fact, node.id, node.id)
    assert found.before != found.after


@FEW
@given(SEEDS, st.sampled_from(list(SLOT_CHANGES)))
def test_one_change_of_a_saved_tensor_is_one_difference(random: Random, change: str) -> None:
    graph = random_graph(random)
    node = next((n for n in graph.nodes if n.saved), None)
    if node is None:
        return
    place = random.randrange(len(node.saved))
    slots = list(node.saved)
    slots[place] = replace(slots[place], **SLOT_CHANGES[change])
    changed = replaced(graph, node, replace(node, saved=tuple(slots)))
    (found,) = differences_between(graph, changed)
    assert found.before_id == found.after_id == f"{node.id}.saved.{place}"
    assert found.before != found.after


@FEW
@given(SEEDS)
def test_a_saved_tensor_more_or_less_is_one_difference(random: Random) -> None:
    graph = random_graph(random)
    node = next((n for n in graph.nodes if n.saved), None)
    if node is None:
        return
    less = replaced(graph, node, replace(node, saved=node.saved[:-1]))
    (gone,), (new,) = differences_between(graph, less), differences_between(less, graph)
    assert (gone.kind, gone.subject, new.kind) == ("gone", "saved tensor", "new")
    merged = comparison_of(graph, less)
    assert merged.graph[node.id].saved[-1].name == node.saved[-1].name
    assert (f"{node.id}.saved.{len(node.saved) - 1}", "gone") in {
        (mark.id, mark.kind) for mark in merged.marks
    }


@FEW
@given(SEEDS, st.sampled_from(list(TENSOR_CHANGES)))
def test_one_change_of_a_tensor_is_one_difference(random: Random, fact: str) -> None:
    graph = random_graph(random)
    info = random.choice(graph.tensors)
    changed = replaced(graph, info, TENSOR_CHANGES[fact](info))
    (found,) = differences_between(graph, changed)
    assert (found.fact, found.before_id, found.after_id) == (fact, info.id, info.id)


@FEW
@given(SEEDS)
def test_shared_memory_is_a_difference_of_both(random: Random) -> None:
    graph = random_graph(random)
    if len(graph.tensors) < 2:
        return
    one, other = random.sample(graph.tensors, 2)
    changed = replaced(graph, one, replace(one, storage=other.storage))
    found = {d.before_id: d.fact for d in differences_between(graph, changed)}
    assert found == dict.fromkeys((one.id, other.id), "shares storage with")


def with_entries(graph: Graph, node: Node, entries: list[tuple[str, int] | None]) -> Graph:
    return replaced(graph, node, replace(node, next_functions=tuple(entries)))


@FEW
@given(SEEDS)
def test_an_entry_that_leads_somewhere_else_is_found(random: Random) -> None:
    graph = random_graph(random)
    node = next(n for n in graph.nodes if any(n.next_functions))
    slot = random.choice([i for i, entry in enumerate(node.next_functions) if entry])
    entries = list(node.next_functions)
    target, output_nr = entries[slot] or ("", 0)
    entries[slot] = (target, output_nr + 1)
    (found,) = differences_between(graph, with_entries(graph, node, entries))
    assert (found.subject, found.before_id) == ("edge", f"{node.id}.{slot}")
    entries[slot] = None
    cut = differences_between(graph, with_entries(graph, node, entries))
    assert (f"{node.id}.{slot}", "gone") in {(d.before_id, d.kind) for d in cut}


@FEW
@given(SEEDS)
def test_roots_are_compared(random: Random) -> None:
    graph = random_graph(random)
    last = graph.nodes[-1].id
    without = Graph.of(list(graph.nodes), [("n0", 0)], graph.tensors)
    more = Graph.of(list(graph.nodes), [("n0", 0), (last, 1)], graph.tensors)
    turned = Graph.of(list(graph.nodes), [(last, 1), ("n0", 0)], graph.tensors)
    (found,) = differences_between(without, more)
    assert (found.fact, found.change) == ("root", "none → output 1")
    (found,) = differences_between(more, turned)
    assert (found.subject, found.fact) == ("graph", "order")


@FEW
@given(SEEDS)
def test_a_node_put_in_between_is_new_and_moves_one_entry(random: Random) -> None:
    graph = random_graph(random)
    edge = random.choice(graph.edges)
    number = len(graph)
    between = Node(f"n{number}", "CloneBackward0", ((edge.target, edge.output_nr),))
    source = graph[edge.source]
    entries = list(source.next_functions)
    entries[edge.slot] = (between.id, 0)
    nodes = [
        replace(n, next_functions=tuple(entries)) if n.id == source.id else n for n in graph.nodes
    ]
    after = Graph.of([*nodes, between], graph.roots, graph.tensors)
    new, moved = differences_between(graph, after)
    assert (new.kind, new.after_id) == ("new", between.id)
    assert (moved.subject, moved.after_id) == ("edge", f"{edge.source}.{edge.slot}")


@FEW
@given(SEEDS)
def test_another_name_is_told_and_no_difference(random: Random) -> None:
    graph = random_graph(random)
    info = next((i for i in graph.tensors if i.name and i.node), None)
    if info is None:
        return
    pairs = NodePairs(graph, replaced(graph, info, replace(info, name="z")))
    assert differences_of(pairs) == ()
    assert renamed(pairs) == ((info.name, "z"),)


@FEW
@given(SEEDS)
def test_names_that_went_over_to_other_tensors_are_told_and_no_difference(random: Random) -> None:
    graph = random_graph(random, 25)
    names = [info.name for info in graph.tensors]
    random.shuffle(names)
    infos = [replace(info, name=name) for info, name in zip(graph.tensors, names, strict=True)]
    other = Graph.of(list(graph.nodes), graph.roots, infos)
    assert match_nodes(graph, other) == {node.id: node.id for node in graph.nodes}
    nodes = [d for d in differences_between(graph, other) if d.subject in ("node", "edge")]
    assert nodes == []


@FEW
@given(SEEDS)
def test_the_picture_is_a_graph_with_everything_of_both(random: Random) -> None:
    one, other = random_graph(random), random_graph(random)
    found = comparison_of(one, other)
    assert found == comparison_of(one, other)
    gone = [d for d in found.differences if (d.kind, d.subject) == ("gone", "node")]
    assert len(found.graph) == len(other) + len(gone)
    assert [n.name for n in found.graph.nodes[: len(other)]] == [n.name for n in other.nodes]
    assert Graph.from_json(found.graph.to_json()) == found.graph
    places = {n.id for n in found.graph.nodes} | {t.id for t in found.graph.tensors}
    places |= {f"{edge.source}.{edge.slot}" for edge in found.graph.edges}
    places |= {f"{n.id}.saved.{i}" for n in found.graph.nodes for i in range(len(n.saved))}
    assert {mark.id for mark in found.marks} <= places


@settings(FEW, max_examples=8)
@given(graphs(), graphs())
def test_what_differs_between_any_two_graphs_is_drawn(one: Graph, other: Graph) -> None:
    found = comparison_of(one, other)
    wire = report_document(found)
    root = ET.fromstring(wire["pictures"]["full"])
    named = ((e.get("data-id"), (e.get("class") or "").split()) for e in root.iter())
    drawn = {key: classes for key, classes in named if "gv-ref" not in classes}
    for mark in found.marks:
        if mark.id in drawn and mark.kind in ("new", "gone"):
            assert f"gv-{mark.kind}" in drawn[mark.id]
    nodes = {mark.id for mark in found.marks if mark.id[0] == "n" and "." not in mark.id}
    assert nodes <= set(drawn)


@pytest.mark.parametrize("numbers", [(1.0, 1.0000001), (1e-9, 0.0)])
def test_rounding_is_no_difference(numbers: tuple[float, float]) -> None:
    graph = random_graph(Random(1))
    info = graph.tensors[0]
    one, other = (replaced(graph, info, replace(info, values=(n, 1.0))) for n in numbers)
    assert differences_between(one, other) == ()


def test_numbers_that_differ_little_are_written_so_that_it_shows() -> None:
    graph = random_graph(Random(1))
    info = graph.tensors[0]
    one, other = (replaced(graph, info, replace(info, values=(n, 1.0))) for n in (1.0, 1.00002))
    (found,) = differences_between(one, other)
    assert found.change == "[1.0, 1.0] → [1.00002, 1.0]"
