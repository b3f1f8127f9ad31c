"""What code of the user's that runs in a backward may do to the ``.grad`` of tensors."""

from __future__ import annotations

import builtins
import dis
import sys
from collections import ChainMap, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property, partial
from itertools import pairwise
from operator import attrgetter
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MappingProxyType,
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

PLAIN: Final = (
    *(bool, int, float, complex, str, bytes, NoneType, torch.Tensor, torch.nn.Parameter),
    *(torch.Size, torch.dtype, torch.device),
)
"""Types of values that lead to no others."""
_CONTAINERS: Final = (list, tuple, dict, set, frozenset, deque)
_NAMES: Final = {name for one in (*PLAIN, *_CONTAINERS) for name in dir(one)}
"""Names that values of those types have, as results of calls are."""
_BY_NAME: Final[dict[str, Effect]] = {
    **dict.fromkeys(("backward", "run_backward"), "gives"),
    **dict.fromkeys(("requires_grad_", "__setattr__", "__delattr__", "__set__"), "changes"),
}
"""What is called by a name that says it, whatever it belongs to."""
_STORED: Final = ("grad", "requires_grad")
"""Attributes by which a tensor has a gradient, or gets none."""
_BY_TEXT: Final = (setattr, delattr, getattr, exec, eval)
"""Functions that do what a text says."""
_OWN: Final = sys.stdlib_module_names | {"torch", "gradviz"}
"""Packages that change a ``.grad`` only in functions that say so themselves."""
_MOST: Final = 500
"""How many values are followed."""


def effect_of(*given: Any) -> Effect:
    """What a function may do to the ``.grad`` of tensors. Its code is read, and not run.

    Followed is what the code names, and what that names: only a store to an attribute and a
    backward change one. A name that stands for nothing that was found may do anything.

    Args:
        given: The function, and what it is called with beside tensors.
    """
    values: dict[int, Any] = {}
    effects: set[Effect] = set()
    loaded, known = {"forward"}, {"forward", *_NAMES}
    todo = [torch.Tensor, *given]
    while todo:
        value = todo.pop()
        if type(value) in PLAIN or id(value) in values:
            continue
        values[id(value)] = value
        is_slot = isinstance(value, MemberDescriptorType) and not _is_own(
            value.__objclass__.__module__
        )
        if len(values) > _MOST or is_slot or any(value is one for one in _BY_TEXT):
            return "changes"
        if isinstance(value, FunctionType):
            effects.update(_effects_of_code(value, value is given[0]))
            if not _is_own(value.__module__):
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
        for kind, held in _HELD.items():
            if isinstance(value, kind):
                todo += (one for one in held(value) if type(one) not in PLAIN)
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
        yield from (effect for name, effect in _BY_NAME.items() if name in code.co_names)
        steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
        written = {name for step in steps if "STORE_FAST" in step.opname for name in _names(step)}
        for before, step in pairwise(steps):
            if step.opname in ("STORE_ATTR", "DELETE_ATTR") and step.argval in _STORED:
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


_HELD: Final[Mapping[type, Callable[[Any], Iterable[Any]]]] = {
    FunctionType: lambda one: (
        *(one.__defaults__ or ()),
        *(one.__kwdefaults__ or {}).values(),
        *(cell.cell_contents for cell in one.__closure__ or () if cell != CellType()),
    ),
    BuiltinFunctionType: lambda one: (one.__self__,),
    MethodType: attrgetter("__func__", "__self__"),
    staticmethod: lambda one: (one.__func__,),
    classmethod: lambda one: (one.__func__,),
    property: attrgetter("fget", "fset"),
    cached_property: lambda one: (one.func,),
    type(cache(id)): lambda one: (one.__wrapped__,),
    partial: attrgetter("func", "args", "keywords"),
    ref: lambda one: (one(),),
    dict: dict.values,
    **dict.fromkeys((list, tuple, set, frozenset, deque), iter),
}
"""What values of a type lead to, whatever is named."""


def _attributes(value: Any, loaded: set[str]) -> Iterator[Any]:
    """What names stand for at a value, and what Python calls there without naming it."""
    for space in _spaces(value):
        is_users = isinstance(space, MappingProxyType) and not _is_own(
            space.get("__module__", "builtins")
        )
        names = {name for name in space if name[:2] == "__"} if is_users else set()
        names -= set() if isinstance(value, type) else {"__init__"}
        functions = (space[name] for name in names if isinstance(space[name], FunctionType))
        yield from (*(space[name] for name in loaded & space.keys()), *functions)


def _spaces(value: Any) -> list[Mapping[str, Any]]:
    """Where the attributes of a value are: its own, and those of its classes."""
    if type(value) in (*PLAIN, *_CONTAINERS):
        return []
    is_class = isinstance(value, type)
    own = {} if is_class else getattr(value, "__dict__", {})
    parts = ("_modules", "_parameters", "_buffers") if isinstance(value, torch.nn.Module) else ()
    kinds = (value if is_class else type(value)).__mro__[:-1]
    return [own, *(own[name] for name in parts), *map(vars, kinds)]


def _is_own(module: object) -> bool:
    """Whether what a module has belongs to Python, torch or gradviz."""
    return str(module).partition(".")[0] in _OWN
