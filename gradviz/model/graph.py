"""The autograd graph of one moment, as immutable data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, TypeVar, cast

from gradviz.model.columns import COLUMN_NAMES, Columns, ColumnsOf, Nodes, Users, number_of
from gradviz.model.devices import devices_at, place_of
from gradviz.model.errors import UnknownNodeError
from gradviz.model.formatting import plural
from gradviz.model.forward_order import order_of
from gradviz.model.presentation import Displayed
from gradviz.model.progress import counted, working
from gradviz.model.records import Edge, ModuleInfo, Node, SavedTensor, TensorInfo
from gradviz.model.serialization import graph

Made = TypeVar("Made")


class Graph(Displayed):
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

    __slots__ = (
        "_columns",
        "_made",
        "_modules",
        "_numbers",
        "_order",
        "_places",
        "_root_places",
        "_tensors",
        "_values_left_out",
    )
    _columns: Columns
    _numbers: Sequence[int]
    """Number in the id of each node: its place, but for graphs of a recording's steps, whose ids
    are those of the whole recording."""
    _places: Mapping[int, int] | None
    """Place of each number where it is another one."""
    _root_places: tuple[tuple[int, int], ...]
    _tensors: tuple[TensorInfo, ...]
    _modules: tuple[ModuleInfo, ...]
    _order: tuple[int, ...] | None
    """Places of the nodes in the order in which torch made them, where that is known."""
    _values_left_out: bool
    _made: dict[str, Any]
    """What was asked for before, by name."""

    def __init__(
        self,
        columns: Columns,
        roots: Sequence[tuple[int, int]],
        tensors: Sequence[TensorInfo] = (),
        numbers: Sequence[int] | None = None,
        modules: Sequence[ModuleInfo] = (),
        order: Sequence[int] | None = None,
        values_left_out: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "_columns", columns)
        places = None if numbers is None else {number: i for i, number in enumerate(numbers)}
        put(self, "_numbers", range(len(columns.name)) if numbers is None else tuple(numbers))
        put(self, "_places", places)
        put(self, "_root_places", tuple(roots))
        put(self, "_tensors", tuple(tensors))
        put(self, "_modules", tuple(modules))
        put(self, "_order", None if order is None else tuple(order))
        put(self, "_values_left_out", values_left_out)
        put(self, "_made", {})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Graph is a picture of one moment and cannot be changed ({name!r})")

    @classmethod
    def of(
        cls,
        nodes: Iterable[Node],
        roots: Sequence[tuple[str, int]],
        tensors: Sequence[TensorInfo] = (),
        modules: Sequence[ModuleInfo] = (),
        order: Sequence[str] | None = None,
        values_left_out: bool = False,
    ) -> Graph:
        """Build a graph from :class:`Node` objects, whose ids must rise: ``n0``, ``n1``, ``n4``.

        Args:
            nodes: The nodes.
            roots: Where backward would start.
            tensors: The tensors.
            modules: The modules that have some of the tensors.
            order: Ids of the nodes in the order in which the forward made them, without leaves.
            values_left_out: Whether numbers were taken out, as ``save(values=False)`` does.

        Raises:
            ValueError: If an id is not such a number, or an entry points outside the graph.
        """
        found = ColumnsOf()
        for node in nodes:
            found.add(node)
        if any(one >= other for one, other in pairwise(found.numbers)):
            raise ValueError("the ids of the nodes must rise: 'n0', 'n1', …")
        for _, _, number in found.pointing_nowhere():
            raise ValueError(f"'n{number}' is not in this graph of {len(found)} nodes")
        return cls._of(found, roots, tensors, modules, order, values_left_out)

    @classmethod
    def _of(
        cls,
        found: ColumnsOf,
        roots: Sequence[tuple[str, int]],
        tensors: Sequence[TensorInfo],
        modules: Sequence[ModuleInfo],
        order: Sequence[str] | None,
        values_left_out: bool,
    ) -> Graph:
        numbers = None if found.in_order else found.numbers
        places = range(len(found)) if numbers is None else {n: i for i, n in enumerate(numbers)}

        def place(node_id: str) -> int:
            number = number_of(node_id)
            if number not in places:
                raise ValueError(f"{node_id!r} is not in this graph of {len(found)} nodes")
            return places[number]

        return cls(
            found.columns(),
            [(place(node_id), nr) for node_id, nr in roots],
            tensors,
            numbers,
            modules,
            None if order is None else [place(node_id) for node_id in order],
            values_left_out,
        )

    @property
    def values_left_out(self) -> bool:
        """Whether the numbers of tensors were taken out, as ``save(values=False)`` does."""
        return self._values_left_out

    @property
    def nodes(self) -> Nodes:
        """All nodes by rising id; in a snapshot breadth-first from the first root."""
        return self._kept("nodes", lambda: Nodes(self._columns, self._numbers))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """One edge per entry of ``next_functions`` that is not ``None``, by source and slot."""
        return self._kept("edges", lambda: tuple(self._all_edges()))

    def _all_edges(self) -> Iterator[Edge]:
        numbers = self._numbers
        for i, entries in enumerate(self._columns.next_functions):
            for slot, entry in enumerate(entries):
                if entry is not None:
                    yield Edge(f"n{numbers[i]}", f"n{numbers[entry[0]]}", slot, entry[1])

    def _kept(self, name: str, make: Callable[[], Made]) -> Made:
        """What is made of a graph is made once."""
        if name not in self._made:
            self._made[name] = make()
        return cast("Made", self._made[name])

    def uses_outside(self, places: Collection[int]) -> Counter[tuple[str, int]]:
        """How many entries of the other nodes point to each output of the nodes at these places,
        by node id and output number."""
        known, rows = frozenset(places), enumerate(self._columns.next_functions)
        entries = (e for i, row in rows if i not in known for e in row if e is not None)
        found = Counter(entry for entry in entries if entry[0] in known)
        return Counter({(f"n{self._numbers[i]}", nr): n for (i, nr), n in sorted(found.items())})

    def nearest(self, node_id: str, count: int) -> Sequence[int]:
        """Places of the nodes with the fewest edges between them and a node, in rising order.

        Args:
            node_id: That node, which is among them.
            count: How many; of those that are equally far the ones with the smaller ids.

        Raises:
            UnknownNodeError: If there is no such node.
        """
        start = self.place_of(self[node_id].id)
        following = self._columns.next_functions
        users: list[list[int]] = [[] for _ in following]
        for i, row in enumerate(following):
            for entry in row:
                if entry is not None:
                    users[entry[0]].append(i)
        found = dict.fromkeys([start or 0])
        ring = list(found)
        while ring and len(found) < count:
            around = {j for i in ring for j in users[i]}
            around |= {entry[0] for i in ring for entry in following[i] if entry is not None}
            ring = sorted(j for j in around if j not in found)
            found |= dict.fromkeys(ring)
        return sorted(list(found)[:count])

    def saving(self) -> Iterator[tuple[str, str, str]]:
        """Each saved tensor that is a known one, or a view of one: its id, the node, the slot."""
        for i, slots in enumerate(self._columns.saved):
            for slot in slots:
                known = slot.tensor or slot.view_of
                if known is not None:
                    yield known, f"n{self._numbers[i]}", slot.name

    @property
    def roots(self) -> tuple[tuple[str, int], ...]:
        """Where backward would start: ``(node id, output number)`` per output, in order."""
        places, numbers = self._root_places, self._numbers
        return self._kept("roots", lambda: tuple((f"n{numbers[i]}", nr) for i, nr in places))

    @property
    def tensors(self) -> tuple[TensorInfo, ...]:
        """Tensors with a name, tensors passed in, and the leaves, ``t0`` first."""
        return self._tensors

    @property
    def columns(self) -> Columns:
        """Facts of all nodes, one sequence per fact, for code that asks all nodes for one fact."""
        return self._columns

    @property
    def targets(self) -> Sequence[tuple[tuple[int, int] | None, ...]]:
        """``next_functions`` of each node, with places in :attr:`nodes` for ids."""
        return self._columns.next_functions

    @property
    def root_places(self) -> tuple[tuple[int, int], ...]:
        """:attr:`roots`, with places in :attr:`nodes` for ids."""
        return self._root_places

    @property
    def names(self) -> Sequence[str]:
        """The name of each node, as :attr:`Node.name`."""
        return self._columns.name

    @property
    def variables(self) -> Sequence[str | None]:
        """The leaf of each node, as :attr:`Node.variable`."""
        return self._columns.variable

    @property
    def saved(self) -> Sequence[tuple[SavedTensor, ...]]:
        """The saved tensors of each node, as :attr:`Node.saved`."""
        return self._columns.saved

    @property
    def output_shapes(self) -> Sequence[tuple[tuple[int, ...] | None, ...]]:
        """The shapes of what each node's forward returned, as :attr:`Node.output_shapes`."""
        return self._columns.output_shapes

    @property
    def users(self) -> Users:
        """Per node the entries that point to it: place of the node that has it, and slot."""
        return self._kept("users", lambda: Users(self.targets))

    @property
    def makers(self) -> Sequence[str | None]:
        """The module that a recording saw make each node, as :attr:`Node.module`."""
        return self._columns.module

    @property
    def calls(self) -> Sequence[tuple[tuple[str, int], ...]]:
        """The calls of modules in which each node was made, as :attr:`Node.calls`."""
        return self._columns.calls

    @property
    def sources(self) -> Sequence[str | None]:
        """The line that made each node, as :attr:`Node.source`."""
        return self._columns.source

    @property
    def modules(self) -> tuple[ModuleInfo, ...]:
        """Modules that have leaves or saved tensors of this graph, a module before those in it.

        In those also the modules that have no tensors at all, such as activations. Of a recording's
        graph those that were called: there each node knows the one that made it.
        """
        return self._modules

    @property
    def modules_by_path(self) -> Mapping[str, ModuleInfo]:
        """:attr:`modules` by their paths."""
        return self._kept("modules_by_path", lambda: {one.path: one for one in self._modules})

    @property
    def order(self) -> Sequence[int]:
        """Places of all nodes but the leaves in the order in which the forward made them.

        Each comes after the nodes whose outputs it uses. Where torch does not tell the order, or
        where several threads made the graph, it is one in which the forward could have made them.
        """
        return self._kept("order", lambda: order_of(self._columns, self._root_places, self._order))

    @property
    def leaves(self) -> tuple[TensorInfo, ...]:
        """Leaf tensors that backward accumulates into, in the order of their nodes."""
        return self._kept("leaves", self._all_leaves)

    def _all_leaves(self) -> tuple[TensorInfo, ...]:
        known = {tensor.id: tensor for tensor in self._tensors}
        return tuple(known[v] for v in self._columns.variable if v is not None)

    @property
    def leaf_nodes(self) -> Mapping[str, str]:
        """The ``AccumulateGrad`` of each leaf: node id by tensor id."""
        return self._kept("leaf_nodes", self._all_leaf_nodes)

    def _all_leaf_nodes(self) -> Mapping[str, str]:
        variables = enumerate(self._columns.variable)
        return MappingProxyType({v: f"n{self._numbers[i]}" for i, v in variables if v is not None})

    @property
    def saved_bytes(self) -> int:
        """Bytes kept alive by saved tensors, each storage counted once.

        Packed and opaque saves are not counted: torch does not show their size.
        """
        return self._kept("saved_bytes", self._all_saved_bytes)

    def _all_saved_bytes(self) -> int:
        sizes: dict[str, int] = {}
        for slots in self._columns.saved:
            for slot in slots:
                if slot.storage is not None and slot.storage_nbytes is not None:
                    sizes[slot.storage] = slot.storage_nbytes
        return sum(sizes.values())

    @property
    def saved_without_size(self) -> int:
        """How many saved tensors are not counted in :attr:`saved_bytes`, as sparse ones: their
        memory is not one storage. Packed and opaque saves are not among them."""
        return self.counts.get("saved without size", 0)

    @property
    def counts(self) -> dict[str, int]:
        """How many of each: nodes, edges, ``None`` entries, leaves, tensors, roots, saved
        tensors by state (``"saved held"``, …) and without a size, nodes by state (``"nodes
        freed"``, …)."""
        return dict(self._kept("counts", self._all_counts))

    def _all_counts(self) -> dict[str, int]:
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
        states.update(
            "saved without size" for row in columns.saved for slot in row if slot.is_without_size
        )
        return totals | dict(sorted(states.items()))

    def with_modules(self, modules: tuple[ModuleInfo, ...]) -> Graph:
        """The same nodes and tensors, with these modules."""
        numbers = None if self._places is None else self._numbers
        return Graph(
            self._columns,
            self._root_places,
            self._tensors,
            numbers,
            modules,
            self._order,
            self._values_left_out,
        )

    def __len__(self) -> int:
        return len(self._columns.name)

    def __getitem__(self, node_id: str) -> Node:
        """The node with this id.

        Raises:
            UnknownNodeError: If there is no such node; the message says which there are.
        """
        place = self.place_of(node_id)
        if place is not None:
            return self.nodes[place]
        ids = "it has no nodes"
        if len(self):
            ids = f"its ids run from 'n{self._numbers[0]}' to 'n{self._numbers[-1]}'"
        raise UnknownNodeError(
            f"this graph has no node {node_id!r}: {ids}. "
            "graph.nodes lists them; print(graph) shows them."
        )

    def id_at(self, place: int) -> str:
        """Id of the node at a place in :attr:`nodes`."""
        return f"n{self._numbers[place]}"

    def place_of(self, node_id: object) -> int | None:
        """Place of a node in :attr:`nodes`, or ``None`` if there is no node with this id."""
        if isinstance(node_id, str) and node_id[:1] == "n" and node_id[1:].isdecimal():
            number = int(node_id[1:])
            if node_id == f"n{number}":
                if self._places is not None:
                    return self._places.get(number)
                return number if number < len(self) else None
        return None

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
            and self._numbers == other._numbers
            and self._tensors == other._tensors
            and self._modules == other._modules
            and all(
                list(getattr(self._columns, n)) == list(getattr(other._columns, n))
                for n in COLUMN_NAMES
            )
        )

    def __hash__(self) -> int:
        return hash((self._root_places, self._tensors, tuple(self._columns.name)))

    def __repr__(self) -> str:
        roots = ", ".join(dict.fromkeys(self._columns.name[i] for i, _ in self._root_places))
        sizes = plural(len(self), "node"), plural(len(self.leaves), "leaf")
        return f"<Graph of {roots}: {', '.join(sizes)}>"

    @property
    def device(self) -> str | None:
        """The one device all known tensors are on, or ``None`` if they are on several.

        Numbers on the CPU, tensors there without dimensions, do not count beside another.
        """
        return self._kept("device", self._one_device)

    def _one_device(self) -> str | None:
        saved = (place_of(slot) for row in self._columns.saved for slot in row)
        found = devices_at([*map(place_of, self._tensors), *saved])
        return found[0] if len(found) == 1 else None

    def to_json(self) -> str:
        """The graph as JSON text, the same bytes for the same graph.

        The device is named once, in the header, when all tensors share it; fields that have
        their default value are left out.
        """
        with working("to_json"):
            nodes = counted(self.nodes, "nodes written", len(self))
            return graph.write(
                self.roots,
                nodes,
                self._tensors,
                self.device,
                self._modules,
                self.made_order,
                self._values_left_out,
            )

    @property
    def made_order(self) -> tuple[str, ...] | None:
        """Ids of the nodes as the forward made them; ``None`` if that follows from the edges."""
        if self._order is None:
            return None
        if list(self.order) == list(order_of(self._columns, self._root_places, None)):
            return None
        return tuple(f"n{self._numbers[place]}" for place in self.order)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """Read what :meth:`to_json` wrote.

        Raises:
            DocumentError: If the text is not JSON, not a gradviz graph of this format, or damaged;
                the message says where: ``nodes[3].saved[0].state: …``.
        """
        with working("from_json"):
            found = graph.read(text)
            return cls._of(
                found.nodes,
                found.roots,
                found.tensors,
                found.modules,
                found.order,
                found.values_left_out,
            )

    def __reduce__(self) -> tuple[Callable[[str], Graph], tuple[str]]:
        return Graph.from_json, (self.to_json(),)
