"""Debuggers, coverage, profilers and trace functions work beside a recording."""

from __future__ import annotations

import bdb
import cProfile
import ctypes
import io
import json
import os
import pdb
import pstats
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeAlias

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz import Recording
from gradviz.capture.recorder.frames import NAME
from gradviz.model.events import Note, Operation

ROOT: Final = Path(__file__).parents[3]
Seen: TypeAlias = "list[tuple[str, str, int]]"
on_3_11 = pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring is there")


@pytest.fixture(autouse=True)
def _nobody_traces() -> Iterator[None]:
    before, settrace = sys.gettrace(), sys.settrace
    sys.settrace(None)
    yield
    is_back = sys.settrace is settrace
    sys.settrace = settrace
    settrace(before)
    assert is_back


def helper(x: Tensor) -> Tensor:
    y = x * 2
    for _ in range(2):
        y = y + 1
    return y


def pairs(x: Tensor) -> Iterator[Tensor]:
    yield x.exp()
    yield x.sin()


def failing(x: Tensor) -> None:
    x.view(7)


def work(block: Any) -> None:
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    with block:
        y = helper(x)
        z = [helper(part) for part in pairs(y)]
        try:
            failing(y)
        except RuntimeError:
            y = (
                y
                + z[0]
            )  # fmt: skip
        n = len(z)
        y.sum().backward()
        del n


def here(frame: FrameType) -> bool:
    """Whether a frame is the program's; from Python 3.12 on the recorder's are seen too."""
    code = frame.f_code
    return code.co_filename == __file__ and code is not run.__code__ and code.co_name != NAME


def run(trace: Any, block: Any, program: Callable[[Any], None] = work) -> Any:
    """What a program raises while something traces."""
    sys.settrace(trace)
    try:
        program(block)
    except BaseException as error:
        return error
    finally:
        sys.settrace(None)
    return None


def recorded_lines(recording: Recording) -> list[int | None]:
    return [step.line for step in recording.all_steps if step.kind == "line"]


def made(block: Any) -> Recording:
    """What a block has recorded, also if it has raised."""
    recording: Recording = block._recording
    return recording


def notes(recording: Recording) -> list[str]:
    return [e.about for step in recording.all_steps for e in step.events if isinstance(e, Note)]


# --- trace functions ------------------------------------------------------------------------


class Events:
    """Writes every event down; what a test wants on top is done by ``also``."""

    def __init__(self, also: Callable[[FrameType, str], None] = lambda frame, event: None) -> None:
        self.seen: Seen = []
        self.also = also

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not here(frame):
            return None
        self.seen.append((frame.f_code.co_name, event, frame.f_lineno))
        self.also(frame, event)
        return self


def both(also: Callable[[FrameType, str], None]) -> tuple[Events, Events, Recording]:
    """What a trace function sees of the program without and with a recording."""
    plain, beside, block = Events(also), Events(also), gradviz.record()
    errors = [str(run(plain, nullcontext())), str(run(beside, block))]
    assert errors[0] == errors[1]
    return plain, beside, made(block)


def nothing(frame: FrameType, event: str) -> None:
    pass


def opcodes(frame: FrameType, event: str) -> None:
    frame.f_trace_opcodes = frame.f_code is helper.__code__


def no_lines(frame: FrameType, event: str) -> None:
    frame.f_trace_lines = frame.f_code not in (work.__code__, helper.__code__)


@pytest.mark.parametrize("also", [nothing, opcodes, no_lines])
def test_a_trace_function_sees_what_it_sees_alone_and_takes_no_line_from_the_recording(
    also: Any,
) -> None:
    plain, beside, recording = both(also)
    assert len(plain.seen) > 20
    assert beside.seen == plain.seen
    alone = gradviz.record()
    run(None, alone)
    assert recorded_lines(recording) == recorded_lines(made(alone))
    assert notes(recording) == []


def test_the_trace_function_of_the_thread_is_told_as_without_a_recording() -> None:
    events, seen = Events(), []

    def program(block: Any) -> None:
        with block:
            seen.append(sys.gettrace())

    for trace in (events, None):
        run(trace, gradviz.record(), program)
    assert seen == [events, None]


def test_a_variable_that_a_trace_function_changes_is_changed() -> None:
    def change(frame: FrameType, event: str) -> None:
        if (frame.f_code.co_name, event) == ("work", "line") and frame.f_locals.get("n") == 2:
            frame.f_locals["n"] = 7
        if (frame.f_code.co_name, event) == ("work", "return"):
            last.append(frame.f_locals.get("n"))

    def program(block: Any) -> None:
        with block:
            n = 2
            n = n + 1
        found.append(n)

    last: list[Any] = []
    found: list[int] = []
    program.__code__ = program.__code__.replace(co_name="work")
    for block in (nullcontext(), gradviz.record()):
        run(Events(change), block, program)
    assert found == [8, 8]


@pytest.mark.parametrize("only", [None, ()])
def test_a_trace_function_set_inside_the_block_sees_what_it_sees_without_a_recording(
    only: Any,
) -> None:
    def quietly(events: Events) -> Tensor:
        sys.settrace(events)
        frame: FrameType | None = sys._getframe()
        while frame is not None and here(frame):
            frame.f_trace, frame = events, frame.f_back
        y = torch.ones(2) * 2
        return y + 1

    def program(block: Any) -> None:
        with block:
            a = 1
            y = quietly(events)
            a = 2
            y = helper(y)
            sys.settrace(None)
            a = 3
            helper(y * a)

    seen: list[Seen] = []
    block = gradviz.record(only=only)
    for one in (nullcontext(), block):
        events = Events()
        run(None, one, program)
        seen.append(events.seen)
    assert len(seen[0]) > 10
    assert seen[1] == seen[0]
    if only is None:
        calls = [step.code.name.partition(": ")[2] for step in made(block).all_steps if step.code]
        assert {"quietly", "helper"} <= set(calls)
        return
    lines = recorded_lines(made(block))
    assert len(lines) == 7
    assert [line for line in lines if line is not None] == sorted(filter(None, lines))


# --- what a trace function raises -----------------------------------------------------------


class Ended(Exception):  # noqa: N818
    """Raised by a trace function."""


def effects(trace: Any, block: Any) -> tuple[list[str], Any]:
    """What a program has done before a trace function ended it, and what it was ended by."""
    done: list[str] = []

    def inner(name: str) -> str:
        done.append(f"begin {name}")
        value = name.upper()
        done.append(f"end {name}")
        return value

    def program(block: Any) -> None:
        x = torch.ones(2)
        with block:
            done.append("one")
            a = inner("a")
            done.append(a)
            try:
                (x + 1).view(7)
            except RuntimeError:
                done.append("caught")
            done.append(inner("b") + inner("c"))
        done.append("after")

    error = run(trace, block, program)
    return done, error


@pytest.mark.parametrize("kind", [Ended, KeyboardInterrupt, bdb.BdbQuit])
def test_what_a_trace_function_raises_ends_the_program_where_it_does_without_a_recording(
    kind: type[BaseException],
) -> None:
    def end(frame: FrameType, event: str) -> None:
        counts[0] += 1
        if counts[0] == at:
            raise kind(f"at {event}")

    counts = [0]
    at = 0

    def compare() -> None:
        nonlocal counts, at
        effects(Events(end), nullcontext())
        assert counts[0] > 30
        for at in range(1, counts[0] + 1):
            found = []
            for block in (nullcontext(), gradviz.record()):
                counts = [0]
                done, error = effects(Events(end), block)
                assert isinstance(error, kind), (at, error)
                found.append((done, str(error)))
            assert found[1] == found[0], at

    # An exception that is raised while another is handled stays the one that this thread handles.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(compare).result()


def test_the_recording_goes_on_after_what_a_trace_function_has_raised() -> None:
    def end(frame: FrameType, event: str) -> None:
        if frame.f_code is helper.__code__:
            raise Ended

    def program(block: Any) -> None:
        x = torch.ones(2)
        with block:
            try:
                helper(x)
            except Ended:
                x = x.exp()
            x = x.sin()

    block = gradviz.record()
    assert run(Events(end), block, program) is None
    steps = made(block).all_steps
    names = [[e.name for e in s.events if isinstance(e, Operation)] for s in steps]
    assert [one for one in names if one] == [["exp"], ["sin"]]
    assert len({s.line for s in steps if s.kind == "line"}) >= 3


# --- debuggers ------------------------------------------------------------------------------


class Debugger(bdb.Bdb):
    """Writes down where it stops, and goes on as it is told."""

    def __init__(self, go_on: str, breakpoints: list[int]) -> None:
        super().__init__()
        self.stops: list[tuple[str, str, int]] = []
        self.go_on = go_on
        for line in breakpoints:
            assert self.set_break(__file__, line) is None

    def _stopped(self, kind: str, frame: FrameType) -> None:
        if here(frame):
            self.stops.append((kind, frame.f_code.co_name, frame.f_lineno))
        debugger: Any = self
        {"step": debugger.set_step, "next": lambda: debugger.set_next(frame)}.get(
            self.go_on, debugger.set_continue
        )()

    def user_line(self, frame: FrameType) -> None:
        self._stopped("line", frame)

    def user_return(self, frame: FrameType, value: Any) -> None:
        self._stopped("return", frame)

    def user_exception(self, frame: FrameType, error: Any) -> None:
        self._stopped("exception", frame)


def line_of(function: Any, text: str) -> int:
    lines = Path(__file__).read_text("utf-8").split("\n")
    return next(i + 1 for i in range(function.__code__.co_firstlineno, 999) if text in lines[i])


@pytest.mark.parametrize("go_on", ["step", "next", "continue"])
def test_a_debugger_stops_where_it_stops_without_a_recording(go_on: str) -> None:
    breakpoints = [line_of(helper, "return y"), line_of(work, "n = len(z)")]
    found = []
    for block in (nullcontext(), gradviz.record()):
        debugger = Debugger(go_on, breakpoints)
        debugger.runcall(work, block)
        found.append(debugger.stops)
        bdb.Breakpoint.clearBreakpoints()
    assert len(found[0]) > 3
    assert found[1] == found[0]


def test_a_breakpoint_that_is_set_inside_the_block_is_met() -> None:
    def program(block: Any) -> None:
        with block:
            debugger.set_break(__file__, line_of(helper, "return y"))
            debugger.set_trace()
            y = helper(torch.ones(2))
            y = helper(y)
        del y

    found = []
    for block in (nullcontext(), gradviz.record()):
        debugger = Debugger("continue", [])
        run(None, block, program)
        found.append(debugger.stops)
        bdb.Breakpoint.clearBreakpoints()
    assert [name for _, name, _ in found[0]] == ["program", "helper", "helper"]
    assert found[1] == found[0]


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="steps into the recorder; Python 3.13 stops a line later"
)
@pytest.mark.parametrize(
    "commands",
    [
        ["n", "n", "p x", "c"],
        ["s", "s", "s", "n", "p y", "r", "c"],
        ["b helper", "c", "n", "w", "cl 1", "c"],
        ["n", "!x = x * 3", "n", "p y", "c"],
        ["until", "j 999", "p y.sum()", "c"],
        ["n", "q"],
    ],
)
def test_pdb_says_what_it_says_without_a_recording(commands: list[str]) -> None:
    def program(block: Any) -> None:
        x = torch.ones(2)
        with block:
            prompt.set_trace()
            y = x * 2
            y = helper(y)
            y = y + 1
        told.append(y)

    found = []
    for block in (nullcontext(), gradviz.record()):
        told: list[Tensor] = []
        out = io.StringIO()
        answers = io.StringIO("\n".join([*commands, ""]))
        prompt: Any = pdb.Pdb(stdin=answers, stdout=out, nosigint=True, readrc=False)
        error = run(None, block, program)
        bdb.Breakpoint.clearBreakpoints()
        # What is below the recorded code on the stack is the same; the recorder is not there.
        found.append((out.getvalue(), type(error), [value.tolist() for value in told]))
    assert len(found[0][0]) > 100
    assert found[1] == found[0]


def test_a_profiler_sees_the_functions_of_the_program() -> None:
    counts = []
    for block in (nullcontext(), gradviz.record()):
        profile = cProfile.Profile()
        profile.runcall(work, block)
        stats: Any = pstats.Stats(profile)
        names = {
            name: value[0] for (file, _, name), value in stats.stats.items() if file == __file__
        }
        counts.append({name: names[name] for name in ("work", "helper", "pairs", "failing")})
    assert counts[0] == counts[1] == {"work": 1, "helper": 3, "pairs": 3, "failing": 1}


# --- coverage -------------------------------------------------------------------------------

COVERED: Final = """
import torch, gradviz

class Layer(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y

def twice(x):
    for _ in range(2):
        x = x.sin()
    return x

def pairs(x):
    yield x
    yield x * 2

def work(block):
    x = torch.ones(2, requires_grad=True)
    with block:
        y = Layer()(x)
        parts = [twice(part) for part in pairs(y)]
        try:
            y.view(7)
        except RuntimeError:
            y = y * 3
        y.register_hook(lambda grad: twice(grad))
        n = 0
        while n < 2:
            n += 1
        y.sum().backward()
    after = twice(y)
    return after

work(BLOCK)
last = twice(torch.ones(2))
"""
BLOCKS: Final = {
    "plain": "__import__('contextlib').nullcontext()",
    "recorded": "gradviz.record(into=[twice])",
}
BOTH: Final = """
import runpy
for name in BLOCKS:
    runpy.run_path(f"{name}.py", run_name="__main__")
"""


@pytest.mark.parametrize("branch", [True, pytest.param(False, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(
    "core", ["ctrace", "pytrace", *(["sysmon"] if sys.version_info >= (3, 12) else [])]
)
def test_coverage_measures_what_it_measures_without_a_recording(
    core: str, branch: bool, tmp_path: Path
) -> None:
    for name, block in BLOCKS.items():
        (tmp_path / f"{name}.py").write_text(COVERED.replace("BLOCK", block), "utf-8")
    (tmp_path / "both.py").write_text(BOTH.replace("BLOCKS", str([*BLOCKS])), "utf-8")
    options = [f"--include={tmp_path / '*.py'}", *(["--branch"] if branch else [])]
    for command in (["run", *options, "both.py"], ["json", "-q", "-o", "data.json"]):
        subprocess.run(
            [sys.executable, "-m", "coverage", *command],
            check=True,
            cwd=tmp_path,
            env={**os.environ, "COVERAGE_CORE": core, "PYTHONPATH": str(ROOT)},
        )
    files = json.loads((tmp_path / "data.json").read_text("utf-8"))["files"]
    found = [
        [files[f"{name}.py"].get(key) for key in ("executed_lines", "executed_branches")]
        for name in BLOCKS
    ]
    assert files["plain.py"]["missing_lines"] == []
    assert found[1] == found[0]


# --- where both cannot be -------------------------------------------------------------------


def steps_from_calls(recording: Recording) -> None:
    """Assert that the recording has the lines that call torch, and says why only those."""
    start = recording.all_steps[0]
    (note,) = [event for event in start.events if isinstance(event, Note)]
    assert note.about == "lines from calls"
    assert "steps are told by the calls of torch that lines make" in note.text
    assert note.text.endswith("torch refuses to swap tensors that the recording knows")
    assert [name for _, name in operations(recording)] == ["mul", "add", "exp", "sum"]
    assert len({line for line, _ in operations(recording)}) == 3
    assert len(recording.backward_order) > 0


def operations(recording: Recording) -> list[tuple[int | None, str]]:
    return [
        (step.line, event.name)
        for step in recording.all_steps
        for event in step.events
        if isinstance(event, Operation)
    ]


def block_of_calls() -> Recording:
    x = torch.ones(2, requires_grad=True)
    with gradviz.record(into=[into]) as recording:
        y = x * 2
        n = 3
        y = into(y)
        y.exp().sum().backward()
        del n
    return recording


def into(x: Tensor) -> Tensor:
    return x + 1


@on_3_11
def test_beside_what_cannot_be_called_steps_are_told_by_calls_and_the_recording_says_so() -> None:
    lines: list[int] = []
    hook = ctypes.PYFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p
    )

    def told(_: Any, frame: FrameType, what: int, argument: Any) -> int:
        if frame.f_code is block_of_calls.__code__ and what == 2:
            lines.append(frame.f_lineno)
        return 0

    ours, there = hook(told), object()
    set_trace = ctypes.PYFUNCTYPE(None, hook, ctypes.py_object)(
        ("PyEval_SetTrace", ctypes.pythonapi)
    )
    set_trace(ours, there)
    try:
        recording = block_of_calls()
        assert sys.gettrace() is there
    finally:
        sys.settrace(None)
    steps_from_calls(recording)
    first = block_of_calls.__code__.co_firstlineno
    assert [line - first for line in lines] == [1, 2, 3, 4, 5, 6, 7, 2, 8]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is not there")
def test_without_a_free_tool_steps_are_told_by_calls_and_the_recording_says_so() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    free = [tool for tool in range(6) if monitoring.get_tool(tool) is None]
    for tool in free:
        monitoring.use_tool_id(tool, "a test")
    try:
        recording = block_of_calls()
    finally:
        for tool in free:
            monitoring.free_tool_id(tool)
    steps_from_calls(recording)
