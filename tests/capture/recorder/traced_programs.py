"""Runs programs and tells what the tracer tells of each: JSON in, JSON out.

``test_tracing.py`` runs this file in other Pythons, with stand-ins for torch.
"""

from __future__ import annotations

import contextlib
import gc
import json
import linecache
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import CodeType, FrameType, ModuleType
from typing import Any

from gradviz.capture.recorder import source_text
from gradviz.capture.recorder.followed_code import FollowedCode
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.observer import Observer, Observers
from gradviz.capture.recorder.signals import DeferredSignals
from gradviz.capture.recorder.tracers.tracer import make_tracer

FILE = "<a cell>"


class Told(Observer):
    """Writes down what is told."""

    def __init__(self) -> None:
        self.lines: LineEvents | None = None
        self.events: list[str] = []

    def watches(self, code: CodeType) -> bool:
        return code.co_name == "watched"

    def entered(self, frame: FrameType) -> None:
        self.events.append(f"enters {frame.f_code.co_name}")

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        self.events.append(f"leaves {frame.f_code.co_name}: {value if is_known else 'error'}")

    def function_begins(self, frame: FrameType) -> None:
        self.events.append(f"begins {frame.f_code.co_name}")

    def line_ended(self, error: Any, value: Any) -> None:
        assert self.lines is not None
        kind = error if isinstance(error, type) or error is None else type(error)
        caught = "" if kind is None else f" caught {kind.__name__}"
        self.events.append(f"line {self.lines.line}{caught}")

    def failed(self, error: BaseException) -> None:
        self.events.append(f"the tracer failed: {error!r}")


def watched(value: int) -> int:
    """Is no part of the cell, but watched."""
    if value < 0:
        raise ValueError("negative")
    return value * 2


def not_watched(function: Callable[[], Any]) -> Any:
    """Is neither, and calls back."""
    return function()


def drive(coroutine: Any) -> Any:
    """Is neither, and runs a coroutine to its end."""
    try:
        while True:
            coroutine.send(None)
    except StopIteration as end:
        return end.value


class Thing:
    """Can be referred to weakly."""


def interrupt(number: int, frame: Any) -> None:
    """The handler of a signal that was there before the recording began."""
    raise KeyboardInterrupt


def signal_soon() -> None:
    """Have a signal come while the next lines run."""
    signal.setitimer(signal.ITIMER_REAL, 0.2)


class Block:
    """Traces what a program runs in a ``with``, as a recorded block: the rest is not told."""

    def __init__(self, file: str) -> None:
        self.told, program = Told(), ModuleType("program")
        program.__file__ = file
        self.followed = FollowedCode(into=program, only=())

    def __enter__(self) -> None:
        frame, observers = sys._getframe(1), Observers()
        while frame.f_globals.get("__name__") == "contextlib" and frame.f_back is not None:
            frame = frame.f_back
        source = source_text.of_block(frame)
        self.lines = self.told.lines = LineEvents(source, "", self.followed, observers)
        observers.add(self.told)
        self.tracer = make_tracer(self.lines, observers, frame)
        self.lines.begin(frame)
        self.tracer.start()

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.tracer.stop()
        line, _ = self.lines.stop(error)
        self.told.events.append("ends" if error is None else f"line {line} fails")


def run_block(text: str) -> list[str]:
    """What is told of the block of a text, which calls it ``block``."""
    file = "program.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    block = Block(file)
    with contextlib.suppress(ValueError):
        exec(compile(text, file, "exec"), {"block": block, "contextlib": contextlib})
    return block.told.events


FOR_PROGRAMS = (watched, not_watched, drive, signal_soon, Thing)


def run(text: str) -> list[str]:
    """What is told while a text runs, as the recorder runs a cell."""
    linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
    told, observers, signals = Told(), Observers(), DeferredSignals()
    lines = told.lines = LineEvents(
        source_text.of_cell(text, "cell"), FILE, FollowedCode(only=()), observers
    )
    observers.add(told)
    tracer = make_tracer(lines, observers, None)
    variables: dict[str, Any] = {
        **{one.__name__: one for one in FOR_PROGRAMS},
        **{one.__name__: one for one in (gc, sys, threading, time, weakref)},
        "told": told.events.append,
    }
    code = compile(text, FILE, "exec")
    error: BaseException | None = None
    before = sys.gettrace()
    signal.signal(signal.SIGALRM, interrupt)
    signals.start()
    tracer.start()
    try:
        exec(code, variables)
    except BaseException as raised:
        error = raised
    finally:
        tracer.stop()
        signals.stop()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    last, _ = lines.stop(error)
    if error is None:
        told.events.append("ends")
    else:
        traceback: Any = error.__traceback__
        places = []
        while traceback is not None:
            places.append(f"{traceback.tb_frame.f_code.co_name}:{traceback.tb_lineno}")
            traceback = traceback.tb_next
        inside = [place for place in places[1:] if not place.startswith(("watched", "interrupt"))]
        told.events.append(f"line {last} fails with {type(error).__name__} at {' '.join(inside)}")
    assert sys.gettrace() is before
    if hasattr(sys, "monitoring"):
        assert all(sys.monitoring.get_tool(number) is None for number in range(6))
    return told.events


def main() -> None:
    """Programs come as JSON, and go back with what was told."""
    cells, blocks = json.load(sys.stdin)
    print(json.dumps([*map(run, cells), *map(run_block, blocks)]))


if __name__ == "__main__":
    main()
