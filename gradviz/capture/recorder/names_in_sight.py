"""Which variables lead to which tensors, kept up to date variable by variable.

NOTE [Names from line to line]
After a line only those variables are searched that lead to something else than before. A variable
does if it is bound to another object, or if the containers that it leads to hold other objects;
of these only the ``id()`` is noted. An ``id()`` may be given again once its object is gone: so
what a tensor was named by that no longer exists is searched again. Of an ``nn.Module`` it is
enough that no module has got another parameter, buffer or module since (``modules_changed``);
after lines of the block itself, modules are looked at as other containers are. What a module leads
to is kept: ``self`` of one function after the other is the same few modules, mostly with tensors
that variables of the block lead to as well, which give them their names.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.registry import Registry

_OBJECTS_PER_LINE: Final = 2_000
"""How many objects are searched for names in one variable."""
_WIDEST: Final = 200
"""How many entries of a container are searched after each line."""
_TENSORS: Final = (torch.Tensor, torch.nn.Parameter)
_PLAIN: Final = (*_TENSORS, int, float, bool, str, type(None), torch.Size)
"""Types of what contains nothing; most values are of these."""

Place = tuple[int, str]
"""Number of a namespace, and a variable in it."""


@dataclass(slots=True)
class _Variable:
    """What a variable led to when it was searched."""

    holds: tuple[int, int]
    """``id()`` of its value, and of the type of that."""
    contents: list[int] | None = None
    """``id()`` of what it contains; ``None`` if its value contains nothing."""
    names: list[tuple[int, str, int]] = field(default_factory=list)
    """Depth, name and ``id()`` of the tensors that it leads to."""
    version: int | None = None
    """Of its value, if that is a tensor."""


class _Module:
    """The tensors of a module."""

    def __init__(self, module: torch.nn.Module, changes: int) -> None:
        self.ref = weakref.ref(module)
        self.changes = changes
        """How often modules had changed when it was searched."""
        self.contents = _contents(module)
        self.paths: dict[int, list[tuple[int, str]]] = {}
        """By ``id()`` of a tensor: its paths, and their places among all."""
        self.ids: set[int] = set()


class NamesInSight:
    """The names of tensors, by the variables in sight.

    Args:
        registry: The tensors of the recording; those with a new name become part of it.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._variables: dict[Place, _Variable] = {}
        self._order: dict[Place, int] = {}
        self._named: dict[int, dict[Place, list[tuple[int, str]]]] = {}
        """By ``id()`` of a tensor: the variables that lead to it, with depths and names."""
        self._known_modules: dict[int, _Module] = {}
        self._in_sight: dict[Place, _Module] = {}
        """Variables that are modules."""
        self._modules = 0
        """How often modules have got other parameters, buffers or modules."""
        registry.names_in_sight = self._names

    def modules_changed(self) -> None:
        """A module has got another parameter, buffer or module."""
        self._modules += 1

    def look(self, spaces: list[list[tuple[str, Any]]], is_exact: bool) -> bool:
        """Give tensors the names that they have now.

        Args:
            spaces: Variables in sight, those of the block first.
            is_exact: Whether modules are looked at, too.

        Returns:
            Whether any name is another one than before, or what it names was written.
        """
        changed = dict(self._registry.unnamed)
        self._registry.unnamed.clear()
        again = {place for key in changed for place in self._named.get(key, ())}
        seen: dict[Place, int] = {}
        new: list[tuple[tuple[int, int, int, int], str, torch.Tensor]] = []
        for number, space in enumerate(spaces):
            for name, value in space:
                place = number, name
                seen[place] = len(seen)
                known = self._variables.get(place)
                if known is None or place in again or not self._is_same(known, value, is_exact):
                    new += self._search(place, value, changed, len(seen))
        for place in [place for place in self._variables if place not in seen]:
            self._forget(place, changed)
        is_written = self._look_at_versions(spaces)
        self._order = seen
        for _, name, tensor in sorted(new, key=lambda one: one[0]):
            if self._registry.is_new(tensor):
                self._registry.know(tensor, name)
                self._registry.unnamed.pop(id(tensor), None)
        renamed = [self._registry.name(key, self._names(key)) for key in changed]
        return any(renamed) or is_written

    def _look_at_versions(self, spaces: list[list[tuple[str, Any]]]) -> bool:
        """Note which variables are tensors that were written; no mode sees ``set_`` (F2.18)."""
        is_written = False
        for number, space in enumerate(spaces):
            for name, value in space:
                if type(value) in _TENSORS:
                    known, version = self._variables[number, name], autograd.version_of(value)
                    if known.version != version:
                        known.version, is_written = version, True
                        self._registry.has_changed((value,))
        return is_written

    def _is_same(self, known: _Variable, value: Any, is_exact: bool) -> bool:
        if known.holds != (id(value), id(type(value))):
            return False
        if issubclass(type(value), torch.nn.Module):
            module = self._known_modules.get(id(value))
            return module is not None and self._is_up_to_date(module, value, is_exact)
        return known.contents is None or known.contents == _contents(value)

    def _is_up_to_date(self, known: _Module, module: Any, is_exact: bool) -> bool:
        if known.ref() is not module:
            return False
        if is_exact or known.changes != self._modules:
            if known.contents != _contents(module):
                return False
            known.changes = self._modules
        return True

    def _search(
        self, place: Place, value: Any, changed: dict[int, None], order: int
    ) -> Iterator[tuple[tuple[int, int, int, int], str, torch.Tensor]]:
        """Note what a variable leads to; gives the tensors that are new, and their order."""
        self._forget(place, changed)
        found = _Variable((id(value), id(type(value))))
        self._variables[place] = found
        if issubclass(type(value), torch.nn.Module):
            module = self._known_modules.get(id(value))
            if module is None or not self._is_up_to_date(module, value, False):
                module = self._known_modules[id(value)] = _Module(value, self._modules)
                yield from self._search_module(module, place, value, order)
            self._in_sight[place] = module
            changed.update(dict.fromkeys(self._named_by(place, module)))
            return
        variable = [(place[1], value)]
        for depth, name, tensor in naming.tensors_by_depth(variable, _OBJECTS_PER_LINE, _WIDEST):
            if self._registry.is_new(tensor):
                yield (place[0], depth, order, len(found.names)), name, tensor
            found.names.append((depth, name, id(tensor)))
            self._named.setdefault(id(tensor), {}).setdefault(place, []).append((depth, name))
            changed[id(tensor)] = None
        if type(value) not in _PLAIN:
            found.contents = _contents(value) if _is_container(place[1], value) else None

    def _search_module(
        self, module: _Module, place: Place, value: Any, order: int
    ) -> Iterator[tuple[tuple[int, int, int, int], str, torch.Tensor]]:
        searched = naming.tensors_by_depth([("m", value)], _OBJECTS_PER_LINE, _WIDEST)
        for at, (_, name, tensor) in enumerate(searched):
            path = name.removeprefix("m")
            if self._registry.is_new(tensor):
                yield (place[0], 1, order, at), place[1] + path, tensor
            module.paths.setdefault(id(tensor), []).append((at, path))
        module.ids.update(module.paths)

    def _named_by(self, place: Place, module: _Module) -> set[int]:
        """Tensors of a module whose names can depend on this variable: not on those before it."""
        found = module.ids
        for other, before in self._in_sight.items():
            if other[0] < place[0]:
                found = found - before.ids
        return found

    def _forget(self, place: Place, changed: dict[int, None]) -> None:
        known = self._variables.pop(place, None)
        module = self._in_sight.pop(place, None)
        if module is not None:
            changed.update(dict.fromkeys(self._named_by(place, module)))
        for _, _, key in () if known is None else known.names:
            changed[key] = None
            places = self._named.get(key)
            if places is not None:
                places.pop(place, None)
                if not places:
                    del self._named[key]

    def _names(self, key: int) -> list[str]:
        """Names of a tensor: those of plain variables first.

        A function that the block calls gives names only where the block has none: what the block
        can name keeps its names while functions come and go.
        """
        found = [
            (place[0], depth, self._order[place], at, name)
            for place, names in self._named.get(key, {}).items()
            for at, (depth, name) in enumerate(names)
        ]
        for place, module in self._in_sight.items():
            for at, path in module.paths.get(key, ()):
                found.append((place[0], 1, self._order[place], at, place[1] + path))
        found.sort()
        return [one[-1] for one in found if one[0] == found[0][0]]


def _is_container(name: str, value: Any) -> bool:
    kind = type(value)
    if issubclass(kind, (dict, list, tuple, torch.nn.Module)):
        return True
    return name == "self" or dataclasses.is_dataclass(kind)


def _contents(value: Any) -> list[int]:
    """``id()`` of all that a value contains; those of keys too."""
    found: list[int] = []
    inside: list[tuple[int, Any]] = [(naming.DEEPEST, value)]
    seen: set[int] = set()
    for depth, one in inside:
        if id(one) in seen or naming.width_of(one) > _WIDEST:
            continue
        seen.add(id(one))
        keys, items = _items(one, one is value)
        found += map(id, keys)
        found += map(id, items)
        if depth > 1 or issubclass(type(one), torch.nn.Module):
            inside += [(depth - 1, item) for item in items if type(item) not in _PLAIN]
    return found


def _items(value: Any, is_root: bool) -> tuple[list[Any], list[Any]]:
    kind = type(value)
    if issubclass(kind, torch.nn.Module):
        space = object.__getattribute__(value, "__dict__")
        parts = [space.get(n) or {} for n in ("_parameters", "_buffers", "_modules")]
        return [], [item for part in parts for item in list(part.values())]
    if issubclass(kind, dict):
        return list(dict.keys(value)), list(dict.values(value))
    if issubclass(kind, (list, tuple)):
        return [], list((list if issubclass(kind, list) else tuple).__iter__(value))
    space = _attributes(value) if is_root or dataclasses.is_dataclass(kind) else {}
    return list(space), list(space.values())


def _attributes(value: Any) -> dict[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found.copy() if type(found) is dict else {}
