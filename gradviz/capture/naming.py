"""Names of tensors: from the caller's frame, the notebook's namespace, containers and objects.

Names are searched in plain variables and in all that :mod:`~gradviz.capture.contents` reads; no
code of the user's is run. What a bound leaves out has no name.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from collections.abc import Collection, Iterator, Mapping
from enum import IntEnum
from types import FrameType
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import contents
from gradviz.capture.stacks import stack_of
from gradviz.model import NamesError
from gradviz.model.formatting import a_kind

MOST_OBJECTS: Final = 50_000
"""How many objects are searched for names before the search stops."""
DEEPEST: Final = 3
"""How many containers deep a name may be: ``runs[0]["w"]`` is two."""

Named = tuple[str, torch.Tensor]


def is_tensor(value: object) -> bool:
    """``isinstance`` without asking the object, which may be a proxy (F2.03)."""
    return issubclass(type(value), torch.Tensor)


def caller() -> FrameType | None:
    """The innermost frame that is not gradviz' own."""
    for frame in stack_of(sys._getframe(1)):
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] != "gradviz":
            return frame
    return None


def namespace(frame: FrameType) -> list[tuple[str, Any]]:
    """Local, then global variables of a frame: NOTE [Frame locals]."""
    found = local_variables(frame)
    if not is_function_frame(frame) and frame.f_locals is frame.f_globals:
        return found
    seen = {name for name, _ in found}
    found.extend((n, v) for n, v in frame.f_globals.copy().items() if n not in seen)
    return found


def local_variables(frame: FrameType) -> list[tuple[str, Any]]:
    """Local variables of a frame, without a trace of having read them.

    NOTE [Frame locals]
    Up to Python 3.12 ``frame.f_locals`` of a function is a dict that the frame keeps, and with
    it every value it had: a tensor the caller deletes later would stay alive. Reading it fills the
    dict anew, which the caller may hold, having called ``locals()``, and where ``exec`` puts what
    it binds. So the dict gets back what was in it, nothing if there was none. Whether there was
    one, only the frame in memory tells; so frames of other threads are not read like this.
    """
    if _LOCALS < 0 or not is_function_frame(frame):
        return text_keys(frame.f_locals)
    address = _word(_word(id(frame) + _INNER) + _LOCALS)
    before = ctypes.cast(address, ctypes.py_object).value.copy() if address else {}
    variables = frame.f_locals
    found = text_keys(variables)
    variables.clear()
    variables.update(before)
    return found


def is_function_frame(frame: FrameType) -> bool:
    """Whether a frame runs a function; otherwise its variables are a dictionary anyway."""
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def text_keys(variables: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Variables of a namespace; some put keys there that are no text."""
    # A copy is one step for other threads; these dictionaries may change at any time.
    return [(name, value) for name, value in dict(variables).items() if isinstance(name, str)]


def _word(address: int) -> int:
    """What is in memory there, 0 also for a pointer to nothing."""
    return ctypes.c_size_t.from_address(address).value


_SIZE: Final = ctypes.sizeof(ctypes.c_size_t)
_INNER: Final = object.__basicsize__ + _SIZE
"""Where a frame of Python says where the interpreter's own part of it is."""


def _place_of_locals() -> int:
    """Where that part says where the dict is; -1 if it does not, as in a build of Python that
    lays frames out in another way: then the dict stays as reading it has filled it."""
    variables = sys._getframe().f_locals  # of a frame in no variable, or it would be a cycle
    inner = _word(id(sys._getframe()) + _INNER)
    return next((at for at in range(0, 8 * _SIZE, _SIZE) if _word(inner + at) == id(variables)), -1)


_LOCALS: Final = -1 if sys.version_info >= (3, 13) else _place_of_locals()


def may_name(variable: str) -> bool:
    """Whether a variable gives names to tensors."""
    return (
        variable.isidentifier() and not variable.startswith("_") and variable not in ("In", "Out")
    )


class Kind(IntEnum):
    """What a name is, the best first: what a person would type comes before what is long."""

    VARIABLE = 0
    """A variable, an entry of containers and dataclasses in one, a parameter or buffer of a module
    in these, an attribute of ``self``."""
    OWN = 1
    """Besides parameters and buffers, an attribute of the module that a search begins with."""
    PARAMETER = 2
    """A parameter or buffer of a module that is an attribute: ``agent.policy.fc.weight``."""
    ATTRIBUTE = 3
    """Any other attribute of a module or an object, and what is in it: ``model.hidden``."""


class Found(NamedTuple):
    """A tensor, or a module, that a variable leads to."""

    kind: Kind
    depth: int
    """The number of containers that it is in."""
    name: str
    value: Any


def named_tensors(
    variables: list[tuple[str, Any]], most: int = MOST_OBJECTS, widest: int = MOST_OBJECTS
) -> Iterator[Named]:
    """Every tensor that a variable leads to: plain variables first, then what they contain.

    Names with a leading underscore and IPython's own ``In`` and ``Out`` are passed over. What has
    a name that is short to type is not named by attributes of objects, too.

    Args:
        variables: Names and values.
        most: How many objects are searched.
        widest: Containers with more entries than this are passed over.
    """
    best: dict[int, tuple[Kind, int]] = {}
    others: list[Found] = []
    for found in search(variables, most, widest):
        if found.kind is Kind.VARIABLE:
            best[id(found.value)] = Kind.VARIABLE, 0
            yield found.name, found.value
        else:
            others.append(found)
    others.sort(key=lambda one: (one.kind, one.depth))
    for found in others:
        rank = found.kind, found.depth
        if best.setdefault(id(found.value), rank) == rank:
            yield found.name, found.value


def named_modules(
    variables: list[tuple[str, Any]],
    most: int = MOST_OBJECTS,
    widest: int = MOST_OBJECTS,
    rebound: Collection[str] = (),
) -> Iterator[tuple[str, torch.nn.Module]]:
    """Every module that a variable leads to, by its best names first; not the modules in it.

    Args:
        variables: Names and values.
        most: How many objects are searched.
        widest: Containers with more entries than this are passed over.
        rebound: Variables that lead to one object after the other: the place that an object has in
            a list or a dictionary is a better name than they are.
    """
    found = [one for one in search(variables, most, widest, True) if contents.is_module(one.value)]
    passing = {id(one.value) for one in found if one.name in rebound}

    def rank(one: Found) -> tuple[Kind, bool, int]:
        is_better = id(one.value) in passing and one.name.endswith("]")
        return one.kind, not is_better, one.depth

    found.sort(key=rank)
    for one in found:
        yield one.name, one.value


def name_of(module: torch.nn.Module, variables: list[tuple[str, Any]]) -> str:
    """The best name that variables give to a module, ``""`` if they give none."""
    held_by = [name for name, value in variables if value is module]
    others = (name for name, one in named_modules(variables) if one is module)
    return held_by[0] if held_by else next(others, "")


def search(
    variables: list[tuple[str, Any]],
    most: int = MOST_OBJECTS,
    widest: int = MOST_OBJECTS,
    ends_at_modules: bool = False,
) -> Iterator[Found]:
    """As :func:`named_tensors`, with all names.

    Args:
        variables: Names and values.
        most: How many objects are searched for variables, and then for attributes.
        widest: Containers with more entries than this are passed over.
        ends_at_modules: Whether modules are found, and not searched.
    """
    begin = [Found(Kind.VARIABLE, 0, name, value) for name, value in variables if may_name(name)]
    return _search(begin, most, widest, ends_at_modules)


def search_module(module: torch.nn.Module, most: int, widest: int) -> Iterator[Found]:
    """The tensors in a module; names are paths with a point before them, as in ``.fc.weight``."""
    begin = Found(Kind.VARIABLE, 0, "", module)
    return _search([begin], most, widest, False, Kind.OWN)


def _search(
    begin: list[Found], most: int, widest: int, ends_at_modules: bool, own: Kind = Kind.ATTRIBUTE
) -> Iterator[Found]:
    """Variables by depth, then attributes by depth."""
    near: list[list[Found]] = [[] for _ in range(DEEPEST + 2)]
    far: list[list[Found]] = [[] for _ in range(DEEPEST + 2)]
    near[0] = begin
    seen: set[int] = set()
    for levels in (near, far):
        left = most
        for depth in range(DEEPEST + 1):
            for one in levels[depth]:
                left -= 1
                if left < 0:
                    break
                if is_tensor(one.value) or (ends_at_modules and contents.is_module(one.value)):
                    yield one
                elif id(one.value) not in seen:
                    seen.add(id(one.value))
                    for inner in _inside(one, widest, own):
                        (near if inner.kind is Kind.VARIABLE else far)[depth + 1].append(inner)
            levels[depth] = []


def _inside(one: Found, widest: int, own: Kind) -> list[Found]:
    """What a value contains; nothing of one that raises while it is read."""
    is_self = one.name == "self" and one.depth == 0
    found = []
    try:
        if contents.width_of(one.value) > widest:
            return []
        for part in contents.contents(one.value, is_self):
            for key, item in zip(part.keys, part.values):
                if not contents.holds_nothing(item):
                    name = contents.written(one.name, key, part.is_mapping)
                    is_own = one.depth == 0 and (part.is_attribute and "." not in key)
                    kind = _kind(one, part, (Kind.VARIABLE if is_self else own) if is_own else None)
                    found.append(Found(kind, one.depth + 1, name, item))
    except Exception:  # what merely lies in scope never makes a snapshot fail
        return []
    return found


def _kind(one: Found, part: contents.Contents, own: Kind | None) -> Kind:
    """What the name of an entry of a value is.

    Args:
        one: The value.
        part: What it contains.
        own: What it is if it is an attribute of what the search begins with.
    """
    if own is not None:
        return own
    if part.is_attribute:
        return Kind.ATTRIBUTE
    if part.is_of_module and one.kind is not Kind.VARIABLE:
        return Kind.PARAMETER
    return one.kind


def module_tensors(name: str, module: torch.nn.Module) -> Iterator[Named]:
    """Parameters and buffers of a module under ``name``; an empty name gives bare paths."""
    for path, tensor in contents.own_tensors(contents.parts_of(module)):
        yield f"{name}.{path}" if name else path, tensor


def given_names(names: Mapping[str, torch.Tensor] | None) -> list[Named]:
    """The ``names=`` argument, checked.

    Raises:
        NamesError: If it is not a mapping of names to tensors.
    """
    if names is None:
        return []
    if not isinstance(names, Mapping):
        raise NamesError(
            f"names= must map names to tensors, and this is {a_kind(names)}. gradviz "
            'finds variables by itself; to name others type names={"w": w}'
        )
    for name, value in names.items():
        if not isinstance(name, str):
            raise NamesError(
                f"names= has the key {type(name).__name__} {name!r:.40}; a name is text: "
                'names={"w": w}'
            )
        if not is_tensor(value):
            raise NamesError(
                f"names[{name!r}] is {a_kind(value)}, not a tensor. Only tensors have a "
                f"place in the autograd graph: names={{{name!r}: the_tensor}}"
            )
    return list(names.items())
