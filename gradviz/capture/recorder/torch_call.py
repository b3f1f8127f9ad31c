"""A call of torch: its name, what goes in, and whether it is an operation."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import torch
from torch.overrides import resolve_name

from gradviz.capture.naming import is_tensor
from gradviz.model.events import Position

LEAVES_TORCH: Final = frozenset(
    {
        "item",
        "tolist",
        "numpy",
        "__float__",
        "__int__",
        "__bool__",
        "__index__",
        "__complex__",
        "__array__",
        "__dlpack__",
        "__contains__",
        "__format__",
    }
)
"""Functions whose result is not a tensor of torch any more."""
_GETTERS: Final = frozenset({"data", "T", "H", "mT", "mH", "real", "imag"})
"""Properties of a tensor that are operations."""
_NO_OPERATION: Final = frozenset(
    {
        "__deepcopy__",
        "__dir__",
        "__hash__",
        "__iter__",
        "__len__",
        "__reduce_ex__",
        "__repr__",
        "__str__",
        "_is_view",
        "allclose",
        "backward",
        "data_ptr",
        "dim",
        "element_size",
        "equal",
        "get_device",
        "grad",
        "has_names",
        "is_complex",
        "is_contiguous",
        "is_floating_point",
        "is_nonzero",
        "is_pinned",
        "is_same_size",
        "is_shared",
        "ndimension",
        "nelement",
        "numel",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "requires_grad_",
        "retain_grad",
        "share_memory_",
        "size",
        "storage_offset",
        "stride",
        "type",
        "untyped_storage",
    }
)
"""Methods that make no tensor, or whose effect is read from the state afterwards."""


@dataclass
class TorchCall:
    """One call of torch."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    tensors: list[torch.Tensor] = field(default_factory=list)
    """Tensors among the arguments."""
    versions: list[int | None] = field(default_factory=list)
    required: list[bool] = field(default_factory=list)
    """Which of them required grad before the call."""
    result: Any = None
    is_getter: bool = False
    is_setter: bool = False
    position: Position | None = None
    """The expression that called it."""
    function: Any = None
    """What was called, where that is known."""


_names: dict[Any, tuple[str, bool, bool]] = {}
# NOTE [Warnings that were shown]
# resolve_name() silences warnings for as long as it runs. After that Python has forgotten which
# warnings it has shown, and shows them again (F6.16). The function inside does so only when it
# makes its table, as it does here, for any argument.
resolve_name(len)
_name_of_function = inspect.unwrap(resolve_name)


def name_of(function: Any) -> tuple[str, bool, bool]:
    """Short name of a function of torch; whether it gets, or sets, a property."""
    try:
        return _names[function]
    except (KeyError, TypeError):
        pass
    whole = _name_of_function(function) or getattr(function, "__name__", "") or "a function"
    parts = str(whole).split(".")
    getter, setter = parts[-1] == "__get__", parts[-1] in ("__set__", "__delete__")
    name = parts[-2] if (getter or setter) and len(parts) > 1 else parts[-1]
    found = _names[function] = (name, getter, setter)
    return found


def is_operation(call: TorchCall) -> bool:
    """Whether a call may make, change or lead out a tensor."""
    if call.is_getter:
        return call.name in _GETTERS
    if call.is_setter:
        return call.name == "data"
    return call.name not in _NO_OPERATION


def writes_by_name(call: TorchCall) -> bool:
    """Whether a call writes a tensor that it is given, by the rules for names of functions."""
    is_in_place = call.name.endswith("_") or call.name.startswith("__i") or "out" in call.kwargs
    return call.is_setter or is_in_place or call.name == "__setitem__"


def tensors_in(value: Any, depth: int = 2) -> Iterator[torch.Tensor]:
    """Tensors among arguments or results, also in lists, tuples and dicts."""
    if is_tensor(value):
        yield value
    elif depth and isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item, depth - 1)
    elif depth and isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item, depth - 1)
