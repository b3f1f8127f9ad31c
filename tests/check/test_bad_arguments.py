"""Every wrong argument has an error that says what it is, and what to type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import gradviz
from gradviz import check

W = torch.ones(2, requires_grad=True)
LOSS = (W * W).sum()
NO_TENSOR: list[Any] = [None, 3.0, "w", object(), LOSS.grad_fn, [], {}, [W, None], {"a": [1]}]
OF_A_TENSOR: dict[str, Callable[[Any], object]] = {
    "is_leaf": check.is_leaf,
    "is_not_leaf": check.is_not_leaf,
    "requires_grad": check.requires_grad,
    "does_not_require_grad": check.does_not_require_grad,
    "retains_grad": check.retains_grad,
    "version": lambda one: check.version(one, 0),
    "hooks": check.hooks,
    "shares_memory": lambda one: check.shares_memory(one, W),
    "shares_no_memory": lambda one: check.shares_no_memory(W, one),
    "path": lambda one: check.path(LOSS, one),
    "path of a loss": lambda one: check.path(one, W),
    "no_path": lambda one: check.no_path(LOSS, one),
    "gets_grad": lambda one: check.gets_grad(LOSS, one),
    "gets_no_grad": lambda one: check.gets_no_grad(one, W),
    "same_graph": lambda one: check.same_graph(one, W),
    "saved": lambda one: check.saved(LOSS, one),
    "modified": lambda one: check.modified(LOSS, one),
    "held": check.held,
    "freed": check.freed,
    "grad_is": lambda one: check.grad_is(one, 1.0),
    "same_grad": lambda one: check.same_grad(W, one),
    "derivative": lambda one: check.derivative(torch.exp, one),
    "learns": lambda one: check.learns(one, lambda model: None),
    "does_not_learn": lambda one: check.does_not_learn(one, lambda model: None),
}


def test_what_is_no_tensor_is_refused(subtests: pytest.Subtests) -> None:
    for name in OF_A_TENSOR:
        with subtests.test(name=name):
            for value in NO_TENSOR:
                with pytest.raises(
                    gradviz.NotATensorError, match="Type: gradviz\\.check"
                ) as caught:
                    OF_A_TENSOR[name](value)
                assert isinstance(caught.value, TypeError)


def test_without_a_tensor_a_check_does_not_pass() -> None:
    without: list[Callable[[], object]] = [check.is_leaf, lambda: check.gets_grad(LOSS)]
    for one in without:
        with pytest.raises(gradviz.NotATensorError, match="is missing"):
            one()


def test_a_module_is_no_loss_and_one_without_parameters_nothing_to_ask_about() -> None:
    with pytest.raises(gradviz.NotATensorError, match="the loss is the module Linear"):
        check.path(nn.Linear(2, 1), W)
    with pytest.raises(gradviz.NotATensorError, match="no parameters"):
        check.is_leaf(nn.ReLU())
    with pytest.raises(gradviz.NotATensorError, match="without parameters"):
        check.learns(nn.ReLU(), lambda model: None)


def own_step() -> None: ...


MODEL = nn.Linear(2, 1)


def uses_the_model(model: nn.Module) -> None:
    MODEL(torch.ones(1, 2)).sum().backward()


OPTIONS: dict[str, tuple[Callable[[], object], str]] = {
    "version": (lambda: check.version(W, -1), "whole number"),
    "version as text": (lambda: check.version(W, "1"), "whole number"),  # type: ignore[arg-type]
    "hooks": (lambda: check.hooks(W, 3), "functions or their names"),  # type: ignore[arg-type]
    "by": (lambda: check.saved(LOSS, W, W), "name of a node"),  # type: ignore[arg-type]
    "name": (lambda: check.saved(LOSS, W, name=1), "name of a saved"),  # type: ignore[arg-type]
    "saved version": (lambda: check.saved(LOSS, W, version=1.0), "whole"),  # type: ignore[arg-type]
    "rtol alone": (lambda: check.grad_is(W, 1.0, rtol=0.1), "come together"),
    "atol": (lambda: check.same_grad(W, W, rtol=0.1, atol=-1.0), "numbers from 0 on"),
    "function": (lambda: check.derivative(3, W), "takes a function of tensors"),  # type: ignore[arg-type]
    "elements": (lambda: check.derivative(torch.exp, torch.ones(300)), "256 at most"),
    "integers": (lambda: check.derivative(abs, torch.ones(2).long()), "input of floating point"),
    "results": (lambda: check.derivative(lambda x: [x], W), "one tensor, not a list"),
    "step": (lambda: check.learns(MODEL, 3), "not a function"),  # type: ignore[arg-type]
    "step without arguments": (lambda: check.learns(MODEL, own_step), "must take model"),
    "step of the model": (lambda: check.learns(MODEL, uses_the_model), "uses MODEL of your code"),
    "step of a closure": (lambda: check.learns(*closure()), "uses own of your code"),
    "optimizer": (lambda: check.learns(MODEL, print, optimizer=3), "not an optimizer"),
    "path in the model": (lambda: check.learns(MODEL, print, "fc"), "no parameter 'fc'; it has"),
    "path as tensor": (lambda: check.learns(MODEL, print, MODEL.weight), "paths in the model"),  # type: ignore[arg-type]
    "kind": (lambda: check.raises("graph fred"), "did you mean 'graph freed'"),
    "kind unlike any": (lambda: check.raises(""), "the kinds are saved tensor written"),
    "kind of another type": (lambda: check.raises(RuntimeError), "no kind"),  # type: ignore[arg-type]
    "silent kind": (lambda: check.raises("hidden write"), "torch raises nothing"),
    "recording": (lambda: check.no_leak(LOSS), "takes a Recording"),
}


def closure() -> tuple[nn.Module, Callable[[nn.Module], None]]:
    own = nn.Linear(2, 1)

    def step(model: nn.Module) -> None:
        own.zero_grad()

    return own, step


def test_a_wrong_option_is_refused(subtests: pytest.Subtests) -> None:
    for name in OPTIONS:
        with subtests.test(name=name):
            call, words = OPTIONS[name]
            with pytest.raises(gradviz.OptionError, match=words):
                call()


def test_a_value_that_is_no_gradient_is_refused() -> None:
    w = torch.ones(2, requires_grad=True)
    w.sum().backward()
    for value in ("text", [[1.0], [1.0, 2.0]], object(), {}):
        with pytest.raises(gradviz.OptionError, match="grad_is"):
            check.grad_is(w, value)
