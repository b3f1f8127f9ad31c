"""Checks of programs, and of random ones, agree with torch; and looking changes nothing."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor, nn

import gradviz
from gradviz import check
from tests.programs import PROGRAMS, Program, named
from tests.truth.test_random_programs import Machine, has_a_place, programs
from tests.truth.walk import Slot, all_nodes, root_of, slots_of

Answer = bool | None
"""Whether it holds; ``None``: not known."""


def asked(one: Callable[..., object], *args: Any, **options: Any) -> Answer:
    try:
        assert one(*args, **options)
    except gradviz.CheckFailed as error:
        return None if "not known" in error.found else False
    return True


def both(yes: Answer, no: Answer, truth: bool) -> None:
    """Two opposite checks say the same, and what they say is so."""
    assert (yes, no) in {(truth, not truth), (None, None)}


def reached(loss: Tensor, tensor: Tensor) -> bool:
    """Whether a gradient of the loss arrives at the tensor, by torch's own edges."""
    if not tensor.requires_grad:
        return False
    target = root_of(tensor)
    edges = {root_of(loss)}
    edges |= {(n, nr) for node in all_nodes([root_of(loss)[0]]) for n, nr in node.next_functions}
    return target in edges


def slots(loss: Tensor) -> list[Slot]:
    return [slot for node in all_nodes([root_of(loss)[0]]) for slot in slots_of(node)]


def compare_flags(tensor: Tensor) -> None:
    both(asked(check.is_leaf, tensor), asked(check.is_not_leaf, tensor), tensor.is_leaf)
    is_on = asked(check.requires_grad, tensor), asked(check.does_not_require_grad, tensor)
    both(*is_on, tensor.requires_grad)
    assert asked(check.retains_grad, tensor) == tensor.retains_grad
    if not tensor.is_inference():
        assert asked(check.version, tensor, tensor._version)
        assert not asked(check.version, tensor, tensor._version + 1)


def compare_graph(loss: Tensor, tensor: Tensor) -> None:
    both(asked(check.path, loss, tensor), asked(check.no_path, loss, tensor), reached(loss, tensor))
    seen = slots(loss)
    has_saved = asked(check.saved, loss, tensor)
    if has_saved:
        memory = [one.tensor for one in seen if one.tensor is not None]
        assert any(asked(check.shares_memory, tensor, one) is not False for one in memory)
    elif has_saved is False:
        assert not any(one.tensor is tensor for one in seen)


def compare_state(loss: Tensor) -> None:
    states = {slot.state for slot in slots(loss)}
    held, freed = asked(check.held, loss), asked(check.freed, loss)
    modified = asked(check.modified, loss)
    assert not (held and freed)
    if freed:
        assert states <= {"freed", "none"}
    if held:
        assert not states & {"freed", "modified"}
    if modified:
        assert states & {"modified", "held or modified"}
    elif modified is False:
        assert "modified" not in states


def compare_gradients(loss: Tensor, tensors: list[Tensor]) -> None:
    """What the checks say before backward has run is what torch gives."""
    said = [(asked(check.gets_grad, loss, t), asked(check.gets_no_grad, loss, t)) for t in tensors]
    try:
        grads = torch.autograd.grad(
            loss, tensors, torch.ones_like(loss), allow_unused=True, materialize_grads=False
        )
    except RuntimeError:
        return
    for (yes, no), grad in zip(said, grads):
        both(yes, no, grad is not None)


@settings(max_examples=5)
@given(programs)
def test_checks_of_any_program_say_what_torch_says(
    instructions: list[tuple[str, int, int]],
) -> None:
    compare_with_torch(instructions)


@pytest.mark.exhaustive
@settings(max_examples=200)
@given(programs)
def test_checks_of_many_programs_say_what_torch_says(
    instructions: list[tuple[str, int, int]],
) -> None:
    compare_with_torch(instructions)


def compare_with_torch(instructions: list[tuple[str, int, int]]) -> None:
    machine = Machine()
    machine.run(instructions)
    pool = [tensor for tensor in machine.pool if has_a_place(tensor)]
    outputs = [tensor for tensor in machine.outputs() if has_a_place(tensor)]
    if not outputs:
        return
    loss = outputs[-1]
    for tensor in pool[:1] + pool[-2:]:
        compare_flags(tensor)
        compare_graph(loss, tensor)
    compare_state(loss)
    leaves = [one for one in pool if one.is_leaf and one.requires_grad and one is not loss]
    if leaves:
        compare_gradients(loss, leaves[:3])


SMALL = [one for one in PROGRAMS if one.name != "deep_chain" and not one.is_slow]
FEW = ["stale_view", "views_share_storage", "partially_freed", "inplace_in_list", "cat_and_stack"]


@pytest.mark.parametrize("program", [named(name) for name in FEW], ids=str)
def test_a_program_can_be_asked_everything(program: Program) -> None:
    ask_everything(program)


@pytest.mark.exhaustive
@pytest.mark.parametrize("program", SMALL, ids=str)
def test_every_program_can_be_asked_everything(program: Program) -> None:
    ask_everything(program)


def ask_everything(program: Program) -> None:
    built = program.build()
    loss = built.outputs[-1]
    for tensor in built.names.values():
        for one in (check.is_leaf, check.is_not_leaf, check.requires_grad, check.retains_grad):
            asked(one, tensor)
        for one in (check.path, check.no_path, check.gets_grad, check.gets_no_grad):
            asked(one, loss, tensor)
        asked(check.saved, loss, tensor)
        asked(check.modified, loss, tensor)
        asked(check.shares_memory, loss, tensor)
        asked(check.version, tensor, 0)
        asked(check.hooks, tensor)
        asked(check.grad_is, tensor, 1.0)
        asked(check.same_grad, loss, tensor)
    for output in built.outputs:
        compare_state(output)
    assert check.same_graph(loss, gradviz.snapshot(loss))


def test_a_step_runs_on_a_copy_and_nothing_of_the_model_changes() -> None:
    model: Any = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Dropout(), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    x = torch.randn(4, 2)
    calls = []
    model[0].weight.register_hook(lambda grad: calls.append(1))

    def step(model: nn.Module, optimizer: Any) -> None:
        random.random()
        optimizer.zero_grad()
        model(torch.rand(4, 2)).sum().backward()
        optimizer.step()

    model(x).sum().backward()
    optimizer.step()
    before = copy.deepcopy((model.state_dict(), optimizer.state_dict()))
    versions = [tensor._version for tensor in (*model.parameters(), *model.buffers())]
    grads = [tensor.grad for tensor in model.parameters()]
    of_torch, of_python = torch.get_rng_state(), random.getstate()
    check.learns(model, step, optimizer=optimizer)
    assert len(calls) == 2  # the copy has the hook
    assert versions == [tensor._version for tensor in (*model.parameters(), *model.buffers())]
    assert all(one is tensor.grad for one, tensor in zip(grads, model.parameters()))
    torch.testing.assert_close((model.state_dict(), optimizer.state_dict()), before)
    assert torch.equal(of_torch, torch.get_rng_state())
    assert of_python == random.getstate()


def test_a_hook_that_clears_a_gradient_keeps_its_parameter_from_learning() -> None:
    model = nn.Linear(2, 1)
    model.weight.register_hook(torch.zeros_like)

    def step(model: nn.Module) -> None:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()

    assert check.does_not_learn(model, step, "weight")
    assert check.learns(model, step, "bias")
