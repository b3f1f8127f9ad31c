"""Calls of custom Functions, where ``apply`` is a function of Python and where it is not."""

from __future__ import annotations

import linecache
import textwrap
from typing import Any

import pytest

import gradviz
from gradviz import Recording
from gradviz.capture import autograd
from gradviz.model.events import Operation
from tests.each import each

FUNCTIONS = """
import threading, torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x * x
        return y * x
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(*inputs):
        x, by = inputs
        return x * by
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.by = inputs[1] * torch.ones(())
    @staticmethod
    def backward(ctx, g):
        return g * ctx.by, None
class Warm(Cube):
    @staticmethod
    def forward(ctx, x):
        return Cube.forward(ctx, x) + Scale.forward(x, 2)
cube = Cube.apply
x = torch.ones(3, requires_grad=True)
c = torch.ones(3)
"""
PROGRAMS = {
    "with a context": "y = cube(x)\ny.sum().backward()",
    "with a context of its own": "y = Scale.apply(x, 3.0)\ny.sum().backward()",
    "nothing requires grad": "y = cube(c)\nz = Scale.apply(c, 2.0)",
    "under no_grad": "with torch.no_grad():\n    y = cube(x)\nz = y * x",
    "under no_grad, on one line": "with torch.no_grad(): y = cube(x)\nz = Scale.apply(x, 1.0) * x",
    "called by its name": "class Ctx:\n    def save_for_backward(self, *given): pass\n"
    "y = Cube.forward(Ctx(), x)\nz = Scale.forward(x, 2.0)\n(y + z).sum().backward()",
    "called by the forward of another": "y = Warm.apply(x)\ny.sum().backward()",
    "in grad mode of its own": "class Own(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, x):\n        with torch.enable_grad():\n"
    "            y = cube(x.detach().requires_grad_())\n        return y.detach()\n"
    "    @staticmethod\n    def backward(ctx, g):\n        return g\n"
    "y = Own.apply(x) * cube(x)\ny.sum().backward()",
    "that raises": "class Bad(torch.autograd.Function):\n"
    "    @staticmethod\n    def forward(ctx, x):\n        return x @ torch.ones(2)\n"
    "try:\n    Bad.apply(x)\nexcept RuntimeError:\n    pass\ny = x * 2",
    "beside a thread": "t = threading.Thread(target=lambda: torch.ones(1))\nt.start()\nt.join()\n"
    "y = cube(x)\nz = Scale.apply(y, 2.0)\nz.sum().backward()",
}


def recorded(program: str) -> Recording:
    file = "custom_functions.py"
    block = textwrap.indent(program, "    ")
    text = f"{FUNCTIONS}with gradviz.record() as recording:\n{block}\n"
    space: dict[str, Any] = {"__name__": "custom_functions", "gradviz": gradviz}
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    try:
        exec(compile(text, file, "exec"), space)
    finally:
        del linecache.cache[file]
    found: Recording = space["recording"]
    return found


@pytest.mark.skipif(autograd.code_of_function_apply() is None, reason="it is in C here")
@each("name", PROGRAMS)
def test_a_recording_is_the_same_where_apply_is_written_in_c(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = recorded(PROGRAMS[name])
    monkeypatch.setattr(autograd, "code_of_function_apply", lambda: None)
    assert recorded(PROGRAMS[name]).to_json() == here.to_json()


def test_calls_of_a_forward_that_makes_a_node_are_hidden_by_the_function() -> None:
    found = {}
    for name in ("with a context", "nothing requires grad", "called by its name"):
        steps = recorded(PROGRAMS[name]).all_steps
        events = [event for step in steps for event in step.record.events]
        found[name] = {one.reason for one in events if isinstance(one, Operation)}
    assert "custom Function" in found["with a context"]
    assert "custom Function" not in found["nothing requires grad"] | found["called by its name"]


def test_lines_of_nodes_are_known_beside_a_thread() -> None:
    nodes = recorded(PROGRAMS["beside a thread"]).graph.nodes
    lines = {node.name: str(node.source) for node in nodes if node.name.endswith("Backward")}
    assert lines["CubeBackward"].endswith("y = cube(x)")
    assert lines["ScaleBackward"].endswith("z = Scale.apply(y, 2.0)")
