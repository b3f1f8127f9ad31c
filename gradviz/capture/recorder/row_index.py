"""Which rows depend on a storage, a tensor or a node: so that a change finds them at once.

NOTE [What a line costs]
A line is read in proportion to what it changed, not to what is known. So nothing that runs when a
line ends goes through all tensors, nodes or storages. What a line can have changed are the tensors
that its calls returned or wrote, and those that got another name; from there this index leads to
the nodes that hold what was written, and to the tensors whose gradient it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from gradviz.model import Node, TensorInfo

_Keys = dict[str, dict[str, None]]


class RowIndex:
    """Looks rows up by what they refer to; is kept up to date row by row."""

    def __init__(self) -> None:
        self._readers: dict[str, Counter[str]] = {}
        """By node: the nodes that point to it, and with how many entries."""
        self._holders: _Keys = {}
        """By storage: nodes that have saved something on it."""
        self._unknown: _Keys = {}
        """By storage: nodes that have saved something on it that was no known tensor."""
        self._mentions: _Keys = {}
        """By tensor: nodes that have saved it, or a view of it."""
        self._outputs: _Keys = {}
        """By node: tensors that are its outputs."""

    def node_replaced(self, key: str, before: Node | None, after: Node | None) -> list[str]:
        """A node has another row; returns the nodes to which none points any more."""
        if before is not None:
            for slot in before.saved:
                _remove(self._holders, slot.storage, key)
                _remove(self._unknown, slot.storage, key)
                _remove(self._mentions, slot.tensor, key)
                _remove(self._mentions, slot.view_of, key)
        if after is not None:
            for slot in after.saved:
                _add(self._holders, slot.storage, key)
                _add(self._unknown, slot.storage if slot.tensor is None else None, key)
                _add(self._mentions, slot.tensor, key)
                _add(self._mentions, slot.view_of, key)
        old = () if before is None else before.next_functions
        new = () if after is None else after.next_functions
        if old == new:
            return []
        for entry in new:
            if entry is not None:
                self._readers.setdefault(entry[0], Counter())[key] += 1
        unused = []
        for entry in old:
            if entry is not None:
                readers = self._readers[entry[0]]
                readers[key] -= 1
                if not readers[key]:
                    del readers[key]
                if not readers:
                    del self._readers[entry[0]]
                    unused.append(entry[0])
        return unused

    def tensor_replaced(
        self, key: str, before: TensorInfo | None, after: TensorInfo | None
    ) -> None:
        """A tensor has another row."""
        old = None if before is None else before.node
        new = None if after is None else after.node
        if old != new:
            _remove(self._outputs, old, key)
            _add(self._outputs, new, key)

    def is_used(self, node: str) -> bool:
        """Whether the row of any node points to this one."""
        return node in self._readers

    def readers(self, node: str) -> Iterator[str]:
        """Nodes that point to a node, the latest first."""
        return reversed(self._readers.get(node, {}))

    def holders(self, storage: str) -> Iterable[str]:
        """Nodes that have saved something on a storage."""
        return self._holders.get(storage, ())

    def unknown(self, storage: str) -> Iterable[str]:
        """Those among them that have saved what was no known tensor."""
        return self._unknown.get(storage, ())

    def mentions(self, tensor: str) -> Iterable[str]:
        """Nodes that have saved a tensor, or a view of it."""
        return self._mentions.get(tensor, ())

    def outputs(self, node: str) -> Iterable[str]:
        """Tensors that are outputs of a node."""
        return self._outputs.get(node, ())


def _add(index: _Keys, key: str | None, item: str) -> None:
    if key is not None:
        index.setdefault(key, {})[item] = None


def _remove(index: _Keys, key: str | None, item: str) -> None:
    items = None if key is None else index.get(key)
    if items is not None:
        items.pop(item, None)
        if not items:
            del index[key]  # type: ignore[arg-type]
