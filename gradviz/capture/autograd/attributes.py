"""Saved scalars and sizes, and what a custom Function keeps on ``ctx``, as data."""

from __future__ import annotations

from typing import Any

import torch

from gradviz.capture.autograd.nodes import Plan
from gradviz.capture.autograd.tensors import shape_of
from gradviz.model.facts import Attribute


def attributes_of(node: Any, plan: Plan) -> tuple[tuple[str, Attribute], ...]:
    """Saved scalars and sizes, and what a custom Function keeps on ``ctx`` (F1.16, F3.02)."""
    if plan.is_function:
        kept = sorted((k, v) for k, v in vars(node).items() if isinstance(k, str))
        return tuple((name, _as_data(value)) for name, value in kept if not name.startswith("_"))
    return tuple([(name, _as_data(getattr(node, full))) for name, full in plan.scalars])


def _as_data(value: Any) -> Attribute:
    kind = type(value)
    if kind is int:
        # F3.03: a negative dim is shown as an unsigned 64-bit number.
        number: int = value
        return number if number < 2**63 else number - 2**64
    if kind is bool or value is None or kind is str:
        data: Attribute = value
        return data
    if kind is float or kind is complex:
        return as_number(value)
    if kind is tuple or kind is list:
        return tuple([_as_data(item) for item in value[:64]])
    if issubclass(kind, torch.Tensor):
        return f"{kind.__name__} {list(shape_of(value))}"
    if kind in (torch.dtype, torch.layout, torch.memory_format, torch.device):
        return str(value)
    return kind.__name__


def as_number(value: float | complex) -> bool | int | float | str:
    """A Python number as data that JSON and ``==`` can carry."""
    if isinstance(value, complex):
        return str(value).strip("()")
    if value != value or value in (float("inf"), float("-inf")):
        return str(float(value))
    return value
