"""What is shown of ``torch.func``, forward mode, ``create_graph``, DTensor and compiled code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.distributed.tensor import DTensor, Shard
from torch.func import functional_call, grad, jacrev, vmap

import gradviz
from gradviz.model.events import Operation
from tests.truth.tools import two_processes


def weight() -> Tensor:
    return torch.tensor([1.0, 2.0], requires_grad=True)


def names(graph: gradviz.Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def captions(recording: gradviz.Recording) -> list[str]:
    return [step.details for step in recording.all_steps]


def test_what_func_grad_gives_has_the_graph_of_both_levels() -> None:
    w, inside = weight(), []

    def square(w: Tensor) -> Tensor:
        out = (w * w).sum()
        inside.append(gradviz.snapshot(out))
        return out

    with gradviz.record() as recording:
        slope = grad(square)(w)
        loss = (slope * w).sum()
        loss.backward()
    assert names(inside[0]) == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert w.grad is not None
    assert w.grad.tolist() == [4.0, 8.0]
    started = [e for s in recording.all_steps for e in s.events if e.kind == "backward"]
    assert len(started) == 2
    assert not recording.explanations
    assert str(gradviz.show(recording))


def test_a_gradient_of_func_grad_reaches_the_parameters_it_depends_on() -> None:
    model = nn.Linear(2, 1)

    def squared(parameters: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(model, parameters, (x,)).pow(2).sum()

    found = vmap(grad(squared), in_dims=(None, 0))(dict(model.named_parameters()), torch.ones(3, 2))
    loss = sum(one.sum() for one in found.values())
    assert [row.gets_gradient for row in gradviz.audit(loss, model).findings.parameters] == [
        True,
        True,
    ]


def test_inside_vmap_nothing_is_said_not_to_be_recorded_that_is() -> None:
    w, refused = weight(), []

    def times(x: Tensor) -> Tensor:
        plain = x + 1
        out = (plain * w).sum()
        try:
            gradviz.snapshot(out)
        except gradviz.NoGraphError as error:
            refused.append(str(error))
        return out

    with gradviz.record(only=times) as recording:
        out = vmap(times)(torch.ones(3, 2))
    assert "inside vmap torch shows neither that nor the nodes" in refused[0]
    assert "gradviz.snapshot(torch.vmap(f)(x))" in refused[0]
    reasons = {
        event.name: event.reason
        for step in recording.all_steps
        for event in step.events
        if isinstance(event, Operation)
    }
    assert reasons["mul"] == reasons["sum"] == "inside vmap"
    assert reasons["add"] == "no input requires grad"
    assert "mul is not recorded" not in " ".join(captions(recording))
    assert names(gradviz.snapshot(out)) == ["SumBackward1", "MulBackward0", "AccumulateGrad"]


def test_a_jacobian_of_jacrev_has_a_graph_and_is_recorded() -> None:
    w = weight()
    with gradviz.record() as recording:
        loss = jacrev(lambda w: w**2)(w).sum()
        loss.backward()
    assert w.grad is not None
    assert w.grad.tolist() == [2.0, 2.0]
    assert "PowBackward0" in names(recording.graph)
    assert gradviz.memory(recording).findings.total == 24


# torch compiles something of its own where forward mode begins.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_a_dual_tensor_shows_the_graphs_of_value_and_tangent() -> None:
    w = weight()
    with gradviz.record() as recording, forward_ad.dual_level():
        dual = forward_ad.make_dual(w, torch.ones(2))
        out = (dual * dual).sum()
        tangent = forward_ad.unpack_dual(out).tangent
        value, slope = gradviz.snapshot(out), gradviz.snapshot(tangent)
    assert names(value) == ["SumBackward0", "MulBackward0", "ViewBackward0", "AccumulateGrad"]
    assert names(slope)[:2] == ["SumBackward0", "AddBackward0"]
    opaque = [node for node in slope.nodes if node.state == "opaque"]
    assert {node.name for node in opaque} == {"Identity"}
    assert "opaque" in str(slope)
    assert any("make_dual" in caption for caption in captions(recording))


def test_a_gradient_made_with_create_graph_is_part_of_the_next_graph() -> None:
    w = weight()
    with gradviz.record() as recording:
        (slope,) = torch.autograd.grad((w**3).sum(), w, create_graph=True)
        penalty = (slope**2).sum()
        penalty.backward()
    made = names(gradviz.snapshot(penalty))
    assert made.count("PowBackward0") == 2
    assert "freed" in str(gradviz.snapshot(penalty))
    (first, second) = [
        event for step in recording.all_steps for event in step.events if event.kind == "backward"
    ]
    assert first.create_graph  # type: ignore[attr-defined]
    assert not second.create_graph  # type: ignore[attr-defined]
    assert not recording.explanations


@pytest.fixture
def mesh() -> Iterator[Any]:
    with two_processes() as made:
        yield made


def test_of_a_dtensor_the_part_of_this_process_is_counted_and_values_are_said_to_be_unread(
    mesh: Any,
) -> None:
    part = torch.ones(4)
    w = nn.Parameter(DTensor.from_local(part, mesh, [Shard(0)]))
    loss = (w.exp() * w).sum()
    graph = gradviz.snapshot(loss)
    assert graph.device == "DTensor cpu"
    leaf = graph.leaves[0]
    assert (leaf.shape, leaf.values) == ((8,), None)
    assert {slot.nbytes for node in graph.nodes for slot in node.saved} == {16}
    report = gradviz.memory(loss)
    assert report.findings.total == 32
    assert "Of DTensors the part that this process holds is counted." in report.findings.notes
    assert "values not read: each process has a part, to_local() gives that of this one" in str(
        gradviz.show(loss).wire
    )
    with gradviz.record() as recording:
        (w * 2).sum()
    assert gradviz.Recording.from_json(recording.to_json()) == recording
    assert gradviz.audit(loss, nn.ParameterList([w]))["0"].gets_gradient


@pytest.mark.exhaustive
def test_a_compiled_model_is_a_node_and_what_it_learns_is_known() -> None:
    torch.compiler.reset()
    model = nn.Linear(2, 1)
    loss = torch.compile(model, backend="aot_eager")(torch.ones(1, 2)).sum()
    assert "CompiledFunctionBackward" in names(gradviz.snapshot(loss))
    assert gradviz.audit(loss, model)["weight"].gets_gradient
    with gradviz.record() as recording:
        loss.backward()
    assert gradviz.audit(loss, model, recording=recording)["weight"].gets_gradient
    torch.compiler.reset()
