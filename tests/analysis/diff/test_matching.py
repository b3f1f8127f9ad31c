from __future__ import annotations

from dataclasses import replace

import torch

import gradviz
from gradviz.analysis.diff.graphs import differences_between
from gradviz.analysis.diff.matching.matching import match_nodes
from gradviz.analysis.diff.report import comparison_of
from gradviz.model import Graph, Node
from tests.view.graphs import tensor


def only_after(before: Graph, after: Graph) -> list[str]:
    paired = match_nodes(before, after)
    assert match_nodes(after, before) == {old: new for new, old in paired.items()}
    return [node.name for node in after.nodes if node.id not in paired]


def test_nodes_are_paired_by_what_is_below_them_when_something_is_put_above() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    before = gradviz.snapshot(x.sin().sin().cos())
    after = gradviz.snapshot(x.sin().sin().cos().sin())
    assert match_nodes(before, after) == {"n1": "n0", "n2": "n1", "n3": "n2", "n4": "n3"}


def test_nodes_are_paired_by_their_neighbours_when_something_is_put_between() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    before = gradviz.snapshot(x.sin() * x.cos())
    after = gradviz.snapshot(x.exp().sin() * x.cos())
    assert only_after(before, after) == ["ExpBackward0"]


def recurrent(
    steps: int, clone: tuple[int, ...] = (), detach: tuple[int, ...] = (), name: str = "w"
) -> Graph:
    w = torch.full((2, 2), 0.1, requires_grad=True)
    h = torch.zeros(2)
    for step in range(steps):
        h = torch.tanh(w @ h + 1)
        h = h.clone() if step in clone else h
        h = h.detach() if step in detach else h
    return gradviz.snapshot(h.sum(), names={name: w})


def test_what_is_put_into_a_loop_at_several_places_is_all_that_is_new() -> None:
    assert only_after(recurrent(5), recurrent(5, clone=(1, 2, 3))) == ["CloneBackward0"] * 3


def test_one_turn_more_is_one_turn_that_is_new() -> None:
    new = only_after(recurrent(5), recurrent(6))
    assert sorted(new) == ["AddBackward0", "MvBackward0", "TanhBackward0"]


def test_what_a_detach_cuts_off_is_gone_and_the_cut_is_where_it_was_made() -> None:
    found = differences_between(recurrent(3), recurrent(3, detach=(1,)))
    gone = [d.name for d in found if (d.kind, d.subject) == ("gone", "node")]
    assert sorted(gone) == sorted(["TanhBackward0", "AddBackward0", "MvBackward0"] * 2)
    (cut,) = [d for d in found if d.subject == "edge"]
    assert (cut.name, cut.fact, cut.change) == (
        "MvBackward0",
        "vec leads to",
        "TanhBackward0 → None",
    )


def test_a_layer_put_between_layers_of_other_sizes_is_the_one_that_is_new() -> None:
    def network(*sizes: int) -> torch.Tensor:
        h = torch.ones(1, sizes[0])
        for size in sizes[1:]:
            h = (h @ torch.zeros(h.shape[1], size, requires_grad=True)).relu()
        return h.sum()

    before = gradviz.snapshot(network(3, 4, 5, 2))
    after = gradviz.snapshot(network(3, 4, 4, 5, 2))
    paired = match_nodes(before, after)
    new = [leaf.shape for leaf in after.leaves if leaf.node not in paired]
    assert new == [(4, 4)]


def test_leaves_of_another_name_are_paired_by_their_place() -> None:
    found = comparison_of(recurrent(3), recurrent(3, name="weight"))
    assert not found
    assert found.renamed == (("w", "weight"),)
    assert found.sentences[-1] == "compared although the names differ: w with weight"


def test_two_modules_are_compared_by_structure() -> None:
    def of(name: str, bias: bool) -> Graph:
        layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2, bias=bias))
        for parameter in layers.parameters():
            torch.nn.init.constant_(parameter, 0.5)
        names = {f"{name}.{key}": value for key, value in layers.named_parameters()}
        return gradviz.snapshot(layers(torch.ones(1, 2)).sum(), names=names)

    assert comparison_of(of("first", True), of("second", True)).renamed == (("first", "second"),)
    found = comparison_of(of("first", True), of("second", False))
    gone = [d.name for d in found.differences if d.is_whole and d.kind == "gone"]
    assert "leaf first.1.bias" in gone
    assert not any("0.weight" in name for name in gone)


def test_a_deep_graph_is_compared() -> None:
    def chain(length: int) -> Graph:
        x = torch.tensor(1.0, requires_grad=True)
        for _ in range(length):
            x = x * 1.0
        return gradviz.snapshot(x)

    new = [d for d in differences_between(chain(3000), chain(3001)) if d.kind == "new"]
    assert [d.name for d in new if d.subject == "node"] == ["MulBackward0"]


def test_swapped_layers_change_where_entries_lead_and_no_node() -> None:
    a, b = (torch.full((2,), value, requires_grad=True) for value in (2.0, 3.0))

    def of(first: torch.Tensor, second: torch.Tensor) -> Graph:
        return gradviz.snapshot(((first * 2).sin() + second).sum(), names={"a": a, "b": b})

    found = comparison_of(of(a, b), of(b, a))
    assert [d.change for d in found.differences if d.subject == "edge"] == [
        "leaf b → leaf a",
        "leaf a → leaf b",
    ]
    # The entries that are gone stand after those that are there, and lead where they led.
    gone = [mark.id for mark in found.marks if mark.kind == "gone"]
    assert len(gone) == 2
    names = [found.graph[mark.partition(".")[0]].arguments[-1] for mark in gone]
    assert names == ["other before", "self before"]


def test_entries_that_would_close_a_circle_are_told_and_not_drawn() -> None:
    one = Graph.of([Node("n0", "A", (("n1", 0),)), Node("n1", "B", ())], [("n0", 0)], NAMED)
    turned = [Node("n0", "A", ()), Node("n1", "B", (("n0", 0),))]
    found = comparison_of(one, Graph.of(turned, [("n1", 0)], NAMED))
    assert [d.change for d in found.differences if d.subject == "edge"] == [
        "B → no such input",
        "no such input → A",
    ]
    assert len(found.graph.edges) == 1


NAMED = [replace(tensor(i, name, node=f"n{i}"), is_leaf=False) for i, name in enumerate("ab")]
