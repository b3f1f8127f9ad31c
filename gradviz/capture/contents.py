"""What a value contains, read without running any code of its own.

Containers of Python are read by the methods of ``dict``, ``list``, ``tuple`` and ``deque``, objects
by their ``__dict__`` and by the descriptors of their ``__slots__``, modules by their dictionaries.
No property, no ``__getattr__`` and no method of a class of the user's is called, also not of a
metaclass: types are compared by identity.

Looked into are objects of classes of the user's and of torch's. What other libraries keep in theirs
is large, and no tensor of the user's has its name there.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd
from gradviz.capture.installed_files import is_users

MOST_MODULES: Final = 20_000
"""How many modules are gone through in one module."""


class Contents(NamedTuple):
    """Some of what a value contains."""

    keys: list[Any]
    """Numbers, keys of a dictionary, names of attributes, paths in a module."""
    values: list[Any]
    is_mapping: bool = False
    """Whether the keys are those of a dictionary."""
    is_of_module: bool = False
    """Whether they are parameters and buffers."""
    is_attribute: bool = False
    """Whether they are attributes of an object, which is no record such as a dataclass is."""


class _Type(NamedTuple):
    """How values of a type are read."""

    ref: weakref.ref[type]
    form: str
    fields: tuple[str, ...] = ()
    """Names of the entries of a named tuple."""
    has_dictionary: bool = False
    slots: tuple[tuple[int, str], ...] = ()
    """Slots: the place of the class that has it among the bases, and the name."""
    is_record: bool = False
    """Whether it is a dataclass."""
    is_looked_into: bool = False
    """Whether attributes of its objects are looked at."""


_mro: Final = vars(type)["__mro__"].__get__
_vars: Final = vars(type)["__dict__"].__get__
HOLD_NOTHING: Final = frozenset(
    map(id, (int, float, bool, str, bytes, complex, type(None), range, slice, torch.Size))
)
"""``id()`` of types of what contains nothing; most values are of these, or tensors."""
_TENSORS: Final = frozenset(map(id, (torch.Tensor, torch.nn.Parameter)))
HOLD_NOTHING_OR_TENSORS: Final = HOLD_NOTHING | _TENSORS
_LISTS: Final[dict[str, Any]] = {"list": list, "tuple": tuple, "deque": deque, "dict": dict}
_NAMESPACES: Final = frozenset(map(id, (types.SimpleNamespace, argparse.Namespace)))
_NO_OBJECTS: Final = (types.ModuleType, type, types.FunctionType, BaseException)
_OF_EVERY_MODULE: Final = frozenset(vars(torch.nn.Module()))
_known: dict[int, _Type] = {}


def holds_nothing(value: object) -> bool:
    """Whether a value is of a type that contains nothing; tensors are not meant."""
    return id(type(value)) in HOLD_NOTHING


def is_plain_tensor(value: object) -> bool:
    """Whether a value is a tensor or a parameter, of no other class."""
    return id(type(value)) in _TENSORS


def may_contain(value: object) -> bool:
    """Whether a value may contain others."""
    kind = id(type(value))
    return kind not in HOLD_NOTHING_OR_TENSORS and _type_of(value).form != ""


def may_change(value: Any) -> bool:
    """Whether a value may contain others at another time: not a tuple of numbers."""
    if not may_contain(value):
        return False
    return _type_of(value).form != "tuple" or not all(map(holds_nothing, tuple.__iter__(value)))


def is_module(value: object) -> bool:
    """Whether a value is a module, without asking it."""
    return issubclass(type(value), torch.nn.Module)


def may_run(module: torch.nn.Module) -> bool:
    """Whether a module has a ``forward``, of its class or its own."""
    return inspect.getattr_static(module, "forward") is not torch.nn.Module.forward


def width_of(value: Any) -> int:
    """Number of entries of a container whose length is Python's own."""
    kind = _type_of(value)
    base = _LISTS.get(kind.form)
    return 0 if base is None else base.__len__(value)


def contents(value: Any, is_self: bool = False) -> list[Contents]:
    """What a value contains, one container deep; of a module, with the modules in it.

    Args:
        value: Anything.
        is_self: Whether its attributes are looked at, whatever class it has.
    """
    kind = _type_of(value)
    if kind.form == "module":
        return _of_module(value)
    if kind.form == "dict":
        pairs = [pair for pair in list(dict.items(value)) if _is_key(pair[0])]
        return [Contents([key for key, _ in pairs], [item for _, item in pairs], True)]
    if kind.form in _LISTS:
        items = list(_LISTS[kind.form].__iter__(value))
        return [Contents([*kind.fields, *range(len(items))[len(kind.fields) :]], items)]
    if kind.form == "object" and (is_self or kind.is_record or kind.is_looked_into):
        pairs = list(_attributes(value, kind))
        names, items = [name for name, _ in pairs], [item for _, item in pairs]
        return [Contents(names, items, is_attribute=not kind.is_record)]
    return []


def written(name: str, key: Any, is_mapping: bool) -> str:
    """An entry as one writes it: ``params["w"]``, ``runs[0]``, ``state.hidden``."""
    if issubclass(type(key), int):
        return f"{name}[{bool(key) if type(key) is bool else int.__repr__(key)}]"
    text = str.__str__(key)
    return f"{name}[{json.dumps(text, ensure_ascii=False)}]" if is_mapping else f"{name}.{text}"


def _is_key(key: object) -> bool:
    return issubclass(type(key), (str, int))


def _type_of(value: object) -> _Type:
    kind = type(value)
    known = _known.get(id(kind))
    if known is None or known.ref() is not kind:
        if len(_known) > 10_000:
            _known.clear()
        known = _known[id(kind)] = _read_type(kind)
    return known


def _read_type(kind: type) -> _Type:
    ref = weakref.ref(kind)
    if issubclass(kind, torch.Tensor) or id(kind) in HOLD_NOTHING:
        return _Type(ref, "")
    for form, base in _LISTS.items():
        if issubclass(kind, base):
            return _Type(ref, form, _fields(kind) if form == "tuple" else ())
    if issubclass(kind, _NO_OBJECTS):
        return _Type(ref, "")
    spaces = [_vars(base) for base in _mro(kind)]
    dictionaries = [space[_DICT] for space in spaces if _DICT in space]
    has_dictionary = bool(dictionaries) and all(
        issubclass(type(one), _OF_TYPES) for one in dictionaries
    )
    if issubclass(kind, torch.nn.Module):
        return _Type(ref, "module", (), has_dictionary, is_looked_into=not _is_of_torch(kind))
    slots = () if not _is_made_in_python(kind) else tuple(_slots(spaces))
    return _Type(
        ref,
        "object" if slots or has_dictionary else "",
        has_dictionary=has_dictionary,
        slots=slots,
        is_record=any("__dataclass_fields__" in space for space in spaces),
        is_looked_into=id(kind) in _NAMESPACES or _is_looked_into(kind),
    )


_DICT: Final = "__dict__"
_OF_TYPES: Final = (types.GetSetDescriptorType, types.MemberDescriptorType)
"""Types of descriptors that run no code of the user's."""


def _slots(spaces: list[Any]) -> Iterator[tuple[int, str]]:
    for place, space in enumerate(spaces):
        for name, one in space.items():
            if type(one) is types.MemberDescriptorType and name != _DICT:
                yield place, name


def _fields(kind: type) -> tuple[str, ...]:
    """Names of the entries of a named tuple."""
    found = next((_vars(one)["_fields"] for one in _mro(kind) if "_fields" in _vars(one)), ())
    is_text = type(found) is tuple and all(type(name) is str for name in found)
    return found if is_text else ()


def _is_made_in_python(kind: type) -> bool:
    return bool(type.__dict__["__flags__"].__get__(kind) & 1 << 9)  # a heap type


def _module_of(kind: type) -> str:
    name = _vars(kind).get("__module__")
    return name if type(name) is str else ""


def _is_of_torch(kind: type) -> bool:
    return _module_of(kind).partition(".")[0] == "torch"


def _is_looked_into(kind: type) -> bool:
    """Whether a class is torch's, or the user's: of no installed package, and not gradviz' own."""
    name = _module_of(kind)
    package = name.partition(".")[0]
    if package == "torch" or name == "__main__":
        return not name.startswith("torch.optim")  # which has parameters and numbers of its own
    if package in sys.stdlib_module_names or package == "gradviz":
        return False
    module = sys.modules.get(name)
    if not issubclass(type(module), types.ModuleType):
        return True
    file = object.__getattribute__(module, _DICT).get("__file__")
    return type(file) is not str or is_users(file)


def _attributes(value: Any, kind: _Type) -> Iterator[tuple[str, Any]]:
    yield from _text_keys(_dictionary(value, kind))
    bases = _mro(type(value)) if kind.slots else ()
    for place, name in kind.slots:
        try:
            item = _vars(bases[place])[name].__get__(value)
        except AttributeError:  # nothing has been assigned to it
            continue
        yield name, item


def _dictionary(value: Any, kind: _Type) -> dict[Any, Any]:
    """The ``__dict__`` of an object; an empty one if its class says what that is."""
    if not kind.has_dictionary:
        return {}
    found = object.__getattribute__(value, _DICT)
    return found if issubclass(type(found), dict) else {}


def _text_keys(space: Any) -> list[tuple[str, Any]]:
    return [pair for pair in list(dict.items(space)) if type(pair[0]) is str]


# ------------------------------------------------------------------------------------ modules


class Part(NamedTuple):
    """A module in a module, or the module itself."""

    path: str
    """With a point at its end; empty for the module itself."""
    module: torch.nn.Module
    parameters: list[tuple[str, Any]]
    buffers: list[tuple[str, Any]]
    modules: list[tuple[str, Any]]


def parts_of(module: torch.nn.Module) -> list[Part]:
    """A module and all modules in it, once for each path, in torch's order."""
    found: list[Part] = []
    _add_parts("", module, (), found)
    return found


def _add_parts(path: str, module: Any, above: tuple[int, ...], found: list[Part]) -> None:
    if len(found) >= MOST_MODULES:
        return
    part = Part(path, module, *_spaces(module))
    found.append(part)
    if part.modules:
        above = (*above, id(module))
        for name, one in part.modules:
            if is_module(one) and id(one) not in above:
                _add_parts(f"{path}{name}.", one, above, found)


_SPACES: Final = ("_parameters", "_buffers", "_modules")


def _spaces(module: Any) -> list[list[tuple[str, Any]]]:
    """Parameters, buffers and modules of a module itself."""
    if autograd.is_scripted(module):  # its dictionaries are in C++, and its code is torch's
        return [list(getattr(module, name).items()) for name in _SPACES]
    space = _dictionary(module, _type_of(module))
    return [_items(dict.get(space, name)) for name in _SPACES]


def _items(one: Any) -> list[tuple[str, Any]]:
    if type(one) is dict:
        return list(one.items()) if one else []
    return list(dict.items(one)) if issubclass(type(one), dict) else []


def identities(module: torch.nn.Module) -> list[int]:
    """``id()`` of what a module and the modules in it have: other ones if anything has changed."""
    found: list[int] = []
    inside: list[Any] = [module]
    seen: set[int] = set()
    for one in inside:
        if id(one) in seen or len(inside) > MOST_MODULES:
            continue
        seen.add(id(one))
        kind = _type_of(one)
        for pairs in _spaces(one) if autograd.is_scripted(one) else ():
            found += [id(item) for _, item in pairs]
        space = _dictionary(one, kind)
        for name in _SPACES:
            entries: Any = dict.get(space, name)
            if issubclass(type(entries), dict) and dict.__len__(entries):
                items = list(dict.values(entries))
                found += map(id, items)
                if name == "_modules":
                    inside += [item for item in items if is_module(item)]
        if kind.is_looked_into:
            for name, item in attributes_of(one):
                found += (id(name), id(item))
    return found


def attributes_of(module: torch.nn.Module) -> list[tuple[str, Any]]:
    """What a module of the user's has besides parameters, buffers and modules.

    Without what contains nothing, and without what every module has.
    """
    kind = _type_of(module)
    if not kind.is_looked_into:
        return []
    return [
        (name, item)
        for name, item in _text_keys(_dictionary(module, kind))
        if id(type(item)) not in HOLD_NOTHING and name not in _OF_EVERY_MODULE
    ]


def attribute(module: torch.nn.Module, name: str) -> Any:
    """An attribute of a module; ``None`` if it has none."""
    return dict.get(_dictionary(module, _type_of(module)), name)


def own_tensors(parts: list[Part]) -> list[tuple[str, Any]]:
    """Parameters, then buffers, of the parts of a module, by their paths."""
    found = [(p.path + key, tensor) for p in parts for key, tensor in p.parameters]
    found += [(p.path + key, tensor) for p in parts for key, tensor in p.buffers]
    return [(path, tensor) for path, tensor in found if tensor is not None]


def _of_module(module: torch.nn.Module) -> list[Contents]:
    parts = parts_of(module)
    own = own_tensors(parts)
    others = [(p.path + key, item) for p in parts for key, item in attributes_of(p.module)]
    return [
        Contents([path for path, _ in own], [tensor for _, tensor in own], is_of_module=True),
        Contents([path for path, _ in others], [item for _, item in others], is_attribute=True),
    ]
