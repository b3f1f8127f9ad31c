"""Gradients of a backward: each is read once, and anew when it was written."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz import ValueSummary
from gradviz.capture.recorder import gradient_values
from gradviz.model.events import Accumulated, NodeRan


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Shapes of the gradients of which numbers were computed."""
    found: list[tuple[int, ...]] = []
    summarise = vars(gradient_values)["summarise"]

    def counts(tensor: Tensor, values: bool = True) -> ValueSummary:
        if values:
            found.append(tuple(tensor.shape))
        summary: ValueSummary = summarise(tensor, values)
        return summary

    monkeypatch.setattr(gradient_values, "summarise", counts)
    return found


def gradients(recording: gradviz.Recording) -> list[tuple[str, Any]]:
    """Mean of the first gradient that each node has given, by the name of the node."""
    return [
        (recording.graph[e.node].name, e.grad_inputs[0].mean if e.grad_inputs[0] else None)
        for step in recording.all_steps
        for e in step.events
        if isinstance(e, NodeRan) and e.grad_inputs
    ]


def test_what_is_handed_on_is_read_once_views_and_grads_among_it(
    read: list[tuple[int, ...]],
) -> None:
    w = torch.arange(12.0, requires_grad=True)
    with gradviz.record() as recording:
        y = (w.view(3, 4) + 1).exp()
        z = y.sum()
        z.backward()
    # The one that backward() is called with, that of z, of y, and of what exp() was given.
    assert read == [(), (), (3, 4), (3, 4)]
    given = [e for s in recording.all_steps for e in s.events if isinstance(e, Accumulated)]
    assert given[0].after is not None
    assert given[0].after.shape == (12,)
    assert given[0].after.max == pytest.approx(float(torch.tensor(12.0).exp()), rel=1e-5)


def test_without_values_nothing_is_read(read: list[tuple[int, ...]]) -> None:
    w = torch.ones(3, requires_grad=True)
    with gradviz.record(values=False):
        (w * 2).sum().backward()
    assert read == []


def test_a_transpose_is_read_in_its_own_order(read: list[tuple[int, ...]]) -> None:
    w = torch.ones(2, 3, requires_grad=True)
    with gradviz.record():
        (w.t() * torch.ones(3, 2)).sum().backward()
    # At last .grad, which torch has copied into the order of w.
    assert read == [(), (), (3, 2), (3, 2), (2, 3), (2, 3)]


class WritesUnseen(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grads[0].numpy()[...] = 7.0
        return grads[0]


def test_what_a_function_in_python_has_written_is_read_anew() -> None:
    w = torch.ones(9, requires_grad=True)
    with gradviz.record() as recording:
        y = WritesUnseen.apply(w * 2)  # type: ignore[no-untyped-call]
        (y * 3).sum().backward()
    found = dict(gradients(recording))
    assert found["WritesUnseenBackward"] == 7.0
    assert w.grad is not None
    assert w.grad.tolist() == [14.0] * 9


def test_what_a_hook_has_written_is_read_anew() -> None:
    def writes(grad: Tensor) -> None:
        grad.data.fill_(5.0)

    w = torch.ones(9, requires_grad=True)
    with gradviz.record() as recording:
        a = w * 2
        a.register_hook(writes)
        (a * 3).sum().backward()
    assert gradients(recording)[-1][1] == 10.0


def test_a_grad_that_is_added_to_is_read_anew(read: list[tuple[int, ...]]) -> None:
    w = torch.ones(9, requires_grad=True)
    with gradviz.record() as recording:
        ((w * 2) + (w * 3)).sum().backward()
        (w * 4).sum().backward()
    given = [e for s in recording.all_steps for e in s.events if isinstance(e, Accumulated)]
    assert [(e.before and e.before.mean, e.after and e.after.mean) for e in given] == [
        (None, 5.0),
        (5.0, 9.0),
    ]
