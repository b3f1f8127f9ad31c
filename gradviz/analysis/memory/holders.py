"""The bytes that nodes, modules and lines of code keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from gradviz.analysis.memory.modules import OUTSIDE, UNKNOWN, WORDS, Modules, place_in
from gradviz.model.graph import Graph
from gradviz.model.ids import by_number
from gradviz.model.memory import KINDS, HeldStorage, Holder, UnknownSave

Holders = tuple[Holder, ...]
_ByKind = tuple[int, int, int, int]


class _Saver(NamedTuple):
    """A node that saves something."""

    id: str
    name: str
    source: str | None


class Saves:
    """What nodes save, for any set of them.

    Args:
        graph: Whose nodes they are.
        storages: All storages behind saved tensors.
        unknown: Saves of unknown size.
        modules: The modules of the nodes.
    """

    def __init__(
        self,
        graph: Graph,
        storages: Sequence[HeldStorage],
        unknown: Sequence[UnknownSave],
        modules: Modules,
    ) -> None:
        self._of: dict[str, tuple[HeldStorage, ...]] = {}
        for one in storages:
            for node, _ in one.saves:
                self._of[node] = (*self._of.get(node, ()), one)
        self._unknown = Counter(one.node for one in unknown)
        self._graph, self._modules = graph, modules
        self._by_kind: dict[_ByKind, _ByKind] = {}
        """Amounts that are equal are one object."""
        self._ids = by_number({**self._of, **self._unknown})
        """Those of the nodes that save something."""

    @property
    def _nodes(self) -> Iterator[_Saver]:
        """The nodes that save something; what is known of them is in the graph."""
        sources = self._graph.columns.source
        for key in self._ids:
            yield _Saver(key, self.name(key), sources[place_in(self._graph, key)])

    def name(self, node: str) -> str:
        """The name of a node."""
        return self._graph.names[place_in(self._graph, node)]

    def held_by(self, key: str, name: str, nodes: Sequence[str]) -> Holder:
        """What some nodes keep together, each storage once.

        Args:
            key: Id of the holder.
            name: Its name.
            nodes: Ids of its nodes, each once.
        """
        # Sorted, since sets and dictionaries of all nodes take more memory than what they keep.
        held = sorted(
            (one for node in nodes for one in self._of.get(node, ())), key=attrgetter("id")
        )
        by_kind = [0, 0, 0, 0]
        shared = 0
        for _, same in groupby(held, attrgetter("id")):
            one, *others = same
            by_kind[KINDS.index(one.kind)] += one.nbytes
            shared += one.nbytes if 1 + len(others) < len(one.saves) else 0
        unknown = sum(self._unknown[node] for node in nodes)
        amounts = (by_kind[0], by_kind[1], by_kind[2], by_kind[3])
        return Holder(
            id=key,
            name=name,
            nbytes=sum(by_kind),
            counted=sum(map(self._owned_by, nodes)),
            shared=shared,
            by_kind=self._by_kind.setdefault(amounts, amounts),
            saves=len(held) + unknown,
            nodes=tuple(nodes),
            unknown=unknown,
            inferred=sum(map(self._modules.is_inferred, nodes)),
        )

    def _owned_by(self, node: str) -> int:
        """Bytes of the storages whose owner a node is."""
        own = {one.id: one.nbytes for one in self._of.get(node, ()) if one.owner == node}
        return sum(own.values())

    def by_node(self) -> Holders:
        """Nodes, each with most bytes first."""
        return _sorted(self.held_by(node.id, node.name, (node.id,)) for node in self._nodes)

    def by_module(self) -> Holders:
        """Modules with the nodes they made themselves; none if not one is known."""
        found = self._grouped(lambda node: self._modules.path(node.id))
        return found if any(one.id not in (OUTSIDE, UNKNOWN) for one in found) else ()

    def by_line(self) -> Holders:
        """Lines of code; none if not one is known."""
        found = self._grouped(lambda node: node.source or UNKNOWN)
        return found if any(one.id != UNKNOWN for one in found) else ()

    def blocks(self) -> Holders:
        """Modules that have others in them, with everything these made, the outermost first."""
        groups: dict[str, list[str]] = {}
        inner = set()
        for node in self._nodes:
            own = self._modules.path(node.id)
            if own in (OUTSIDE, UNKNOWN):
                continue
            parts = own.split(".")
            for count in range(1, len(parts) + 1):
                path = ".".join(parts[:count])
                groups.setdefault(path, []).append(node.id)
                if path != own:
                    inner.add(path)
        return tuple(self.held_by(path, path, groups[path]) for path in groups if path in inner)

    def _grouped(self, group_of: Callable[[_Saver], str]) -> Holders:
        groups: dict[str, list[str]] = {}
        for node in self._nodes:
            groups.setdefault(group_of(node), []).append(node.id)
        return _sorted(self.held_by(key, WORDS.get(key, key), groups[key]) for key in groups)


def _sorted(found: Iterator[Holder]) -> Holders:
    return tuple(sorted(found, key=lambda one: (-one.nbytes, -one.unknown)))
