"""What code of the user's that runs in a backward may do to the ``.grad`` of tensors."""

from __future__ import annotations

import builtins
import dis
import sys
from collections import ChainMap, deque
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from itertools import pairwise
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    NoneType,
)
from typing import Any, Final, Literal, TypeAlias
from weakref import ref

import torch

Effect: TypeAlias = Literal["", "gives", "own", "changes"]
"""``""``: none; ``"gives"``: it may give gradients, as another backward does; ``"own"``: it sets
the ``.grad`` of the tensor that it gets, and no other; ``"changes"``: it may give and clear any."""

_PLAIN: Final = (
    *(bool, int, float, complex, str, bytes, NoneType, torch.Tensor, torch.nn.Parameter),
    *(torch.Size, torch.dtype, torch.device),
)
"""Types of values that lead to no others."""
_CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque)
_NAMES: Final = {name for one in (*_PLAIN, *_CONTAINERS) for name in dir(one)}
"""Names that values of those types have, as results of calls are."""
_BY_TEXT: Final = (setattr, delattr, getattr, exec, eval)
"""Functions that do what a text says."""
_OWN: Final = sys.stdlib_module_names | {"torch", "gradviz"}
"""Packages that change a ``.grad`` only in functions that say so themselves."""
_MOST: Final = 500
"""How many values are followed."""


def effect_of(*given: Any) -> Effect:
    """What a function may do to the ``.grad`` of tensors. Its code is read, and not run.

    Followed is what the code names, and what that names: only a store to ``.grad`` and a backward
    change one. A name that stands for nothing that was found may do anything.

    Args:
        given: The function, and what it is called with beside tensors.
    """
    values: dict[int, Any] = {}
    effects: set[Effect] = set()
    loaded, known = {"forward"}, {"forward", *_NAMES}
    todo = [torch.Tensor, *given]
    while todo:
        value = todo.pop()
        if type(value) in _PLAIN or id(value) in values:
            continue
        values[id(value)] = value
        is_slot = isinstance(value, MemberDescriptorType) and not _is_own(value.__objclass__)
        if len(values) > _MOST or is_slot or any(value is one for one in _BY_TEXT):
            return "changes"
        if isinstance(value, FunctionType):
            effects.update(_effects_of_code(value, value is given[0]))
            if not _is_own(value):
                names = ChainMap(value.__globals__, vars(builtins), sys.modules)
                for step in _named_in(value.__code__):
                    if "STORE" in step.opname or "DELETE" in step.opname:
                        known.add(step.argval)
                    elif "GLOBAL" not in step.opname and "NAME" not in step.opname:
                        loaded.add(step.argval)
                    elif step.argval in names:
                        todo.append(names[step.argval])
                    else:
                        return "changes"
        todo += _within(value)
        if not todo:
            found = [one for value in values.values() for one in _attributes(value, loaded)]
            todo = [one for one in found if id(one) not in values]
    known.update(name for value in values.values() for space in _spaces(value) for name in space)
    if "changes" in effects or not loaded <= known:
        return "changes"
    return "own" if "own" in effects else "gives" if effects else ""


def _effects_of_code(function: FunctionType, is_hook: bool) -> Iterator[Effect]:
    """What a function does itself."""
    for code in _codes(function.__code__):
        if "backward" in code.co_names:
            yield "gives"
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        written = {name for step in steps if "STORE_FAST" in step.opname for name in _names(step)}
        for before, step in pairwise(steps):
            if step.opname in ("STORE_ATTR", "DELETE_ATTR") and step.argval == "grad":
                given = code.co_varnames[:1] if is_hook and code is function.__code__ else ()
                is_given = given == _names(before)[-1:] and written.isdisjoint(given)
                yield "own" if is_given and code.co_argcount else "changes"


def _named_in(code: CodeType) -> Iterator[dis.Instruction]:
    """The steps of code that name something outside it."""
    for one in _codes(code):
        yield from (step for step in dis.get_instructions(one) if step.opcode in dis.hasname)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Code, and all that is defined in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _names(step: dis.Instruction) -> tuple[Any, ...]:
    """What a step names: newer Pythons load and store two variables in one."""
    return step.argval if isinstance(step.argval, tuple) else (step.argval,)


def _within(value: Any) -> Iterator[Any]:
    """What a value leads to, whatever is named."""
    if isinstance(value, FunctionType):
        yield from (value.__defaults__ or ())
        yield from (value.__kwdefaults__ or {}).values()
        yield from (cell.cell_contents for cell in value.__closure__ or () if cell != CellType())
    elif isinstance(value, _CONTAINERS):
        held = value.values() if isinstance(value, dict) else value
        yield from (one for one in held if type(one) not in _PLAIN)
    elif isinstance(value, ref):
        yield value()
    else:
        for kind, names in _WRAPPERS.items():
            if isinstance(value, kind):
                yield from (getattr(value, name) for name in names)


_WRAPPERS: Final[Mapping[type, tuple[str, ...]]] = {
    partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    BuiltinFunctionType: ("__self__",),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset"),
    cached_property: ("func",),
}
"""Values that stand for functions, with where these are."""


def _attributes(value: Any, loaded: set[str]) -> Iterator[Any]:
    """What names stand for at a value, and what Python calls there without naming it."""
    for space in _spaces(value):
        yield from (space[name] for name in loaded & space.keys())
    for kind in _classes(value):
        functions = () if _is_own(kind) else vars(kind).items()
        left_out = () if value is kind else ("__init__",)
        yield from (
            one
            for name, one in functions
            if name[:2] == "__" and name not in left_out and isinstance(one, FunctionType)
        )


def _spaces(value: Any) -> Iterator[Mapping[str, Any]]:
    """Where the attributes of a value are."""
    kinds = _classes(value)
    if kinds and not isinstance(value, type):
        own = getattr(value, "__dict__", {})
        yield own
        if issubclass(kinds[0], torch.nn.Module):
            yield from (own[name] for name in ("_modules", "_parameters", "_buffers"))
    yield from map(vars, kinds)


def _classes(value: Any) -> tuple[type, ...]:
    """The classes whose attributes a value has, without Python's most common ones."""
    if type(value) in (*_PLAIN, *_CONTAINERS):
        return ()
    kinds: tuple[type, ...] = (value if isinstance(value, type) else type(value)).__mro__
    return kinds[:-1]


def _is_own(value: Any) -> bool:
    """Whether a function or class belongs to Python, torch or gradviz."""
    return str(value.__module__).partition(".")[0] in _OWN
