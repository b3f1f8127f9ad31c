"""Everything is taken away again wherever a recording is interrupted."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _thread
import signal
import sys
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
import torch
from torch import overrides
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

import gradviz
from gradviz import RecordingError
from gradviz.capture.autograd import function_modes
from gradviz.capture.recorder import frames, function_mode, line_events, live_graph, step_writer
from gradviz.capture.recorder import registry as numbers
from gradviz.capture.recorder.observers import backward as backward_events
from gradviz.capture.recorder.observers import call_events, graph_reading
from tests.each import each
from tests.truth.recorded import differences, nodes_now, world

if sys.version_info >= (3, 12):
    from gradviz.capture.recorder.tracers.monitoring import MonitoringTracer as LineTracer
else:
    from gradviz.capture.recorder.tracers.frame import FrameTracer as LineTracer

pytestmark = [
    pytest.mark.usefixtures("signals_end_what_runs"),
    # Where a signal arrives while a tensor is being freed, Python tells of it and goes on.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def work() -> tuple[torch.Tensor, torch.Tensor]:
    """Backward, in place, a module, an optimizer: every part of the recorder has work."""
    x = torch.ones(3, requires_grad=True)
    return x, (x * x).exp().sum()


def train(loss: torch.Tensor, handler: Any = signal.default_int_handler) -> None:
    with gradviz.record():
        if signal.getsignal(signal.SIGINT) is not handler:
            _signal.signal(signal.SIGINT, handler)
        y = torch.ones(3, requires_grad=True)
        z = (y * 2).sum() + loss
        z.register_hook(lambda g: g * 1)
        z.backward(retain_graph=True)
        optimizer = torch.optim.SGD([y], lr=0.1)
        optimizer.step()
        optimizer.zero_grad()
        # Not under torch.no_grad(): a signal while that begins leaves gradients off for good.
        y.detach().add_(1)
        (y.exp().sum() + loss).backward()


Place = tuple[Any, str]
PLACES: list[Place] = [
    (step_writer.StepWriter, "step"),
    (live_graph.LiveGraph, "_rows"),
    (live_graph.LiveGraph, "unmark"),
    (live_graph.LiveGraph, "bury"),
    (backward_events.BackwardEvents, "_begin"),
    (backward_events.BackwardEvents, "_before"),
    (backward_events.BackwardEvents, "_after"),
    (backward_events.BackwardEvents, "_end"),
    (numbers.Registry, "know"),
    (numbers.Registry, "node_number"),
    (numbers.Registry, "forget"),
    (function_mode.CallMode, "_before"),
    (function_mode.CallMode, "_after"),
    (call_events.CallEvents, "after"),
    (graph_reading.GraphReading, "step_ends"),
    (graph_reading.GraphReading, "stopped"),
    (frames.BorrowedFrame, "call"),
    (line_events.LineEvents, "line_event"),
    (line_events.LineEvents, "stop"),
    (LineTracer, "start"),
    (LineTracer, "stop"),
]


class Interrupting:
    """Sends Ctrl-C when a function is called for the ``at``-th time with this handler set."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        place: Place,
        at: int,
        handler: Any = signal.default_int_handler,
    ) -> None:
        owner, name = place
        self.calls = 0
        original = getattr(owner, name)

        def called(*args: Any, **kwargs: Any) -> Any:
            self.calls += signal.getsignal(signal.SIGINT) is handler
            if self.calls == at:
                _thread.interrupt_main()
            return original(*args, **kwargs)

        patch.setattr(owner, name, called)


@pytest.fixture(autouse=True)
def _ctrl_c_raises() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(
    _: torch.Tensor,
    loss: torch.Tensor,
    wait: float = 0.0,
    alarm: float = 0.0,
    handler: Any = signal.default_int_handler,
) -> BaseException | None:
    try:
        signal.setitimer(signal.ITIMER_REAL, alarm)
        train(loss, handler)
        time.sleep(wait)  # a signal that came at a bad moment is sent again a little later
    except BaseException as error:
        return error
    return None


def assert_clean(before: dict[str, Any], loss: torch.Tensor) -> None:
    assert not differences(before, world())
    for name, _, _, marks, hooks in nodes_now([loss]):
        assert marks == [], name
        assert hooks == (0, 0), name
    with gradviz.record() as recording:
        loss.detach().clone().requires_grad_().exp().backward()
    assert len(recording.backward_order) == 2


@pytest.mark.parametrize("place", PLACES, ids=lambda p: f"{p[0].__name__}.{p[1]}")
def test_an_interruption_inside_the_recorder_leaves_nothing_behind(place: Place) -> None:
    run(*work())
    with pytest.MonkeyPatch.context() as patch:
        total = Interrupting(patch, place, 0)
        assert run(*work()) is None
    ways = sorted({1, total.calls // 2, total.calls})
    for at in ways if total.calls else ():
        if not 1 <= at <= total.calls:
            continue
        x, loss = work()
        before = world()
        with pytest.MonkeyPatch.context() as patch:
            Interrupting(patch, place, at)
            error = run(x, loss, 5.0)
        assert_clean(before, loss)
        cause = error.__cause__ if isinstance(error, RecordingError) else error
        assert isinstance(cause, KeyboardInterrupt), (at, error)


@each("delay", [0.0005 * 1.3**i for i in range(18)])
def test_ctrl_c_at_any_time_leaves_nothing_behind(delay: float) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    x, loss = work()
    handler = signal.signal(signal.SIGALRM, stop)
    before = world()
    try:
        error = run(x, loss, 5.0, delay)
        signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert_clean(before, loss)
    cause = error.__cause__ if isinstance(error, RecordingError) else error
    assert cause is None or isinstance(cause, KeyboardInterrupt)


@each("is_set_inside", [False, True])
@each("place", PLACES)
def test_a_handler_runs_in_the_users_state_and_what_it_raises_arrives(
    place: Place, is_set_inside: bool
) -> None:
    gradients: list[Any] = []
    assert run(*work()) is None

    def stop(*_: Any) -> None:
        w = torch.ones(2, requires_grad=True)
        (w * w).sum().backward()
        gradients.append(None if w.grad is None else w.grad.tolist())
        raise TimeoutError

    x, loss = work()
    before = world()
    with pytest.MonkeyPatch.context() as patch:
        sent = Interrupting(patch, place, 1, stop)
        if not is_set_inside:
            signal.signal(signal.SIGINT, stop)
        error = run(x, loss, 5.0 if place[1] != "start" else 0.0, handler=stop)
    assert_clean(before, loss)
    assert sent.calls or place[1] == "start"
    assert gradients == [[2.0, 2.0]] * bool(sent.calls)
    cause = error.__cause__ if isinstance(error, RecordingError) else error
    assert isinstance(cause, TimeoutError) or not sent.calls


def test_the_engine_goes_on_after_an_interruption_in_a_hook() -> None:
    def interrupt(grad: torch.Tensor) -> None:
        raise KeyboardInterrupt

    x, loss = work()
    before = world()
    handle = loss.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt), gradviz.record() as recording:
        loss.backward()
    handle.remove()
    assert_clean(before, loss)
    assert recording.at_error is not None
    loss.backward()
    assert x.grad is not None


class _UsersMode(TorchFunctionMode):
    """A mode that is on while a recording begins and ends."""


def test_no_mode_of_the_users_is_lost_wherever_that_of_a_recording_is_switched() -> None:
    for at in range(1000):
        ours, theirs = TorchFunctionMode(), _UsersMode()
        before = _get_current_function_mode_stack()
        with theirs:
            is_over = _switched(ours, at)
            there = [one for one in _get_current_function_mode_stack() if one is not ours]
            function_modes.take_mode_off(ours)
            assert there == [*before, theirs], at
        if is_over:
            break
    assert 50 < at < 999


def _switched(mode: TorchFunctionMode, at: int) -> bool:
    """Switch a mode on and off; an instruction is interrupted. Whether there were fewer."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename not in (function_modes.__file__, overrides.__file__):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count > at:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        function_modes.put_mode_on(mode, 0)
        function_modes.take_mode_off(mode)
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(None)
    return True


@each("period", [0.0, 0.005])
def test_a_handler_is_called_in_time_and_leaves_the_program_some(period: float) -> None:
    calls: list[float] = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(time.monotonic()))
    try:
        with gradviz.record():
            begun, turns = time.monotonic(), 0
            signal.setitimer(signal.ITIMER_REAL, 0.005, period)
            while not calls or turns < 200:
                turns += 1
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls[0] - begun < 1.0
