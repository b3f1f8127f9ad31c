"""Functions of the user's whose lines are followed run as they do without a recording."""

from __future__ import annotations

import _thread
import contextlib
import gc
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from tests.truth.recorded import Seen, Story, assert_same, bits, nodes_now, world


def followed(recording: gradviz.Recording) -> set[str]:
    """Names of the functions of which lines are steps."""
    steps = [s for s in recording.records if s.kind == "line" and s.depth]
    names = {recording.codes[step.code].name for step in steps}
    return {name.partition(": ")[2].rpartition(".")[2] for name in names}


STORIES: dict[str, tuple[Story, set[str]]] = {}


def story(*functions: str) -> Callable[[Story], Story]:
    """A story, and the functions that are followed in it."""

    def add(one: Story) -> Story:
        STORIES[one.__name__] = one, set(functions)
        return one

    return add


# --- lifetimes --------------------------------------------------------------------------------


def locals_end(x: Tensor, refs: list[weakref.ref[Tensor]]) -> Tensor:
    first = x * 2
    refs.append(weakref.ref(first))
    second = first + 1
    del first
    refs.append(weakref.ref(second))
    return second.sum()


@story("locals_end")
def locals_of_a_function(block: Any, seen: Seen) -> None:
    refs: list[weakref.ref[Tensor]] = []
    x = torch.ones(2, requires_grad=True)
    with block:
        y = locals_end(x, refs)
        seen["after"] = [ref() is not None for ref in refs]
        y.backward()
        seen["grad"] = bits(x.grad) if x.grad is not None else None


class Keeper(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.hidden: Any = None

    def forward(self, x: Tensor) -> Tensor:
        h = self.fc(x)
        self.hidden = h
        y = h.relu()
        return y.sum()


@story("forward")
def attributes_of_a_module(block: Any, seen: Seen) -> None:
    torch.manual_seed(0)
    model, refs = Keeper(), []
    with block:
        for _ in range(3):
            loss = model(torch.ones(2))
            refs.append(weakref.ref(model.hidden))
            seen.setdefault("alive", []).append([r() is not None for r in refs])
            loss.backward()
    seen["grad"] = bits(model.fc.weight.grad)
    del loss
    model.hidden = None
    seen["end"] = [r() is not None for r in refs]


def objects(x: Tensor, refs: list[Any]) -> Tensor:
    class Own:
        pass

    own = Own()
    own.x = x * 1  # type: ignore[attr-defined]
    refs += [weakref.ref(own), weakref.ref(own.x)]  # type: ignore[attr-defined]
    own.itself = own  # type: ignore[attr-defined]
    return x * 2


@story("objects")
def objects_with_cycles(block: Any, seen: Seen) -> None:
    refs: list[Any] = []
    x = torch.ones(2, requires_grad=True)
    with block:
        y = objects(x, refs)
        seen["before"] = [r() is not None for r in refs]
        gc.collect()
        seen["after"] = [r() is not None for r in refs]
    seen["nodes"] = nodes_now([y])


# --- control flow -----------------------------------------------------------------------------


def parts(x: Tensor, log: list[str]) -> Iterator[Tensor]:
    try:
        for i in range(3):
            got = yield x * i
            log.append(f"got {got}")
    except ValueError:
        log.append("thrown")
        yield x * 9
    finally:
        log.append("closed")


@story("parts")
def generators(block: Any, seen: Seen) -> None:
    log: list[str] = []
    x = torch.ones(2, requires_grad=True)
    with block:
        total = sum(parts(x, log))
        left = parts(x, log)
        next(left)
        sent: Any = parts(x, log)
        next(sent)
        seen["sent"] = bits(sent.send("a"))
        seen["thrown"] = bits(sent.throw(ValueError()))
        del left, sent
        total.sum().backward()  # type: ignore[union-attr]
    seen["log"], seen["grad"] = log, bits(x.grad)


def deep(x: Tensor, depth: int, reached: list[int]) -> Tensor:
    if depth:
        return deep(x, depth - 1, reached)
    reached[0] += 1
    return x * 2


@story("deep")
def recursion(block: Any, seen: Seen) -> None:
    reached = [0]
    x = torch.ones(2, requires_grad=True)
    with block:
        y = deep(x, 60, reached)
        y.sum().backward()
    seen["reached"], seen["grad"] = reached, bits(x.grad)


def endless(x: Tensor, reached: list[int]) -> Tensor:
    reached[0] += 1
    return endless(x, reached)


def test_recursion_without_end_raises_as_without_a_recording() -> None:
    x = torch.ones(2)
    for block in (contextlib.nullcontext(), gradviz.record()):
        reached = [0]
        with pytest.raises(RecursionError), block:
            endless(x, reached)
        assert reached[0] > sys.getrecursionlimit() // 2
    with gradviz.record() as recording:
        y = deep(x, 3, [0])
    assert followed(recording) == {"deep"}
    del y


def catches(x: Tensor, log: list[str]) -> Tensor:
    try:
        x.view(7)
    except RuntimeError as error:
        log.append(str(error))
    finally:
        log.append("finally")
    with contextlib.suppress(KeyError):
        {}["a"]  # type: ignore[index]
    return x + 1


@story("catches")
def errors(block: Any, seen: Seen) -> None:
    log: list[str] = []
    x = torch.ones(2, requires_grad=True)
    with block:
        y = catches(x, log)
    seen["log"], seen["nodes"] = log, nodes_now([y])


def in_thread(x: Tensor, found: list[Tensor]) -> None:
    y = x * 3
    found.append(y)


def with_threads(x: Tensor, found: list[Tensor]) -> Tensor:
    thread = threading.Thread(target=in_thread, args=(x, found))
    thread.start()
    thread.join()
    return found[0] + 1


@story("with_threads")
def threads(block: Any, seen: Seen) -> None:
    found: list[Tensor] = []
    x = torch.ones(2, requires_grad=True)
    with block:
        y = with_threads(x, found)
        y.sum().backward()
    seen["grad"] = bits(x.grad)


def traces(x: Tensor, events: list[str]) -> Tensor:
    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is inner.__code__:
            events.append(event)
        return trace

    def inner() -> Tensor:
        y = x * 2
        return y

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return inner()
    finally:
        sys.settrace(before)


@story("traces")
def a_trace_function_inside(block: Any, seen: Seen) -> None:
    events: list[str] = []
    x = torch.ones(2, requires_grad=True)
    with block:
        y = traces(x, events)
    seen["events"], seen["nodes"] = events, nodes_now([y])


def sees_its_stack(x: Tensor) -> tuple[Tensor, list[str], list[str]]:
    frame: Any = sys._getframe()
    names: list[str] = []
    while frame is not None and len(names) < 2:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    held = sorted(sys._getframe().f_locals)
    return x * 2, names, held


@story("sees_its_stack")
def frames_and_locals(block: Any, seen: Seen) -> None:
    x = torch.ones(2, requires_grad=True)
    with block:
        y, seen["names"], seen["locals"] = sees_its_stack(x)
        seen["refcount"] = sys.getrefcount(y)


@pytest.mark.parametrize("name", STORIES)
def test_a_followed_function_runs_the_same(name: str) -> None:
    one, functions = STORIES[name]
    for recording in assert_same(one):
        assert functions <= followed(recording)


# --- interruption -----------------------------------------------------------------------------


def interrupted(x: Tensor, at: int, log: list[str]) -> Tensor:
    for turn in range(5):
        log.append(f"begin {turn}")
        if turn == at:
            _thread.interrupt_main()
        x = x * 2
        log.append(f"end {turn}")
    return x


@pytest.mark.usefixtures("signals_end_what_runs")
@pytest.mark.parametrize("at", range(5))
def test_ctrl_c_inside_a_followed_function_ends_it_there(at: int) -> None:
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        logs = []
        for block in (contextlib.nullcontext(), gradviz.record()):
            log: list[str] = []
            x = torch.ones(2, requires_grad=True)
            before = world()
            with pytest.raises(KeyboardInterrupt), block:
                interrupted(x, at, log)
            assert world() == before
            logs.append(log)
        assert [log[: 2 * at + 1] for log in logs] == [logs[0][: 2 * at + 1]] * 2
        assert all(len(log) <= 2 * at + 2 for log in logs)
        recording = block._recording  # type: ignore[union-attr]
        assert "interrupted" in followed(recording)
        assert recording.records[-1].kind == "error"
    finally:
        signal.signal(signal.SIGINT, handler)
