"""The nodes that use parameters or buffers of one module as its forward does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.analysis.fold.module_types import (
    CASTS,
    COMPILED,
    FORMS,
    KERNELS,
    MEASURES,
    OPEN_KERNELS,
    PARAMETER_SLOTS,
    PRODUCTS,
)
from gradviz.analysis.fold.modules_of_graph import Modules
from gradviz.model.graph import Graph
from gradviz.model.records import TensorInfo

Use: TypeAlias = tuple[int, tuple[str, ...], tuple[str, ...]]
"""Place of a node in the order of the forward, leaves and storages of modules that it uses."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A node whose module is known."""

    at: int
    """Its place in the order of the forward."""
    module: int
    """Number of the module."""
    leaves: tuple[str, ...]
    """The leaves of modules that it uses; none if they need no gradient."""
    uses: tuple[str, ...]
    """These leaves, and storages."""
    is_cast: bool = False
    """Whether it is a view or a cast of a parameter."""


@dataclass(frozen=True, slots=True)
class _Cast:
    """A node that is a view, a copy or a cast of a leaf."""

    leaf: str
    names: tuple[str, ...]
    """What was done to it, in this order."""


@dataclass(frozen=True, slots=True)
class _Computed:
    """A node that computes with nothing but parameters."""

    common: int
    """The innermost module around all whose parameters they are; -1 if there is none."""
    is_own: bool
    """Whether some of them are parameters of this module itself, a class of the user's."""


class Makers:
    """Finds the nodes that use parameters and buffers of one module.

    Torch's own classes use theirs in known forms; nodes that use them in others, to punish large
    weights, say, were made by other code. So were perhaps those that compute with parameters alone,
    and those of a backward that made a graph.

    Args:
        graph: The graph.
        modules: Its modules.
    """

    def __init__(self, graph: Graph, modules: Modules) -> None:
        self._graph = graph
        self._modules = modules
        self._names = graph.names
        self._by_storage: dict[str, set[int]] = {}
        self._by_leaf: dict[str, set[int]] = {}
        self._derived: set[int] = set()
        """Modules whose parameters are computed from others before they are used."""
        self._casts: dict[int, _Cast] = {}
        self._computed: dict[int, _Computed] = {}
        self._find_owners()

    def _find_owners(self) -> None:
        modules = self._modules
        infos = {info.id: info for info in self._graph.tensors}
        for number, row in enumerate(self._graph.modules):
            for key in row.tensors:
                info = infos[key]
                user = self._user_of(number, info)
                if user < 0:
                    continue
                self._by_leaf.setdefault(key, set()).add(user)
                if info.storage is not None:
                    self._by_storage.setdefault(info.storage, set()).add(user)
                if (info.name or "").endswith(("_g", "_v", "_u", "_orig")):
                    self._derived.add(user)
            if any(map(modules.is_parametrization, modules.inside[number])):
                self._derived.add(number)

    def _user_of(self, number: int, info: TensorInfo) -> int:
        """The module whose forward uses a tensor of one; around all, if it is in several places."""
        modules = self._modules
        paths = {name.rpartition(".")[0] for name in info.names} - set(modules.numbers)
        # Every path leads to an outermost module without a name, those of other models too.
        elsewhere = [one for one in map(modules.around, paths) if one >= 0 and modules.paths[one]]
        return modules.user_of(modules.common((number, *elsewhere)))

    def anchors(self) -> Sequence[Anchor]:
        """The nodes that are known, in the order of the forward."""
        found: dict[int, Anchor] = {}
        pure: list[Use] = []
        sure = marker = -1
        for use in self._uses():
            at, leaves, storages = use
            place = self._graph.order[at]
            if place in self._casts:
                if marker < 0 and self._casts[place].names.count("TBackward0") > 1:
                    marker = at
                continue
            module = self._maker(use)
            if module is None:
                continue
            if not self._is_kernel(module, place) and not self._has_data(module, place):
                pure.append(use)
                continue
            found[at] = Anchor(at, module, leaves, (*leaves, *storages))
            self._computed.pop(place, None)  # what it made is computed from its input
            if marker < 0 and leaves and self._is_kernel(module, place, only_closed=True):
                sure = at
        self._add_flowing(found, pure)
        marker = min((at for at in (marker, self._first_of_backward()) if at >= 0), default=-1)
        if marker >= 0:
            last = max((at for at in found if at < marker and at <= sure), default=-1)
            found = {at: one for at, one in found.items() if at <= last or self._is_closed(one)}
        self._add_casts(found)
        return [found[at] for at in sorted(found)]

    def _first_of_backward(self) -> int:
        """The first node that can only be of the graph of a backward; -1 if there is none."""
        for at, place in enumerate(self._graph.order):
            if self._names[place].count("Backward") > 1:  # the derivative of a derivative
                return at
        return -1

    def _uses(self) -> Iterator[Use]:
        """The nodes that use leaves of modules, or save them."""
        graph = self._graph
        for at, place in enumerate(graph.order):
            used: dict[str, None] = {}
            others = plain = 0
            of: _Computed | None = None
            for entry in graph.targets[place]:
                if entry is None:
                    continue
                plain += 1
                leaf = graph.variables[entry[0]]
                cast = self._casts.get(entry[0])
                key = leaf if leaf is not None else cast.leaf if cast is not None else None
                if key is not None and key in self._by_leaf:
                    used[key] = None
                    of = self._and(of, self._of_leaf(key))
                elif entry[0] in self._computed:
                    of = self._and(of, self._computed[entry[0]])
                else:
                    others += 1
            if plain and not others and of is not None:
                if len(used) == plain == 1 and self._names[place] in CASTS:
                    entry = next(one for one in graph.targets[place] if one is not None)
                    before = self._casts.get(entry[0])
                    names = (*(before.names if before is not None else ()), self._names[place])
                    self._casts[place] = _Cast(next(iter(used)), names)
                else:
                    self._computed[place] = of
            storages = tuple(
                slot.storage
                for slot in graph.saved[place]
                if slot.storage is not None and slot.storage in self._by_storage
            )
            if used or storages or self._names[place] in PARAMETER_SLOTS:
                yield at, tuple(used), storages

    def _of_leaf(self, leaf: str) -> _Computed:
        owners = self._by_leaf[leaf]
        common = self._modules.common(owners)
        return _Computed(common, common in owners and self._modules.makes[common] is None)

    def _and(self, one: _Computed | None, other: _Computed) -> _Computed:
        if one is None or one == other:
            return other
        common = self._modules.common((one.common, other.common))
        is_own = any(each.is_own and each.common == common for each in (one, other))
        return _Computed(common, is_own)

    def _maker(self, use: Use) -> int | None:
        at, leaves, storages = use
        place = self._graph.order[at]
        owners = self._owners(leaves, storages) if leaves or storages else set()
        fitting = {number for number in owners if self._may_make(number, at)}
        if len(fitting) > 1 and self._names[place] == COMPILED:
            return self._modules.called_around(self._modules.common(fitting))
        if len(fitting) == 1:
            return fitting.pop()
        return self._maker_of_product(place) if not fitting else None

    def _maker_of_product(self, place: int) -> int | None:
        """The module that multiplies with a weight that it computes from its own parameters."""
        slots = PARAMETER_SLOTS.get(self._names[place])
        if slots is None or self._names[place] not in PRODUCTS:
            return None
        of: _Computed | None = None
        for slot, entry in enumerate(self._graph.targets[place]):
            if entry is None or slot not in slots:
                continue
            value = self._value(entry[0])
            if value is None:
                return None
            of = self._and(of, value)
        if of is None or not of.is_own or not self._has_data(of.common, place):
            return None
        return of.common

    def _value(self, place: int) -> _Computed | None:
        """What a parameter is, or a value that is computed from nothing else."""
        leaf = self._leaf_of(place)
        return self._computed.get(place) if leaf is None else self._of_leaf(leaf)

    def _has_data(self, number: int, place: int) -> bool:
        """Whether a node computes with values that come from elsewhere than a module.

        A product does so too with an input of the model, which needs no gradient.
        """
        slots = PARAMETER_SLOTS.get(self._names[place]) if self._names[place] in PRODUCTS else None
        for slot, entry in enumerate(self._graph.targets[place]):
            if slots is not None and slot in slots:
                continue
            if entry is None:
                if slots is not None:
                    return True
            elif self._leaf_of(entry[0]) is None:
                of = self._computed.get(entry[0])
                if of is None or number not in self._modules.chain(of.common):
                    return True
        return False

    def _leaf_of(self, place: int) -> str | None:
        cast = self._casts.get(place)
        leaf = self._graph.variables[place] if cast is None else cast.leaf
        return leaf if leaf in self._by_leaf else None

    def _owners(self, leaves: Sequence[str], storages: Sequence[str]) -> set[int]:
        """The modules that have all of these tensors; those that have one if none has all."""
        groups = [self._by_leaf[key] for key in leaves]
        groups += [self._by_storage[key] for key in storages]
        if len(groups) == 1:
            return groups[0]
        return set.intersection(*groups) or set.union(*groups)

    # ------------------------------------------------------- torch's own classes

    def _is_kernel(self, number: int, place: int, only_closed: bool = False) -> bool:
        """Whether a node is what a module of torch's own class does with its parameters."""
        names = KERNELS.get(self._modules.types[number])
        if names is None or number in self._derived or self._modules.makes[number] is None:
            return False
        name = self._names[place]
        return name in names and not (only_closed and name in OPEN_KERNELS)

    def _is_closed(self, anchor: Anchor) -> bool:
        place = self._graph.order[anchor.at]
        return bool(anchor.leaves) and self._is_kernel(anchor.module, place, only_closed=True)

    def _may_make(self, number: int, at: int) -> bool:
        place = self._graph.order[at]
        name = self._names[place]
        if self._modules.makes[number] is None or number in self._derived:
            return name not in MEASURES or place not in self._computed
        if not self._is_kernel(number, place):
            return False
        slots = PARAMETER_SLOTS.get(name)
        own = set(self._graph.modules[number].tensors)
        allowed = FORMS[self._modules.types[number]]
        for slot, entry in enumerate(self._graph.targets[place]):
            if entry is None:
                continue
            leaf = self._leaf_of(entry[0])
            is_own = leaf is not None and number in self._by_leaf[leaf]
            if slots is not None and is_own != (slot in slots):
                return False
            cast = self._casts.get(entry[0])
            if is_own and cast is not None and not set(cast.names) <= allowed:
                return False
        if name in OPEN_KERNELS:
            return place not in self._computed and (
                name != "AddBackward0" or self._adds_to_product(number, place)
            )
        if name in PRODUCTS and "TBackward0" in allowed:
            return self._is_transposed(number, place) and not (
                name == "MmBackward0" and len(own) > 1 and self._lacks_bias(at, own)
            )
        return True

    def _is_transposed(self, number: int, place: int) -> bool:
        """Whether the weight of a product was transposed once, as far as that can be seen."""
        graph = self._graph
        for entry in graph.targets[place]:
            cast = self._casts.get(entry[0]) if entry is not None else None
            if cast is not None and number in self._by_leaf[cast.leaf]:
                if cast.names.count("TBackward0") > 1:
                    return False
                if len(graph.tensor(cast.leaf).shape) == 2 and "TBackward0" not in cast.names:
                    return False
        weights = {
            info.storage: info.shape
            for info in map(graph.tensor, graph.modules[number].tensors)
            if len(info.shape) == 2
        }
        return not any(
            slot.shape is not None
            and weights.get(slot.storage, slot.shape[::-1]) != slot.shape[::-1]
            for slot in graph.saved[place]
            if slot.storage is not None
        )

    def _lacks_bias(self, at: int, own: set[str]) -> bool:
        """Whether a Linear has a bias that none of the nodes right after a product adds to it."""
        graph = self._graph
        return not any(
            entry is not None and self._leaf_of(entry[0]) in own
            for place in graph.order[at + 1 : at + 4]
            for entry in graph.targets[place]
        )

    def _adds_to_product(self, number: int, place: int) -> bool:
        """Whether a node adds a bias to a product with the weight of the same module."""
        graph = self._graph
        for entry in graph.targets[place]:
            before = entry[0] if entry is not None else None
            while before is not None and self._names[before] in CASTS:
                following = graph.targets[before]
                before = following[0][0] if following and following[0] is not None else None
            if before is not None and self._names[before] in PRODUCTS:
                leaves = (self._leaf_of(one[0]) for one in graph.targets[before] if one is not None)
                return any(leaf is not None and number in self._by_leaf[leaf] for leaf in leaves)
        return False

    # ------------------------------------------------------- what follows from anchors

    def _add_flowing(self, found: dict[int, Anchor], pure: Sequence[Use]) -> None:
        """Add nodes that use parameters alone where a later known node computes with the result.

        So the input of a model, which needs no gradient, goes on through it. What a loss adds up of
        the parameters does not.
        """
        candidates = {at: (leaves, storages) for at, leaves, storages in pure}
        if not candidates:
            return
        graph, flows = self._graph, bytearray(len(self._graph))
        for at in range(len(graph.order) - 1, -1, -1):
            place = graph.order[at]
            if at in candidates and flows[place]:
                leaves, storages = candidates[at]
                module = self._maker((at, leaves, storages))
                if module is not None:
                    found[at] = Anchor(at, module, leaves, (*leaves, *storages))
            if at not in found and not flows[place]:
                continue
            slots = PARAMETER_SLOTS.get(self._names[place], ()) if at in found else ()
            entries = [e for s, e in enumerate(graph.targets[place]) if e and s not in slots]
            data = [e for e in entries if not self._is_of_parameters(e[0])]
            for entry in data or entries:
                flows[entry[0]] = 1

    def _is_of_parameters(self, place: int) -> bool:
        return place in self._computed or self._leaf_of(place) is not None

    def _add_casts(self, found: dict[int, Anchor]) -> None:
        """Add views and casts of a parameter that a known node of the module uses."""
        graph = self._graph
        at_of = {place: at for at, place in enumerate(graph.order)}
        for anchor in list(found.values()):
            todo = [graph.order[anchor.at]]
            while todo:
                for entry in graph.targets[todo.pop()]:
                    cast = self._casts.get(entry[0]) if entry is not None else None
                    if entry is None or cast is None:
                        continue
                    at = at_of[entry[0]]
                    if at not in found and anchor.module in self._by_leaf[cast.leaf]:
                        found[at] = Anchor(at, anchor.module, (cast.leaf,), (cast.leaf,), True)
                        todo.append(entry[0])
