"""Which expression a recorded call stands in."""

from __future__ import annotations

import gc
import json
import linecache
import os
import runpy
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import Tensor
from traitlets.config import Config

import gradviz
from gradviz.capture.post_mortem import post_mortem_of
from gradviz.capture.recorder import Recorder
from gradviz.model import Recording
from gradviz.model.events import Event, Operation, OptimizerStepped, Position, Refused, Write
from tests.each import each
from tests.pythons import VERSIONS, python

ROOT: Final = Path(__file__).parents[3]

Call: TypeAlias = "tuple[str, str | None, int]"
"""What was called, its expression, and the ordinal."""


def expression(text: str, first_line: int, position: Position) -> str:
    """What stands at a position; a column is a byte."""
    lines = text.encode().split(b"\n")[position.line - first_line :]
    lines = lines[: position.end_line - position.line + 1]
    lines[-1] = lines[-1][: position.end_column]
    lines[0] = lines[0][position.column :]
    return b"\n".join(lines).decode()


def calls(recording: Recording, *kinds: type[Event]) -> list[Call]:
    """Operations and refused calls with their expressions, or other kinds of events."""
    found: list[Call] = []
    for step in recording.all_steps:
        for event in step.events:
            if not isinstance(event, kinds or (Operation, Refused)):
                continue
            assert isinstance(event, (Operation, Write, Refused))
            name = event.by if isinstance(event, Write) else event.name
            if event.position is None:
                found.append((name, None, 0))
            else:
                assert step.code is not None
                text = expression(step.code.text, step.code.first_line, event.position)
                found.append((name, text, event.position.ordinal))
    return found


def recorded(text: str, into: Sequence[Any] = (), **variables: Any) -> Recording:
    """The recording of a cell that has ``h`` and ``g``, and a leaf ``w``; of the user's functions
    outside of it none is followed."""
    file = "<a cell>"
    run = f"begin()\n{text}"
    linecache.cache[file] = (len(run), None, run.splitlines(keepends=True), file)
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    recorder = Recorder(into, only=())
    variables |= {"torch": torch, "w": w, "h": w * 1, "g": torch.tensor([3.0, 4.0])}
    variables["begin"] = lambda: recorder.start(file=file, text=f"%%gradviz\n{text}")
    error = None
    try:
        exec(compile(run, file, "exec"), variables)
    except RuntimeError as raised:
        error = raised
    finally:
        recording = recorder.stop(error)
        del linecache.cache[file]
    return recording


# --- expressions ----------------------------------------------------------------------------

PROGRAMS: dict[str, list[Call]] = {
    "h.add_(1); h.add_(2)": [("add_", "h.add_(1)", 0), ("add_", "h.add_(2)", 0)],
    "y = h.add_(1).sum() + g.add_(1).sum()": [
        ("add_", "h.add_(1)", 0),
        ("sum", "h.add_(1).sum()", 0),
        ("add_", "g.add_(1)", 0),
        ("sum", "g.add_(1).sum()", 0),
        ("add", "h.add_(1).sum() + g.add_(1).sum()", 0),
    ],
    "y = sum([h, g])": [("add", "sum([h, g])", 0), ("add", "sum([h, g])", 1)],
    "y = list(map(torch.relu, [h, g]))": [
        ("relu", "list(map(torch.relu, [h, g]))", 0),
        ("relu", "list(map(torch.relu, [h, g]))", 1),
    ],
    "y = torch.relu(h)": [("relu", "torch.relu(h)", 0)],
    "h += 1": [("add_", "h += 1", 0)],
    "y = h[0][...]": [("__getitem__", "h[0]", 0), ("__getitem__", "h[0][...]", 0)],
    "h[0] = 3": [],  # no tensor comes out of it
    "h[0] += 1": [("__getitem__", "h[0]", 0), ("add_", "h[0] += 1", 0)],
    "y = h.data": [("data", "h.data", 0)],
    "y = h.data.exp()": [("data", "h.data", 0), ("exp", "h.data.exp()", 0)],
    "y = -h": [("neg", "-h", 0)],
    "y = h < g": [("lt", "h < g", 0)],
    "y = h.sum().item()": [("sum", "h.sum()", 0), ("item", "h.sum().item()", 0)],
    "a, b = h": [("unbind", "a, b", 0)],
    "y = torch.stack([*h])": [("unbind", "[*h]", 0), ("stack", "torch.stack([*h])", 0)],
    "y = h.exp(), h.exp()": [("exp", "h.exp()", 0), ("exp", "h.exp()", 0)],
    "w.add_(1)": [("add_", "w.add_(1)", 0)],  # refused
    "y = sum([h, g, torch.ones(3)])": [
        ("ones", "torch.ones(3)", 0),
        ("add", "sum([h, g, torch.ones(3)])", 0),
        ("add", "sum([h, g, torch.ones(3)])", 1),
        ("add", "sum([h, g, torch.ones(3)])", 2),  # refused
    ],
    "h.exp().backward()": [("exp", "h.exp()", 0), ("backward", "h.exp().backward()", 0)],
    # over several lines
    "y = (h\n  .exp()\n  .view(1,\n     2)\n  .data\n .sum())": [
        ("exp", "exp()", 0),
        ("view", "view(1,\n     2)", 0),
        ("data", "data", 0),
        ("sum", "sum()", 0),
    ],
    "y = torch.relu(\n  h.exp(\n ),\n)": [
        ("exp", "h.exp(\n )", 0),
        ("relu", "torch.relu(\n  h.exp(\n ),\n)", 0),
    ],
    "y = ((h +\n g) *\n  h)": [("add", "h +\n g", 0), ("mul", "(h +\n g) *\n  h", 0)],
    "with torch.no_grad():\n  h.add_(1)": [("add_", "h.add_(1)", 0)],
    # columns are bytes
    "한글 = h; 값 = 한글.exp() + 한글.sin()": [
        ("exp", "한글.exp()", 0),
        ("sin", "한글.sin()", 0),
        ("add", "한글.exp() + 한글.sin()", 0),
    ],
    # code inside a line
    "y = [x.exp() for x in [h, g]]": [("exp", "x.exp()", 0), ("exp", "x.exp()", 1)],
    "y = {n: [x.exp() for x in [h]] for n in 'ab'}": [("exp", "x.exp()", 0), ("exp", "x.exp()", 1)],
    "y = sum(x.exp() for x in [h, g])": [
        ("exp", "x.exp()", 0),
        ("add", "sum(x.exp() for x in [h, g])", 0),
        ("exp", "x.exp()", 1),
        ("add", "sum(x.exp() for x in [h, g])", 1),
    ],
    "y = (lambda x: x.exp() * 2)(h)": [("exp", "x.exp()", 0), ("mul", "x.exp() * 2", 0)],
    # code from another line
    "f = lambda x: x.exp()\ny = f(h)": [("exp", None, 0)],
    "made = (x.exp() for x in [h])\ny = next(made)": [("exp", None, 0)],
    # functions whose lines are steps
    "def f(x):\n  y = x.exp()\n  return y.sum() + y.sum()\nz = f(h.sin()) + f(g)": [
        ("sin", "h.sin()", 0),
        ("exp", "x.exp()", 0),
        ("sum", "y.sum()", 0),
        ("sum", "y.sum()", 0),
        ("add", "y.sum() + y.sum()", 0),
        ("exp", "x.exp()", 0),
        ("sum", "y.sum()", 0),
        ("sum", "y.sum()", 0),
        ("add", "y.sum() + y.sum()", 0),
        ("add", "f(h.sin()) + f(g)", 0),
    ],
    "def f(n):\n  yield n.exp()\n  yield n.sin()\nfor y in f(h):\n  z = y * 2": [
        ("exp", "n.exp()", 0),
        ("mul", "y * 2", 0),
        ("sin", "n.sin()", 0),
        ("mul", "y * 2", 0),
    ],
    "@torch.relu\n@(lambda f: h.exp())\ndef q(): pass": [
        ("exp", "h.exp()", 0),
        ("relu", "torch.relu", 0),
    ],
    "def q(x=h.exp()):\n  pass": [("exp", "h.exp()", 0)],
    # every run of a line counts from 0
    "for x in [h, g]:\n  y = x.exp()": [("exp", "x.exp()", 0), ("exp", "x.exp()", 0)],
    # what a truth test, a loop or an f-string calls by itself
    "if h.sum() > 0:\n  y = h.exp()": [
        ("sum", "h.sum()", 0),
        ("gt", "h.sum() > 0", 0),
        ("__bool__", None, 0),
        ("exp", "h.exp()", 0),
    ],
    "y = not g.sum()": [("sum", "g.sum()", 0), ("__bool__", None, 0)],
    "y = [x.exp() for x in h]": [
        ("unbind", None, 0),
        ("exp", "x.exp()", 0),
        ("exp", "x.exp()", 1),
    ],
    "for x in h:\n  pass": [("unbind", None, 0)],
    "y = f'{g.sum()}'": [("sum", "g.sum()", 0), ("__format__", None, 0)],
}


@each("text", PROGRAMS)
def test_a_call_knows_its_expression(text: str) -> None:
    assert calls(recorded(text)) == PROGRAMS[text]


@each(
    ("text", "expected"),
    [
        ("h[0] = 3", [("__setitem__", "h[0]", 0)]),
        ("h[0] += 1", [("add_", "h[0] += 1", 0), ("__setitem__", "h[0]", 1)]),
        ("h.data = g", [("an assignment to .data", "h.data", 0)]),
        ("h.add_(1).mul_(2)", [("add_", "h.add_(1)", 0), ("mul_", "h.add_(1).mul_(2)", 0)]),
        ("[x.add_(1) for x in [h, g]]", [("add_", "x.add_(1)", 0), ("add_", "x.add_(1)", 1)]),
    ],
)
def test_a_write_has_the_expression_of_its_call(text: str, expected: list[Call]) -> None:
    assert calls(recorded(text), Write) == expected


@each("text", ["h += 1", "[x.add_(1) for x in [h, g]]", "h.add_(1); h.add_(1)"])
def test_a_write_and_its_operation_are_one_call(text: str) -> None:
    recording = recorded(text)
    (step,) = [step for step in recording.all_steps[1:] if step.events]
    writes = [e.position for e in step.events if isinstance(e, Write)]
    assert writes == [e.position for e in step.events if isinstance(e, Operation)]
    assert len(set(writes)) == len(writes) > 0


def test_a_write_that_torch_does_not_see_has_no_position() -> None:
    assert calls(recorded("g.numpy()[0] = 7"), Write)[0][1] is None


def test_a_step_of_an_optimizer_knows_its_expression() -> None:
    text = "optimizer = torch.optim.SGD([w], lr=1.0); w.grad = w * 2\noptimizer.step()"
    events = [event for step in recorded(text).all_steps for event in step.events]
    (stepped,) = [event for event in events if isinstance(event, OptimizerStepped)]
    assert stepped.position is not None
    assert stepped.position.end_column - stepped.position.column == len("optimizer.step()")


# --- whose expression -----------------------------------------------------------------------


def not_followed(x: Tensor) -> Tensor:
    return x.exp().sum()


def test_a_function_that_is_not_followed_is_one_expression() -> None:
    assert calls(recorded("y = f(h)", f=not_followed)) == [("exp", "f(h)", 0), ("sum", "f(h)", 1)]
    linear = torch.nn.Linear(2, 2)
    assert calls(recorded("y = linear(h) + 1", linear=linear)) == [
        ("linear", "linear(h)", 0),
        ("add", "linear(h) + 1", 0),
    ]


def ran(text: str, folder: Path) -> dict[str, Any]:
    """The variables of a file that was run."""
    file = folder / "program.py"
    file.write_text(text, "utf-8")
    return runpy.run_path(str(file))


FOLLOWED: Final = """
import torch, gradviz

def followed(값):
    값 = 값 * 2
    return [x.exp() for x in (값, (lambda y: y.sin())(값))]

h = torch.ones(2, requires_grad=True) * 1
with gradviz.record(into=[followed]) as recording:
    y = followed(h.sin())
"""


def test_a_followed_function_has_expressions_of_its_own(tmp_path: Path) -> None:
    assert calls(ran(FOLLOWED, tmp_path)["recording"]) == [
        ("sin", "h.sin()", 0),
        ("mul", "값 * 2", 0),
        ("sin", "y.sin()", 0),
        ("exp", "x.exp()", 0),
        ("exp", "x.exp()", 1),
    ]


BLOCK: Final = """
import torch, gradviz

def run():
    outer = lambda x: x.exp()
    h = torch.ones(2, requires_grad=True) * 1
    with gradviz.record() as recording:
        값 = h.exp(); h.add_(1)
        y = outer(값) + sum(x.sin() for x in [h])
        z = (
            y
            .exp()
        )
    return recording

recording = run()
"""


def test_a_block_in_a_file(tmp_path: Path) -> None:
    recording = ran(BLOCK, tmp_path)["recording"]
    assert calls(recording) == [
        ("exp", "h.exp()", 0),
        ("add_", "h.add_(1)", 0),
        ("exp", "outer(값)", 0),
        ("sin", "x.sin()", 0),
        ("add", "sum(x.sin() for x in [h])", 0),
        ("add", "outer(값) + sum(x.sin() for x in [h])", 0),
        ("exp", "exp()", 0),
    ]
    lines = [
        (step.line, event.position and event.position.line)
        for step in recording.all_steps
        for event in step.events
        if isinstance(event, Operation)
    ]
    assert lines == [(8, 8), (8, 8), *[(9, 9)] * 4, (10, 12)]


def test_what_runs_inside_backward_has_no_position() -> None:
    text = "y = h.exp(); y.register_hook(lambda grad: grad * 2); y.sum().backward()"
    made = recorded(text)
    operations = [e for s in made.all_steps for e in s.events if isinstance(e, Operation)]
    again = [e for e in operations if e.recomputed]
    assert again
    assert all(e.position is None for e in again)
    assert all(e.position is not None for e in operations if e not in again)


def test_only_recorded_calls_are_counted() -> None:
    text = "y = [(x.size(), x.exp()) for x in [h, g]]\nz = [f(x) for x in [h, g]]"
    found = calls(recorded(text, f=lambda x: (torch.is_tensor(x), x.numel(), x.exp())))
    assert found == [
        ("exp", "x.exp()", 0),
        ("exp", "x.exp()", 1),
        ("exp", "f(x)", 0),
        ("exp", "f(x)", 1),
    ]


AFTER: Final = """
import torch
h = torch.ones(2, requires_grad=True).exp()
h.exp_(); 값 = h.sum(); (값
  .backward())
"""


def test_the_moment_after_an_error_knows_the_call_that_was_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.ones(2, requires_grad=True).exp().exp_().sum().backward()
    assert calls(post_mortem_of(raised.value)) == [
        ("backward", "torch.ones(2, requires_grad=True).exp().exp_().sum().backward()", 0)
    ]
    with pytest.raises(RuntimeError) as raised:
        ran(AFTER, tmp_path)
    assert calls(post_mortem_of(raised.value)) == [("backward", "backward()", 0)]


def test_reading_positions_keeps_nothing_alive() -> None:
    def work() -> list[Any]:
        big = torch.ones(3)
        y = [x.exp() for x in [big]]
        z = sum(x.exp() for x in y)
        found = [weakref.ref(t) for t in (big, *y, z)]
        del big, y
        return [*found, [reference() is not None for reference in found]]

    collects = gc.isenabled()
    gc.disable()
    try:
        with gradviz.record(into=[work]):
            *references, alive = work()
        assert alive == [False, False, True]
        assert [reference() for reference in references] == [None] * 3
    finally:
        if collects:
            gc.enable()


# --- cells ----------------------------------------------------------------------------------


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setattr("gradviz.api.show", lambda recording, **look: None)
    config = Config()
    config.HistoryManager.enabled = False
    new: Any = InteractiveShell
    made = new(config=config, ipython_dir=str(tmp_path))
    monkeypatch.setattr(InteractiveShell, "_instance", made)
    made.extension_manager.load_extension("gradviz")
    made.run_cell("import torch; h = torch.ones(2, requires_grad=True) * 1; g = torch.ones(2)")
    yield made
    made.extension_manager.unload_extension("gradviz")


@each("before", ["", "%pwd\n", "\n# 설명\n"])
@each("indent", ["", "    "])
def test_a_cell(shell: Any, before: str, indent: str) -> None:
    lines = (
        f"%%gradviz --name made\n{before}한 = h.exp(); y = sum([한, g])\nh.add_(1)\n(h\n  .exp())"
    )
    text = "".join(indent + line for line in lines.splitlines(keepends=True))
    shell.run_cell(text).raise_error()
    assert calls(shell.user_ns["made"]) == [
        ("exp", "h.exp()", 0),
        ("add", "sum([한, g])", 0),
        ("add", "sum([한, g])", 1),
        ("add_", "h.add_(1)", 0),
        ("exp", "exp()", 0),
    ]


def test_a_line_that_ipython_has_rewritten_has_no_positions(shell: Any) -> None:
    shell.run_cell("%%gradviz --name made\n%time y = h.exp()\nz = h.sin()").raise_error()
    assert calls(shell.user_ns["made"]) == [("exp", None, 0), ("sin", "h.sin()", 0)]


# --- other Pythons --------------------------------------------------------------------------

STAND_IN: Final = """
import json, sys, types
for name in ("gradviz", "gradviz.model", "gradviz.capture", "gradviz.capture.recorder"):
    package = sys.modules[name] = types.ModuleType(name)
    package.__path__ = [sys.argv[1] + "/" + name.replace(".", "/")]
from gradviz.capture.recorder.expressions import Expressions

expressions, told = Expressions(), []

def tell(name):
    frame = sys._getframe(2)
    at = expressions.at(frame.f_code, frame.f_lasti)
    told.append([name, at and [at.line, at.column, at.end_line, at.end_column]])

class Tensor:
    def exp(self): return made("exp")
    def relu(self, *args): return made("relu")
    def __add__(self, other): return made("add")
    __radd__ = __add__
    def __iadd__(self, other): return made("add_")
    def __getitem__(self, key): return made("getitem")
    def __setitem__(self, key, value): tell("setitem")
    def __neg__(self): return made("neg")
    def __gt__(self, other): return made("gt")
    def __iter__(self):
        tell("iter")
        return iter([Tensor()])
    def __bool__(self):
        tell("bool")
        return True
    def __format__(self, how):
        tell("format")
        return ""
    @property
    def data(self): return made("data")
    @data.setter
    def data(self, value): tell("data")
    def __enter__(self): tell("enter")
    def __exit__(self, *_): pass

def made(name):
    frame = sys._getframe(2)
    at = expressions.at(frame.f_code, frame.f_lasti)
    told.append([name, at and [at.line, at.column, at.end_line, at.end_column]])
    return Tensor()

found = []
for text in json.load(sys.stdin):
    for _ in range(20):  # until the interpreter has specialised it
        told.clear()
        exec(compile(text, "<program>", "exec"), {"h": Tensor(), "g": Tensor()})
    found.append(list(told))
print(json.dumps(found))
"""
STOOD_IN: dict[str, list[tuple[str, str | None]]] = {
    "for i in range(20): h.exp(); h.exp()": [("exp", "h.exp()")] * 40,
    "y = h.exp().relu() + g.exp()": [
        ("exp", "h.exp()"),
        ("relu", "h.exp().relu()"),
        ("exp", "g.exp()"),
        ("add", "h.exp().relu() + g.exp()"),
    ],
    "y = (h\n .exp()\n .data\n .relu(1,\n 2))": [
        ("exp", "exp()"),
        ("data", "data"),
        ("relu", "relu(1,\n 2)"),
    ],
    "y = sum([h, g])": [("add", "sum([h, g])")] * 2,
    "h[0] = 3; h[0] += 1; h += 1; h.data = 2": [
        ("setitem", "h[0]"),
        ("getitem", "h[0]"),
        ("add_", "h[0] += 1"),
        ("setitem", "h[0]"),
        ("add_", "h += 1"),
        ("data", "h.data"),
    ],
    "한글 = h; y = -한글.exp()": [("exp", "한글.exp()"), ("neg", "-한글.exp()")],
    "y = [x.exp() for x in [h, g]], list(x.exp() for x in [h])": [("exp", "x.exp()")] * 3,
    "y = (lambda x: x.exp())(h)": [("exp", "x.exp()")],
    "for x in h: x.exp()": [("iter", None), ("exp", "x.exp()")],
    "y = [x.exp() for x in h if x.exp()]": [
        ("iter", None),
        ("exp", "x.exp()"),
        ("bool", None),
        ("exp", "x.exp()"),
    ],
    "while h.exp(): break": [("exp", "h.exp()"), ("bool", None)],
    "y = f'{h.exp()}'": [("exp", "h.exp()"), ("format", None)],
    "with h.exp() as z:\n  g.exp()": [("exp", "h.exp()"), ("enter", None), ("exp", "g.exp()")],
}


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_tells_the_same_expressions(version: str) -> None:
    path = python(version)
    if path is None:
        pytest.skip(f"there is no Python {version} on this machine")
    told = subprocess.run(
        [path, "-c", STAND_IN, str(ROOT)],
        input=json.dumps(list(STOOD_IN)),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    found = [
        [(name, at and expression(text, 1, Position(*at))) for name, at in events]
        for text, events in zip(STOOD_IN, json.loads(told.stdout), strict=True)
    ]
    assert dict(zip(STOOD_IN, found, strict=True)) == STOOD_IN


def test_without_positions_in_the_code_the_place_is_not_known() -> None:
    program = """
import torch, gradviz
h = torch.ones(2, requires_grad=True)
with gradviz.record() as recording:
    y = h.exp()
    y.add_(1)
events = [e for step in recording.all_steps for e in step.events if hasattr(e, "position")]
print(len(events), {e.position for e in events})
"""
    command = [sys.executable, "-X", "no_debug_ranges", "-c", program]
    told = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert told.stdout.strip() == "3 {None}"
