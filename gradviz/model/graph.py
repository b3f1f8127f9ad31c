"""The autograd graph of one moment, as immutable data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import ClassVar

from gradviz.model import document
from gradviz.model.columns import COLUMN_NAMES, OTHER_COLUMNS, Columns, Nodes
from gradviz.model.errors import UnknownNodeError
from gradviz.model.facts import Edge, Node, TensorInfo


class Graph:
    """An autograd graph as it stood at one moment: nodes, edges, tensors and what is saved.

    Immutable, comparable with ``==`` and printable; it holds no tensor and no node of torch.
    Ids are stable: the same program gives the same graph, run after run, on CPU and CUDA.

    Examples:
        >>> import torch, gradviz
        >>> a = torch.tensor(2.0, requires_grad=True)
        >>> graph = gradviz.snapshot(a * a)
        >>> [node.name for node in graph.nodes]
        ['MulBackward0', 'AccumulateGrad']
        >>> graph["n0"].saved[0].name, len(graph.edges)
        ('other', 2)
        >>> gradviz.Graph.from_json(graph.to_json()) == graph
        True
    """

    __slots__ = ("_columns", "_edges", "_root_places", "_tensors")
    _columns: Columns
    _root_places: tuple[tuple[int, int], ...]
    _tensors: tuple[TensorInfo, ...]
    _edges: tuple[Edge, ...] | None

    _outline: ClassVar[Callable[[Graph], str] | None] = None

    def __init__(
        self,
        columns: Columns,
        roots: Sequence[tuple[int, int]],
        tensors: Sequence[TensorInfo] = (),
    ) -> None:
        put = object.__setattr__
        put(self, "_columns", columns)
        put(self, "_root_places", tuple(roots))
        put(self, "_tensors", tuple(tensors))
        put(self, "_edges", None)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Graph is a picture of one moment and cannot be changed ({name!r})")

    @classmethod
    def of(
        cls,
        nodes: Sequence[Node],
        roots: Sequence[tuple[str, int]],
        tensors: Sequence[TensorInfo] = (),
    ) -> Graph:
        """Build a graph from :class:`Node` objects; ``nodes[i].id`` must be ``f"n{i}"``.

        Raises:
            ValueError: If an id is not the node's place, or an entry points outside the graph.
        """
        for i, node in enumerate(nodes):
            if node.id != f"n{i}":
                raise ValueError(f"node {i} has the id {node.id!r}; it must be 'n{i}'")

        def place(node_id: str) -> int:
            i = int(node_id[1:])
            if not 0 <= i < len(nodes):
                raise ValueError(f"{node_id!r} is not in this graph of {len(nodes)} nodes")
            return i

        following = [
            tuple(None if e is None else (place(e[0]), e[1]) for e in node.next_functions)
            for node in nodes
        ]
        others = {name: [getattr(node, name) for node in nodes] for name in OTHER_COLUMNS}
        columns = Columns(name=[n.name for n in nodes], next_functions=following, **others)
        return cls(columns, [(place(node_id), nr) for node_id, nr in roots], tensors)

    @property
    def nodes(self) -> Nodes:
        """All nodes, ``n0`` first, breadth-first from the first root."""
        return Nodes(self._columns)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """One edge per entry of ``next_functions`` that is not ``None``, by source and slot."""
        if self._edges is None:
            made = tuple(
                Edge(f"n{i}", f"n{entry[0]}", slot, entry[1])
                for i, entries in enumerate(self._columns.next_functions)
                for slot, entry in enumerate(entries)
                if entry is not None
            )
            object.__setattr__(self, "_edges", made)
        assert self._edges is not None
        return self._edges

    @property
    def roots(self) -> tuple[tuple[str, int], ...]:
        """Where backward would start: ``(node id, output number)`` per output, in order."""
        return tuple((f"n{i}", nr) for i, nr in self._root_places)

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """Tensors with a name, tensors passed in, and the leaves, ``t0`` first."""
        return self._tensors

    @property
    def leaves(self) -> tuple[TensorInfo, ...]:
        """Leaf tensors that backward accumulates into, in the order of their nodes."""
        known = {tensor.id: tensor for tensor in self._tensors}
        return tuple(known[v] for v in self._columns.variable if v is not None)

    @property
    def saved_bytes(self) -> int:
        """Bytes kept alive by saved tensors, each storage counted once.

        Packed and opaque saves are not counted: torch does not tell their size.
        """
        sizes: dict[str, int] = {}
        for slots in self._columns.saved:
            for slot in slots:
                if slot.storage is not None and slot.storage_nbytes is not None:
                    sizes[slot.storage] = slot.storage_nbytes
        return sum(sizes.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many of each: nodes, edges, ``None`` entries, leaves, tensors, roots, saved
        tensors by state (``"saved held"``, …) and nodes by state (``"nodes freed"``, …)."""
        columns = self._columns
        entries = sum(len(e) for e in columns.next_functions)
        edges = sum(e is not None for row in columns.next_functions for e in row)
        totals = {
            "nodes": len(columns.name),
            "edges": edges,
            "none edges": entries - edges,
            "roots": len(self._root_places),
            "leaves": sum(v is not None for v in columns.variable),
            "tensors": len(self._tensors),
        }
        states = Counter(f"nodes {state}" for state in columns.state)
        states.update(f"saved {slot.state}" for row in columns.saved for slot in row)
        return totals | dict(sorted(states.items()))

    def __len__(self) -> int:
        return len(self._columns.name)

    def __getitem__(self, node_id: str) -> Node:
        """The node with this id.

        Raises:
            UnknownNodeError: If there is no such node; the message says which there are.
        """
        if isinstance(node_id, str) and node_id[:1] == "n" and node_id[1:].isdecimal():
            i = int(node_id[1:])
            if i < len(self) and node_id == f"n{i}":
                return self.nodes[i]
        raise UnknownNodeError(
            f"this graph has no node {node_id!r}: its ids run from 'n0' to 'n{len(self) - 1}'. "
            "graph.nodes lists them; print(graph) shows them."
        )

    def tensor(self, tensor_id: str) -> TensorInfo:
        """The tensor with this id (``"t0"``) or this name.

        Raises:
            UnknownNodeError: If there is no such tensor; the message lists the names.
        """
        for info in self._tensors:
            if tensor_id in (info.id, info.name):
                return info
        names = ", ".join(t.name or t.id for t in self._tensors[:20])
        raise UnknownNodeError(f"this graph has no tensor {tensor_id!r}; it has: {names}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self._root_places == other._root_places
            and self._tensors == other._tensors
            and all(
                list(getattr(self._columns, n)) == list(getattr(other._columns, n))
                for n in COLUMN_NAMES
            )
        )

    def __hash__(self) -> int:
        return hash((self._root_places, self._tensors, tuple(self._columns.name)))

    def __repr__(self) -> str:
        roots = ", ".join(dict.fromkeys(self._columns.name[i] for i, _ in self._root_places))
        return f"<Graph of {roots}: {len(self)} nodes, {len(self.leaves)} leaves>"

    def __str__(self) -> str:
        return repr(self) if Graph._outline is None else Graph._outline(self)

    @property
    def device(self) -> str | None:
        """The one device all known tensors are on, or ``None`` if they are on several."""
        found = {t.device for t in self._tensors}
        found.update(s.device for row in self._columns.saved for s in row if s.device is not None)
        return found.pop() if len(found) == 1 else None

    def to_json(self) -> str:
        """The graph as JSON text, the same bytes for the same graph.

        The device is named once, in the header, when all tensors share it; fields that have
        their default value are left out.
        """
        return document.write(self.roots, self.nodes, self._tensors, self.device)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: If the text is not JSON or not a gradviz graph of this format.
        """
        nodes, roots, tensors = document.read(text)
        return cls.of(nodes, roots, tensors)

    def __reduce__(self) -> tuple[Callable[[str], Graph], tuple[str]]:
        return Graph.from_json, (self.to_json(),)


def set_outline(outline: Callable[[Graph], str]) -> None:
    """Say how ``str(graph)`` is written; the view room calls this, so that model needs no view."""
    Graph._outline = outline
