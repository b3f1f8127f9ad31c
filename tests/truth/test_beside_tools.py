"""Programs that use other tools of torch run beside gradviz as they run without."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

import gradviz
from gradviz.capture.recorder import torch_call
from tests.truth.recorded import assert_same, plain


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that might end its process."""
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")


def do_nothing(*_: Any) -> None:
    pass


# ------------------------------------------------------------------------------- torch.jit.trace


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
        self.register_buffer("shift", torch.ones(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.layers(x) + self.shift
        rows = y.shape[0]
        z = y.view(rows, -1).clone()
        z.relu_()
        return z, y * z


def traced(function: Callable[..., Any], *inputs: Tensor) -> Any:
    found: Any = torch.jit.trace(function, inputs, check_trace=False)
    # Each trace of a module makes a type with a number of its own.
    text = re.sub(r"___torch_mangle_\d+\.", "", f"{found.graph}{found.inlined_graph}{found.code}")
    return text, [out.tolist() for out in found(*inputs)]


def test_a_trace_made_in_a_recording_is_that_made_without() -> None:
    def story(block: Any, seen: dict[str, Any]) -> None:
        net, x = Net(), torch.ones(2, 3)
        with block:
            seen["trace"] = traced(net, x)

    for recording in assert_same(story):
        assert "ReluBackward0" in {node.name for node in recording.graph.nodes}


def test_a_trace_checks_itself_in_a_recording() -> None:
    def story(block: Any, seen: dict[str, Any]) -> None:
        with block:
            found: Any = torch.jit.trace(Net(), torch.ones(2, 3))
            seen["outputs"] = [out.tolist() for out in found(torch.ones(1, 3))]

    assert_same(story)


def look_inside_a_trace() -> None:
    inputs = torch.ones(3), torch.full((3,), 2.0, requires_grad=True)

    def function(x: Tensor, w: Tensor, look: Any = do_nothing) -> Tensor:
        y = (x * w).sin()
        if look is gradviz.audit:
            look(y, [w])
        else:
            look(y)
        return y.exp()

    def trace(look: Any) -> Any:
        return traced(lambda x, w: function(x, w, look), *inputs)

    expected = trace(do_nothing)
    assert "%y" in expected[0]
    for look in (gradviz.snapshot, gradviz.audit, gradviz.memory):
        assert trace(look) == expected


def test_looking_inside_a_traced_function_leaves_the_trace_as_it_is() -> None:
    # In a process of its own: after other code torch may give the values of a trace no names.
    done = run("from tests.truth.test_beside_tools import look_inside_a_trace as f; f()")
    assert done.returncode == 0, done.stderr


# --------------------------------------------------------------------------------------- warnings


def test_a_warning_that_was_shown_is_not_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def story(block: Any, seen: dict[str, Any]) -> None:
        x = torch.ones(3, requires_grad=True)
        with block:
            for function in (torch.sin, torch.cos, torch.tan):
                warnings.warn("shown once per place", stacklevel=1)
                function(x)

    monkeypatch.setattr(torch_call, "_names", {})
    assert_same(story)


# ---------------------------------------------------------------------------------- the profiler


def events_of(block: Any, look: Callable[[Tensor], object]) -> Any:
    w = torch.full((3,), 2.0, requires_grad=True)
    x = torch.ones(3)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        with block:
            y = (x * w).sin()
            look(y)
            z = y.exp().sum()
            look(z)
            z.backward()
        look(z)
    events: Any = profiler.events()
    return [(event.name, event.input_shapes) for event in events]


def test_the_profiler_has_the_events_of_the_program_alone() -> None:
    events_of(plain(), do_nothing)  # the first run of some code has events of its own
    expected = events_of(plain(), do_nothing)
    assert len(expected) > 25
    assert events_of(gradviz.record(), do_nothing) == expected
    assert events_of(plain(), gradviz.snapshot) == expected
    assert events_of(gradviz.record(), gradviz.snapshot) == expected


def test_the_profiler_goes_on_after_a_look_that_failed() -> None:
    def look(_: Tensor) -> None:
        with pytest.raises(gradviz.NoGraphError):
            gradviz.snapshot(torch.ones(3))

    made = ("aten::ones", "aten::empty", "aten::fill_")
    expected = [one for one in events_of(plain(), do_nothing) if one[0] not in made]
    assert len(expected) > 20
    assert [one for one in events_of(plain(), look) if one[0] not in made] == expected


# ----------------------------------------------------------------- hooks that could not pack


FAILED_REGISTRATION = """
import torch, gradviz
class Saves(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * 2)
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.saved_tensors[1]
def raises(tensor):
    raise ValueError("no")
def takes_two(tensor, other):
    pass
def writes(tensor):
    return tensor.add_(1)
def unpack(*packed):
    return packed[0]
def program(make, pack, look):
    x = torch.ones(3, requires_grad=True)
    y = make(x)
    raws = getattr(y.grad_fn, next(n for n in dir(y.grad_fn) if n.startswith("_raw_saved")))
    raw = raws[-1] if type(raws) is tuple else raws
    look(y)
    try:
        raw.register_hooks(pack, unpack)
    except (ValueError, TypeError, RuntimeError):
        pass
    look(y)
    try:
        y.sum().backward()
    except IndexError:
        pass
    return y, x.grad
makes = {
    "leaf": lambda x: x.sin(), "other": lambda x: (x * 2).sin(), "own": lambda x: x.exp(),
    "Function": Saves.apply, "list": lambda x: x[torch.tensor([0, 1]), None],
}
for name, make in makes.items():
    for pack in (raises, takes_two, writes, "no function"):
        _, expected = program(make, pack, lambda y: None)
        seen = []
        _, looked = program(make, pack, lambda y: seen.append(gradviz.snapshot(y)["n0"].saved[-1]))
        with gradviz.record():
            _, recorded = program(make, pack, lambda y: None)
        assert repr(looked) == repr(recorded) == repr(expected)
        print(name, getattr(pack, "__name__", pack), seen[-1].state, seen[-1].packed_by)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="where hooks are is only known on Linux")
def test_a_saved_tensor_whose_pack_hook_raised_is_packed_by_a_hook_that_raised() -> None:
    done = run(FAILED_REGISTRATION)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = {
        "raises": "packed a hook that raised an error",
        "takes_two": "packed a hook that raised an error",
        "writes": "packed unpack",  # this one has packed before torch refuses it
        "no function": "held None",  # torch refuses it before anything is registered
    }
    assert done.stdout.splitlines() == [
        f"{name} {pack} {state}"
        for name in ("leaf", "other", "own", "Function", "list")
        for pack, state in expected.items()
    ]


# --------------------------------------------------------- another thread that sets .grad


OTHER_THREAD_SETS_GRAD = """
import sys, threading, torch, gradviz
sys.setswitchinterval(1e-5)
parameters = [torch.ones(3, requires_grad=True) for _ in range(40)]
optimizer = torch.optim.SGD(parameters)
loss = torch.stack(parameters).sum()
stop = threading.Event()
def work():
    while not stop.is_set():
        for parameter in parameters:
            parameter.grad = torch.zeros(3)
        optimizer.zero_grad()
thread = threading.Thread(target=work, daemon=True)
thread.start()
for _ in range(20):
    for info in gradviz.snapshot(loss, values=True).leaves:
        assert info.grad is None or info.grad.values == (0.0, 0.0, 0.0), info
stop.set()
thread.join()
print("alive")
"""


def test_looking_while_another_thread_sets_grads_to_none_does_not_crash() -> None:
    done = run(OTHER_THREAD_SETS_GRAD)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]
