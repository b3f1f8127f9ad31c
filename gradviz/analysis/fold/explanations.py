"""All ways in which calls of modules can have made the nodes of a gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.fold.gaps import Gap
from gradviz.analysis.fold.module_types import CASTS, ENDS, ONE, PRODUCTS
from gradviz.analysis.fold.modules_of_graph import Modules
from gradviz.model.graph import Graph

OUTSIDE: Final = -1
"""In place of a module: code outside of all modules of the graph, or a module that it calls."""
_UNFOLDED: Final = frozenset(("ViewBackward0", "UnsafeViewBackward0"))
_NEAR: Final = 4
"""Within so many nodes the next module in a row uses what one made; its weights come between."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one module makes of a gap."""

    module: int
    names: frozenset[str] | None = None
    """Names of the nodes that it may be; ``None``: any."""
    is_one: bool = False
    """Whether it is one node, or as many as there are."""
    is_optional: bool = True
    """Whether it may be none."""
    side: int = 0
    """-1: it uses the node before it; 1: the node behind uses it; 0: neither need be."""


class Explanations:
    """Finds who may have made the nodes of gaps.

    Modules are called from within the ones that they are in, a ``Sequential`` calls those in it one
    after the other, torch's own classes make the nodes that they are known to make, and any other
    module may make anything. What follows from that is a list of parts, one after the other.

    Args:
        graph: The graph.
        modules: Its modules.
        used: The modules that known nodes are of, and those around them.
    """

    def __init__(self, graph: Graph, modules: Modules, used: Iterable[int]) -> None:
        self._graph = graph
        self._modules = modules
        self._used = frozenset(used)
        self._names = graph.names
        self._order = graph.order
        self._whole: dict[int, list[Part]] = {}

    def makers(self, gap: Gap) -> list[frozenset[int]] | None:
        """Of each node of a gap the modules that may have made it; ``None``: nothing explains it.

        Args:
            gap: The gap.
        """
        found: list[set[int]] | None = None
        for kept in range(gap.kept, gap.most + 1):
            parts = self._parts(gap, kept)
            one = self._matched(gap, parts) if parts is not None else None
            if one is None:
                continue
            if found is None:
                found = one
            else:
                for mine, other in zip(found, one):
                    mine |= other
        return None if found is None else [frozenset(one) for one in found]

    # ------------------------------------------------------------- the parts of a gap

    def _parts(self, gap: Gap, kept: int) -> list[Part] | None:
        """What follows in a gap, where so many modules run on; ``None`` if they cannot."""
        between = self._between(gap, kept)
        if between is None:
            return None
        found: list[Part] = []
        for level in range(len(gap.ends) - 1, kept - 1, -1):
            inner = gap.ends[level + 1] if level + 1 < len(gap.ends) else -1
            found += self._tail(gap, gap.ends[level], inner, not level)
        found += between
        for level in range(kept, len(gap.begins)):
            inner = gap.begins[level + 1] if level + 1 < len(gap.begins) else -1
            found += self._head(gap.begins[level], inner)
        return found

    def _between(self, gap: Gap, kept: int) -> list[Part] | None:
        if not kept:
            return [Part(OUTSIDE)]
        module = gap.ends[kept - 1]
        if self._modules.is_row(module):
            if kept == len(gap.ends) or kept == len(gap.begins):
                return [Part(module)]
            first = self._child(module, gap.ends[kept])
            last = self._child(module, gap.begins[kept])
            return (
                self._all(self._modules.inside[module][first + 1 : last], -1)
                if first < last
                else None
            )
        makes = self._modules.makes[module]
        return [Part(module, None if makes is None else CASTS | makes.keys())]

    def _child(self, row: int, module: int) -> int:
        """Place in a row of the module in it that is, or is around, another one."""
        chain = self._modules.chain(module)
        return self._modules.inside[row].index(chain[chain.index(row) + 1])

    def _tail(self, gap: Gap, module: int, inner: int, is_outermost: bool) -> list[Part]:
        """What a call makes after its last known node."""
        modules = self._modules
        if not modules.is_row(module):
            end = self._end(gap, module)
            return end if modules.makes[module] is not None else [*end, Part(module)]
        if inner < 0:
            return [Part(module)]
        others = modules.inside[module][self._child(module, inner) + 1 :]
        if not self._used.isdisjoint(others):  # one of them was called alone
            return []
        parts = self._all(others, -1)
        if is_outermost:  # or some of them
            parts = [Part(p.module, p.names, p.is_one, True, p.side) for p in parts]
        return parts

    def _head(self, module: int, inner: int) -> list[Part]:
        """What a call makes before its first known node."""
        modules = self._modules
        if not modules.is_row(module):
            if modules.makes[module] is None:
                return [Part(module)]
            return [Part(module, CASTS | {"ConstantPadNdBackward0"})]
        if inner < 0:
            return [Part(module)]
        others = modules.inside[module][: self._child(module, inner)]
        if not self._used.isdisjoint(others):
            return []
        return [Part(p.module, p.names, p.is_one, True, 1) for p in self._all(others, 1)]

    def _all(self, others: Sequence[int], side: int) -> list[Part]:
        """What modules make that a row calls one after the other."""
        found: list[Part] = []
        for number in others:
            makes, kind = self._modules.makes[number], self._modules.types[number]
            if self._modules.is_row(number):
                found += self._all(self._modules.inside[number], side)
            elif makes is None or not self._modules.is_bare[number]:
                found.append(Part(number))
            elif kind in ONE:
                found.append(Part(number, frozenset(("ToCopyBackward0",)), side=side))
                found.append(Part(number, ONE[kind], True, False, side))
            else:
                found.append(Part(number, frozenset(makes), side=side))
        return found

    def _end(self, gap: Gap, number: int) -> list[Part]:
        """What a module of torch's own class makes after its last known node."""
        names = [
            self._names[place] for place in self._order[gap.first : min(gap.end, gap.first + 16)]
        ]
        for end in ENDS.get(self._modules.types[number], ()):
            if tuple(names[: len(end)]) == end:
                return [Part(number, frozenset((name,)), True, False) for name in end]
        if self._modules.types[number] == "Linear" and names and self._is_product(gap.first - 1):
            # A view gives the result the dimensions of the input, if there is one.
            is_sure = names[0] == "UnsafeViewBackward0"
            return [Part(number, _UNFOLDED, True, not is_sure, -1)]
        return []

    def _is_product(self, at: int) -> bool:
        return self._names[self._order[at]] in PRODUCTS

    # -------------------------------------------------------------------- matching

    def _matched(self, gap: Gap, parts: Sequence[Part]) -> list[set[int]] | None:
        """Which modules may have made each node, if these parts make all of them."""
        ways = [self._fitting(parts, at) for at in range(gap.first, gap.end)]
        count = len(parts)
        skips = [bool(part.is_optional) for part in parts]
        reached = [_closed(1, skips)]
        for fitting in ways:
            reached.append(_closed(_moved(reached[-1], fitting, parts), skips))
        if not reached[-1] >> count & 1:
            return None
        found: list[set[int]] = [set() for _ in ways]
        ending = _closed_back(1 << count, skips)
        for number in range(len(ways) - 1, -1, -1):
            before = 0
            for part in ways[number]:
                after = part + parts[part].is_one
                if reached[number] >> part & 1 and ending >> after & 1:
                    found[number].add(parts[part].module)
                    before |= 1 << part
            ending = _closed_back(before, skips)
        return found

    def _fitting(self, parts: Sequence[Part], at: int) -> list[int]:
        """Which parts a node may be of."""
        name = self._names[self._order[at]]
        return [
            number
            for number, part in enumerate(parts)
            if (part.names is None or name in part.names) and self._is_next(part.side, at)
        ]

    def _is_next(self, side: int, at: int) -> bool:
        """Whether a node uses the one before it, or one soon behind it uses this one."""
        if not side:
            return True
        if side < 0:
            return at > 0 and self._uses(at, at - 1)
        return any(
            self._uses(then, at) for then in range(at + 1, min(at + 1 + _NEAR, len(self._order)))
        )

    def _uses(self, at: int, made: int) -> bool:
        place = self._order[made]
        return any(e is not None and e[0] == place for e in self._graph.targets[self._order[at]])


def _moved(reached: int, fitting: Sequence[int], parts: Sequence[Part]) -> int:
    found = 0
    for part in fitting:
        if reached >> part & 1:
            found |= 1 << (part + parts[part].is_one)
    return found


def _closed(reached: int, skips: Sequence[bool]) -> int:
    """These states, and those that are reached from them without a node."""
    for part, is_optional in enumerate(skips):
        if is_optional and reached >> part & 1:
            reached |= 1 << (part + 1)
    return reached


def _closed_back(reached: int, skips: Sequence[bool]) -> int:
    for part in range(len(skips) - 1, -1, -1):
        if skips[part] and reached >> (part + 1) & 1:
            reached |= 1 << part
    return reached
