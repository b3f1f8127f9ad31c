"""Calls of torch that raise, and gradients that are clipped, are told with their operands."""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model.events import Clipped, Event, OptimizerStepped, Raised, Refused


def events(recording: gradviz.Recording, kind: type[Event]) -> list[Event]:
    return [e for step in recording.all_steps for e in step.events if isinstance(e, kind)]


def test_a_call_that_raises_is_told_with_its_operands() -> None:
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError), gradviz.record() as recording:
        w.add_(1)
    (refused,) = events(recording, Refused)
    assert isinstance(refused, Refused)
    assert (refused.name, refused.type) == ("add_", "RuntimeError")
    assert [(o.text, o.tensor) for o in refused.inputs] == [("w", "t0"), ("1", None)]


def test_a_call_that_is_no_operation_is_told_too_when_it_raises() -> None:
    w = torch.ones(3, requires_grad=True)
    calls: dict[str, Callable[[Tensor], object]] = {
        "numpy": lambda t: t.numpy(),
        "requires_grad_": lambda t: t.requires_grad_(False),
        "__deepcopy__": copy.deepcopy,
        "backward": lambda t: t.backward(),
    }
    if "handle_torch_function" in inspect.getsource(torch.autograd.backward):  # not in torch 2.10
        calls["torch.autograd.backward"] = torch.autograd.backward
    for name, call in calls.items():
        y = w * 2
        with pytest.raises(RuntimeError), gradviz.record() as recording:
            call(y)
        (refused,) = events(recording, Refused)
        assert isinstance(refused, Refused)
        assert refused.name == name.rpartition(".")[2]
        assert refused.inputs[0].text == "y"


def test_tensors_in_lists_are_operands_of_their_own() -> None:
    w = torch.ones((), requires_grad=True)
    v = torch.ones((), requires_grad=True)
    with pytest.raises(RuntimeError), gradviz.record() as recording:
        torch.autograd.grad([w * 2], [w, v])
    (refused,) = events(recording, Refused)
    assert isinstance(refused, Refused)
    assert [operand.text for operand in refused.inputs[1:3]] == ["w", "v"]


def test_a_refusal_that_the_code_catches_is_told_in_its_line() -> None:
    w = torch.ones(3, requires_grad=True)
    with gradviz.record() as recording:
        try:  # noqa: SIM105
            w.add_(1)
        except RuntimeError:
            pass
        y = w * 2
    kinds = [
        [type(e) for e in step.events if isinstance(e, (Refused, Raised))]
        for step in recording.all_steps
    ]
    assert [Refused, Raised] in kinds
    assert y.grad_fn is not None


def test_clipping_tells_whose_gradients_it_found_and_whose_not() -> None:
    model = nn.Linear(2, 1)
    model.bias.requires_grad_(False)
    with gradviz.record() as recording:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        model(torch.ones(1, 2)).sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
    first, second, third = events(recording, Clipped)
    names = {info.id: info.name for info in recording.graph.tensors}
    assert isinstance(first, Clipped)
    assert isinstance(second, Clipped)
    assert isinstance(third, Clipped)
    assert [names[key] for key in first.tensors] == ["model.weight", "model.bias"]
    assert first.without == first.tensors
    assert [names[key] for key in second.without] == ["model.bias"]
    assert third.name == "clip_grad_value_"
    # It is given an iterator, which it uses up: only those with a gradient can be told.
    assert [names[key] for key in third.tensors] == ["model.weight"]


def test_an_optimizer_tells_all_its_parameters() -> None:
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradviz.record() as recording:
        optimizer.step()
    (stepped,) = events(recording, OptimizerStepped)
    assert isinstance(stepped, OptimizerStepped)
    assert stepped.parameters == stepped.skipped
    assert len(stepped.parameters) == 2


def test_a_view_that_is_made_and_written_under_no_grad_is_recorded_without_a_node() -> None:
    h = torch.ones(3, requires_grad=True) * 2
    with gradviz.record() as recording:
        with torch.no_grad():
            h[0] += 5
        h.sum().backward()
    assert recording.at_error is None
    assert h.tolist() == [7.0, 2.0, 2.0]


def refused_call(h: Tensor) -> None:
    h.retain_grad()


def test_an_error_that_passes_through_a_with_block_was_raised_in_the_call() -> None:
    def under_no_grad() -> None:
        with torch.no_grad():
            refused_call(torch.ones(3))

    with pytest.raises(RuntimeError), gradviz.record() as recording:
        under_no_grad()
    (explanation,) = recording.explanations
    assert explanation.noticed is not None
    assert explanation.noticed.text == "h.retain_grad()"


def test_a_call_that_failed_earlier_in_the_line_is_not_the_one_that_raised() -> None:
    def both() -> None:
        with torch.no_grad():
            _ = [found(fails), torch.ones(3).register_hook(print)]

    with pytest.raises(RuntimeError), gradviz.record() as recording:
        both()
    explanation = recording.explanations[-1]
    assert explanation.kind == "does not require grad"
    assert explanation.noticed is not None
    assert "register_hook(print)" in explanation.noticed.text


def found(call: Callable[[], None]) -> bool:
    with contextlib.suppress(KeyError):
        call()
        return True
    return False


def fails() -> None:
    raise KeyError
