"""One question in each form, as teachers write them."""

from __future__ import annotations

import contextlib
import io
from functools import cache

import torch

import gradviz
from gradviz.view.widgets.question import QuestionWidget


@cache
def questions() -> dict[str, QuestionWidget]:
    """By form; what they print is thrown away."""
    with contextlib.redirect_stdout(io.StringIO()):
        return {
            "choose": _choose(),
            "tick": _tick(),
            "table": _table(),
            "typed": _typed(),
            "order": _order(),
        }


def _choose() -> QuestionWidget:
    @gradviz.predict(
        "Backward is called twice. What does the second call do?",
        choose={
            "it works, and `y.grad` is all 4": "A second gradient would be added to the first.",
            "it raises RuntimeError": "The first call freed what `MulBackward0` had saved.",
            "it does nothing": "Backward always runs every node.",
        },
    )
    def twice() -> str:
        y = torch.ones(2, requires_grad=True)
        out = (y * y).sum()
        out.backward()
        out.backward()
        return "it does nothing"

    return twice


def _tick() -> QuestionWidget:
    @gradviz.predict(
        "Which of these have a `.grad` after backward?",
        tick={
            "`a`": "It is a leaf that requires grad.",
            "`b`": "It does not require grad.",
            "`c`": "It is no leaf, and nobody asked to retain its gradient.",
        },
    )
    def filled() -> list[str]:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0)
        c = a * b
        c.backward()
        return ["`a`"] if a.grad is not None and b.grad is None else []

    return filled


def _table() -> QuestionWidget:
    @gradviz.predict(
        "Fill in the flags.",
        table={
            "a": ("is_leaf", "requires_grad"),
            "b": ("is_leaf", "requires_grad"),
            "c": {
                "is_leaf": (True, False),
                "requires_grad": (True, False),
                "grad_fn": ("None", "MulBackward0"),
            },
        },
        wrong={
            "c is_leaf": "An operation made it.",
            "grad_fn": "The node is that of the operation.",
            "b": "Nobody asked for gradients of `b`.",
        },
    )
    def flags() -> dict[str, list[object]]:
        a = torch.tensor(2.0, requires_grad=True)
        b = torch.tensor(3.0)
        c = a * b
        assert c.grad_fn is not None
        return {
            "a": [a.is_leaf, a.requires_grad],
            "b": [b.is_leaf, b.requires_grad],
            "c": [c.is_leaf, c.requires_grad, c.grad_fn.name()],
        }

    return flags


def _typed() -> QuestionWidget:
    @gradviz.predict(
        "What is the gradient of `a`?",
        typed="a.grad",
        wrong={"[2, 2]": "That is `b`.", "None": "`a` is a leaf."},
        why="The gradient is `b`, and `a * b` counts twice.",
    )
    def gradient() -> torch.Tensor | None:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = torch.tensor([2.0, 2.0])
        out = (a * b + a * b).sum()
        out.backward()
        print("out is", out.item())
        return a.grad

    return gradient


def _order() -> QuestionWidget:
    @gradviz.predict(
        "In which order does backward run?",
        order={
            "`MulBackward0`": "It waits for the gradient of the sum.",
            "`AccumulateGrad`": "It ends the path.",
            "`SumBackward0`": "Backward starts at the root.",
        },
    )
    def steps() -> list[str]:
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        out = (a * a).sum()
        out.backward()
        return ["`SumBackward0`", "`MulBackward0`", "`AccumulateGrad`"]

    return steps
