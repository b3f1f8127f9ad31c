"""Read the facts of every node into columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

from gradviz.capture import autograd
from gradviz.capture.tensors import Known, Tensors
from gradviz.model import SavedTensor
from gradviz.model.facts import Attribute, NodeState

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class FactColumns:
    """What :class:`Facts` has read, node ``i`` at place ``i``."""

    name: list[str]
    saved: Sequence[tuple[SavedTensor, ...]]
    variable: list[str | None]
    output_shapes: list[tuple[tuple[int, ...] | None, ...]]
    state: list[NodeState]
    attributes: list[tuple[tuple[str, Attribute], ...]]


class SavedColumn(Sequence[tuple[SavedTensor, ...]]):
    """Saved tensors of all nodes; :class:`SavedTensor` objects are made when asked for."""

    __slots__ = ("_make", "_rows")

    def __init__(self, rows: list[Row], make: Callable[[Row], tuple[SavedTensor, ...]]) -> None:
        self._rows = rows
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> tuple[SavedTensor, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[SavedTensor, ...]]: ...
    def __getitem__(
        self, index: int | slice
    ) -> tuple[SavedTensor, ...] | list[tuple[SavedTensor, ...]]:
        if isinstance(index, slice):
            return [self._make(row) for row in self._rows[index]]
        return self._make(self._rows[index])

    def __iter__(self) -> Iterator[tuple[SavedTensor, ...]]:
        return map(self._make, self._rows)


@dataclass(frozen=True, slots=True)
class _Description:
    """What a saved tensor is, read once however many slots hold it."""

    shape: tuple[int, ...]
    dtype: str
    device: str
    nbytes: int | None
    storage: str | None
    storage_nbytes: int | None
    current_version: int | None


class Facts:
    """Reads nodes, a stretch at a time.

    Args:
        nodes: All nodes of the graph.
        tensors: The live tensors; leaves and saved tensors that are met are reported to it.
        everything: Whether to read more than names and leaves.
    """

    def __init__(self, nodes: list[Any], tensors: Tensors, everything: bool) -> None:
        self._nodes = nodes
        self._tensors = tensors
        self._everything = everything
        self._name: list[str] = []
        self._saved: list[Row] = []
        self._leaves: list[Known | None] = []
        self._shapes: list[tuple[tuple[int, ...] | None, ...]] = []
        self._state: list[NodeState] = []
        self._attributes: list[tuple[tuple[str, Attribute], ...]] = []
        # Saved tensors are held until all are read, so that an id() means one object.
        self._held: dict[int, tuple[Any, _Description, int | None]] = {}

    def read(self, places: range) -> None:
        """Read the nodes at these places; stretches must come in order and leave none out."""
        for at in places:
            self._read_node(at, self._nodes[at])

    def _read_node(self, at: int, node: Any) -> None:
        plan = autograd.plan_of(type(node))
        self._name.append(autograd.name_of(node) if plan.name is None else plan.name)
        leaf: Known | None = None
        if plan.is_accumulator and (variable := autograd.variable_of(node)) is not None:
            leaf = self._tensors.leaf(variable, at)
        self._leaves.append(leaf)
        if not self._everything:
            self._saved.append(())
            self._shapes.append(())
            self._state.append("opaque")
            self._attributes.append(())
            return
        self._shapes.append(autograd.output_shapes(node))
        self._attributes.append(autograd.attributes_of(node, plan))
        if plan.slots:
            rows = tuple(self._row(at, *slot) for slot in autograd.saved_of(node, plan))
            self._saved.append(rows)
            self._state.append(_state({row[1] for row in rows}))
        else:
            self._saved.append(())
            self._state.append("opaque" if plan.is_opaque else "saves nothing")

    def _row(self, at: int, name: str, state: str, detail: Any, version: int | None) -> Row:
        if state == "packed":
            return name, state, None, None, None, autograd.describe_hook(detail)
        if detail is None:
            return name, state, None, None, None, None
        held = self._held.get(id(detail))
        if held is None:
            held = self._held[id(detail)] = (detail, *self._describe(detail))
        _, description, storage = held
        return name, state, description, version, self._tensors.saved(detail, at, storage), None

    def _describe(self, tensor: Any) -> tuple[_Description, int | None]:
        storage = autograd.storage_of(tensor)
        description = _Description(
            autograd.shape_of(tensor),
            autograd.dtype_of(tensor),
            autograd.device_of(tensor),
            autograd.nbytes_of(tensor),
            None if storage is None else self._tensors.storages.id_of(storage[0]),
            None if storage is None else storage[1],
            autograd.version_of(tensor),
        )
        return description, None if storage is None else storage[0]

    def columns(self) -> FactColumns:
        """Everything read, as data; to be called once the tensors have been numbered."""
        saved: Sequence[tuple[SavedTensor, ...]] = SavedColumn(
            [tuple(_final(row) for row in rows) if rows else () for rows in self._saved],
            _saved_tensors,
        )
        return FactColumns(
            name=self._name,
            saved=saved,
            variable=[None if leaf is None else leaf.id for leaf in self._leaves],
            output_shapes=self._shapes,
            state=self._state,
            attributes=self._attributes,
        )


def _final(row: Row) -> Row:
    """A row without live objects: the known tensor is replaced by its id."""
    known = row[4]
    return row if known is None else (*row[:4], known.id, row[5])


def _saved_tensors(rows: Row) -> tuple[SavedTensor, ...]:
    return tuple(_saved_tensor(*row) for row in rows)


def _saved_tensor(
    name: str,
    state: Any,
    about: _Description | None,
    version: int | None,
    tensor: str | None,
    packed_by: str | None,
) -> SavedTensor:
    if about is None:
        return SavedTensor(name, state, packed_by=packed_by)
    return SavedTensor(
        name,
        state,
        about.shape,
        about.dtype,
        about.device,
        about.nbytes,
        about.storage,
        about.storage_nbytes,
        version,
        about.current_version,
        tensor,
    )


def _state(states: set[str]) -> NodeState:
    """State of a node from its slots (F4.02)."""
    if states & {"held", "modified"}:
        return "holds"
    if "packed" in states:
        return "packed"
    return "freed" if "freed" in states else "saves nothing"
