"""Where several statements share a line, the explanation names it, and a fix keeps the others."""

from __future__ import annotations

import ast
import linecache
from typing import Any

import pytest
import torch

import gradviz
from tests.analysis.explain.running import explained, fixed, is_right, run
from tests.analysis.explain.silent_running import FIRST, run_plain, run_recorded

CALLED = """import torch
def step():
    x = torch.ones(3, requires_grad=True)
    h = x.exp()
    h.add_(1)
    h.sum().backward()
    return x
"""
SHORT = "import torch\ndef f(x): h = x.exp(); h.add_(1); return h\n"
LEAF = "x = torch.ones(3, requires_grad=True)\n"
BLOCKS = [
    CALLED + "with record() as found: step()",
    CALLED + "with record() as found, torch.enable_grad(): step()",
    CALLED + "def main():\n    with record() as found: step()\nmain()",
    CALLED + "with record() as found: n = 1; [step() for _ in range(n)]; n = 2",
    SHORT + LEAF + "with record() as found: f(x).sum().backward()",
    SHORT + LEAF + "with record() as found: y = f(x); y.sum().backward()",
]
"""Programs that record a block on the line of its ``with``; ``h.add_(1)`` is in what it calls."""


def recorded(text: str, name: str = "one_line.py") -> gradviz.Recording:
    found: list[Any] = []

    def record() -> Any:
        found.append(gradviz.record())
        return found[0]

    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with pytest.raises(RuntimeError):
        exec(compile(text, name, "exec"), {"record": record})
    recording: gradviz.Recording = found[0]._recording
    return recording


def test_what_a_block_on_one_line_calls_is_followed() -> None:
    for text in BLOCKS:
        recording = recorded(text)
        (found,) = recording.explanations
        lines = text.split("\n")
        assert found.kind == "saved tensor written", text
        assert "h.add_(1)" in lines[(found.line or 0) - 1], text
        assert found.noticed is not None, text
        assert "backward()" in lines[(found.noticed.line or 0) - 1], text
        fix = found.fixes[0]
        assert (fix.how, fix.line) == ("instead", found.line), text
        place = (found.line or 0) - 1
        lines[place] = lines[place].replace("h.add_(1)", "h = h.add(1)")
        assert fix.code == lines[place].strip(), text
        exec(compile("\n".join(lines), "fixed.py", "exec"), {"record": gradviz.record})


def test_a_block_on_one_line_is_one_step_and_what_it_calls_is_inside() -> None:
    text = (
        CALLED.replace("    h.add_(1)\n", "") + "with record() as found: step(); raise RuntimeError"
    )
    recording = recorded(text)
    steps = [(step.line, step.record.depth) for step in recording.all_steps if step.kind == "line"]
    assert steps == [(3, 1), (4, 1), (5, 1), (6, 1)]
    last = recording.all_steps[-1]
    assert (last.kind, last.line) == ("error", 7)
    assert [step.depth for step in recording.records if step.kind == "error"] == [0]


ERRORS = [
    # the program, what holds after a fix, how many fixes there are
    ("w = torch.ones(2, requires_grad=True); h = w.exp(); h.add_(1); h.sum().backward()", "1", 1),
    ("{w}h = w.exp()\nif True: h.add_(1); h.mul_(2)\nh.sum().backward()", "2", 2),
    ("{w}h = w.exp()\nwith torch.no_grad(): h.mul_(2)\nh.sum().backward()", "1", 0),
    ("{w}h = w.exp()\nfor _ in range(2): h.add_(1)\nh.sum().backward()", "1", 2),
    ("{w}h = w * 2\nfor row in h.unbind(0): row.mul_(2)\nh.sum().backward()", "4 / w.exp()", 1),
    (
        "{w}h = torch.zeros(2)\nfor _ in range(2): h = (w * h + 1).tanh(); h.sum().backward()",
        "1",
        0,
    ),
    (
        "{w}z = w.clone()\nwith torch.no_grad(): v = z[:1]\nv.copy_(w[:1])\nz.sum().backward()",
        "1",
        0,
    ),
]


def test_a_fix_of_an_error_leaves_the_other_statements() -> None:
    for line, times, count in ERRORS:
        text = line.replace("{w}", "w = torch.ones(2, requires_grad=True)\n") + "\n"
        found = explained(text)
        assert len([fix for fix in found.fixes if fix.how != "elsewhere"]) == count, text
        for fix in found.fixes:
            variables = run(fixed(text, fix))
            assert is_right(variables, "w.grad", f"{times} * w.exp()"), (text, fix)


def test_ids_are_known_by_another_statement_of_the_line() -> None:
    text = (
        "e = nn.Embedding(3, 2); i = torch.tensor([1]); i.requires_grad_(); e(i).sum().backward()"
    )
    found = explained(text + "\n")
    assert found.kind == "dtype cannot require grad"
    assert "holds ids" in found.what
    for fix in found.fixes:
        run(fixed(text, fix))


def test_a_freed_saved_tensor_is_known_to_be_read_by_another_statement_of_the_line() -> None:
    text = "{w}y = w.exp(); y.sum().backward(); kept = y.grad_fn._saved_result\n"
    found = explained(text.replace("{w}", "w = torch.ones(2, requires_grad=True)\n"))
    assert (found.kind, found.variables) == ("saved tensor read after freeing", ("y",))


SILENT = [
    "opt = optim.SGD([w], lr=0.5)\nfor _ in range(3): w.sum().backward(); opt.step()",
    "net = nn.Linear(3, 1)\nopt = optim.SGD(net.parameters(), lr=0.1)\n"
    "for _ in range(2): loss = net(torch.ones(4, 3)).sum(); loss.backward; opt.step()",
    "h = w * 2; y = h.pow(2); h.data.mul_(3); y.sum().backward()",
    "for p in [w]: p.grad = p * 0 + 1; p = p - 0.5 * p.grad",
]


def test_a_fix_of_a_silent_fault_leaves_the_other_statements() -> None:
    for line in SILENT:
        text = "w = torch.tensor([1.0, 2.0], requires_grad=True)\n" + line
        recording = run_recorded(text)
        assert recording.at_error is None, text
        for found in recording.explanations:
            for fix in (one for one in found.fixes if one.how != "elsewhere"):
                whole = fixed(text, fix, FIRST)
                assert _statements(whole) >= _statements(text), whole
                run_plain(whole)


def _statements(text: str) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))


def test_a_loop_on_one_line_is_one_step() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradviz.record() as recording:
        for _ in range(3): w.exp(); w.sin()  # fmt: skip  # noqa: E701, E702
        n = 1
    lines = [step.line for step in recording.all_steps if step.kind == "line"]
    first = recording.codes[0].first_line
    assert (lines, n) == ([first, first + 1], 1)


def test_statements_of_one_line_are_compared_by_their_columns() -> None:
    text = "w = torch.ones(2, requires_grad=True); h = w.exp(); z = h.mul_(2); "
    found = explained(text + "(z + 3 * h).sum().backward()\n")
    assert found.fixes
    for fix in found.fixes:
        variables = run(fixed(text + "(z + 3 * h).sum().backward()\n", fix))
        assert is_right(variables, "w.grad", "8 * w.exp()")
