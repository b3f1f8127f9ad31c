"""How graphs are folded: nothing is missing, nothing is twice, and no fold is too large."""

from __future__ import annotations

import math
from collections import Counter
from graphlib import TopologicalSorter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz.analysis.fold.drafts import MOST
from gradviz.analysis.fold.leaves import LEAVES
from gradviz.analysis.fold.opening import opened
from gradviz.analysis.fold.totals import all_totals
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import Graph
from gradviz.model.fold import Fold, FoldTree
from tests.analysis.fold.forwards import Forward, forwards

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def nodes_in(fold: Fold) -> list[int]:
    """Places of all nodes of a fold, found member by member."""
    found: list[int] = []
    todo: list[Fold | int] = [fold]
    while todo:
        one = todo.pop()
        if isinstance(one, int):
            found.append(one)
        else:
            todo += reversed(one.members)
    return found


def form(tree: FoldTree, names: list[str]) -> list[object]:
    """A tree without ids: what each fold is, with the names of its nodes."""
    graph = tree.graph
    return [
        (
            fold.kind,
            fold.path,
            fold.times,
            fold.equal,
            [names[one] for one in fold.places if graph.variables[one] is None],
            sorted(names[one] for one in fold.places if graph.variables[one] is not None),
        )
        for fold in tree
        if not (fold.kind in ("leaves", "part") and is_of_leaves(tree, fold))
    ]


def is_of_leaves(tree: FoldTree, fold: Fold) -> bool:
    return all(tree.graph.variables[place] is not None for place in nodes_in(fold))


@quick
@given(forwards())
def test_every_node_is_in_one_fold_and_has_one_position(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    assert sorted(nodes_in(tree.root)) == list(range(len(graph)))
    assert [tree.positions[place] for place in tree.places] == list(range(len(graph)))
    for fold in tree:
        assert list(tree.nodes_of(fold)) == nodes_in(fold)
        assert fold.nodes == len(nodes_in(fold)) > 0
    assert [fold.id for fold in tree] == [f"f{i}" for i in range(len(tree))]


@quick
@given(forwards())
def test_no_fold_has_too_many_cards(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    for fold in tree:
        leaves = sum(graph.variables[place] is not None for place in fold.places)
        assert tree.cards(fold) - leaves <= MOST + 1  # one fold of many leaves
        assert leaves <= (MOST if fold.kind in ("leaves", "part") else LEAVES)


@quick
@given(forwards())
def test_the_folds_around_a_node_are_those_that_have_it(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    for node in graph.nodes:
        place = graph.place_of(node.id)
        assert tree.around(node.id) == tuple(f for f in tree if place in nodes_in(f))


@quick
@given(forwards())
def test_inside_a_fold_no_member_is_both_before_and_after_another(forward: Forward) -> None:
    tree = fold_tree(forward.graph())
    for fold in tree:
        users: dict[int, set[int]] = {}
        for link in tree.inside(fold).links:
            if link.tail is not None and link.head is not None:
                users.setdefault(link.head, set()).add(link.tail)
        list(TopologicalSorter(users).static_order())


@quick
@given(forwards())
def test_the_links_of_all_folds_are_the_edges_of_the_graph(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    entries = Counter(
        (entry, link.value)
        for fold in tree
        for link in tree.inside(fold).links
        if link.tail is not None and link.head is not None
        for entry in link.entries
    )
    assert entries == Counter(
        ((place, slot), entry)
        for place, row in enumerate(graph.targets)
        for slot, entry in enumerate(row)
        if entry is not None
    )


@quick
@given(forwards())
def test_values_over_the_rim_are_those_used_on_the_other_side(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    for fold in tree:
        own = set(nodes_in(fold))
        rows = [(place, entry) for place, row in enumerate(graph.targets) for entry in row if entry]
        into = {entry for place, entry in rows if place in own and entry[0] not in own}
        out = {entry for place, entry in rows if place not in own and entry[0] in own}
        out |= {root for root in graph.root_places if root[0] in own}
        inside = tree.inside(fold)
        assert set(inside.inputs) == into
        assert set(inside.outputs) == out
        assert {link.value for link in inside.links if link.tail is None} == into
        assert {link.value for link in inside.links if link.head is None} == out


@quick
@given(forwards())
def test_totals_are_the_sums_over_the_nodes(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    for fold, totals in all_totals(tree):
        nodes = [graph.nodes[place] for place in nodes_in(fold)]
        slots = [slot for node in nodes for slot in node.saved]
        states = Counter(slot.state for slot in slots)
        leaves = [graph.tensor(node.variable) for node in nodes if node.variable is not None]
        grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
        norms = [grad.norm for grad in grads if grad.norm is not None]
        sizes = {slot.storage: slot.storage_nbytes or 0 for slot in slots if slot.storage}
        assert (totals.nodes, totals.leaves) == (len(nodes), len(leaves))
        assert totals.parameters == 3 * len(leaves)
        assert totals.saved_bytes == sum(sizes.values())
        assert (totals.held, totals.modified) == (states["held"], states["modified"])
        assert (totals.freed, totals.packed) == (states["freed"], states["packed"])
        assert totals.hooks == sum(len(node.hooks) for node in nodes)
        assert totals.grads == len(grads)
        assert totals.bad_grads == sum(norm == "nan" for norm in norms)
        assert totals.problems == states["modified"] + totals.bad_grads
        if not grads or len(norms) < len(grads):
            assert totals.grad_norm is None
        elif "nan" in norms:
            assert totals.grad_norm == "nan"
        else:
            assert totals.grad_norm == pytest.approx(math.hypot(*map(float, norms)))


@quick
@given(forwards())
def test_totals_of_the_whole_graph_are_its_own(forward: Forward) -> None:
    graph = forward.graph()
    tree = fold_tree(graph)
    *_, (root, totals) = all_totals(tree)
    counts = graph.counts
    assert root is tree.root
    assert totals.saved_bytes == graph.saved_bytes
    assert (totals.nodes, totals.leaves) == (counts["nodes"], counts["leaves"])
    for state in ("held", "modified", "freed", "packed"):
        assert getattr(totals, state) == counts.get(f"saved {state}", 0)


@quick
@given(forwards())
def test_the_same_program_has_the_same_tree(forward: Forward) -> None:
    graph = forward.graph()
    names = [node.id for node in graph.nodes]
    again = Graph.from_json(graph.to_json())
    assert form(fold_tree(graph), names) == form(fold_tree(again), names)
    assert again.modules == graph.modules
    assert list(again.order) == list(graph.order)


@quick
@given(forwards(), st.randoms(use_true_random=False))
def test_the_order_of_ids_does_not_matter(forward: Forward, random: object) -> None:
    graph = forward.graph()
    count = len(graph)
    made = len(forward.made)
    first = [*range(count)]
    other = list(first)
    random.shuffle(other)  # type: ignore[attr-defined]
    trees = []
    for ids in (first, other):
        tree = fold_tree(forward.graph(ids=ids))
        names = [""] * count
        for number, place in enumerate(ids):
            names[place] = f"node {number}" if number < made else f"leaf {number}"
        trees.append(form(tree, names))
    assert trees[0] == trees[1]


@quick
@given(forwards())
def test_what_opens_is_few_boxes(forward: Forward) -> None:
    tree = fold_tree(forward.graph())
    ids = opened(tree).ids
    boxes = 1 + sum(tree.cards(fold) - 1 for fold in tree if fold.id in ids)
    assert tree.root.id in ids
    assert boxes <= 40
