from __future__ import annotations

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.model import Graph, SavedTensor
from tests.each import each


def slot_of(graph: Graph, node: str, name: str) -> SavedTensor:
    (found,) = (slot for slot in graph[node].saved if slot.name == name)
    return found


def leaf(*values: float) -> Tensor:
    return torch.tensor(values, requires_grad=True)


def test_a_number_of_the_code_has_its_value() -> None:
    w = leaf(1.0, 1.0)
    y = 2 * w
    assert slot_of(gradviz.snapshot(y), "n0", "other").values == (y.grad_fn._saved_other.item(),)  # type: ignore[union-attr]
    assert slot_of(gradviz.snapshot(w * 2.5), "n0", "other").values == (2.5,)


@each("count", [0, 1, 8, 9])
def test_few_values_of_a_tensor_without_a_name_are_kept(count: int) -> None:
    y = torch.zeros(2, count, requires_grad=True)[0].exp().sin()
    slot = slot_of(gradviz.snapshot(y), "n0", "self")
    saved = y.grad_fn._saved_self  # type: ignore[union-attr]
    assert slot.values == (tuple(saved.tolist()) if count <= 8 else None)


def test_a_known_tensor_has_them_itself() -> None:
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    graph = gradviz.snapshot(w * x)
    slot = slot_of(graph, "n0", "other")
    assert slot.values is None
    assert graph.tensor("x").id == slot.tensor
    assert graph.tensor("x").values == (3.0, 4.0)


def test_a_view_of_a_known_tensor_has_its_own() -> None:
    w = leaf(1.0, 2.0, 3.0, 4.0)
    slot = slot_of(gradviz.snapshot(w[:2] * w[2:]), "n0", "self")
    assert (slot.view_of is not None, slot.values) == (True, (1.0, 2.0))


def test_an_alias_that_was_cut_off_is_not_the_tensor_itself() -> None:
    y = leaf(1.0, 2.0) * 2
    slot = slot_of(gradviz.snapshot(y.detach() * y), "n0", "self")
    assert (slot.tensor, slot.values) == (None, (2.0, 4.0))


def test_modified_ones_are_those_of_now_and_packed_and_freed_ones_are_not_read() -> None:
    w = leaf(0.0, 0.0)
    outputs = [w.exp()]
    y = outputs[0].sin()
    with torch.no_grad():
        outputs[0].add_(1.0)
    outputs.clear()
    modified = slot_of(gradviz.snapshot(y), "n0", "self")
    assert (modified.state, modified.values) == ("modified", (2.0, 2.0))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: pytest.fail("unpacked")):
        packed = slot_of(gradviz.snapshot(w.exp().sin()), "n0", "self")
    assert (packed.state, packed.values) == ("packed", None)
    z = w.exp().sin().sum()
    z.backward()
    freed = slot_of(gradviz.snapshot(z), "n1", "self")
    assert (freed.state, freed.values) == ("freed", None)


@each("odd", [float("nan"), float("inf"), -float("inf")])
def test_what_json_cannot_hold_is_text(odd: float) -> None:
    graph = gradviz.snapshot(leaf(1.0) * odd)
    assert slot_of(graph, "n0", "other").values == (str(odd),)
    assert Graph.from_json(graph.to_json()) == graph


def test_documents_without_values_are_read() -> None:
    graph = gradviz.snapshot(2 * leaf(1.0))
    text = graph.to_json()
    assert '"values":[2]' in text
    old = Graph.from_json(text.replace(',"values":[2]', ""))
    assert slot_of(old, "n0", "other").values is None


def test_a_recording_without_values_reads_none() -> None:
    for values in (True, False):
        with gradviz.record(values=values) as recording:
            y = 2 * leaf(1.0)
        (row,) = (n for n in recording.graph.nodes if n.name == "MulBackward0")
        assert row.saved[0].values == ((2,) if values else None)
        assert y.requires_grad


def test_a_step_has_the_values_after_it() -> None:
    x = leaf(0.0, 0.0)
    with gradviz.record() as recording:
        t = x.exp()
        y = t.mul(2)
        other = t.detach()
        del t
        other.add_(1.0)
    assert y.requires_grad
    told = [
        (slot.state, slot.values)
        for step in recording.records
        for _, node in step.changes.nodes
        for slot in (node.saved if node else ())
        if slot.name == "result"
    ]
    assert told == [("held", None), ("held", (1.0, 1.0)), ("modified", (2.0, 2.0))]
