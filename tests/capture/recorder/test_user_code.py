"""While the user's code runs, under whatever function of ours, a signal is handled at once."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import CodeType, FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.capture.recorder.signals import is_at_work
from gradviz.capture.user_code import RUNS_USER_CODE
from tests.each import each

Report = Callable[[str], None]


class Doubled(torch.autograd.Function):
    report: Report

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        Doubled.report("forward of a Function")
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        Doubled.report("backward of a Function")
        return grads[0] * 2


class Subclass(Tensor):
    report: Report

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Subclass.report("subclass")
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]


class Functions(TorchFunctionMode):
    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.report("function mode")
        return func(*args, **(kwargs or {}))


class Dispatch(TorchDispatchMode):
    def __init__(self, report: Report) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.report = report

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.report("dispatch mode")
        return func(*args, **(kwargs or {}))


def passed(report: Report, name: str, value: Any = None) -> Any:
    report(name)
    return value


def everything(report: Report) -> None:
    """Code of the user's in all places where torch calls it."""
    Doubled.report = Subclass.report = staticmethod(report)
    x = torch.ones(2, requires_grad=True)
    layer = nn.Linear(2, 2)
    layer.register_forward_hook(lambda *_: passed(report, "module hook"))
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def closure() -> Tensor:
        report("closure of an optimizer")
        loss = layer(x).sum()
        loss.backward()
        return loss

    with gradviz.record(into=[closure]):
        report("block")
        y = layer(Doubled.apply(x))  # type: ignore[no-untyped-call]
        y.register_hook(lambda grad: passed(report, "hook of a tensor"))
        y.grad_fn.register_prehook(lambda grads: passed(report, "hook before a node"))
        x.register_post_accumulate_grad_hook(lambda leaf: passed(report, "hook of a leaf"))
        y.sum().backward()
        packed = torch.autograd.graph.saved_tensors_hooks(
            lambda t: passed(report, "packing", t), lambda t: passed(report, "unpacking", t)
        )
        with packed:
            z = x.exp()
        torch.autograd.grad(z.sum(), x)
        again = checkpoint(
            lambda t: passed(report, "checkpoint", t.sin().cos()), x, use_reentrant=False
        )
        again.sum().backward()
        x.as_subclass(Subclass).sin()
        with Functions(report):
            x.sin()
        with Dispatch(report):
            x.sin().sum().backward()
        optimizer.step(closure)
        torch.relu((lambda t: passed(report, "lambda", t))(x))
        before = sys.gettrace()
        sys.settrace(lambda *_: passed(report, "trace function"))
        passed(lambda _: None, "a call")
        sys.settrace(before)


registered: frozenset[CodeType] = frozenset(RUNS_USER_CODE)
PLACES = {
    "backward of a Function",
    "block",
    "checkpoint",
    "closure of an optimizer",
    "dispatch mode",
    "forward of a Function",
    "function mode",
    "hook before a node",
    "hook of a leaf",
    "hook of a tensor",
    "lambda",
    "module hook",
    "packing",
    "subclass",
    "trace function",
    "unpacking",
}


def kept_waiting() -> tuple[set[str], set[str], set[CodeType]]:
    """All places, those where a signal would wait, and code of ours that stood below one."""
    places: set[str] = set()
    waiting: set[str] = set()
    below: set[CodeType] = set()

    def report(name: str) -> None:
        places.add(name)
        frame: FrameType | None = sys._getframe(1)
        if is_at_work(frame):
            waiting.add(name)
        while frame is not None:
            if frame.f_code in registered:
                below.add(frame.f_code)
            frame = frame.f_back

    everything(report)
    return places, waiting, below


stands_in = pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="handlers are the user's own while the user's code runs"
)


@stands_in
def test_nowhere_in_the_users_code_does_a_signal_wait() -> None:
    places, waiting, _ = kept_waiting()
    assert places == PLACES
    assert waiting == set()


@stands_in
def test_every_registered_function_runs_the_users_code() -> None:
    assert kept_waiting()[2] == registered


@stands_in
@each("code", sorted(registered, key=attrgetter("co_name")))
def test_a_function_that_is_not_registered_is_noticed(code: CodeType) -> None:
    RUNS_USER_CODE.remove(code)
    try:
        assert kept_waiting()[1]
    finally:
        RUNS_USER_CODE.add(code)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="a trace function cannot raise")
def test_everywhere_in_the_users_code_handlers_are_the_users_own() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert callable(before)
    others: set[str] = set()

    def report(name: str) -> None:
        if signal.getsignal(signal.SIGINT) is not before:
            others.add(name)

    everything(report)
    assert others == set()


@pytest.fixture
def _stopped_by_an_alarm() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("_stopped_by_an_alarm", "signals_end_what_runs")
def test_a_hook_that_takes_long_is_interrupted_at_once() -> None:
    reached: list[str] = []

    def hook(grad: Tensor) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass
        reached.append("the end of the hook")

    x = torch.ones(2, requires_grad=True)
    x.register_hook(hook)
    with pytest.raises(KeyboardInterrupt), gradviz.record():
        (x * 2).sum().backward()
    assert reached == []
