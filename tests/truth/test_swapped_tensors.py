"""``torch.utils.swap_tensors``, which torch refuses for tensors that have weak references."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import gradviz
from gradviz.model.events import HookChanged, Note, Operation, Write
from tests.truth.recorded import (
    Seen,
    Story,
    assert_same,
    bits,
    error_of,
    facts,
)

STORIES: list[Story] = []


def story(function: Story) -> Story:
    STORIES.append(function)
    return function


def swap(one: Any, other: Any) -> Any:
    """How torch ends a swap."""
    return error_of(torch.utils.swap_tensors, one, other)


@pytest.fixture(autouse=True)
def conversion_as_before() -> Iterator[None]:
    before = torch.__future__.get_swap_module_params_on_conversion()
    yield
    torch.__future__.set_swap_module_params_on_conversion(before)


class Kind(Tensor):
    pass


class Marked(Tensor):
    __slots__ = ("mark",)
    mark: str


@story
def tensors_of_all_kinds_are_swapped(block: Any, seen: Seen) -> None:
    before = torch.ones(2, requires_grad=True)
    plain = torch.arange(3.0)
    kind = torch.zeros(2).as_subclass(Kind)
    marked = [torch.full((n,), float(n)).as_subclass(Marked) for n in (1, 2)]
    with block:
        inside = before * 2
        errors = [swap(before, plain)]
        errors.append(swap(inside, kind))
        errors.append(swap(plain, plain))
        marked[0].mark = "first"
        errors.append(swap(*marked))
        view = torch.ones(2, 2, requires_grad=True)[0]
        detached = view.detach()
        view.retain_grad()
        errors.append(swap(view, detached))
        plain.register_hook(lambda grad: grad * 2)
        (plain * 3).sum().backward()
        detached.sum().backward()
        kind.sum()
    seen["errors"] = errors
    seen["types"] = [type(t) for t in (before, plain, inside, kind, *marked)]
    seen["slots"] = [getattr(t, "mark", None) for t in marked]
    seen["facts"] = [facts(t) for t in (before, plain, view, detached)]


@story
def what_torch_refuses_is_refused(block: Any, seen: Seen) -> None:
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2)
    other: Any = torch.ones(1).as_subclass(Marked)
    with block:
        product = x * 2
        reference = weakref.ref(x)
        seen["weak reference"] = swap(x, y), swap(y, x)
        del reference
        seen["slots"] = swap(x, other)
        seen["no tensors"] = swap(x, 1), swap(None, None)
        view = product[0]
        seen["in use"] = swap(product, y)
        x.grad = torch.ones(2)
        seen["gradient in use"] = swap(x.grad, y)
        del view
        product.sum().backward()
    seen["facts"] = [facts(t) for t in (x, y, product)]


@story
def a_graph_of_a_swapped_leaf_refuses_backward(block: Any, seen: Seen) -> None:
    x, y = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    with block:
        product = (x * 2).sum()
        seen["swap"] = swap(x, y)
        seen["backward"] = error_of(product.backward)
        x.exp().sum().backward()
    seen["facts"] = [facts(x), facts(y)]


@story
def a_hook_swaps(block: Any, seen: Seen) -> None:
    x = torch.ones(2, requires_grad=True)
    one, other = torch.zeros(1), torch.zeros(3)
    errors = []
    with block:
        y = x * 2
        y.register_hook(lambda grad: errors.append(swap(one, other)))
        y.register_hook(lambda grad: errors.append(swap(grad, other)))
        y.sum().backward()
    seen["errors"] = errors
    seen["facts"] = [facts(x), facts(one), facts(other)]


@story
def modules_are_converted_by_swapping(block: Any, seen: Seen) -> None:
    torch.__future__.set_swap_module_params_on_conversion(True)
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    late, recurrent = nn.Linear(2, 2), nn.GRU(2, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    parameters = list(model.parameters())
    with block:
        model(torch.ones(4, 2)).sum().backward()
        seen["gradients"] = [bits(p.grad) for p in parameters if p.grad is not None]
        model.double()
        optimizer.step()
        loss = model(torch.ones(4, 2, dtype=torch.float64)).sum()
        seen["converted before backward"] = error_of(model.float), error_of(loss.backward)
        optimizer.zero_grad()
        model.load_state_dict(model.state_dict())
        late.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.ones(2)}, assign=True)
        late.to(torch.float16)
        late.to_empty(device="meta")
        recurrent.double()
    seen["same"] = [p is q for p, q in zip(model.parameters(), parameters, strict=True)]
    seen["facts"] = [facts(p) for p in parameters]
    seen["late"] = [(p.dtype, p.device.type) for p in (*late.parameters(), *recurrent.parameters())]


@pytest.mark.parametrize("told", STORIES, ids=lambda one: one.__name__)
def test_tensors_are_swapped_as_without_a_recording(told: Story) -> None:
    assert_same(told)


def test_a_recording_says_which_tensors_were_swapped_and_nothing_of_how() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.zeros(3)
    with gradviz.record() as recording:
        y = a * 2
        torch.utils.swap_tensors(a, b)
    step = recording.all_steps[-1]
    said = [event for event in step.events if isinstance(event, (Note, Operation))]
    text = "swap_tensors exchanged contents: a and b now hold those of other tensors"
    assert said == [Note("tensors swapped", text)]
    rows = {row.name: row for row in step.tensors}
    before = {row.name: row for row in recording.all_steps[-2].tensors}
    for one, other in (("a", "b"), ("b", "a")):
        assert rows[one].id == before[one].id
        assert rows[one].storage == before[other].storage
        assert rows[one].node == before[other].node
    (accumulator,) = (node for node in step.graph.nodes if node.variable is not None)
    assert accumulator.variable == rows["b"].id
    hooks = [event.hook.name for event in step.events if isinstance(event, HookChanged)]
    assert len(hooks) == 1
    assert hooks[0].endswith("error_pre_hook")
    del y


def test_how_a_tensor_was_made_is_told_of_the_one_that_has_its_content_now() -> None:
    a = torch.ones(2)
    with gradviz.record() as recording:
        b = a.detach()
        c = torch.zeros(3)
        torch.utils.swap_tensors(b, c)
        c.add_(1)
        b.add_(1)
    writes = [e for s in recording.all_steps for e in s.events if isinstance(e, Write)]
    assert [(write.by, write.through) for write in writes] == [("add_", "detach"), ("add_", "")]
