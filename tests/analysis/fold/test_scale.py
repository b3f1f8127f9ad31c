"""Graphs of any size and form are folded in time and memory that grow with their nodes."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest

from gradviz.analysis.fold.drafts import MOST
from gradviz.analysis.fold.leaves import LEAVES
from gradviz.analysis.fold.opening import opened
from gradviz.analysis.fold.totals import all_totals
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import Graph
from gradviz.model.fold import FoldTree
from tests.analysis.fold.forwards import Forward
from tests.operations import lines_run, most_bytes


def chain(nodes: int) -> Graph:
    """One node after the other."""
    forward = Forward()
    x: int | str = forward.leaf("x")
    for _ in range(nodes):
        x = forward.node("Sin", x)
    return forward.graph()


def views(nodes: int) -> Graph:
    """A chain of views."""
    forward = Forward()
    x: int | str = forward.leaf("x")
    for _ in range(nodes):
        x = forward.node("T", x)
    return forward.graph()


def fan(nodes: int) -> Graph:
    """A node with many leaves."""
    forward = Forward()
    forward.node("Stack", *(forward.leaf(f"x{i}") for i in range(nodes)))
    return forward.graph()


def ladder(nodes: int) -> Graph:
    """Twice as many paths at every node."""
    forward = Forward()
    x: int | str = forward.leaf("x")
    for _ in range(nodes):
        x = forward.node("Add", x, x)
    return forward.graph()


def unrolled(nodes: int) -> Graph:
    """An RNN whose outputs are stacked."""
    forward = Forward()
    state: int | None = None
    found = []
    for _ in range(nodes // 4):
        mixed = forward.node("Mm", state, forward.leaf("W"))
        state = forward.node("Tanh", forward.node("Add", mixed, forward.leaf("b")))
        found.append(forward.node("Select", state))
    forward.node("Stack", *found)
    return forward.graph()


def unordered(nodes: int) -> Graph:
    """Nodes without any structure."""
    chance = random.Random(0)
    forward = Forward()
    x: int | str = forward.leaf("x")
    for number in range(nodes):
        other = chance.randrange(number) if number else x
        x = forward.node(chance.choice(("Add", "Mul", "Mm", "T", "Sin")), x, other)
    return forward.graph()


def nested(levels: int) -> Graph:
    """Modules in modules, each with a node before and a node after the inner one."""
    forward = Forward()
    x: int | str = forward.leaf("x")
    paths = []
    for level in range(levels // 2):
        forward.path = f"{forward.path}.inner" if level else "model"
        paths.append(forward.path)
        x = forward.node("Mul", x, forward.leaf(f"w{level}"))
    for forward.path in reversed(paths):
        x = forward.node("Add", x, x)
    return forward.graph()


FORMS = [chain, views, fan, ladder, unrolled, unordered]


def everything(tree: FoldTree) -> None:
    """All that is asked of a tree when a graph is shown, and when all of it is opened."""
    opened(tree)
    for fold, _ in all_totals(tree):
        tree.inside(fold)


@pytest.mark.parametrize("form", FORMS)
def test_the_work_grows_with_the_nodes(form: Callable[[int], Graph]) -> None:
    small, large = form(600), form(1_200)
    assert lines_run(lambda: fold_tree(large)) < 2.3 * lines_run(lambda: fold_tree(small))
    assert most_bytes(lambda: fold_tree(large)) < 3 * most_bytes(lambda: fold_tree(small))
    one, other = fold_tree(small), fold_tree(large)
    assert lines_run(lambda: everything(other)) < 2.6 * lines_run(lambda: everything(one))


@pytest.mark.parametrize("form", FORMS)
def test_a_tree_needs_little_memory_and_few_levels(form: Callable[[int], Graph]) -> None:
    graph = form(5_000)
    assert most_bytes(lambda: fold_tree(graph)) < 1_000 * len(graph)
    tree = fold_tree(graph)
    assert max(len(tree.around(fold.id)) for fold in tree) <= 6
    for fold in tree:
        assert len(fold.members) <= MOST + LEAVES
        assert len(tree.inside(fold).fold.members) == len(fold.members)


def test_modules_may_be_nested_deeper_than_calls_of_python() -> None:
    levels = 2 * sys.getrecursionlimit()
    tree = fold_tree(nested(levels))
    assert max(len(tree.around(fold.id)) for fold in tree) == levels // 2
    everything(tree)
    assert repr(tree.root)
