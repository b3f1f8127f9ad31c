"""The bytes that nodes, modules and lines of code keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gradviz.analysis.memory.modules import OUTSIDE, UNKNOWN, WORDS, Modules
from gradviz.model.memory import KINDS, HeldStorage, Holder, UnknownSave
from gradviz.model.records import Node

Holders = tuple[Holder, ...]


class _Saver(NamedTuple):
    """A node that saves something."""

    id: str
    name: str
    source: str | None


class Saves:
    """What nodes save, for any set of them.

    Args:
        nodes: All nodes that may save something.
        storages: All storages behind saved tensors.
        unknown: Saves of unknown size.
        modules: The modules of the nodes.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        storages: Sequence[HeldStorage],
        unknown: Sequence[UnknownSave],
        modules: Modules,
    ) -> None:
        self._of: dict[str, tuple[HeldStorage, ...]] = {}
        for one in storages:
            for node, _ in one.saves:
                self._of[node] = (*self._of.get(node, ()), one)
        ids = {key: key for key in self._of}
        self._unknown = Counter(one.node for one in unknown)
        self._modules = modules
        self.nodes = [
            _Saver(ids.get(one.id, one.id), one.name, one.source)
            for one in nodes
            if one.id in self._of or self._unknown[one.id]
        ]
        """The nodes that save something."""

    def held_by(self, key: str, name: str, nodes: Sequence[str]) -> Holder:
        """What some nodes keep together, each storage once.

        Args:
            key: Id of the holder.
            name: Its name.
            nodes: Ids of its nodes.
        """
        own = frozenset(nodes)
        kept = {one.id: one for node in nodes for one in self._of.get(node, ())}
        mine = Counter(one.id for node in nodes for one in self._of.get(node, ()))
        unknown = sum(self._unknown[node] for node in nodes)
        by_kind = [0, 0, 0, 0]
        counted = shared = 0
        for one in kept.values():
            by_kind[KINDS.index(one.kind)] += one.nbytes
            counted += one.nbytes if one.owner in own else 0
            shared += one.nbytes if mine[one.id] < len(one.saves) else 0
        return Holder(
            id=key,
            name=name,
            nbytes=sum(by_kind),
            counted=counted,
            shared=shared,
            by_kind=(by_kind[0], by_kind[1], by_kind[2], by_kind[3]),
            saves=mine.total() + unknown,
            nodes=tuple(nodes),
            unknown=unknown,
            inferred=len(own & self._modules.inferred),
        )

    def by_node(self) -> Holders:
        """Nodes, each with most bytes first."""
        return _sorted(self.held_by(node.id, node.name, (node.id,)) for node in self.nodes)

    def by_module(self) -> Holders:
        """Modules with the nodes they made themselves; none if not one is known."""
        found = self._grouped(lambda node: self._modules.paths[node.id])
        return found if any(one.id not in (OUTSIDE, UNKNOWN) for one in found) else ()

    def by_line(self) -> Holders:
        """Lines of code; none if not one is known."""
        found = self._grouped(lambda node: node.source or UNKNOWN)
        return found if any(one.id != UNKNOWN for one in found) else ()

    def blocks(self) -> Holders:
        """Modules that have others in them, with everything these made, the outermost first."""
        groups: dict[str, list[str]] = {}
        inner = set()
        for node in self.nodes:
            own = self._modules.paths[node.id]
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
        for node in self.nodes:
            groups.setdefault(group_of(node), []).append(node.id)
        return _sorted(self.held_by(key, WORDS.get(key, key), groups[key]) for key in groups)


def _sorted(found: Iterator[Holder]) -> Holders:
    return tuple(sorted(found, key=lambda one: (-one.nbytes, -one.unknown)))
