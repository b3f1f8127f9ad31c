"""What an optimizer is going to do, read from its groups and its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.gradients import is_any_not_zero, one_number
from gradviz.model import OptionError
from gradviz.model.audit_input import GroupFacts, OptimizerFacts, UnknownTensor
from gradviz.model.devices import is_shared_out
from gradviz.model.formatting import a_kind
from gradviz.model.records import Attribute

_MOMENTUM: dict[str, tuple[str, ...]] = {
    "SGD": ("momentum_buffer",),
    "Adam": ("exp_avg",),
    "AdamW": ("exp_avg",),
}
"""Optimizers of which it is known what moves a parameter whose gradient is all zeros."""


_DEEPEST = 5
"""How many wrappers may be around each other."""


def checked(optimizer: Any) -> torch.optim.Optimizer | None:
    """The ``optimizer=`` argument: an optimizer of torch, or what wraps one.

    Wrappers, as those of accelerate and Lightning, and learning rate schedulers have it in their
    attribute ``optimizer``.

    Raises:
        OptionError: If there is no optimizer of torch in it.
    """
    inner = optimizer
    for _ in range(_DEEPEST):
        if inner is None or _is_torchs(inner):
            return None if inner is None else inner
        held = _held(inner)
        if held is None:
            break
        inner = held
    if isinstance(inner, torch.optim.Optimizer):
        return inner
    hint = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)"
    if isinstance(optimizer, torch.amp.GradScaler):
        hint = (
            "a GradScaler gets the optimizer in its step(): pass that optimizer, as to "
            "scaler.step(optimizer)"
        )
    if isinstance(optimizer, (list, tuple, dict)):
        hint = "pass the one whose step() follows this loss: gradviz.audit(loss, model, optimizer)"
    raise OptionError(
        f"optimizer= is {a_kind(optimizer)}, not an optimizer of torch. The "
        f"param_groups of an optimizer say which tensors it updates: {hint}"
    )


def _is_torchs(optimizer: Any) -> bool:
    kind = type(optimizer)
    is_one = isinstance(optimizer, torch.optim.Optimizer)
    return is_one and vars(torch.optim).get(kind.__name__) is kind


def _held(wrapper: Any) -> Any:
    """What a wrapper has as its optimizer; read from its attributes, so that no code of it runs."""
    own = getattr(wrapper, "__dict__", {})
    return next(
        (own[name] for name in ("optimizer", "_optimizer", "scheduler") if name in own), None
    )


def members(optimizer: torch.optim.Optimizer) -> Iterator[tuple[int, int, torch.Tensor]]:
    """Group, place in the group, and tensor."""
    for number, group in enumerate(optimizer.param_groups):
        for place, tensor in enumerate(group["params"]):
            yield number, place, tensor


def optimizer_facts(
    optimizer: torch.optim.Optimizer,
    parameters: Sequence[tuple[str, torch.Tensor]],
    names_of: Mapping[int, list[str]],
    ids: Mapping[int, str],
) -> OptimizerFacts:
    """Groups and settings; and which tensors are no parameter of the model.

    Args:
        optimizer: What is read.
        parameters: First path and tensor of each parameter of the model.
        names_of: Names of tensors by ``id()``.
        ids: Their ids in the graph by ``id()``.
    """
    groups = tuple(
        GroupFacts(tuple(_settings(group)), len(group["params"]))
        for group in optimizer.param_groups
    )
    replaced = _replaced(optimizer, parameters)
    own = {id(tensor) for _, tensor in parameters}
    strangers = tuple(
        UnknownTensor(
            group,
            place,
            autograd.shape_of(tensor),
            ids.get(id(tensor), ""),
            next(iter(names_of.get(id(tensor), ())), None),
            replaced.get(id(tensor)),
        )
        for group, place, tensor in members(optimizer)
        if id(tensor) not in own and not (id(tensor) in replaced and _is_shared_out(tensor))
    )
    kind = type(optimizer)
    is_known = vars(torch.optim).get(kind.__name__) is kind
    return OptimizerFacts(kind.__name__, is_known, groups, strangers)


def groups_of(
    optimizer: torch.optim.Optimizer, parameters: Sequence[tuple[str, torch.Tensor]]
) -> dict[int, int]:
    """The group of each tensor, by ``id()``.

    A DTensor has one of the parameter that has its place now: ``fully_shard`` puts whole tensors
    there while it computes with them.
    """
    groups = {id(tensor): number for number, _, tensor in members(optimizer)}
    whole, replaced = dict(parameters), _replaced(optimizer, parameters)
    for _, _, tensor in members(optimizer):
        if id(tensor) in replaced and _is_shared_out(tensor):
            groups[id(whole[replaced[id(tensor)]])] = groups[id(tensor)]
    return groups


def _is_shared_out(tensor: torch.Tensor) -> bool:
    return is_shared_out(autograd.device_of(tensor))


def _replaced(
    optimizer: torch.optim.Optimizer, parameters: Sequence[tuple[str, torch.Tensor]]
) -> dict[int, str]:
    """Which parameter now has the place that a tensor of the optimizer had when it was made.

    It is known by name, if the optimizer was given names, or by place: all tensors but those
    that were replaced are the model's, in the model's order.
    """
    own = {id(tensor) for _, tensor in parameters}
    held = [tensor for _, _, tensor in members(optimizer)]
    known = {id(tensor) for tensor in held}
    by_name = dict(parameters)
    found: dict[int, str] = {}
    for group in optimizer.param_groups:
        for path, tensor in zip(group.get("param_names", ()), group["params"]):
            other = by_name.get(path)
            if id(tensor) not in own and other is not None and id(other) not in known:
                found[id(tensor)] = path
    if len(held) != len(parameters) or found:
        return found
    for tensor, (path, other) in zip(held, parameters):
        if tensor is other:
            continue
        is_other = id(tensor) in own or id(other) in known
        if is_other or autograd.shape_of(tensor) != autograd.shape_of(other):
            return {}  # another order, so places say nothing
        found[id(tensor)] = path
    return found if len(found) < len(held) or len(held) == 1 else {}


def _settings(group: Mapping[str, Any]) -> Iterator[tuple[str, Attribute]]:
    for name, value in group.items():
        if name not in ("params", "param_names"):
            yield name, _as_data(value)


def _as_data(value: Any) -> Attribute:
    if isinstance(value, torch.Tensor):
        number = one_number(value)
        return type(value).__name__ if number is None else _as_data(number)
    if isinstance(value, (tuple, list)):
        return tuple(_as_data(item) for item in value)
    if isinstance(value, (float, complex)):
        return autograd.as_number(value)
    return value if value is None or isinstance(value, (bool, int, str)) else type(value).__name__


def moves_without_gradient(
    optimizer: torch.optim.Optimizer, number: int, parameter: torch.Tensor
) -> bool | None:
    """Whether a step changes a parameter whose ``.grad`` is all zeros; ``None`` if not known.

    Weight decay does, and so does momentum left from steps before. To be called within
    ``autograd.arithmetic()``.
    """
    keys = _MOMENTUM.get(type(optimizer).__name__)
    if keys is None:
        return None
    found: list[bool | None] = []
    if optimizer.param_groups[number].get("weight_decay"):
        found.append(is_any_not_zero(parameter))
    # get: reading a missing key of the state makes an entry.
    state = optimizer.state.get(parameter) or {}
    for key in keys:
        if isinstance(state.get(key), torch.Tensor):
            found.append(is_any_not_zero(state[key]))
    if True in found:
        return True
    return None if None in found else False
