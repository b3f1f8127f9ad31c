"""The nodes that use parameters or buffers of one module: so it is known which one made them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gradviz.analysis.fold.module_types import (
    CAST,
    CASTS,
    COMPILED,
    FORMS,
    LISTS,
    MEASURES,
    ROW,
    USED_BY_OTHERS,
    makes_of,
)
from gradviz.model.graph import Graph


class Modules:
    """The modules of a graph as a tree, each known by a number; a module comes before those in it.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        rows = graph.modules
        self.paths = [row.path for row in rows]
        self.types = [row.type.removeprefix("Parametrized") or row.type for row in rows]
        self.is_bare = [not row.tensors for row in rows]
        """Whether each has no tensors itself."""
        self.inside: list[list[int]] = [[] for _ in rows]
        """The modules in each, in their order."""
        self.above: list[int] = []
        """The module that each is in, -1 for an outermost one."""
        numbers = {path: number for number, path in enumerate(self.paths)}
        for number, path in enumerate(self.paths):
            above = -1
            while above < 0 and path:
                path = path.rpartition(".")[0]
                above = numbers.get(path, -1) if numbers.get(path) != number else -1
            self.above.append(above)
            if above >= 0:
                self.inside[above].append(number)
        self.makes = [
            makes_of(kind) if all(self.is_parametrization(one) for one in inside) else None
            for kind, inside in zip(self.types, self.inside)
        ]
        """For modules of torch's own classes what each makes, see :func:`makes_of`."""
        self._leads = [self._chain(number) for number in range(len(rows))]

    def _chain(self, number: int) -> tuple[int, ...]:
        found = []
        while number >= 0:
            found.append(number)
            number = self.above[number]
        return tuple(reversed(found))

    def is_parametrization(self, number: int) -> bool:
        """Whether it computes parameters of the module that it is in."""
        return self.paths[number].endswith(".parametrizations")

    def is_outermost(self, number: int) -> bool:
        """Whether no module that is called is around it."""
        return not any(map(self.is_called, self.chain(number)[:-1]))

    def common(self, numbers: Iterable[int]) -> int:
        """The innermost module around all of these; -1 if there is none."""
        found = -1
        for level in zip(*map(self.chain, numbers)):
            if len(set(level)) > 1:
                break
            found = level[0]
        return found

    def may_make_itself(self, number: int, name: str) -> bool:
        """Whether no module without tensors that is directly in one may make nodes of a name."""
        bare = (one for one in self.inside[number] if not self.inside[one] and self.is_bare[one])
        return not any((makes := self.makes[one]) is None or name in makes for one in bare)

    def chain(self, number: int) -> tuple[int, ...]:
        """The modules that one is in, from the outermost one to itself."""
        return self._leads[number] if number >= 0 else ()

    def is_called(self, number: int) -> bool:
        """Whether its class is no mere list of modules."""
        return self.types[number] not in LISTS

    def is_row(self, number: int) -> bool:
        """Whether it calls the modules in it one after the other, and does nothing else."""
        return number >= 0 and self.types[number] == ROW

    def user_of(self, number: int) -> int:
        """The module whose forward uses the parameters of one."""
        while number >= 0 and self.types[number] in USED_BY_OTHERS:
            number = self.above[number]
        return number


@dataclass(frozen=True, slots=True)
class Anchor:
    """A node whose module is known."""

    at: int
    """Its place in the order of the forward."""
    module: int
    """Number of the module."""
    key: tuple[int, str, str]
    """Module, name of the node, and what it uses: equal where the same code runs again."""


class Makers:
    """Finds the nodes that use parameters and buffers of one module.

    Args:
        graph: The graph.
        modules: Its modules.
    """

    def __init__(self, graph: Graph, modules: Modules) -> None:
        self._graph = graph
        self._modules = modules
        self._infos = {info.id: info for info in graph.tensors}
        self._by_hand: set[int] = set()
        """Modules whose parameters are used by the module around them."""
        self._computed: set[int] = set()
        """Modules whose parameters are computed from others before they are used."""
        self._by_storage: dict[str, set[int]] = {}
        self._by_leaf: dict[str, set[int]] = {}
        self._find_owners()
        self._uses = list(self._all_uses()) if self._by_leaf else []
        self._by_hand = set(self._used_by_hand())
        if self._by_hand:
            self._find_owners()

    def _find_owners(self) -> None:
        self._by_storage.clear()
        self._by_leaf.clear()
        for number, row in enumerate(self._graph.modules):
            user = self._modules.user_of(number)
            while user in self._by_hand:
                user = self._modules.user_of(self._modules.above[user])
            for key in row.tensors if user >= 0 else ():
                info = self._infos[key]
                self._by_leaf.setdefault(key, set()).add(user)
                if info.storage is not None:
                    self._by_storage.setdefault(info.storage, set()).add(user)
                if (info.name or "").endswith(("_g", "_v", "_u", "_orig")):
                    self._computed.add(user)
            if any(map(self._modules.is_parametrization, self._modules.inside[number])):
                self._computed.add(number)

    def _all_uses(self) -> Iterator[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        """Nodes that use leaves or saved tensors: place in the order, leaves, storages."""
        graph = self._graph
        names, variables, saved, targets = graph.names, graph.variables, graph.saved, graph.targets
        behind: dict[int, str] = {}
        for at, place in enumerate(graph.order):
            used: dict[str, None] = {}
            others = 0
            for entry in targets[place]:
                if entry is None:
                    continue
                leaf = variables[entry[0]] or behind.get(entry[0])
                if leaf is None:
                    others += 1
                else:
                    used[leaf] = None
            if used and not others:
                if len(used) == 1 and names[place] in CASTS:
                    behind[place] = next(iter(used))
                elif names[place] in MEASURES:
                    continue
            leaves = tuple(leaf for leaf in used if leaf in self._by_leaf)
            storages = tuple(
                slot.storage
                for slot in saved[place]
                if slot.storage is not None and slot.storage in self._by_storage
            )
            if leaves or storages:
                yield at, leaves, storages

    def _used_by_hand(self) -> Iterator[int]:
        """Modules of torch's own classes whose parameters are used as their forward does not."""
        names, order, modules = self._graph.names, self._graph.order, self._modules
        for at, leaves, storages in self._uses:
            owners = self._owners(leaves, storages)
            if len(owners) != 1:
                continue
            (number,) = owners
            if modules.makes[number] is None or number in self._computed:
                continue
            kind, name = modules.types[number], names[order[at]]
            if name in CASTS and not storages:
                is_by_hand = name not in FORMS.get(kind, CAST)
            else:
                is_by_hand = (kind, name) == ("Linear", "MmBackward0") and self._lacks_bias(
                    at, number
                )
            if is_by_hand:
                yield number

    def _lacks_bias(self, at: int, number: int) -> bool:
        """Whether a Linear has a bias that none of the nodes right after a product adds to it."""
        order, row = self._graph.order, self._graph.modules[number]
        return len(row.tensors) > 1 and not any(
            self._graph.variables[entry[0]] in row.tensors
            for place in order[at + 1 : at + 3]
            for entry in self._graph.targets[place]
            if entry is not None
        )

    def anchors(self) -> Iterator[Anchor]:
        """The nodes that are known, in the order of the forward."""
        names, order = self._graph.names, self._graph.order
        for at, leaves, storages in self._uses:
            name = names[order[at]]
            owners = {
                number for number in self._owners(leaves, storages) if self._may_make(number, name)
            }
            if len(owners) > 1 and name == COMPILED:
                owners = {self._modules.common(owners)} - {-1}
            if len(owners) == 1:
                module = owners.pop()
                yield Anchor(at, module, (module, name, (*leaves, *storages)[0]))

    def _owners(self, leaves: Sequence[str], storages: Sequence[str]) -> set[int]:
        """The modules that have all of these tensors; those that have one if none has all."""
        groups = [self._by_leaf[key] for key in leaves]
        groups += [self._by_storage[key] for key in storages]
        if len(groups) == 1:
            return groups[0]
        return set.intersection(*groups) or set.union(*groups)

    def _may_make(self, number: int, name: str) -> bool:
        makes = None if number in self._computed else self._modules.makes[number]
        return makes is None or name in makes
