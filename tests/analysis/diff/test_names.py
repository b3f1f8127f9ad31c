"""Structure comes before names: the same program with other names is the same graph."""

from __future__ import annotations

from itertools import combinations

import torch
from torch import Tensor, nn

import gradviz
from gradviz.analysis.diff.report import comparison_of
from gradviz.model import Graph
from tests.each import each


def exponential(leaf: str, result: str) -> Graph:
    w = torch.ones(2, requires_grad=True)
    h = w.exp()
    return gradviz.snapshot(h.sum(), names={leaf: w, result: h})


def test_names_that_stand_for_other_things_are_no_difference() -> None:
    found = comparison_of(exponential("w", "h"), exponential("h", "w"))
    assert found.differences == ()
    assert found.renamed == (("w", "h"), ("h", "w"))


def added(how: str) -> Graph:
    """The same computation; its input is known, rebound, or known beside the sum."""
    w, x = torch.ones(3, requires_grad=True), torch.tensor([1.0, 2.0, 3.0])
    if how == "rebound":
        x = x + w
        y = x.exp()
        return gradviz.snapshot(y, names={"w": w, "x": x, "y": y})
    h = x + w
    y = h.exp()
    more = {"h": h} if how == "named" else {}
    return gradviz.snapshot(y, names={"w": w, "x": x, "y": y, **more})


@each("pair", list(combinations(("rebound", "named", "nested"), 2)))
def test_a_variable_that_is_bound_again_is_no_difference(pair: tuple[str, str]) -> None:
    before, after = map(added, pair)
    assert comparison_of(before, after).differences == ()
    assert comparison_of(after, before).differences == ()


def test_an_input_that_one_program_still_has_under_its_name_is_no_difference() -> None:
    def of(rebound: bool) -> Graph:
        layer, x = nn.Linear(2, 2), torch.ones(1, 2)
        nn.init.constant_(layer.weight, 0.5)
        nn.init.constant_(layer.bias, 0.5)
        h = layer(x)
        names = {"x": h} if rebound else {"x": x, "h": h}
        return gradviz.snapshot(h.sum(), names=names)

    assert comparison_of(of(True), of(False)).differences == ()
    assert comparison_of(of(False), of(True)).differences == ()


def test_a_hook_is_no_difference_because_only_one_graph_names_its_tensor() -> None:
    def of(named: bool) -> Graph:
        a = torch.tensor(2.0, requires_grad=True)
        y = a * 3
        y.register_hook(halve)
        return gradviz.snapshot(y.exp(), names={"a": a, **({"y": y} if named else {})})

    assert comparison_of(of(True), of(False)).differences == ()


def halve(gradient: Tensor) -> Tensor:
    return gradient / 2


def stacked(width: int, depth: int, rectified: bool) -> Graph:
    torch.manual_seed(0)
    layers = [(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)]
    model = nn.Sequential(*(part for pair in layers for part in pair[: 1 + rectified]))
    return gradviz.snapshot(model(torch.ones(2, width)).sum(), model)


@each("depth", [3, 6])
@each("width", [4, 20])  # values of so many numbers are not known
def test_layers_are_paired_by_their_place_when_their_numbers_move(width: int, depth: int) -> None:
    found = comparison_of(stacked(width, depth, False), stacked(width, depth, True))
    new = [d.name for d in found.differences if d.is_whole]
    assert new == ["ReluBackward0"] * depth
    leaves = [d for d in found.differences if d.subject == "tensor" and "output" not in d.name]
    assert leaves == []
    moved = {name: f"{name[:6]}{2 * int(name[6])}{name[7:]}" for name, _ in found.renamed}
    assert dict(found.renamed) == moved
    assert len(moved) == 2 * (depth - 1)


def test_layers_that_changed_places_are_told_by_their_names_where_values_are_not_known() -> None:
    first, second = nn.Linear(20, 20), nn.Linear(20, 20)
    names = {"first": first.weight, "second": second.weight}

    def of(*layers: nn.Module) -> Graph:
        return gradviz.snapshot(nn.Sequential(*layers)(torch.ones(1, 20)).sum(), names=names)

    found = comparison_of(of(first, second), of(second, first))
    assert {d.change for d in found.differences if d.subject == "edge"} >= {
        "leaf first → leaf second",
        "leaf second → leaf first",
    }


def test_parts_of_one_tensor_are_paired_by_their_number() -> None:
    def of(fused: bool) -> Graph:
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(
            8, 2, 16, batch_first=True, dropout=0.0 if fused else 0.1
        )
        return gradviz.snapshot(layer(torch.ones(2, 3, 8)).sum(), layer)

    found = comparison_of(of(False), of(True))
    assert "SelectBackward0" in {node.name for node in found.graph.nodes}
    assert not [d for d in found.differences if (d.name, d.fact) == ("SelectBackward0", "index")]


def test_a_leaf_that_is_frozen_is_not_taken_for_the_one_that_is_trained_instead() -> None:
    def of(trained: str) -> Graph:
        names = {name: torch.ones(3, requires_grad=name == trained) for name in ("w", "x")}
        return gradviz.snapshot(names["w"] * names["x"], names=names)

    told = {(d.name, d.fact, d.change) for d in comparison_of(of("w"), of("x")).differences}
    assert ("w", "requires_grad", "True → False") in told
    assert ("x", "requires_grad", "False → True") in told


class Coder(nn.Module):
    def __init__(self, detached: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.detached = nn.Linear(3, 2), nn.Linear(2, 3), detached

    def forward(self, x: Tensor) -> Tensor:
        z = self.first(x)
        return self.second(z.detach() if self.detached else z)


def test_a_tensor_that_one_graph_does_not_keep_is_not_said_not_to_exist() -> None:
    x = torch.ones(4, 3)
    graphs = [
        gradviz.snapshot(model(x).sum(), model)
        for model in (Coder(detached=True), Coder(detached=False))
    ]
    found = comparison_of(*graphs)
    (of_x,) = [d for d in found.differences if d.name == "x"]
    assert (of_x.subject, of_x.fact, of_x.change) == ("tensor", "kept by the graph", "no → yes")
    assert "tensor kept by the graph only after: x" in found.sentences
    assert "exists" not in str(found)
    (back,) = [d for d in comparison_of(*graphs[::-1]).differences if d.name == "x"]
    assert (back.fact, back.change) == ("kept by the graph", "yes → no")


def test_an_output_of_a_new_node_is_only_in_the_graph_after() -> None:
    def of(squared: bool) -> Graph:
        a = torch.tensor(2.0, requires_grad=True)
        h = a.sin()
        names = {"a": a, "h": h}
        if squared:
            names["square"] = h = h.square()
        return gradviz.snapshot(h.exp(), names=names)

    assert comparison_of(of(False), of(True)).sentences[:2] == (
        "new: PowBackward0",
        "tensor in the graph only after: square",
    )
