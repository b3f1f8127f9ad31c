"""Names of tensors: from the caller's frame, the notebook's namespace, containers and modules.

Names are searched in plain variables, ``dict``, ``list``, ``tuple``, dataclasses, ``self`` and
``nn.Module``; no property and no ``__getattr__`` of theirs is run. A module is read by its own
``named_modules``. An object in scope that raises while it is searched has no name.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any, Final

import torch

from gradviz.model import NamesError

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
    frame: FrameType | None = sys._getframe(1)
    while (
        frame is not None
        and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "gradviz"
    ):
        frame = frame.f_back
    return frame


def namespace(frame: FrameType) -> list[tuple[str, Any]]:
    """Local, then global variables of a frame, without prolonging any value's life.

    NOTE [Frame locals]
    Up to Python 3.12 ``frame.f_locals`` of a function is a dict that the frame keeps, and with
    it every value it had: a tensor the caller deletes later would stay alive. So the dict is
    emptied again, unless the caller holds it too (having called ``locals()``).
    """
    found = local_variables(frame)
    if not is_function_frame(frame) and frame.f_locals is frame.f_globals:
        return found
    seen = {name for name, _ in found}
    found.extend((n, v) for n, v in frame.f_globals.copy().items() if n not in seen)
    return found


def local_variables(frame: FrameType) -> list[tuple[str, Any]]:
    """Local variables of a frame, without prolonging any value's life: NOTE [Frame locals]."""
    variables = frame.f_locals
    found = text_keys(variables)
    if sys.version_info < (3, 13) and is_function_frame(frame):
        if sys.getrefcount(variables) <= _REFERENCES_TO_OWN_LOCALS:
            variables.clear()
    return found


def is_function_frame(frame: FrameType) -> bool:
    """Whether a frame runs a function; otherwise its variables are a dictionary anyway."""
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def text_keys(variables: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Variables of a namespace; some put keys there that are no text."""
    # A copy is one step for other threads; these dictionaries may change at any time.
    return [(name, value) for name, value in dict(variables).items() if isinstance(name, str)]


def _references_to_own_locals() -> int:
    """Reference count of a frame's locals when nobody but the frame holds them."""
    variables = sys._getframe().f_locals  # of a frame in no variable, or it would be a cycle
    return sys.getrefcount(variables)


_REFERENCES_TO_OWN_LOCALS: Final = _references_to_own_locals()


def named_tensors(
    variables: list[tuple[str, Any]], most: int = MOST_OBJECTS, widest: int = MOST_OBJECTS
) -> Iterator[Named]:
    """Every tensor that a variable leads to: plain variables first, then what they contain.

    Names with a leading underscore and IPython's own ``In`` and ``Out`` are passed over.

    Args:
        variables: Names and values.
        most: How many objects are searched.
        widest: Containers with more entries than this are passed over.
    """
    for _, name, tensor in tensors_by_depth(variables, most, widest):
        yield name, tensor


def may_name(variable: str) -> bool:
    """Whether a variable gives names to tensors."""
    return (
        variable.isidentifier() and not variable.startswith("_") and variable not in ("In", "Out")
    )


def tensors_by_depth(
    variables: list[tuple[str, Any]], most: int = MOST_OBJECTS, widest: int = MOST_OBJECTS
) -> Iterator[tuple[int, str, torch.Tensor]]:
    """As :func:`named_tensors`, each with the number of containers that it is in."""
    level = [(name, value) for name, value in variables if may_name(name)]
    left = most
    seen: set[int] = set()
    for depth in range(DEEPEST + 1):
        inner: list[tuple[str, Any]] = []
        for name, value in level:
            left -= 1
            if left < 0:
                return
            if is_tensor(value):
                yield depth, name, value
            elif id(value) not in seen:
                seen.add(id(value))
                if width_of(value) > widest:
                    continue
                try:
                    inner.extend(_contents(name, value))
                except Exception:  # what merely lies in scope never makes a snapshot fail
                    continue
        level = inner


def width_of(value: Any) -> int:
    """Number of entries of a container whose length is Python's own."""
    kind = type(value)
    for builtin in (dict, list, tuple):
        if issubclass(kind, builtin):
            return builtin.__len__(value)
    return 0


def _contents(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    kind = type(value)
    if issubclass(kind, torch.nn.Module):
        yield from module_tensors(name, value)
    elif issubclass(kind, dict):
        for key, item in list(dict.items(value)):
            if isinstance(key, (str, int)):
                yield f"{name}[{_quoted(key)}]", item
    elif issubclass(kind, (list, tuple)):
        base = list if issubclass(kind, list) else tuple
        items = base.__iter__(value)
        fields = kind.__dict__.get("_fields", ()) if issubclass(kind, tuple) else ()
        for i, item in enumerate(items):
            if fields and i < len(fields):
                yield f"{name}.{fields[i]}", item
            else:
                yield f"{name}[{i}]", item
    elif name == "self" or dataclasses.is_dataclass(kind):
        attributes = object.__getattribute__(value, "__dict__")
        if type(attributes) is dict:
            for key, item in attributes.copy().items():
                yield f"{name}.{key}", item


def _quoted(key: str | int) -> str:
    return json.dumps(key, ensure_ascii=False)


def module_tensors(name: str, module: torch.nn.Module) -> Iterator[Named]:
    """Parameters and buffers of a module under ``name``; an empty name gives bare paths."""
    prefix = f"{name}." if name else ""
    # As named_parameters() and named_buffers() do, which would go through all modules twice.
    inside = [
        (f"{prefix}{path}." if path else prefix, one)
        for path, one in module.named_modules(remove_duplicate=False)
    ]
    for tensors in ("_parameters", "_buffers"):
        for path, one in inside:
            for key, tensor in getattr(one, tensors).items():
                if tensor is not None:
                    yield path + key, tensor


def given_names(names: Mapping[str, torch.Tensor] | None) -> list[Named]:
    """The ``names=`` argument, checked.

    Raises:
        NamesError: If it is not a mapping of names to tensors.
    """
    if names is None:
        return []
    if not isinstance(names, Mapping):
        raise NamesError(
            f"names= must map names to tensors, and this is a {type(names).__name__}. gradviz "
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
                f"names[{name!r}] is a {type(value).__name__}, not a tensor. Only tensors have a "
                f"place in the autograd graph: names={{{name!r}: the_tensor}}"
            )
    return list(names.items())
