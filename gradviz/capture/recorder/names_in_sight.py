"""Which variables lead to which tensors, kept up to date variable by variable.

NOTE [Names from line to line]
After a line only those variables are searched that lead to something else than before. A variable
does if it is bound to another object, or if what it leads to holds other objects; of these only
the ``id()`` is noted. An ``id()`` may be given again once its object is gone: so what a tensor was
named by that no longer exists is searched again.

What a module leads to is kept with the module: ``self`` of one function after the other is the
same few modules, mostly with tensors that variables of the block lead to as well, which give them
their names. While a function runs it is enough that no module has got another parameter, buffer,
module or attribute since (``modules_changed``), and that those lists and objects among the
attributes that the code speaks of hold the same; after lines of the block itself, modules are
looked at as other objects are.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd, contents, naming
from gradviz.capture.naming import Kind
from gradviz.capture.recorder.registry import Registry

_OBJECTS_PER_LINE: Final = 2_000
"""How many objects are searched for names in one variable."""
_WIDEST: Final = 200
"""How many entries of a container are searched after each line."""

Place = tuple[int, str]
"""Number of a namespace, and a variable in it."""


class _Rank(NamedTuple):
    """Which name of a tensor is the best: the first in this order."""

    is_attribute: bool
    """Whether it is an attribute, or in one; of ``self``, whether it is in one."""
    namespace: int
    kind: Kind
    depth: int
    order: int
    """Place of the variable among all."""
    at: tuple[int, ...]
    """Place among the names that it gives."""

    @property
    def group(self) -> tuple[int, Kind, int]:
        """Names of the same group are names of a tensor at the same time."""
        return self.namespace, self.kind, 0 if self.kind is Kind.VARIABLE else self.depth


class _Name(NamedTuple):
    """A tensor or a module that something leads to."""

    kind: Kind
    depth: int
    at: int
    name: str


@dataclass(slots=True)
class _Variable:
    """What a variable led to when it was searched."""

    holds: tuple[int, int]
    """``id()`` of its value, and of the type of that."""
    contents: list[int]
    """``id()`` of what it contains."""
    tensors: dict[int, list[_Name]] = field(default_factory=dict)
    """By ``id()``: the tensors that it leads to, but for those of modules."""
    modules: list[tuple[_Name, _Module]] = field(default_factory=list)
    version: int | None = None
    """Of its value, if that is a tensor."""


class _Module:
    """The tensors of a module."""

    def __init__(self, module: torch.nn.Module, changes: int) -> None:
        self.ref = weakref.ref(module)
        self.key = id(module)
        self.changes = changes
        """How often modules had changed when it was searched."""
        self.contents = contents.identities(module)
        self._watched = [(ref, name, _inside(ref, name)) for ref, name in _changing(module)]
        """Attributes that are lists or objects, and what they contain."""
        self.tensors: dict[int, list[_Name]] = {}
        """By ``id()``; names are paths with a point before them."""
        self.own: set[int] = set()
        """``id()`` of its parameters and buffers."""
        self.others: set[int] = set()
        """``id()`` of tensors in its attributes."""

    def search(self, module: torch.nn.Module) -> Iterator[tuple[_Name, torch.Tensor]]:
        """Note which tensors it leads to."""
        found = naming.search_module(module, _OBJECTS_PER_LINE, _WIDEST)
        for at, one in enumerate(found):
            name = _Name(one.kind, one.depth, at, one.name)
            self.tensors.setdefault(id(one.value), []).append(name)
            (self.own if one.kind is Kind.VARIABLE else self.others).add(id(one.value))
            yield name, one.value

    def is_up_to_date(self, changes: int, is_exact: bool, words: frozenset[str] | None) -> bool:
        """Whether the module leads to what it led to.

        Args:
            changes: How often modules have changed by now.
            is_exact: Whether they may have changed in another way.
            words: Names that the code that runs speaks of; ``None`` if it may speak of all.
        """
        module = self.ref()
        if module is None:
            return False
        if is_exact or self.changes != changes:
            if self.contents != contents.identities(module):
                return False
            self.changes = changes
        return all(
            inside == _inside(ref, name)
            for ref, name, inside in self._watched
            if is_exact or words is None or name in words
        )


class NamesInSight:
    """The names of tensors, by the variables in sight.

    Args:
        registry: The tensors of the recording; those with a new name become part of it.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._variables: dict[Place, _Variable] = {}
        self._order: dict[Place, int] = {}
        self._named: dict[int, dict[Place, None]] = {}
        """By ``id()`` of a tensor: the variables that lead to it, but for modules."""
        self._known_modules: dict[int, _Module] = {}
        self._with_modules: dict[Place, None] = {}
        """Variables that lead to modules."""
        self._modules = 0
        """How often modules have got other parameters, buffers, modules or attributes."""
        self._is_exact = True
        self._words: frozenset[str] | None = None
        registry.names_in_sight = self._names

    def modules_changed(self) -> None:
        """A module has got another parameter, buffer, module or attribute."""
        self._modules += 1

    def look(
        self,
        spaces: list[list[tuple[str, Any]]],
        is_exact: bool,
        words: frozenset[str] | None = None,
    ) -> bool:
        """Give tensors the names that they have now.

        Args:
            spaces: Variables in sight, those of the block first.
            is_exact: Whether modules are looked at, too.
            words: Names that the code speaks of; ``None`` if they are not known.

        Returns:
            Whether any name is another one than before, or what it names was written.
        """
        self._is_exact, self._words = is_exact, words
        changed = dict(self._registry.unnamed)
        self._registry.unnamed.clear()
        again = {place for key in changed for place in self._named.get(key, ())}
        seen: dict[Place, int] = {}
        new: list[tuple[_Rank, str, torch.Tensor]] = []
        for number, space in enumerate(spaces):
            for name, value in space:
                place = number, name
                seen[place] = len(seen)
                known = self._variables.get(place)
                if known is None or place in again or not self._is_same(known, value, name):
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
                if contents.is_plain_tensor(value):
                    known, version = self._variables[number, name], autograd.version_of(value)
                    if known.version != version:
                        known.version, is_written = version, True
                        self._registry.has_changed((value,))
        return is_written

    def _is_same(self, known: _Variable, value: Any, name: str) -> bool:
        if known.holds != (id(value), id(type(value))):
            return False
        if not contents.may_contain(value):
            return True
        modules: list[Any] = []
        if known.contents != _all_in([value], name == "self", modules):
            return False
        is_same = all(map(self._is_module_same, modules))
        return is_same and all(self._known_modules[one.key] is one for _, one in known.modules)

    def _is_module_same(self, module: Any) -> bool:
        known = self._known_modules.get(id(module))
        if known is None:  # no bound of the search has let it be searched
            return True
        return known.ref() is module and known.is_up_to_date(
            self._modules, self._is_exact, self._words
        )

    def _search(
        self, place: Place, value: Any, changed: dict[int, None], order: int
    ) -> Iterator[tuple[_Rank, str, torch.Tensor]]:
        """Note what a variable leads to; gives the tensors that are new, and their order."""
        self._forget(place, changed)
        holds = id(value), id(type(value))
        found = _Variable(holds, _all_in([value], place[1] == "self", []))
        self._variables[place] = found
        searched = naming.search([(place[1], value)], _OBJECTS_PER_LINE, _WIDEST, True)
        for at, one in enumerate(searched):
            name = _Name(one.kind, one.depth, at, one.name)
            if contents.is_module(one.value):
                yield from self._search_module(one.value, place, name, order)
                continue
            if self._registry.is_new(one.value):
                yield _rank(place, name, order), one.name, one.value
            found.tensors.setdefault(id(one.value), []).append(name)
            self._named.setdefault(id(one.value), {})[place] = None
            changed[id(one.value)] = None
        if found.modules:
            self._with_modules[place] = None
            for name, module in found.modules:
                changed.update(dict.fromkeys(self._named_by(place, name, module)))

    def _search_module(
        self, value: Any, place: Place, name: _Name, order: int
    ) -> Iterator[tuple[_Rank, str, torch.Tensor]]:
        """As :meth:`_search`, for a module that a variable leads to."""
        module = self._known_modules.get(id(value))
        if module is None or not self._is_module_same(value):
            module = self._known_modules[id(value)] = _Module(value, self._modules)
            for inner, tensor in module.search(value):
                if self._registry.is_new(tensor):
                    yield _rank(place, name, order, inner), name.name + inner.name, tensor
        self._variables[place].modules.append((name, module))

    def _named_by(self, place: Place, name: _Name, module: _Module) -> set[int]:
        """Tensors of a module whose names can depend on this variable: not on those before it."""
        found = module.own
        here = place[0], _own_kind(name)
        for other in self._with_modules:
            for its_name, before in self._variables[other].modules:
                if (other[0], _own_kind(its_name)) < here:
                    found = found - before.own
        return found | module.others

    def _forget(self, place: Place, changed: dict[int, None]) -> None:
        known = self._variables.get(place)
        if known is None:
            return
        for name, module in known.modules:
            changed.update(dict.fromkeys(self._named_by(place, name, module)))
        for key in known.tensors:
            changed[key] = None
            places = self._named.get(key)
            if places is not None:
                places.pop(place, None)
                if not places:
                    del self._named[key]
        del self._variables[place]
        self._with_modules.pop(place, None)

    def _names(self, key: int) -> list[str]:
        """Names of a tensor, the best first.

        A function that the block calls gives names only where the block has none: what the block
        can name keeps its names while functions come and go. An attribute of an object of the
        block's is named by a variable of the function's, and as ``self.hidden``. What has a name
        that is short to type has no longer one.
        """
        found: list[tuple[_Rank, str]] = []
        for place in self._named.get(key, {}):
            order = self._order[place]
            for name in self._variables[place].tensors[key]:
                found.append((_rank(place, name, order), name.name))
        for place in self._with_modules:
            order = self._order[place]
            for outer, module in self._variables[place].modules:
                for inner in module.tensors.get(key, ()):
                    found.append((_rank(place, outer, order, inner), outer.name + inner.name))
        found.sort()
        return [name for rank, name in found if rank.group == found[0][0].group]


def _rank(place: Place, name: _Name, order: int, inner: _Name | None = None) -> _Rank:
    """The rank of a name.

    Args:
        place: The variable that it begins with.
        name: The name; with ``inner``, that of a module.
        order: Place of the variable among all.
        inner: Path in the module.
    """
    kind, depth, at = name.kind, name.depth, [name.at]
    is_in_self = place[1] == "self" and kind is Kind.VARIABLE
    if inner is not None:
        depth, at = depth + inner.depth, [name.at, inner.at]
        kind = inner.kind
        if kind is Kind.OWN:
            kind = Kind.VARIABLE if name.name == "self" else Kind.ATTRIBUTE
        elif kind is Kind.VARIABLE:
            kind, is_in_self = _own_kind(name), False
    is_attribute = kind is Kind.ATTRIBUTE or (is_in_self and depth > 1)
    return _Rank(is_attribute, place[0], kind, depth, order, tuple(at))


def _own_kind(name: _Name) -> Kind:
    """Of the names of the parameters of a module, by the name of the module."""
    return Kind.VARIABLE if name.kind is Kind.VARIABLE else Kind.PARAMETER


def _changing(module: torch.nn.Module) -> Iterator[tuple[weakref.ref[Any], str]]:
    """Attributes of the modules in a module that may contain something else at another time."""
    for part in contents.parts_of(module):
        for name, item in contents.attributes_of(part.module):
            if contents.may_change(item):
                yield weakref.ref(part.module), name


def _inside(ref: weakref.ref[Any], name: str) -> list[int]:
    """``id()`` of all that an attribute of a module contains."""
    module = ref()
    return [] if module is None else _all_in([contents.attribute(module, name)], False, None)


def _all_in(values: list[Any], is_self: bool, modules: list[Any] | None) -> list[int]:
    """``id()`` of all that values contain; of keys too, and 0 for what contains nothing.

    Args:
        values: What is looked at.
        is_self: Whether attributes of the values themselves are looked at in any case.
        modules: Gets the modules, which are not looked into then.
    """
    found: list[int] = []
    seen: set[int] = set()
    level = values
    for depth in range(naming.DEEPEST):
        inner: list[Any] = []
        for value in level:
            if id(value) in seen or len(seen) >= _OBJECTS_PER_LINE:
                continue
            seen.add(id(value))
            if modules is not None and contents.is_module(value):
                modules.append(value)
                continue
            for keys, items in _entries(value, is_self and depth == 0):
                found.append(len(items))
                found += map(id, keys)
                for item in items:
                    kind = id(type(item))
                    found.append(0 if kind in contents.HOLD_NOTHING else id(item))
                    if kind not in contents.HOLD_NOTHING_OR_TENSORS:
                        inner.append(item)
        level = inner
    return found


def _entries(value: Any, is_self: bool) -> list[tuple[Iterable[Any], list[Any]]]:
    """Keys that last as long as the value, and what it contains."""
    kind = type(value)
    if kind is list or kind is tuple:  # most containers are of these; as contents.contents()
        return [((), list(value))] if len(value) <= _WIDEST else []
    try:
        if contents.width_of(value) > _WIDEST:
            return []
        parts = contents.contents(value, is_self)
    except Exception:  # as in a search: it has no names then
        return []
    has_keys = not contents.is_module(value)
    return [
        (p.keys if has_keys and (p.is_mapping or p.is_attribute) else (), p.values) for p in parts
    ]
