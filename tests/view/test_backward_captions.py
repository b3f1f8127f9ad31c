"""What captions say inside backward, of real recordings."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.model import Recording
from gradviz.model.arrivals import arrivals
from gradviz.model.events import NodeRan
from gradviz.view.captions.details import all_details

SUM = re.compile(r"(?:^|: |; )([^:;=≈\n]* from [^:;=≈\n]*) ([=≈]) (\S+) arrived", re.MULTILINE)


def one_number(value: float = 2.0) -> torch.Tensor:
    return torch.tensor(value, requires_grad=True)


def told(recording: Recording) -> str:
    return "\n".join(all_details(recording))


def reused() -> Recording:
    x = one_number()
    with gradviz.record() as recording:
        a = x * 3
        b = a * 5
        c = a + b
        c.backward()
        (x * x).backward()
    return recording


def many_numbers() -> Recording:
    x = torch.ones(20, requires_grad=True)
    with gradviz.record() as recording:
        y = x * 2
        (y * y + y).sum().backward()
    return recording


def hooked() -> Recording:
    x = one_number()
    with gradviz.record() as recording:
        y = x * x
        z = y * 3 + y
        y.register_hook(lambda grad: grad / 2)
        z.backward()
    return recording


def outputs() -> Recording:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        a, b = x.unbind()
        c = a * b
        (c + a).backward()
    return recording


def given_twice() -> Recording:
    x = one_number()
    with gradviz.record() as recording:
        y = x * 3
        z = y * 2
        torch.autograd.backward([y, z])
    return recording


def of_complex() -> Recording:
    z = torch.tensor([1 + 2j, 1 / 3 - 0.1j], requires_grad=True)
    with gradviz.record() as recording:
        (z * z).abs().sum().backward()
    return recording


def of_matrices() -> Recording:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with gradviz.record() as recording:
        (a @ a).sum().backward()
    return recording


def of_loop() -> Recording:
    w = one_number(0.5)
    with gradviz.record() as recording:
        s = w
        for _ in range(3):
            s = w * s
        s.backward()
        del s
    return recording


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.factor = 2
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * cast(int, ctx.factor)


def custom() -> Recording:
    x = one_number()
    with gradviz.record() as recording:
        Double.apply(x).backward()  # type: ignore[no-untyped-call]
    return recording


def checkpointed(use_reentrant: bool) -> Recording:
    x = one_number()

    def part(x: torch.Tensor) -> torch.Tensor:
        return (x * x).sin()

    with gradviz.record() as recording:
        y = checkpoint(part, x, use_reentrant=use_reentrant)
        y.backward()
    return recording


def stepped_in_hook() -> Recording:
    w = one_number()

    def step(p: torch.Tensor) -> None:
        assert p.grad is not None
        p.grad.mul_(10)
        with torch.no_grad():
            p -= p.grad

    with gradviz.record() as recording:
        w.register_post_accumulate_grad_hook(step)
        (w * 3).backward()
    return recording


def test_captions_inside_backward_say(subtests: pytest.Subtests) -> None:
    for program, words in [
        (reused, r"1\.0 from AddBackward0 \+ 5\.0 from MulBackward0 of line \d+ = 6\.0 arrived"),
        (reused, r"2\.0 \+ 2\.0 from MulBackward0 of line \d+ = 4\.0 arrived at x"),
        (reused, r"the gradient was added to x\.grad: 18\.0 \+ 4\.0 = 22\.0"),
        (
            many_numbers,
            r"gradient \(20,\) norm 22\.36 \(3 were added, from AddBackward0 and "
            r"MulBackward0 of line \d+ twice\) arrived",
        ),
        (
            hooked,
            r"1\.0 from AddBackward0 \+ 3\.0 from MulBackward0 of line \d+ arrived; hook "
            r"\S+ of y replaced the gradient with 2\.0; .*: it got gradient 2\.0",
        ),
        (outputs, r"output 0: 1\.0 from AddBackward0 \+ 2\.0 from MulBackward0 = 3\.0"),
        (given_twice, r"1\.0 from the start of backward \+ 2\.0 from MulBackward0 .*= 3\.0 arr"),
        (
            of_matrices,
            r"\[\[1\.0, 1\.0\], \[1\.0, 1\.0\]\] @ \[\[1\.0, 2\.0\], \[3\.0, 4\.0\]\]ᵀ "
            r"= \[\[3\.0, 7\.0\], \[3\.0, 7\.0\]\] went to a",
        ),
        (of_loop, r"gradient \S+ arrived at MulBackward0 \(turn 3\), which reads"),
        (of_loop, r"ran: s = w \* s made MulBackward0, which saved"),
        (of_loop, r"3 MulBackward0 no longer exist$"),
        (
            custom,
            r"DoubleBackward saved no tensors with save_for_backward, but has ctx\.factor: "
            r".*; torch marks the node as freed all the same",
        ),
        (
            lambda: checkpointed(False),
            "checkpoint had not kept the saved tensors of this part of "
            "the code, so it ran mul.* again to compute them; SinBackward0 used",
        ),
        (
            lambda: checkpointed(True),
            "checkpoint had kept only its inputs, so it ran mul and sin "
            "again, now with a graph; backward 2 starts",
        ),
        (
            stepped_in_hook,
            r"post-accumulate-grad hook \S+ ran after w\.grad was written and "
            r"changed it: 3\.0 became 30\.0",
        ),
        (stepped_in_hook, r"sub_ wrote w in place: 2\.0 → -28\.0"),
    ]:
        with subtests.test(program=program, words=words):
            said = told(program())
            assert re.search(words, said, re.MULTILINE), said


def test_captions_inside_backward_do_not_say(subtests: pytest.Subtests) -> None:
    for program, words in [
        (hooked, "= 4.0 arrived; hook"),  # what a hook got is not recorded
        (of_loop, "(turn 3) of"),
        (custom, "freed its saved tensors;"),
        (custom, "node freed"),
        (stepped_in_hook, "as before"),
        (lambda: checkpointed(False), "again to compute them; MulBackward0"),
    ]:
        with subtests.test(program=program, words=words):
            assert words not in told(program())


def test_complex_numbers_have_few_digits() -> None:
    found = re.findall(r"[\d.]+[+-][\d.]+j", told(of_complex()))
    assert found
    assert all(len(re.sub(r"\D", "", part)) <= 7 for one in found for part in re.split("[+-]", one))


def test_gradients_of_another_backward_do_not_meet() -> None:
    recording = reused()
    leaf = next(node for node in recording.graph.nodes if node.variable is not None)
    sums = [
        [_only(one.gradient.values) for one in arrivals(recording.history, number, leaf.id)
         if one.gradient is not None]
        for number in (1, 2)
    ]  # fmt: skip
    assert sums == [[18.0], [2.0, 2.0]]


def run_program(instructions: list[tuple[str, int, int]]) -> Recording:
    values = [one_number(1.5), one_number(-0.7)]
    with gradviz.record() as recording:
        for name, left, right in instructions:
            values.append(
                getattr(torch, name)(values[left % len(values)], values[right % len(values)])
            )
        values[-1].backward()
    return recording


instructions = st.lists(
    st.tuples(st.sampled_from(["add", "sub", "mul"]), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=7,
)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(instructions)
def test_the_parts_of_a_sum_add_up_to_what_the_node_got(
    program: list[tuple[str, int, int]],
) -> None:
    recording = run_program(program)
    for events in (facts.events for facts in recording.records):
        for event in events:
            if not isinstance(event, NodeRan):
                continue
            several = arrivals(recording.history, event.backward, event.node)
            came = event.grad_outputs[0]
            if came is None or came.values is None:
                continue
            parts = [1.0 if one.gradient is None else _only(one.gradient.values) for one in several]
            assert sum(parts) == pytest.approx(_only(came.values), rel=1e-5, abs=1e-5)
    for parts_said, sign, total_said in SUM.findall(told(recording)):
        numbers = re.findall(r"-?\d[\d.]*(?:e[+-]\d+)?", _without_names(parts_said))
        added, total = sum(map(float, numbers)), float(total_said)
        if sign == "=":
            assert float(f"{added:.4g}") == total
        else:
            assert added == pytest.approx(total, rel=5e-3)


def _only(values: object) -> float:
    assert isinstance(values, tuple)
    return float(values[0])


def _without_names(words: str) -> str:
    """The numbers of a sum, without the names of nodes in brackets."""
    return re.sub(r"from \w+(?: of [\w. ]*?line \d+)?(?: \([^)]*\))?", "from", words)
