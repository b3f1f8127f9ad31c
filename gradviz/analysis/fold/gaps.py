"""What the forward made between two nodes whose modules are known: which calls end, which begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gradviz.analysis.fold.known_makers import Anchor, Modules
from gradviz.analysis.fold.module_types import CASTS, LOOPS
from gradviz.model.graph import Graph


@dataclass(slots=True, eq=False)
class Call:
    """One call of a module, from the first to the last known node."""

    module: int
    first: int
    """Place of its first known node in the order of the forward."""
    last: int = -1
    """Place of its last one."""


@dataclass(slots=True, eq=False)
class Gap:
    """The nodes between two known ones, or before the first, or after the last one."""

    first: int
    """Place of the first of them in the order of the forward."""
    end: int
    """Place behind the last of them."""
    before: Anchor | None
    after: Anchor | None
    common: int = -1
    """The innermost module that runs all the time; -1 if none is known to."""
    exits: list[Call] = field(default_factory=list)
    """Calls that end, the innermost first."""
    enters: list[Call] = field(default_factory=list)
    """Calls that begin, the outermost first."""

    def __len__(self) -> int:
        return self.end - self.first


def gaps_of(graph: Graph, modules: Modules, anchors: Sequence[Anchor]) -> Iterator[Gap]:
    """The gaps between known nodes, in the order of the forward; empty ones too.

    Args:
        graph: The graph.
        modules: Its modules.
        anchors: The known nodes, in the order of the forward.
    """
    again = _called_again(modules, anchors)
    running: list[Call] = []
    ends: list[Anchor | None] = [*anchors, None]
    before: Anchor | None = None
    for after in ends:
        first = before.at + 1 if before is not None else 0
        gap = Gap(first, after.at if after is not None else len(graph.order), before, after)
        chain = modules.chain(after.module) if after is not None else ()
        kept = _kept(graph, modules, again, gap, chain)
        gap.common = chain[kept - 1] if kept else -1
        gap.exits = running[kept:][::-1]
        if after is not None:
            gap.enters = [Call(number, after.at) for number in chain[kept:]]
            running = running[:kept] + gap.enters
        for call in gap.exits if before is not None else ():
            call.last = before.at if before is not None else -1
        yield gap
        before = after


def _kept(
    graph: Graph,
    modules: Modules,
    again: dict[int, tuple[int, str, str]],
    gap: Gap,
    chain: tuple[int, ...],
) -> int:
    """How many of the modules around the node after a gap run while the gap is made."""
    if gap.before is None or gap.after is None:
        return 0
    count = 0
    for mine, other in zip(modules.chain(gap.before.module), chain):
        if mine != other or again.get(mine) == gap.after.key:
            break
        count += 1
    makes = modules.makes[chain[count - 1]] if count else None
    if makes is not None and not modules.inside[chain[count - 1]]:
        names = (graph.names[place] for place in graph.order[gap.first : gap.end])
        count -= not all(name in makes or name in CASTS for name in names)
    while count and not modules.is_called(chain[count - 1]):
        count -= 1
    return count


def _called_again(modules: Modules, anchors: Sequence[Anchor]) -> dict[int, tuple[int, str, str]]:
    """Modules that are called several times, by the known node with which each call begins.

    The calls of a module begin in the same way, and use the same modules in it. If they do not all
    use the same ones, it is a module around them that runs something several times.
    """
    begin: dict[int, tuple[int, str, str]] = {}
    used: dict[int, set[int]] = {}
    before: dict[int, set[int]] = {}
    other: set[int] = set()
    for anchor in anchors:
        chain = modules.chain(anchor.module)
        key = anchor.key
        for number, child in zip(chain, (*chain[1:], -1)):
            known = begin.get(number)
            if known is None:
                begin[number] = key
                used[number] = {child}
            elif known == key and modules.types[number] not in LOOPS:
                if before.setdefault(number, used[number]) != used[number]:
                    other.add(number)
                used[number] = {child}
            else:
                used[number].add(child)
    return {
        number: begin[number]
        for number, first in before.items()
        if number not in other and first == used[number]
    }


@lru_cache(10_000)
def general(path: str) -> str:
    """A path with the same mark for each number in it."""
    return re.sub(r"\d+", "#", path)
