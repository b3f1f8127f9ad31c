"""Saved scalars and sizes, and what a custom Function keeps on ``ctx``, as data."""

from __future__ import annotations

import math
from typing import Any, Final

import torch

from gradviz.capture.autograd.nodes import Plan
from gradviz.capture.autograd.tensors import shape_of
from gradviz.model.records import Attribute

_LONGEST: Final = 256
"""Bits of an integer that is shown with all its digits."""
_DEEPEST: Final = 4
"""How deep lists in lists are shown."""


def attributes_of(node: Any, plan: Plan) -> tuple[tuple[str, Attribute], ...]:
    """Saved scalars and sizes, and what a custom Function keeps on ``ctx`` (F1.16, F3.02)."""
    if plan.is_function:
        kept = sorted((k, v) for k, v in vars(node).items() if isinstance(k, str))
        return tuple((name, _as_data(value)) for name, value in kept if not name.startswith("_"))
    return tuple([(name, _scalar(getattr(node, full))) for name, full in plan.scalars])


_INTS: Final = frozenset((int,))


def _is_signed(value: tuple[int, ...]) -> bool:
    return min(value) >= -(2**63) and max(value) < 2**63


def _scalar(value: Any) -> Attribute:
    """The same as ``_as_data(_signed(value))``; most values are sizes or flags."""
    kind = type(value)
    if kind is bool or value is None:
        data: Attribute = value
        return data
    if kind is tuple and _INTS.issuperset(map(type, value)) and (not value or _is_signed(value)):
        return value[:64]  # type: ignore[no-any-return]
    return _as_data(_signed(value))


def _signed(value: Any) -> Any:
    """Undo F3.03: torch shows a negative dim as an unsigned 64-bit number."""
    if type(value) is int:
        return value if value < 2**63 else value - 2**64
    if type(value) is tuple and value and type(value[0]) is int:
        return tuple([_signed(item) for item in value])
    return value


def _as_data(value: Any, depth: int = 0) -> Attribute:
    kind = type(value)
    if kind is int:
        number: int = value
        return number if number.bit_length() <= _LONGEST else f"int of {number.bit_length()} bits"
    if kind is bool or value is None or kind is str:
        data: Attribute = value
        return data
    if kind is float or kind is complex:
        return as_number(value)
    if (kind is tuple or kind is list) and depth < _DEEPEST:
        return tuple([_as_data(item, depth + 1) for item in value[:64]])
    if issubclass(kind, torch.Tensor):
        return f"{kind.__name__} {list(shape_of(value))}"
    if kind in (torch.dtype, torch.layout, torch.memory_format, torch.device):
        return str(value)
    return kind.__name__


def as_text(value: bool | int | float | complex) -> str:
    """A Python number as text of a few characters."""
    return repr(_as_data(value)) if isinstance(value, int) else repr(value)


def as_number(value: float | complex) -> bool | int | float | str:
    """A Python number as data that JSON and ``==`` can carry."""
    if isinstance(value, complex):
        return str(value).strip("()")
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    return value
