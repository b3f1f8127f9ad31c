"""Backward on a thread of torch's engine: recorded as on the CPU; nothing stays behind there."""

from __future__ import annotations

import _thread
import contextlib
import gc
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.capture.recorder.recorder import Recorder
from gradviz.capture.recorder.tracers import engine_threads
from gradviz.model.events import BackwardEnded, BackwardStarted, Freed, HookFired, Note, Write
from tests.accelerator import device

assert device.NAME


def triple(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * 3


def leaf(where: str) -> torch.Tensor:
    return torch.tensor([1.0, 2.0, 3.0], device=where, requires_grad=True)


def hooked(where: str, hook: Callable[[torch.Tensor], Any]) -> gradviz.Recording:
    x = leaf(where)
    with gradviz.record() as recording:
        y = (2 * x).exp()
        y.register_hook(hook)
        y.sum().backward()
    assert x.grad is not None
    return recording


def events(recording: gradviz.Recording, kind: type) -> list[Any]:
    return [e for step in recording.records for e in step.events if isinstance(e, kind)]


def test_backward_runs_on_another_thread() -> None:
    seen: list[int] = []
    y = leaf("cuda").exp()
    y.register_hook(lambda gradient: seen.append(threading.get_ident()))
    y.sum().backward()
    assert seen != [threading.get_ident()]


@pytest.mark.parametrize(
    "hook",
    [print, torch.clone, nn.functional.relu, torch.Tensor.abs, triple],
    ids=lambda h: h.__name__,
)
def test_any_function_can_be_a_hook(hook: Callable[[torch.Tensor], Any]) -> None:
    plain = leaf("cuda")
    y = (2 * plain).exp()
    y.register_hook(hook)
    y.sum().backward()
    x = leaf("cuda")
    with gradviz.record():
        y = (2 * x).exp()
        y.register_hook(hook)
        y.sum().backward()
    assert x.grad is not None
    assert plain.grad is not None
    assert torch.equal(x.grad, plain.grad)


@pytest.mark.parametrize("kind", ["tensor", "node", "node_pre", "post_accumulate_grad", "first"])
def test_a_hook_is_told_with_what_it_returned(kind: str) -> None:
    fired: dict[str, list[Any]] = {}
    for where in ("cpu", "cuda"):
        x = leaf(where)
        with gradviz.record() as recording:
            y = x.exp()
            z = y.sum()
            if kind == "tensor":
                y.register_hook(triple)
            elif kind == "first":  # before any code of the recorder has run on that thread
                z.register_hook(triple)
            elif kind == "node":
                y.grad_fn.register_hook(lambda given, arrived: (given[0] * 2,))  # type: ignore[union-attr]
            elif kind == "node_pre":
                y.grad_fn.register_prehook(lambda arrived: (arrived[0] * 2,))  # type: ignore[union-attr]
            else:
                x.register_post_accumulate_grad_hook(lambda leaf: None)
            z.backward()
        fired[where] = events(recording, HookFired)
    assert fired["cuda"] == fired["cpu"]
    assert len(fired["cpu"]) == 1


def test_the_last_node_is_finished_and_counted() -> None:
    recording = hooked("cuda", triple)
    assert [ended.nodes for ended in events(recording, BackwardEnded)] == [4]
    assert len([s for s in recording.records if s.kind == "node"]) == 4


def test_what_grad_frees_is_told() -> None:
    told = {}
    for where in ("cpu", "cuda"):
        x = leaf(where)
        with gradviz.record() as recording:
            y = x.exp().sum()
            torch.autograd.grad(y, x)
        told[where] = events(recording, Freed)
    assert told["cuda"] == told["cpu"]
    assert told["cpu"]


def test_outline_and_pictures_are_those_of_the_cpu_but_for_the_first_line() -> None:
    here, there = (str(hooked(where, triple)).split("\n") for where in ("cpu", "cuda"))
    assert here[1:] == there[1:]
    assert here[0].replace("on cpu", "on cuda:0") == there[0]


def test_a_number_in_a_formula_makes_it_no_second_device() -> None:
    recording = hooked("cuda", triple)
    assert recording.device == "cuda:0"
    graph = gradviz.snapshot(2 * leaf("cuda"))
    assert graph.device == "cuda:0"
    assert gradviz.Graph.from_json(graph.to_json()) == graph
    assert gradviz.snapshot(2 * leaf("cpu").sum()).device == "cpu"


def test_steps_of_mixed_devices_stand_in_the_order_in_which_they_ran() -> None:
    ran: list[str] = []
    x, w = leaf("cpu"), leaf("cuda")
    with gradviz.record() as recording:
        h = x.exp().cuda()
        out = (h * w).cpu().sin().sum()
        for name, t in {"h": h, "out": out}.items():
            t.register_hook(lambda gradient, name=name: ran.append(name))
        out.backward()
    assert recording.device is None
    order = list(recording.backward_order)
    assert len(order) == len(set(order)) == len(recording.graph)
    place = {node: i for i, node in enumerate(order)}
    for node in recording.graph.nodes:  # no node ran before what it waits for
        for entry in node.next_functions:
            assert entry is None or place[entry[0]] > place[node.id]
    assert ran == ["out", "h"]


def test_a_hook_can_take_a_snapshot_on_the_thread_of_the_device() -> None:
    taken: list[gradviz.Graph] = []
    for record in (False, True):
        x = leaf("cuda")
        y = x.exp()
        loss = y.sum()
        y.register_hook(lambda gradient, y=y: taken.append(gradviz.snapshot(y)))
        if record:
            with gradviz.record():
                loss.backward()
        else:
            loss.backward()
    assert [graph.nodes[0].name for graph in taken] == ["ExpBackward0"] * 2


def test_a_snapshot_beside_another_device_is_refused() -> None:
    x, w = leaf("cpu"), leaf("cuda")
    trunk = x.exp()
    loss = (trunk.cuda() * w).exp().sum()
    refused: list[str] = []

    def look(gradient: torch.Tensor) -> None:
        with pytest.raises(gradviz.GraphBusyError) as error:
            gradviz.snapshot(loss)
        refused.append(str(error.value))

    trunk.register_hook(look)
    loss.backward()
    assert ["another device" in text for text in refused] == [True]
    assert gradviz.snapshot(loss).device is None


def test_backwards_inside_a_node_belong_to_the_recording() -> None:
    w = leaf("cuda")
    with gradviz.record() as recording:
        h = checkpoint(lambda t: (t * w).exp(), w * 1, use_reentrant=True)
        h.sum().backward()
    started = events(recording, BackwardStarted)
    assert [one.number for one in started] == [1, 2]
    assert [note.text for note in events(recording, Note)] == []


def test_nodes_made_by_backward_have_the_line_that_called_it() -> None:
    told = {}
    for where in ("cpu", "cuda"):
        x = leaf(where)
        for _ in range(5):  # each thread counts the nodes that it makes
            y = (x.exp() ** 2).sum()
            torch.autograd.grad(y, x, create_graph=where == "cuda")
        with gradviz.record() as recording:
            y = (x.exp() ** 3).sum()
            (g,) = torch.autograd.grad(y, x, create_graph=True)
            z = (g * g).sum()
        assert z.requires_grad
        told[where] = [
            (node.name, str(node.source).partition(": ")[2]) for node in recording.graph.nodes
        ]
    assert told["cuda"] == told["cpu"]
    assert any("create_graph" in source for _, source in told["cpu"])


def test_writes_by_hooks_are_seen() -> None:
    other = torch.zeros(3, device="cuda")
    x = leaf("cuda")
    with gradviz.record() as recording:
        y = x.exp()
        y.register_hook(lambda gradient: other.add_(1) * 0 + gradient)
        y.sum().backward()
    assert "add_" in {write.by for write in events(recording, Write)}


def test_a_write_that_no_version_tells_is_seen() -> None:
    x = leaf("cuda")
    with gradviz.record() as recording:
        y = x.exp()
        y.data.mul_(2)
        del y
    assert events(recording, Write)


def watched(recorder: Recorder) -> tuple[weakref.ref[Recorder], threading.Event]:
    """A weak reference, and what is set once there is no other."""
    freed = threading.Event()
    return weakref.ref(recorder, lambda _: freed.set()), freed


def test_nothing_stays_on_the_thread_of_the_device() -> None:
    """No trace function, no recorder and no memory, also after an error."""
    tracing: list[Any] = []
    for hook in (triple, lambda gradient: 1 / 0):
        x = leaf("cuda")
        recorder = Recorder()
        kept, freed = watched(recorder)
        recorder.start(sys._getframe())
        y = x.exp()
        y.register_hook(hook)
        with contextlib.suppress(ZeroDivisionError):
            y.sum().backward()
        recorder.stop()
        del recorder, y
        # The thread keeps what it ran last, and the error of that, until it runs something else.
        z = leaf("cuda").exp()
        z.register_hook(lambda gradient: tracing.append(sys.gettrace()))
        z.sum().backward()
        until = time.monotonic() + 5
        # The thread that watched the backward ends a little later.
        while not freed.wait(0.01) and time.monotonic() < until:
            gc.collect()
        assert kept() is None
    assert tracing == [None, None]
    if sys.version_info < (3, 12):
        threads = engine_threads.EngineThreads(lambda *_: None)
        assert set(threads._find().values()) == {None}


def test_a_function_in_a_later_backward_is_not_traced() -> None:
    hooked("cuda", triple)
    events_of_frames: list[Any] = []

    def count(gradient: torch.Tensor) -> None:
        frame = sys._getframe()
        events_of_frames.append((frame.f_trace, frame.f_trace_lines))

    y = leaf("cuda").exp()
    y.register_hook(count)
    y.sum().backward()
    assert events_of_frames == [(None, True)]


def test_many_backwards_inside_one_another() -> None:
    class Inside(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, depth: int) -> torch.Tensor:
            ctx.depth = depth
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            if ctx.depth:
                with torch.enable_grad():
                    inner = Inside.apply(x.detach().requires_grad_(), ctx.depth - 1)  # type: ignore[no-untyped-call]
                    total = inner.sum()
                total.backward()
            return gradient, None

    for where in ("cpu", "cuda"):
        with gradviz.record() as recording:
            Inside.apply(leaf(where), 130).sum().backward()  # type: ignore[no-untyped-call]
        assert len(events(recording, BackwardStarted)) == 131


def test_ctrl_c_while_the_device_works_does_not_hang() -> None:
    """A signal that waits for the main thread, while a traced thread calls functions."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    calls: list[int] = []

    def interrupt(gradient: torch.Tensor) -> None:
        _thread.interrupt_main()
        for _ in range(100):
            triple(gradient)
            calls.append(1)

    def train() -> None:
        x = leaf("cuda")
        with gradviz.record():
            y = x.exp()
            y.register_hook(interrupt)
            y.sum().backward()
            threading.Event().wait(60)

    try:
        with pytest.raises(KeyboardInterrupt):
            train()
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(calls) == 100
