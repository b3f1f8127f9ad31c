"""What recordings say of things that are easily got wrong."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz import Recording, RecordingError
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Event,
    HookFired,
    NodeRan,
    Note,
    Operation,
    Write,
)
from tests.each import each
from tests.programs import PROGRAMS, Program, deep_chain, run_backward

ROOT = Path(__file__).parents[2]


def events(recording: Recording, kind: type[Event]) -> list[Any]:
    return [e for step in recording.all_steps for e in step.events if isinstance(e, kind)]


def leaf(*values: float) -> Tensor:
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


# --- refused --------------------------------------------------------------------------------


def test_a_recording_inside_a_recording_is_refused_and_the_outer_one_goes_on() -> None:
    with gradviz.record() as recording:
        x = leaf()
        try:
            with gradviz.record():
                pass
        except RecordingError as error:
            said = str(error)
        (x * 2).sum().backward()
    assert "nested" in said
    assert len(recording.backward_order) == 3
    with gradviz.record() as after:
        (x * 2).sum().backward()
    assert len(after.backward_order) == 3


def test_a_generator_that_records_is_refused_before_anything_is_on() -> None:
    def numbers() -> Generator[int, None, None]:
        with gradviz.record():
            yield 1

    async def later() -> None:
        with gradviz.record():
            pass

    with pytest.raises(RecordingError, match="generator"):
        next(numbers())
    with pytest.raises(RecordingError, match="coroutine"):
        later().send(None)
    with gradviz.record() as recording:
        leaf().sum().backward()
    assert len(recording.backward_order) == 2


def test_another_thread_cannot_record_meanwhile() -> None:
    said = []

    def other() -> None:
        try:
            with gradviz.record():
                pass
        except RecordingError as error:
            said.append(str(error))

    with gradviz.record():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(said) == 1


# --- other threads --------------------------------------------------------------------------


def test_work_in_another_thread_is_no_part_of_the_recording() -> None:
    def work() -> None:
        w = leaf()
        (w * w).exp().sum().backward()

    with gradviz.record() as recording:
        x = leaf()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        (x * 2).sum().backward()
    names = [recording.graph[node].name for node in recording.backward_order]
    assert names == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert "exp" not in [e.name for e in events(recording, Operation)]


# --- recomputation --------------------------------------------------------------------------


@each("call", ["method", "function"])
@each("use_reentrant", [True, False])
def test_what_a_checkpoint_computes_again_is_told_once_and_as_such(
    use_reentrant: bool, call: str
) -> None:
    with gradviz.record() as recording:
        x = leaf()
        y = checkpoint(lambda t: t.sin().exp(), x, use_reentrant=use_reentrant).sum()
        if call == "method":
            y.backward()
        else:
            torch.autograd.backward(y)
    seen = [
        (e.name, e.recomputed) for e in events(recording, Operation) if e.name in ("sin", "exp")
    ]
    # The new way stops as soon as the last saved tensor is there, in the midst of exp.
    again = [("sin", True), ("exp", True)] if use_reentrant else [("sin", True)]
    assert seen == [("sin", False), ("exp", False), *again]


def test_operations_in_a_hook_are_told_once() -> None:
    with gradviz.record() as recording:
        x = leaf()
        y = x * 2
        y.register_hook(lambda g: g.cos())
        torch.autograd.backward(y.sum())
    assert [e.recomputed for e in events(recording, Operation) if e.name == "cos"] == [True]
    fired = events(recording, HookFired)
    assert [(e.tensor, e.hook.kind) for e in fired] == [(recording.graph.tensor("y").id, "tensor")]
    assert fired[0].returned.values == pytest.approx([0.5403023] * 2)


def test_a_backward_inside_a_node_is_told_inside_it() -> None:
    with gradviz.record() as recording:
        x = leaf()
        y = checkpoint(lambda t: t.sin(), x, use_reentrant=True).sum()
        y.backward()
    outer, inner = events(recording, BackwardStarted)
    assert outer.inside is None
    assert recording.graph[inner.inside].name == "CheckpointFunctionBackward"
    ran = [(e.backward, recording.graph[e.node].name) for e in events(recording, NodeRan)]
    assert ran == [
        (1, "SumBackward0"),
        (2, "SinBackward0"),
        (2, "AccumulateGrad"),
        (1, "CheckpointFunctionBackward"),
        (1, "AccumulateGrad"),
    ]


# --- writes that no counter tells of --------------------------------------------------------


@pytest.mark.parametrize("values", [True, False])
def test_a_write_by_numpy_is_seen_where_values_are_read(values: bool) -> None:
    with gradviz.record(values=values) as recording:
        w = torch.ones(2)
        array = w.numpy()
        array[0] = 5
        later = w + 1
    writes = [e for e in events(recording, Write) if e.before == e.after]
    assert len(writes) == values
    if values:
        assert writes[0].name == "w"
        assert recording.all_steps[-1].graph.tensor("w").values == (5.0, 1.0)
    del later


def test_a_write_through_data_is_told_with_the_version_that_did_not_move() -> None:
    with gradviz.record() as recording:
        w = leaf(1.0, 1.0)
        y = (w * w).sum()
        w.data.mul_(2)
        w.data[0] = 7
        y.backward()
    writes = events(recording, Write)
    (told, *_) = writes
    assert (told.by, told.name, told.through) == ("mul_", "w", ".data")
    assert (told.before, told.after) == (0, 0)
    assert recording.all_steps[-1].graph.tensor("w").version == 0
    assert recording.all_steps[-1].graph.tensor("w").values == (7.0, 2.0)


# --- backward in its forms ------------------------------------------------------------------


def test_several_backwards_are_numbered_and_gradients_add_up() -> None:
    with gradviz.record() as recording:
        x = leaf(1.0)
        y = x * 3
        y.backward(retain_graph=True)
        y.backward()
        torch.autograd.grad(x * 5, [x])
        (x * 2).backward(inputs=[x])
    started = events(recording, BackwardStarted)
    assert [(e.number, e.retain_graph, e.accumulates, len(e.inputs)) for e in started] == [
        (1, True, True, 0),
        (2, False, True, 0),
        (3, False, False, 1),
        (4, False, True, 1),
    ]
    grads = [(e.before and e.before.values, e.after.values) for e in events(recording, Accumulated)]
    assert grads == [(None, (3.0,)), ((3.0,), (6.0,)), ((6.0,), (8.0,))]


def test_a_graph_from_before_the_recording_is_there_from_the_start() -> None:
    x = leaf()
    hidden = x.exp()
    loss = hidden.sin().sum()
    expected = gradviz.snapshot(loss)
    with gradviz.record() as recording:
        loss.backward()
    first = recording.all_steps[0].graph
    assert [n.name for n in first.nodes] == [n.name for n in expected.nodes]
    assert [n.state for n in first.nodes] == [n.state for n in expected.nodes]
    assert recording.all_steps[0].saved_bytes == expected.saved_bytes
    assert {tensor.name for tensor in recording.all_steps[0].tensors} >= {"x", "loss"}
    assert recording.all_steps[-1].saved_bytes == 0
    assert len(recording.backward_order) == len(expected)


def test_a_saved_tensor_written_in_place_is_told_with_the_node_that_refused() -> None:
    with pytest.raises(RuntimeError, match="modified by an inplace"), gradviz.record() as recording:  # noqa: PT012
        x, w = leaf(), torch.ones(2)
        y = x * w
        w.add_(1)
        y.sum().backward()
    step = recording.at_error
    assert step is not None
    assert step.line is not None
    raised = next(e for e in step.events if e.kind == "error")
    assert recording.graph[getattr(raised, "node")].name == "MulBackward0"  # noqa: B009
    states = {n.name: n.state for n in step.graph.nodes}
    assert states["MulBackward0"] == "holds"
    assert step.graph.tensor("w").version == 1


def test_of_a_very_long_chain_the_order_is_whole_and_what_is_counted_is_said() -> None:
    built = deep_chain(21_000)
    (y,), x = built.outputs, built.names["x"]
    with gradviz.record(values=False) as recording:
        y.backward()
        del y
    del built
    assert x.grad is not None
    assert len(recording.backward_order) == len(set(recording.backward_order)) == 21_001
    assert [note.about for note in events(recording, Note)] == ["steps counted"]
    assert recording.counted == 21_001 - 2 * 500
    assert recording.all_steps[-1].graph.tensor("x").grad is not None


# --- the same program gives the same recording ----------------------------------------------


def record_program(program: Program, values: bool = True) -> Recording:
    with gradviz.record(values=values) as recording:
        built = program.build()
        with contextlib.suppress(RuntimeError):
            run_backward(built)
    return recording


def comparable(recording: Recording) -> Recording:
    """Without what the allocator of a GPU has given out, which is that of the whole process."""
    if recording.device == "cpu":
        return recording
    records = [replace(record, memory=None) for record in recording.records]
    return Recording(records, recording.codes, recording.device, recording.label)


SMALL = [p for p in PROGRAMS if p.name != "deep_chain" and not p.is_slow]


@pytest.mark.parametrize("program", SMALL, ids=str)
def test_a_program_recorded_twice_gives_the_same_recording(program: Program) -> None:
    program.build()  # the first run of some code imports, and imports compute
    first, second = (comparable(record_program(program)) for _ in range(2))
    assert first == second
    assert first.to_json() == second.to_json()
    again = Recording.from_json(first.to_json())
    assert again == first
    assert str(again) == str(first)
    assert "0x" not in first.to_json().replace("0x…", "")


@pytest.mark.parametrize("program", SMALL[::4], ids=str)
def test_without_values_only_numbers_are_missing(program: Program) -> None:
    with_values, without = record_program(program), record_program(program, values=False)
    assert with_values.backward_order == without.backward_order
    assert [(s.kind, s.line, s.node) for s in with_values.all_steps] == [
        (s.kind, s.line, s.node) for s in without.all_steps
    ]
    for one, other in zip(with_values.all_steps, without.all_steps):
        assert [(n.id, n.state) for n in one.graph.nodes] == [
            (n.id, n.state) for n in other.graph.nodes
        ]
    assert not any(t.values for s in without.all_steps for t in s.tensors)
    assert not any(t.grad and t.grad.values for s in without.all_steps for t in s.tensors)


SCRIPT = """
import hashlib, json, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, ".")
import gradviz
from tests.truth.test_recording_special import record_program
from tests.programs import PROGRAMS
texts = [record_program(p).to_json() for p in PROGRAMS if p.name in sys.argv[1:]]
print(json.dumps([hashlib.sha256(t.encode()).hexdigest() for t in texts]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("every", [120, pytest.param(3, marks=pytest.mark.exhaustive)])
def test_another_process_gives_the_same_recordings(every: int) -> None:
    names = [p.name for p in SMALL[::every]] + [
        "mlp",
        "transformer",
        "tensor_hooks",
        "nested_jagged",
    ]

    def start(seed: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *names],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )

    running = [start("1"), start("2")]
    first, second = [process.communicate()[0].splitlines()[-1] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert first == second
    assert len(set(json.loads(first))) == len(set(names))
