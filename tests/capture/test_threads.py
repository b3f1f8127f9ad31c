from __future__ import annotations

import subprocess
import sys
import threading

import pytest
import torch

import gradviz
from gradviz.capture import autograd


class Pause(torch.autograd.Function):
    """Lets backward wait in the middle until a test says go on."""

    reached = threading.Event()
    go_on = threading.Event()

    @staticmethod
    def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
        Pause.reached.set()
        assert Pause.go_on.wait(30)
        return grad


@pytest.fixture
def paused_backward():  # type: ignore[no-untyped-def]
    x = torch.ones(2, requires_grad=True)
    trunk = x.exp()
    loss = Pause.apply(trunk).sum()  # type: ignore[no-untyped-call]
    Pause.reached.clear()
    Pause.go_on.clear()
    thread = threading.Thread(target=loss.backward)
    thread.start()
    assert Pause.reached.wait(30)
    yield x, trunk, loss
    Pause.go_on.set()
    thread.join()


def test_a_graph_that_another_thread_frees_is_refused(paused_backward) -> None:  # type: ignore[no-untyped-def]
    _, trunk, loss = paused_backward
    for output in (loss, trunk, trunk * 2):
        with pytest.raises(gradviz.GraphBusyError, match="another thread is running backward"):
            gradviz.snapshot(output)


def test_other_graphs_can_be_read_meanwhile(paused_backward) -> None:  # type: ignore[no-untyped-def]
    y = torch.ones(2, requires_grad=True).exp()
    assert gradviz.snapshot(y)["n0"].state == "holds"


def test_the_graph_can_be_read_once_backward_has_returned(paused_backward) -> None:  # type: ignore[no-untyped-def]
    _, trunk, _ = paused_backward
    Pause.go_on.set()
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and "backward" in thread.name:
            thread.join()
    assert gradviz.snapshot(trunk * 2)["n0"].name == "MulBackward0"


def test_a_hook_of_the_same_backward_may_look() -> None:
    x = torch.ones(2, requires_grad=True)
    inner = x.exp()
    loss = inner.sin().sum()
    seen: list[str] = []
    inner.register_hook(lambda grad: seen.append(gradviz.snapshot(inner)["n0"].state))
    loss.backward()
    assert seen == ["holds"]


def test_torch_is_as_it_was_after_a_look_beside_another_thread() -> None:
    code = torch.autograd.graph._engine_run_backward.__code__
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        gradviz.snapshot(torch.ones(2, requires_grad=True).exp())
        assert torch.autograd.graph._engine_run_backward.__code__ is code
    finally:
        stop.set()
        thread.join()


def test_a_backward_that_begins_while_saved_tensors_are_read_waits() -> None:
    x = torch.ones(2, requires_grad=True)
    loss = x.exp().sum()
    thread = threading.Thread(target=loss.backward)
    with autograd.backwards_wait():
        thread.start()
        thread.join(0.3)
        assert x.grad is None
    thread.join()
    assert x.grad is not None


def test_looking_while_another_thread_trains_on_the_same_graph_does_not_crash() -> None:
    program = """
import threading, time
import torch, gradviz
w = torch.randn(64, requires_grad=True)
box = []
stop = threading.Event()
def train():
    while not stop.is_set():
        y = w
        for _ in range(40):
            y = (y * w).sin().exp()
        box[:] = [y.sum()]
        time.sleep(0.001)
        box[0].backward()
thread = threading.Thread(target=train)
thread.start()
start = time.monotonic()
looked = refused = 0
while time.monotonic() < start + (4 if looked and refused else 60):
    if box:
        try:
            gradviz.snapshot(box[0])
            looked += 1
        except gradviz.GraphBusyError:
            refused += 1
stop.set()
thread.join()
print(looked > 0, refused > 0)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr[-2000:]
