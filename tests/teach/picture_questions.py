"""Questions that are answered in the picture of the graph, as teachers write them."""

from __future__ import annotations

import contextlib
import io
from functools import cache

import torch

import gradviz
from gradviz.view.widgets.question import QuestionWidget


@cache
def picture_questions() -> dict[str, QuestionWidget]:
    """By what is done in the picture; what they print is thrown away."""
    with contextlib.redirect_stdout(io.StringIO()):
        return {"node": _node(), "tensors": _tensors(), "edges": _edges()}


def _node() -> QuestionWidget:
    @gradviz.predict(
        "One node raises. Which?",
        click="node",
        wrong={
            "AddBackward0": "The derivative of a sum needs no saved tensor.",
            "MulBackward0": "It saved `w`, and nobody wrote to that.",
        },
        why="`ExpBackward0` saved its result `h`, and `add_` wrote to it.",
    )
    def raises() -> None:
        w = torch.ones(2, requires_grad=True)
        x = w * w
        h = x.exp()
        h.add_(1)
        h.sum().backward()

    return raises


def _tensors() -> QuestionWidget:
    @gradviz.predict(
        "Which tensors have a `.grad` afterwards?",
        click="tensors",
        wrong={"b": "It does not require grad.", "out": "Nobody asked to retain it."},
    )
    def filled() -> list[torch.Tensor]:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0)
        y = a * b
        y.retain_grad()
        out = y.exp()
        out.backward()
        return [t for t in (a, b, y, out) if (t.is_leaf or t.retains_grad) and t.grad is not None]

    return filled


def _edges() -> QuestionWidget:
    @gradviz.predict(
        "Type the gradient on each edge.",
        edges="all",
        wrong={"MulBackward0 -> a": "The derivative of `a * b` with respect to `a` is `b`."},
        why="`a` is used twice: its gradients are added, 3 and 1.",
    )
    def passed() -> None:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0, requires_grad=True)
        y = a * b
        out = y + a
        out.backward()

    return passed
