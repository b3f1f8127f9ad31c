"""What the forward made between two nodes whose modules are known: which calls end, which begin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby

from gradviz.analysis.fold.known_makers import Anchor
from gradviz.analysis.fold.module_types import LOOPS
from gradviz.analysis.fold.modules_of_graph import Modules
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
    ends: tuple[int, ...] = ()
    """The modules that are called around the node before, the outermost first."""
    begins: tuple[int, ...] = ()
    """The same of the node after."""
    kept: int = 0
    """How many of these surely run all the time."""
    most: int = 0
    """How many may: where a module is called again, it is not known which module around does so."""
    exits: list[Call] = field(default_factory=list)
    """Calls that may end, the innermost first."""
    enters: list[Call] = field(default_factory=list)
    """Calls that may begin, the outermost first."""

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def common(self) -> int:
        """The innermost module that surely runs all the time; -1 if none is known to."""
        return self.ends[self.kept - 1] if self.kept else -1


def gaps_of(graph: Graph, modules: Modules, anchors: Sequence[Anchor]) -> Iterator[Gap]:
    """The gaps between known nodes, in the order of the forward; empty ones too.

    Args:
        graph: The graph.
        modules: Its modules.
        anchors: The known nodes, in the order of the forward.
    """
    chains = [modules.calls(anchor.module) for anchor in anchors]
    starts = _Starts(graph, modules, anchors, chains)
    running: list[Call] = []
    for number in range(len(anchors) + 1):
        before = anchors[number - 1] if number else None
        after = anchors[number] if number < len(anchors) else None
        gap = Gap(
            before.at + 1 if before is not None else 0,
            after.at if after is not None else len(graph.order),
            before,
            after,
            chains[number - 1] if before is not None else (),
            chains[number] if after is not None else (),
        )
        if before is not None and after is not None:
            gap.most = _same(gap.ends, gap.begins)
            gap.kept = starts.kept(number, gap.most)
        gap.exits = running[gap.kept :][::-1]
        gap.enters = [Call(one, gap.end) for one in gap.begins[gap.kept :]]
        running = running[: gap.kept] + gap.enters
        for call in gap.exits:
            call.last = gap.first - 1
        yield gap


def _same(one: Sequence[int], other: Sequence[int]) -> int:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


class _Starts:
    """Finds where a module may have been called again.

    Each call of a module uses the same modules in it, and begins with the same one. So it may begin
    anew where the first of them is used when all of them have been. It is not asked whether all are
    used again: code outside may call some of them alone.

    Args:
        graph: The graph.
        modules: Its modules.
        anchors: The known nodes.
        chains: The modules that are called around each.
    """

    def __init__(
        self,
        graph: Graph,
        modules: Modules,
        anchors: Sequence[Anchor],
        chains: Sequence[tuple[int, ...]],
    ) -> None:
        self._graph = graph
        self._modules = modules
        self._anchors = anchors
        self._chains = chains
        self._begins: set[tuple[int, int]] = set()
        """Number of a known node, and of the module around it of which it may begin a call."""
        depth = max(map(len, chains), default=0)
        for level in range(depth):
            leads = [chain[: level + 1] for chain in chains]
            for chain, run in groupby(range(len(anchors)), leads.__getitem__):
                if len(chain) == level + 1:
                    self._note(level, list(run))

    def kept(self, number: int, most: int) -> int:
        """How many of the modules around both a known node and the one before surely run on."""
        kept = most
        while kept and (number, self._chains[number][kept - 1]) in self._begins:
            kept -= 1
        return kept

    def _note(self, level: int, run: Sequence[int]) -> None:
        module = self._chains[run[0]][level]
        has_own = self._modules.makes[module] is not None
        self._begins.update(
            (at, module)
            for at in (self._of_torchs(run) if has_own else self._of_users(level, run))
            if self._modules.types[module] not in LOOPS or self._has_ended(at)
        )

    def _of_torchs(self, run: Sequence[int]) -> Iterator[int]:
        """A module of torch's own class uses each of its parameters once in a call."""
        used: set[str] = set()
        for at in run:
            anchor = self._anchors[at]
            if not used.isdisjoint(anchor.uses):
                used.clear()
                yield at
            if not anchor.is_cast:
                used.update(anchor.uses)

    def _of_users(self, level: int, run: Sequence[int]) -> Iterator[int]:
        found = [at for at in run if self._anchors[at].leaves] or list(run)
        used = [self._used(level, at) for at in found]
        total = len(set(used))
        seen: set[int | str] = set()
        number = 0
        for at in run:
            if number < len(found) and len(seen) == total and used[number] == used[0]:
                yield at
            if number < len(found) and found[number] == at:
                seen.add(used[number])
                number += 1

    def _used(self, level: int, at: int) -> int | str:
        """What a known node uses of a module: one in it, or a parameter; ``""``: neither."""
        inner, used = self._chains[at][level + 1 :], self._anchors[at].uses
        return inner[0] if inner else used[0] if used else ""

    def _has_ended(self, at: int) -> bool:
        """Whether one of torch's recurrent modules may have ended before a known node."""
        names, order = self._graph.names, self._graph.order
        places = order[self._anchors[at - 1].at : self._anchors[at].at]
        return any(names[place] in _LAST for place in places)


_LAST = frozenset(("StackBackward0", "CatBackward0"))


@lru_cache(10_000)
def general(path: str) -> str:
    """A path with the same mark for each number in it."""
    return re.sub(r"\d+", "#", path)
