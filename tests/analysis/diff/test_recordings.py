from __future__ import annotations

from contextlib import suppress

import torch

import gradviz
from gradviz.analysis.diff.report import comparison_of
from gradviz.model import Recording


def double(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * 2


def train(zero: bool = True, hook: bool = False, keep: bool = False) -> Recording:
    a = torch.tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([a], lr=0.1)
    with gradviz.record() as recording:
        for _ in range(2):
            if zero:
                optimizer.zero_grad()
            y = a * 3
            if hook:
                y.register_hook(double)
            out = y * a
            out.backward(retain_graph=keep)
            optimizer.step()
    return recording


BASE = train()


def told(other: Recording) -> list[str]:
    return [
        f"{d.subject} {d.name}: {d.fact} {d.change}" for d in comparison_of(BASE, other).differences
    ]


def test_the_same_program_recorded_twice_does_not_differ() -> None:
    assert told(train()) == []
    assert comparison_of(BASE, Recording.from_json(BASE.to_json())).differences == ()


def test_a_line_that_did_not_run_is_told_once_with_how_often() -> None:
    assert told(train(zero=False)) == [
        "tensor a: values 0.32 → -0.88",
        "tensor a: .grad 4.8 → 16.8",
        "line optimizer.zero_grad(): ran (2 times) yes → no",
    ]


def test_a_hook_is_told_with_the_first_gradient_it_changed() -> None:
    found = told(train(hook=True))
    assert [line for line in found if not line.startswith("tensor")] == [
        "backward MulBackward0: first other gradient that arrived 2.0 → 4.0",
        "line y.register_hook(double): ran (2 times) no → yes",
        "line out.backward(retain_graph=keep): did (2 times) nothing → hook double ran at y",
    ]
    assert "tensor y: hooks none → hook double" in found


def test_what_the_same_line_did_is_compared() -> None:
    found = told(train(keep=True))
    assert found[-1] == (
        "line out.backward(retain_graph=keep): did (2 times) backward from MulBackward0 "
        "→ backward from MulBackward0; retain_graph"
    )
    assert found.count("node MulBackward0: state freed → holds") == 4


def test_another_order_of_backward_is_told_where_it_begins() -> None:
    def branches(turned: bool) -> Recording:
        a = torch.tensor([1.0], requires_grad=True)
        with gradviz.record() as recording:
            if turned:
                right = a.cos()
                left = a.sin()
            else:
                left = a.sin()
                right = a.cos()
            out = left * right
            out.backward()
        return recording

    found = comparison_of(branches(False), branches(True))
    order = [d for d in found.differences if d.subject == "backward"]
    assert [(d.name, d.fact, d.change) for d in order] == [
        ("SinBackward0", "order: ran next", "CosBackward0 → SinBackward0")
    ]
    assert not [d for d in found.differences if d.subject in ("node", "edge", "tensor")]


def test_an_error_is_told_with_what_did_not_run() -> None:
    def write(bad: bool) -> Recording:
        a = torch.tensor([2.0], requires_grad=True)
        with suppress(RuntimeError), gradviz.record() as recording:
            y = a.exp()
            if bad:
                y.add_(1)
            y.sum().backward()
        return recording

    found = comparison_of(write(False), write(True))
    told = [(d.subject, d.name, d.fact, d.change) for d in found.differences]
    assert ("backward", "ExpBackward0", "ran in backward", "1 time → 0 times") in told
    assert ("line", "y.add_(1)", "ran", "no → yes") in told
    assert ("tensor", "y", "version", "0 → 1") in told
    line = [change for _, name, _, change in told if name == "y.sum().backward()"]
    assert line == [
        "backward ran 3 nodes → backward ran 2 nodes and raised",
        "nothing → backward raised RuntimeError",
    ]


def test_a_changed_line_is_paired_with_the_one_it_stands_for() -> None:
    def power(square: bool) -> Recording:
        a = torch.tensor(3.0, requires_grad=True)
        if square:
            with gradviz.record() as recording:
                y = a * a
                y.backward()
        else:
            with gradviz.record() as recording:
                y = a * 2
                y.backward()
        return recording

    lines = [d for d in comparison_of(power(False), power(True)).differences if d.subject == "line"]
    assert [(d.fact, d.change) for d in lines] == [("text", "y = a * 2 → y = a * a")]


def test_a_recording_is_compared_with_a_graph() -> None:
    a = torch.tensor(2.0, requires_grad=True)
    with gradviz.record() as recording:
        out = (a * 3).exp()
        out.backward()
    assert not comparison_of(recording, gradviz.snapshot(out))
    found = comparison_of(recording, recording.graph_at(1))
    assert [(d.name, d.fact, d.change) for d in found.differences if d.subject == "tensor"] == [
        ("a", ".grad", "1210.0 → None")
    ]


def rank(inputs: float, is_shared: bool = False) -> Recording:
    """One of two ranks; the mean of their gradients is 5.0."""
    net = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(net.weight)
    scale = torch.ones((), requires_grad=True)
    optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
    x = torch.tensor([[inputs]])
    with gradviz.record(label=f"rank {inputs:g}") as recording:
        for _ in range(2):
            (net(x).sum() + scale).backward()
            if is_shared:
                net.weight.grad = torch.full((1, 1), 5.0)
            optimizer.step()
            optimizer.zero_grad()
    return recording


def test_gradients_of_two_ranks_are_compared_although_they_were_cleared() -> None:
    found = comparison_of(rank(4.0), Recording.from_json(rank(6.0).to_json()))
    told = [(d.name, d.fact, d.change) for d in found.differences if ".grad" in d.fact]
    assert told == [("net.weight", ".grad at optimizer step 1", "[4.0] → [6.0]")]
    assert found.title.endswith(" (rank 4 → rank 6)")


def test_gradients_that_two_ranks_share_before_the_step_do_not_differ() -> None:
    found = comparison_of(rank(4.0, is_shared=True), rank(6.0, is_shared=True))
    assert [d for d in found.differences if ".grad" in d.fact] == []
    assert found.differences
