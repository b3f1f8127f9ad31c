"""What a function of torch may write without counting it, as the schemas of its operators say."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any, Final, NamedTuple

import torch

_C: Final[Any] = torch._C
_OF_TORCH: Final = ("aten", "prim", "prims")
"""Namespaces of operators whose schemas say all that they write."""
_overloads: Final = (torch._ops.OpOverload, torch._ops.OpOverloadPacket)


class _Written(NamedTuple):
    """Which arguments of a function it may write without counting."""

    everything: bool
    """Whether any: nothing says which."""
    names: frozenset[str] = frozenset()
    positions: frozenset[int] = frozenset()


_NOTHING: Final = _Written(False)
_ANYTHING: Final = _Written(True)
_known: dict[Any, _Written] = {}


def uncounted_writes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Arguments whose memory a function may write without its version showing it (F2.17).

    Args:
        function: What a mode of torch was given: a function of torch, an operator, or a function
            of another library that reports its calls to modes.
        args: The positional arguments.
        kwargs: The others.
    """
    written = _known.get(function)
    if written is None:
        written = _written_by(function)
        if _is_of_torch(function):  # others may hold tensors
            _known[function] = written
    if written.everything:
        return [*args, *kwargs.values()]
    if not written.names:
        return []
    return [
        *(arg for place, arg in enumerate(args) if place in written.positions),
        *(arg for name, arg in kwargs.items() if name in written.names),
    ]


def _written_by(function: Any) -> _Written:
    if isinstance(function, _overloads):
        return _by_operator(function)
    if isinstance(function, FunctionType):
        return _by_python(function)
    name = getattr(function, "__name__", "")
    schemas = _C._jit_get_schemas_for_operator(f"aten::{name}")
    if not schemas and name.endswith("_") and not name.endswith("__"):
        return _ANYTHING  # apply_, map_: in place, and no operator that counts
    return _by_schemas(schemas)


def _is_of_torch(function: Any) -> bool:
    is_python = isinstance(function, FunctionType)
    return not is_python or (function.__module__ or "").partition(".")[0] == "torch"


def _by_operator(operator: Any) -> _Written:
    """Operators of others may write what their schema does not say, and need not count it."""
    if isinstance(operator, torch._ops.OpOverload):
        space, schemas = operator.namespace, [operator._schema]
    else:
        space = operator._qualified_op_name.partition("::")[0]
        schemas = [getattr(operator, name)._schema for name in operator.overloads()]
    return _by_schemas(schemas) if space in _OF_TORCH else _ANYTHING


def _by_schemas(schemas: list[Any]) -> _Written:
    names: set[str] = set()
    positions: set[int] = set()
    for schema in schemas:
        written = dict(_written_in(schema))
        if written:
            names.update(written)
            positions.update(place for place in written.values() if place is not None)
    return _Written(False, frozenset(names), frozenset(positions))


def _written_in(schema: Any) -> Iterator[tuple[str, int | None]]:
    """Names and positions of all that an operator writes, if it does not count all of it.

    An operator counts what it writes as the tensor that it is called on. It counts what it writes
    as its ``out`` if it has a kernel for that; ``kron`` has none.
    """
    found = [(at, arg) for at, arg in enumerate(schema.arguments) if "Tensor" in str(arg.type)]
    found = [(at, arg) for at, arg in found if _is_written(schema, arg)]
    is_self = [at == 0 and arg.name == "self" for at, arg in found]
    is_counted = [
        so or (arg.is_out and _counts_out(schema)) for so, (_, arg) in zip(is_self, found)
    ]
    for at, arg in () if all(is_counted) else found:
        yield arg.name, None if arg.kwarg_only else at


def _counts_out(schema: Any) -> bool:
    whole = f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name
    return bool(_C._dispatch_has_kernel_for_dispatch_key(whole, "ADInplaceOrView"))


def _is_written(schema: Any, argument: Any) -> bool:
    """Whether an operator writes an argument: torch's ``SchemaInfo`` knows more than schemas."""
    if argument.alias_info is not None:
        return bool(argument.alias_info.is_write)
    aliases = [a.alias_info for a in schema.arguments if a.alias_info is not None]
    sets = [name for alias in aliases for name in alias.before_set]
    if len(set(sets)) != len(sets):  # SchemaInfo would print a warning
        return False
    return bool(_C._SchemaInfo(schema).is_mutable(argument.name))


def _by_python(function: FunctionType) -> _Written:
    """A function in Python: what the operators write that it can call, by the names it uses."""
    if not _is_of_torch(function):
        return _ANYTHING
    names: set[str] = set()
    for name in _words(function, set()):
        names |= _by_schemas(_C._jit_get_schemas_for_operator(f"aten::{name}")).names
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    own = {name: at for at, name in enumerate(parameters) if name in names}
    positions = frozenset(at for at in own.values() if at < code.co_argcount)
    if names - {"out"} and not own:
        return _ANYTHING
    return _Written(False, frozenset(own), positions)


def _words(function: FunctionType, seen: set[FunctionType]) -> set[str]:
    """Names that a function uses, and functions of its module that it uses."""
    if function in seen:
        return set()
    seen.add(function)
    found = set(function.__code__.co_names)
    for name in sorted(found):
        other = function.__globals__.get(name)
        if isinstance(other, FunctionType) and other.__module__ == function.__module__:
            found |= _words(other, seen)
    return found
