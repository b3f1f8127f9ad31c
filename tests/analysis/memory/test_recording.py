from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.analysis.memory.count import memory_over
from gradviz.model import Node, Recording
from tests.analysis.memory.counting import Saves
from tests.view.graphs import saved
from tests.view.recordings import Script


def lines_of(recording: Recording) -> list[tuple[str, int]]:
    """Text of every line that ran, and what was kept after it."""
    points = memory_over(recording).curve.points  # type: ignore[union-attr]
    return [(point.text, point.held) for point in points if point.line and not point.level]


def test_the_curve_is_what_hooks_count_after_each_line() -> None:
    w1 = torch.rand(4, 8, requires_grad=True)
    w2 = torch.rand(8, 2, requires_grad=True)
    x = torch.rand(3, 4)
    with gradviz.record() as recording:
        h = (x @ w1).relu()
        y = h @ w2
        loss = (y.exp() * y).sum()
        del h
        again = y.sin().sum()
        del y
        loss.backward(retain_graph=True)
        loss.backward()
        del again
    recorded = lines_of(recording)

    saves = Saves()
    space: dict[str, Any] = {"w1": w1, "w2": w2, "x": x}
    with saves.hooks():
        for text, held in recorded:
            exec(text, space)
            assert held == saves.total(), text
    assert len({held for _, held in recorded}) > 4
    assert recorded[-1][1] == 0


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.fc = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.conv(x).tanh().mean((2, 3)))


def test_the_owner_of_the_peak_is_the_convolution_and_not_the_linear_layer() -> None:
    model, x = Net(), torch.rand(8, 16, 32, 32)[:, :3].contiguous()
    with gradviz.record(into=Net) as recording:
        y = model(x)
        loss = y.logsumexp(1).sum()
        loss.backward()
    found = memory_over(recording)
    holder = found.nodes[0]
    assert (holder.name, found.modules[0].id) == ("TanhBackward0", "model")
    assert [one.name for one in found.nodes[:2]] == ["TanhBackward0", "ConvolutionBackward0"]
    assert found["conv"].nbytes == x.nbytes + model.conv.weight.nbytes
    assert found["fc"].nbytes < found["conv"].nbytes
    assert found.parameters == model.conv.weight.nbytes + model.fc.weight.nbytes
    assert found.curve is not None
    peak = found.curve.points[found.curve.peak]
    assert peak.text == "loss = y.logsumexp(1).sum()"
    assert found.total == peak.held == max(point.held for point in found.curve.points)
    assert found["fc"].name in {row["module"] for row in found.tables[1]}
    assert "self.conv(x).tanh()" in found.lines[0].id


def test_a_sum_of_losses_that_keeps_all_graphs_is_seen_in_curve_and_lines() -> None:
    w, x = torch.rand(100, 100, requires_grad=True), torch.rand(50, 100)
    with gradviz.record() as leaking:
        total: Any = 0
        for _ in range(6):
            loss = (x @ w).exp().sum()
            total = total + loss
    with gradviz.record() as mended:
        total = 0
        for _ in range(6):
            loss = (x @ w).exp().sum()
            total = total + loss.item()
    one = 50 * 100 * 4
    kept = [held for text, held in lines_of(leaking) if text.startswith("total = total")]
    assert kept == [one * n + x.nbytes for n in range(1, 7)]
    assert max(held for _, held in lines_of(mended)) == one + x.nbytes
    found = memory_over(leaking)
    (line,) = [one for one in found.lines if "exp" in one.id]
    assert (line.nbytes, len(line.nodes)) == (6 * one + x.nbytes, 12)
    node, same, *_ = found.sentences[2:]
    assert node.startswith("The node that keeps most is ")
    assert same.startswith("The same bytes by line of code: most at ")
    assert f"{line.id} with" in same


def test_live_tensors_are_fewer_where_the_old_value_is_not_saved() -> None:
    def live_mib(a_requires_grad: bool) -> int:
        one = torch.ones((), requires_grad=True)
        a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
        a, b = (a + one, b) if a_requires_grad else (a, b + one)
        with gradviz.record(values=False) as recording:
            b = a * b
        assert b.requires_grad
        last = memory_over(recording).curve.points[-1]  # type: ignore[union-attr]
        assert last.beside is not None
        return last.beside >> 20

    # a * b saves b for a's gradient, and a for b's: then nothing keeps the old b.
    assert live_mib(a_requires_grad=True) == 12
    assert live_mib(a_requires_grad=False) == 8


def test_a_step_can_be_chosen_and_the_peak_is_still_told() -> None:
    x = torch.rand(1000, requires_grad=True)
    with gradviz.record() as recording:
        y = x.exp()
        z = y.exp().sum()
        z.backward()
    report = gradviz.memory(recording, step=1)
    found = report.findings
    assert (found.step, found.total, [one.name for one in found.nodes]) == (
        1,
        4000,
        ["ExpBackward0"],
    )
    assert found.sentences[0].startswith("The peak is ")
    assert gradviz.memory(recording, step=-1).findings.total == 0
    assert [caption for caption, _ in report._drawn_figures] == [
        "Bytes kept for backward after every step",
        "Nodes that keep the 4000 B at step 1",
    ]


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("anomaly", [False, True])
def test_nodes_from_before_the_recording_have_an_unknown_module(anomaly: bool) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    x = torch.rand(2, 4)
    with torch.autograd.set_detect_anomaly(anomaly):  # with it torch keeps the lines of nodes
        h = net(x)
    with gradviz.record() as recording:
        y = net(h)
        z = y.exp()
    del z
    found = memory_over(recording)
    modules = {str(row["node"]): str(row["module"]) for row in found}
    names = {one.id: one.name for one in found.nodes}
    assert {names[n]: m for n, m in modules.items() if m == "no module"} == {
        "ExpBackward0": "no module"
    }
    assert sorted(m for m in modules.values() if m != "no module") == [
        "net.0",
        "net.1",
        "unknown",
        "unknown",
    ]


def test_nothing_recorded_is_nothing_kept() -> None:
    found = memory_over(Recording.empty())
    assert (found.total, found.step) == (0, 0)
    assert found.sentences[0] == "At no step does the graph keep saved tensors of known size."


# --- on a GPU, as its recording reads --------------------------------------------------------


def on_cuda() -> Recording:
    """A recording as one from a GPU is: memory is what the allocator reported."""
    script = Script("y = x.exp()\n")
    script.step("start")
    slot = saved("result", storage="s1", storage_nbytes=400, device="cuda:0")
    script.step("line", 1, Node("n0", "ExpBackward0", (None,), (slot,), state="holds"))
    facts = script.end().records
    memory = [1024, 4096]
    steps = [replace(step, memory=n) for step, n in zip(facts, memory)]
    return Recording(steps, script.codes, "cuda:0", "cell")


def test_what_the_allocator_reports_stands_beside() -> None:
    found = memory_over(on_cuda())
    assert found.curve is not None
    assert (found.curve.beside, found.total, found.allocated) == ("allocated", 400, 4096)
    assert "torch.cuda.memory_allocated() is 4096 B" in " ".join(found.sentences)
    assert [row["allocated"] for row in found.tables[1]] == [1024, 4096]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_the_allocator_has_at_least_what_is_kept() -> None:
    x = torch.rand(1000, 1000, device="cuda", requires_grad=True)
    loss = x.exp().sum()
    found = gradviz.memory(loss).findings
    assert (found.total, found.allocated) == (4_000_000, torch.cuda.memory_allocated())
    assert found.allocated >= found.total + x.nbytes
    on_cpu = x.detach().cpu().requires_grad_()
    same = gradviz.memory(on_cpu.exp().sum(), names={"x": on_cpu}).findings
    assert same.allocated is None
    assert re.sub(r"\S*memory_allocated.*", "", found.sentences[0]) == same.sentences[0]
