"""What a program left, as values that can be compared and shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from gradviz.model.formatting import a_kind, numbers, shape
from gradviz.model.records import Number
from gradviz.view.formatting import nested
from gradviz.view.text import clean, shorten

RELATIVE: Final = 1e-5
"""How much a number may differ, so that a right program may compute it in another order."""
ABSOLUTE: Final = 1e-6
DIGITS: Final = 4
READ: Final = 8
"""Up to how many numbers are all shown."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor or a number, without autograd; anything else in words."""

    numbers: tuple[Number, ...] = ()
    sizes: tuple[int, ...] | None = None
    """``None`` for what is no tensor and no number."""
    dtype: str = ""
    """Of a tensor."""
    text: str = ""
    """Of what has no numbers."""

    @property
    def words(self) -> str:
        """In a few words, the same on every device."""
        return self.in_words(DIGITS)

    def in_words(self, digits: int) -> str:
        """In a few words, numbers with so many significant digits."""
        if self.sizes is None:
            return self.text
        many = len(self.numbers)
        found = nested(self.numbers, self.sizes, digits) if many <= READ else _some(self)
        return found if self.dtype in ("", "float32", "int64", "bool") else f"{found} {self.dtype}"


def value_of(thing: object) -> Value:
    """A value to compare and show.

    Examples:
        >>> value_of(torch.ones(2, requires_grad=True)).words, value_of(None).words
        ('[1.0, 1.0]', 'None')
    """
    if isinstance(thing, torch.Tensor):
        plain = thing.detach().cpu()
        dtype = str(plain.dtype).removeprefix("torch.")
        read = tuple(map(_number, plain.resolve_conj().resolve_neg().reshape(-1).tolist()))
        return Value(read, tuple(plain.shape), dtype)
    if isinstance(thing, (bool, int, float, complex)):
        return Value((_number(thing),), ())
    if thing is None or isinstance(thing, str):
        return Value(text=clean(repr(thing)))
    if isinstance(thing, (tuple, list)) and all(isinstance(one, (int, float)) for one in thing):
        return Value(text=shorten(repr(thing), 60))
    return Value(text=clean(a_kind(thing)))


def _number(found: bool | int | float | complex) -> Number:
    return f"{found:.9g}" if isinstance(found, complex) else found


def _some(value: Value) -> str:
    return f"{shape(value.sizes)} {numbers(value.numbers, value.sizes or (), room=48)}"


def is_same(one: Value, other: Value) -> bool:
    """Whether two values are the same but for rounding, and of the same precision.

    A number and a tensor of one element are the same. Of tensors the shape counts.

    Examples:
        >>> is_same(value_of(0.5), value_of(torch.tensor(0.5)))
        True
        >>> is_same(value_of(torch.ones(1)), value_of(torch.ones(1, dtype=torch.float64)))
        False
    """
    if one.sizes is None or other.sizes is None:
        return one == other
    floats = all("float" in value.dtype for value in (one, other))
    if one.sizes != other.sizes or (floats and one.dtype != other.dtype):
        return False
    return all(map(_is_close, one.numbers, other.numbers))


def _is_close(one: Number, other: Number) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def values_of_given(given: Mapping[str, Any]) -> dict[str, Value]:
    """Tensors that can get a gradient, and the parameters of modules: each with its ``.grad``."""
    found: dict[str, Value] = {}
    for name, thing in given.items():
        for own, tensor in _trainable(name, thing):
            found[own] = value_of(tensor)
            found[f"{own}.grad"] = value_of(tensor.grad)
    return found


def _trainable(name: str, thing: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(thing, torch.nn.Module):
        for own, parameter in thing.named_parameters():
            yield f"{name}.{own}", parameter
    elif isinstance(thing, torch.Tensor) and thing.is_leaf and thing.requires_grad:
        yield name, thing


def values_of_returned(thing: Any, name: str = "returned") -> dict[str, Value]:
    """What the program returned, part by part; of a tensor with a ``.grad`` that too.

    Examples:
        >>> {name: value.words for name, value in values_of_returned({"h": 1.0}).items()}
        {"returned['h']": '1.0'}
    """
    if isinstance(thing, Mapping):
        parts = [(f"{name}[{key!r}]", part) for key, part in thing.items()]
    elif isinstance(thing, (list, tuple)):
        parts = [(f"{name}[{place}]", part) for place, part in enumerate(thing)]
    else:
        found = {name: value_of(thing)}
        keeps = isinstance(thing, torch.Tensor) and (thing.is_leaf or thing.retains_grad)
        if keeps and thing.grad is not None:
            found[f"{name}.grad"] = value_of(thing.grad)
        return found
    return {own: value for at, part in parts for own, value in values_of_returned(part, at).items()}
