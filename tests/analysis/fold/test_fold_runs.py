"""A long backward is walked fold by fold: every step in its run, the totals those of its steps."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz import Recording
from gradviz.model.events import Freed
from gradviz.model.fold_runs import FoldRun
from gradviz.view.captions.fold_runs import run_caption
from gradviz.view.documents.recording import recording_document


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))
        self.head = nn.Linear(4, 1)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def trained(blocks: int, turns: int = 1) -> Recording:
    torch.manual_seed(0)
    net = Net(blocks)
    with gradviz.record(only=[]) as recording:
        for _ in range(turns):
            net(torch.ones(2, 4)).sum().backward()
    return recording


@pytest.fixture(scope="module")
def recording() -> Recording:
    return trained(8)


def ran(recording: Recording, run: FoldRun) -> list[str | None]:
    return [one.node for one in recording.records[run.first : run.last + 1] if one.kind == "node"]


def test_runs_have_the_names_of_modules_and_all_of_their_nodes(recording: Recording) -> None:
    runs = {run.fold.path: run for run in recording.fold_runs if run.fold.kind == "module"}
    assert [path for path in runs if path.count(".") == 2] == [
        f"net.blocks.{i}" for i in range(7, -1, -1)
    ]
    block = runs["net.blocks.3"]
    modules = {
        recording.history.node_rows(str(key), block.last)[-1].module
        for key in ran(recording, block)
    }
    assert modules - {None} == {"net.blocks.3"} | {
        f"net.blocks.3.{part}" for part in ("norm", "up", "down")
    }
    assert block.nodes == len(ran(recording, block))


def test_a_run_is_before_those_inside_it_and_no_two_overlap(recording: Recording) -> None:
    around: list[FoldRun] = []
    for run in recording.fold_runs:
        while around and around[-1].last < run.first:
            around.pop()
        assert all(one.first <= run.first and run.last <= one.last for one in around)
        around.append(run)


def test_what_is_shown_at_first_is_little_and_of_equal_parts_all_or_none(
    recording: Recording,
) -> None:
    document = recording_document(recording)
    closed = [run for run in recording.fold_runs if not run.is_open]
    shown = [
        at
        for at, record in enumerate(recording.records)
        if record.kind == "node"
        and all(at == run.last for run in closed if run.first <= at <= run.last)
    ]
    assert len(shown) <= 40 < sum(one.kind == "node" for one in recording.records)
    blocks = [run for run in recording.fold_runs if run.fold.type == "Block"]
    assert len({run.is_open for run in blocks}) == 1
    assert [run["open"] for run in document["runs"]] == [run.is_open for run in recording.fold_runs]


def test_the_caption_adds_up_what_the_steps_of_a_run_say(recording: Recording) -> None:
    runs = {run.fold.path: run for run in recording.fold_runs}
    caption = str(run_caption(recording, runs["net.blocks.3"]))
    freed = [
        event
        for record in recording.records[runs["net.blocks.3"].first : runs["net.blocks.3"].last + 1]
        for event in record.events
        if isinstance(event, Freed)
    ]
    count = sum(len(event.slots) for event in freed)
    assert caption.startswith("backward ran net.blocks.3 · Block: 13 nodes; ")
    assert f"{count} saved tensors freed" in caption
    assert "6 gradients accumulated" in caption


def test_a_short_backward_has_no_runs_and_its_document_no_such_field() -> None:
    short = trained(1)
    assert short.fold_runs == ()
    assert "runs" not in recording_document(short)


def test_each_backward_has_runs_of_its_own() -> None:
    runs = trained(4, turns=2).fold_runs
    firsts = [run.first for run in runs if run.fold.path == "net"]
    assert len(firsts) == 2


def test_steps_of_a_loop_without_modules_are_runs_too() -> None:
    w = torch.ones(3, requires_grad=True)
    with gradviz.record(only=[]) as recording:
        h = torch.zeros(3)
        for _ in range(30):
            h = torch.tanh(h * w + 1)
        h.sum().backward()
    assert {run.fold.kind for run in recording.fold_runs} >= {"repeat", "turn"}
