"""Tensors on the device ``meta`` and fake tensors: all of a graph but the numbers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

import gradviz
from benchmarks.graphs import GPT, Llama
from gradviz.model.devices import has_no_memory
from tests.analysis.memory.counting import counted, without_numbers
from tests.each import each
from tests.programs import PROGRAMS, Built, Program, run_backward

PLACES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "meta": lambda: torch.device("meta"),
    "fake": FakeTensorMode,
}
NUMBERS_NEEDED = {"saved_tensors_hooks", "save_on_cpu"}
"""Programs that read a number of a tensor, or copy it."""
NOT_IN_TORCH = {
    ("sparse", "meta"): "addmm of sparse tensors",
    ("nested", "meta"): "nested tensors",
    ("nested", "fake"): "nested tensors",
    ("nested_jagged", "fake"): "sizes that only values say",
}
OTHER_KERNELS = {
    ("svd", "meta"): "other strides",
    ("checkpoint_reentrant", "meta"): "keeps the type of the device",
    ("rnn", "meta"): "written out in another order",
    ("lstm", "meta"): "written out, where the CPU has one kernel",
    ("lstm", "fake"): "another workspace of the same kernel",
    ("attention", "meta"): "written out, where the CPU has one kernel",
    ("transformer", "meta"): "written out, where the CPU has one kernel",
}
"""Programs that torch runs by other operations than on the CPU, so that their graph is another."""


@dataclass
class _Look:
    built: Built
    graph: gradviz.Graph


def _looked(program: Program, place: AbstractContextManager[Any], with_backward: bool) -> _Look:
    with place:
        built = program.build()
        if with_backward and program.backward == "runs":
            run_backward(built)
    return _Look(built, gradviz.snapshot(*built.outputs, names=built.names, values=True))


def _without_values(graph: gradviz.Graph) -> gradviz.Graph:
    def cleaned(slot: Any) -> Any:
        return replace(slot, device=None, values=None, is_unread=False)

    nodes = [replace(node, saved=tuple(map(cleaned, node.saved))) for node in graph.nodes]
    tensors = [
        replace(
            one,
            device="",
            values=None,
            is_unread=False,
            grad=None if one.grad is None else gradviz.model.ValueSummary(*_sizes(one.grad)),
        )
        for one in graph.tensors
    ]
    return gradviz.Graph.of(nodes, graph.roots, tensors)


def _sizes(grad: Any) -> tuple[Any, Any]:
    return grad.shape, grad.dtype


CASES = [
    program
    for program in PROGRAMS
    if not program.is_slow and program.name not in (*NUMBERS_NEEDED, "deep_chain")
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", CASES, ids=str)
def test_the_graph_is_that_of_the_cpu_but_for_numbers(program: Program) -> None:
    for with_backward in (False, True):
        real = _looked(program, nullcontext(), with_backward)
        expected = _without_values(real.graph).to_json()
        for place, inside in PLACES.items():
            if (program.name, place) in NOT_IN_TORCH:
                continue
            look = _looked(program, inside(), with_backward)
            _check_that_nothing_is_made_up(look.graph)
            assert str(look.graph).startswith("autograd graph of ")
            if (program.name, place) not in OTHER_KERNELS:
                assert _without_values(look.graph).to_json() == expected, place


def _check_that_nothing_is_made_up(graph: gradviz.Graph) -> None:
    """What has no memory has no values, and no ``.grad`` of it has statistics."""
    for node in graph.nodes:
        assert all(s.values is None for s in node.saved if has_no_memory(s.device))
    for one in graph.tensors:
        if has_no_memory(one.device):
            assert one.values is None
            grad = one.grad
            assert grad is None or (grad.values, grad.norm, grad.mean) == (None, None, None)


# ---------------------------------------------------------------------------- bytes


def mlp() -> Tensor:
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))
    loss: Tensor = model(torch.ones(3, 8)).log_softmax(1).sum()
    return loss


def convolutions() -> Tensor:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    loss: Tensor = model(torch.ones(2, 3, 12, 12)).pow(2).mean()
    return loss


def views() -> Tensor:
    x = torch.ones(6, 4, requires_grad=True) * 2
    first, second = x.chunk(2)
    y = torch.cat((first.sin(), second.T.reshape(3, 4) * first, x[1:4].expand(3, 4).exp()))
    return y.double().sum()


MODELS: dict[str, Callable[[], Tensor]] = {
    "mlp": mlp,
    "convolutions": convolutions,
    "views": views,
    "gpt": lambda: GPT(2, 16).loss(),
    "llama": lambda: Llama(2, 16, 4, 2, 32, 50).loss(torch.zeros(2, 6, dtype=torch.long)),
}


@each("place", ["cpu", *PLACES])
@each("model", MODELS)
def test_bytes_that_are_kept_are_those_that_torch_saves(model: str, place: str) -> None:
    with PLACES[place]() if place in PLACES else nullcontext():
        loss = MODELS[model]()
        _, storages = counted(MODELS[model])
    found = gradviz.memory(loss).findings
    assert without_numbers(found) == sorted(storages.values())


@each("model", [model for model in MODELS if model != "llama"])
def test_a_graph_without_memory_keeps_as_many_bytes_as_on_the_cpu(model: str) -> None:
    sizes = {"cpu": gradviz.memory(MODELS[model]()).findings.total}
    for place, inside in PLACES.items():
        with inside():
            loss = MODELS[model]()
        sizes[place] = gradviz.memory(loss).findings.total
    assert len(set(sizes.values())) == 1, sizes


def test_memory_says_that_fake_tensors_have_none() -> None:
    with FakeTensorMode():
        loss = torch.ones(3, 3, requires_grad=True).exp().sum()
    found = gradviz.memory(loss).findings
    said = (
        "36 B are fake tensors, which have no memory: tensors on a real device would take as much."
    )
    assert said in found.sentences
    assert gradviz.snapshot(loss).device == "fake cpu"


def test_a_saved_tensor_that_was_written_is_seen() -> None:
    for inside in PLACES.values():
        with inside():
            x = torch.ones(3, requires_grad=True) * 1
            y = x.exp()
            y.add_(1)
        (slot,) = next(n for n in gradviz.snapshot(y).nodes if n.name == "ExpBackward0").saved
        assert (slot.state, slot.saved_version, slot.current_version) == ("modified", 0, 1)


# ---------------------------------------------------------------------------- recordings


def _training_step(build: Callable[[], tuple[nn.Module, Callable[[], Tensor]]]) -> Any:
    model, run = build()
    for parameter in model.parameters():
        nn.init.ones_(parameter)
    optimizer = torch.optim.AdamW(model.parameters())
    with gradviz.record(values=False) as recording:
        optimizer.zero_grad()
        loss = run()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return recording, gradviz.audit(loss, model, optimizer, recording=recording)


def llama() -> tuple[nn.Module, Callable[[], Tensor]]:
    model = Llama(2, 16, 4, 2, 32, 50)
    return model, lambda: model.loss(torch.zeros(2, 6, dtype=torch.long))


def gpt() -> tuple[nn.Module, Callable[[], Tensor]]:
    model = GPT(1, 16)
    return model, model.loss


@pytest.mark.parametrize(("build", "place"), [(llama, "fake"), (gpt, "fake"), (gpt, "meta")])
def test_a_recorded_training_step_is_that_of_the_cpu(build: Any, place: str) -> None:
    real, _ = _training_step(build)
    with PLACES[place]():
        found, report = _training_step(build)
    assert found.device == {"fake": "fake cpu", "meta": "meta"}[place]
    assert str(found).replace(f"; on {found.device}", "; on cpu", 1) == str(real)
    assert [row["updated"] for row in report] == ["yes"] * len(report)
    assert {row.get("norm") for row in report} <= {"", None}
    assert gradviz.memory(found).findings.total == gradviz.memory(real).findings.total


def test_a_model_with_70_billion_parameters_is_read() -> None:
    with torch.device("meta"):
        model = Llama().to(torch.bfloat16)
        tokens = torch.empty(1, 4096, dtype=torch.long)
    loss = model.loss(tokens)
    report = gradviz.memory(loss, model)
    found = report.findings
    assert sum(p.numel() for p in model.parameters()) == 70_553_706_496
    assert found.graph is not None
    assert len(found.graph.nodes) > 8_000
    kept = sum(p.nbytes for p in model.parameters() if p is not model.embedding.weight)
    assert found.parameters == kept  # the backward of an embedding needs its indices only
    assert {row.gets_gradient for row in gradviz.audit(loss, model).findings.parameters} == {True}


def test_a_training_step_of_blocks_as_large_is_recorded_with_bytes_for_each() -> None:
    with torch.device("meta"):
        model = Llama(layers=3).to(torch.bfloat16)
        tokens = torch.empty(1, 4096, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters())
    with gradviz.record() as recording:
        loss = model.loss(tokens)
        loss.backward()
        optimizer.step()
    report = gradviz.memory(recording)
    blocks = [sum(_bytes_below(report, f"model.layers.{at}")) for at in range(3)]
    turns = 2 * 4096 * 128 * 2  # cos and sin, which all blocks save and one is counted for
    assert sorted(blocks) == [blocks[2], blocks[2], blocks[2] + turns]
    assert blocks[2] > 5 * 2**30
    assert report.findings.curve.points[-1].held == 0


def _bytes_below(report: Any, path: str) -> list[int]:
    modules = report.findings.modules
    return [one.counted for one in modules if (one.name + ".").startswith(path + ".")]
