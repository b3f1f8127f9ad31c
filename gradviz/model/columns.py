"""Facts of all nodes, one sequence per fact, and the nodes made from them on access."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any, Final, TypeAlias, overload

from gradviz.model.records import Attribute, Hook, Node, NodeState, SavedTensor


@dataclass(frozen=True, slots=True)
class Columns:
    """Facts of all nodes, one sequence per fact, node ``i`` at place ``i``.

    A graph of a million nodes is kept this way and :class:`Node` objects are made when asked
    for. Rows that are equal may be one shared object.
    """

    name: Sequence[str]
    next_functions: Sequence[tuple[tuple[int, int] | None, ...]]
    saved: Sequence[tuple[SavedTensor, ...]]
    variable: Sequence[str | None]
    output_shapes: Sequence[tuple[tuple[int, ...] | None, ...]]
    state: Sequence[NodeState]
    hooks: Sequence[tuple[Hook, ...]]
    hooks_unknown: Sequence[bool]
    attributes: Sequence[tuple[tuple[str, Attribute], ...]]
    arguments: Sequence[tuple[str | None, ...]]
    formula: Sequence[str | None]
    source: Sequence[str | None]
    module: Sequence[str | None]
    calls: Sequence[tuple[tuple[str, int], ...]]


COLUMN_NAMES: Final = tuple(f.name for f in fields(Columns))
OTHER_COLUMNS: Final = tuple(n for n in COLUMN_NAMES if n not in ("name", "next_functions"))


class ColumnsOf:
    """Columns of nodes that come one after the other; equal facts become one object."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        """Of each node, the number in its id."""
        self.entries: list[tuple[tuple[int, int] | None, ...]] = []
        """``next_functions``, with numbers for ids."""
        self._others: dict[str, list[Any]] = {name: [] for name in ("name", *OTHER_COLUMNS)}
        self._shared: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def variable(self) -> Sequence[str | None]:
        """The leaf of each node."""
        return self._others["variable"]

    def add(self, node: Node) -> None:
        """Append a node.

        Raises:
            ValueError: If an id is not that of a node.
        """
        self.numbers.append(number_of(node.id))
        self.entries.append(
            tuple([None if e is None else (number_of(e[0]), e[1]) for e in node.next_functions])
        )
        for name, column in self._others.items():
            column.append(getattr(node, name))
        for name in ("output_shapes", "arguments", "calls"):  # what is equal is the same
            column = self._others[name]
            column[-1] = self._shared.setdefault(column[-1], column[-1])

    def pointing_nowhere(self) -> Iterator[tuple[int, int, int]]:
        """Entries to nodes that are not there: place of the node, of the entry, and the number."""
        known: Collection[int] = range(len(self)) if self.in_order else set(self.numbers)
        for i, row in enumerate(self.entries):
            for k, entry in enumerate(row):
                if entry is not None and entry[0] not in known:
                    yield i, k, entry[0]

    @property
    def in_order(self) -> bool:
        """Whether the number of each node is its place."""
        return not self.numbers or (self.numbers[0] == 0 and self.numbers[-1] == len(self) - 1)

    def columns(self) -> Columns:
        """All nodes. Numbers must rise, and no entry points nowhere."""
        following = self.entries
        if not self.in_order:
            places = {number: i for i, number in enumerate(self.numbers)}
            following = [
                tuple([None if e is None else (places[e[0]], e[1]) for e in row])
                for row in self.entries
            ]
        return Columns(next_functions=following, **self._others)


def number_of(node_id: str) -> int:
    """3 of ``"n3"``.

    Raises:
        ValueError: If it is not the id of a node.
    """
    if node_id[:1] == "n" and node_id[1:].isdecimal() and node_id == f"n{int(node_id[1:])}":
        return int(node_id[1:])
    raise ValueError(f"{node_id!r} is not the id of a node; ids are 'n0', 'n1', …")


KEPT: Final = 10_000
"""Graphs up to this many nodes keep the :class:`Node` objects that were made; those of larger ones
would take far more memory than the columns."""
WIDE: Final = 64
"""Nodes with more entries are kept in any graph: to make one takes as long as it has entries, and
all of them together have no more than the graph has edges."""


class Nodes(Sequence[Node]):
    """The nodes of a graph as a read-only sequence; each :class:`Node` is made on access."""

    __slots__ = ("_columns", "_made", "_numbers")

    def __init__(self, columns: Columns, numbers: Sequence[int]) -> None:
        self._columns = columns
        self._numbers = numbers
        self._made: dict[int, Node] = {}

    def __len__(self) -> int:
        return len(self._columns.name)

    @overload
    def __getitem__(self, index: int) -> Node: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        if isinstance(index, slice):
            return tuple(map(self._node, range(*index.indices(len(self)))))
        if not -(count := len(self)) <= index < count:
            raise IndexError(f"node {index} of a graph with {count} nodes")
        return self._node(index % count)

    def __iter__(self) -> Iterator[Node]:
        return map(self._node, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Nodes):
            return self._columns == other._columns and self._numbers == other._numbers
        return NotImplemented if not isinstance(other, (tuple, list)) else list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} nodes>"

    def _node(self, i: int) -> Node:
        made = self._made.get(i)
        if made is None:
            made = self._make(i)
            if len(self) <= KEPT or len(made.next_functions) > WIDE:
                self._made[i] = made
        return made

    def _make(self, i: int) -> Node:
        columns = self._columns
        numbers = self._numbers
        following = tuple(
            None if entry is None else (f"n{numbers[entry[0]]}", entry[1])
            for entry in columns.next_functions[i]
        )
        facts = {name: getattr(columns, name)[i] for name in OTHER_COLUMNS}
        return Node(id=f"n{numbers[i]}", name=columns.name[i], next_functions=following, **facts)


Entry: TypeAlias = tuple[int, int]
"""Place of a node, and slot or output number."""


class Users(Sequence[Sequence[Entry]]):
    """Per node of a graph the entries that point to it: place of the node that has it, and slot.

    Args:
        targets: The entries of each node: place of the node that one leads to, and which output.

    Examples:
        >>> list(Users([((1, 0),), (None,)]))
        [[], [(0, 0)]]
    """

    __slots__ = ("_entries", "_starts")

    def __init__(self, targets: Sequence[tuple[Entry | None, ...]]) -> None:
        counts = array("q", bytes(8 * (len(targets) + 1)))
        for row in targets:
            for entry in row:
                if entry is not None:
                    counts[entry[0] + 1] += 1
        self._starts = array("q", accumulate(counts))
        free = array("q", self._starts)
        self._entries = array("q", bytes(16 * self._starts[-1]))
        for place, row in enumerate(targets):
            for slot, entry in enumerate(row):
                if entry is not None:
                    at = 2 * free[entry[0]]
                    self._entries[at], self._entries[at + 1] = place, slot
                    free[entry[0]] += 1

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> Sequence[Entry]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[Entry]]: ...
    def __getitem__(self, index: int | slice) -> Sequence[Entry] | Sequence[Sequence[Entry]]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        low, high = 2 * self._starts[index], 2 * self._starts[index + 1]
        return [(self._entries[at], self._entries[at + 1]) for at in range(low, high, 2)]
