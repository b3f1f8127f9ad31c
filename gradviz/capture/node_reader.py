"""Read the facts of every node into columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

import torch

from gradviz.capture import autograd
from gradviz.capture.autograd import Slot, TensorFacts
from gradviz.capture.tensors import Known, Tensors
from gradviz.capture.values import MOST_VALUES, NO_VALUES, FewValues
from gradviz.model import SavedTensor
from gradviz.model.records import Attribute, NodeState, without_tensor

Description = tuple[TensorFacts, "int | None", "int | None", "int | None", bool, "int | None"]
"""Facts of a tensor, number of its storage, places among the candidates of the tensor itself and
of the one it is a view of, whether it is a parameter, and its place among those of
which the values are read. Read once per tensor, however many slots hold it."""

Row = tuple[str, str, "Description | str | None", "int | None"]
"""``(name, state, description or unpack hook, saved version)`` of one saved tensor."""

Rows = tuple[Row, ...] | tuple["Description | None", ...]
"""Slots of a node: descriptions alone where all are held or not needed, which is nearly
everywhere; else rows."""


_MOST_BYTES: Final = 16 * MOST_VALUES
"""Bytes above which a tensor has more numbers than are shown, whatever its dtype."""


@dataclass(frozen=True, slots=True)
class FactColumns:
    """What :class:`NodeReader` has read, node ``i`` at place ``i``."""

    name: list[str]
    saved: Sequence[tuple[SavedTensor, ...]]
    variable: list[str | None]
    output_shapes: list[tuple[tuple[int, ...] | None, ...]]
    state: list[NodeState]
    attributes: list[tuple[tuple[str, Attribute], ...]]


class SavedColumn(Sequence[tuple[SavedTensor, ...]]):
    """Saved tensors of all nodes; :class:`SavedTensor` objects are made on access."""

    __slots__ = ("_rows", "_slots", "_tensor_ids", "_values")

    def __init__(
        self,
        rows: list[Rows],
        slots: list[tuple[Slot, ...] | None],
        tensor_ids: tuple[str, ...],
        values: list[FewValues],
    ) -> None:
        self._rows = rows
        self._slots = slots
        self._tensor_ids = tensor_ids
        self._values = values

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
            return list(map(self._make, self._rows[index], self._slots[index]))
        return self._make(self._rows[index], self._slots[index])

    def __iter__(self) -> Iterator[tuple[SavedTensor, ...]]:
        return map(self._make, self._rows, self._slots)

    def _make(self, rows: Any, slots: tuple[Slot, ...] | None) -> tuple[SavedTensor, ...]:
        if slots is None:
            return tuple([self._saved_tensor(*row) for row in rows])
        return tuple(
            [
                without_tensor(slot.name, "none")
                if about is None
                else self._saved_tensor(slot.name, "held", about, about[0][6])
                for slot, about in zip(slots, rows)
            ]
        )

    def _saved_tensor(
        self, name: str, state: Any, about: Description | str | None, version: int | None
    ) -> SavedTensor:
        if about is None or isinstance(about, str):
            return SavedTensor(name, state, packed_by=about)
        facts, storage, known, base, is_parameter, unknown = about
        shape, dtype, device, nbytes, _, storage_nbytes, current = facts
        values, is_unread = NO_VALUES if unknown is None else self._values[unknown]
        return SavedTensor(
            name,
            state,
            shape,
            dtype,
            device,
            nbytes,
            None if storage is None else f"s{storage}",
            storage_nbytes,
            version,
            current,
            None if known is None else self._tensor_ids[known],
            None if base is None else self._tensor_ids[base],
            is_parameter=is_parameter,
            values=values,
            is_unread=is_unread,
        )


class NodeReader:
    """Reads nodes, a stretch at a time.

    Args:
        nodes: All nodes of the graph.
        tensors: The live tensors; leaves and saved tensors that are met are reported to it.
    """

    def __init__(self, nodes: list[Any], tensors: Tensors) -> None:
        self._nodes = nodes
        self._tensors = tensors
        self._name: list[str] = []
        self._saved: list[Rows] = []
        self._slots: list[tuple[Slot, ...] | None] = []
        self._leaves: dict[int, Known] = {}
        self._shapes: list[tuple[tuple[int, ...] | None, ...]] = []
        self._state: list[NodeState] = []
        self._attributes: list[tuple[tuple[str, Attribute], ...]] = []
        self._about: dict[int, Description] = {}
        # Saved tensors are held until all are read, so that an id() means one object.
        self._held: list[Any] = []
        self.unknown: list[Any] = []
        """Saved tensors with few numbers that are no known ones: nothing else has their values."""

    def read(self, places: range) -> None:
        """Read the nodes at these places; stretches must come in order and leave none out."""
        plan_of, name_of = autograd.plan_of, autograd.name_of
        nodes, names, leaves, tensors = self._nodes, self._name, self._leaves, self._tensors
        for at in places:
            node = nodes[at]
            plan = plan_of(type(node))
            names.append(plan.name or name_of(node))
            if plan.is_accumulator:
                variable = autograd.variable_of(node)
                if variable is not None:
                    leaves[at] = tensors.leaf(variable, at)
        self._read_facts(places)

    def _read_facts(self, places: range) -> None:
        plan_of, shapes_of = autograd.plan_of, autograd.output_shapes
        attributes_of, untouched = autograd.attributes_of, autograd.untouched
        nodes, shapes, attributes = self._nodes, self._shapes, self._attributes
        saved, all_slots, states = self._saved, self._slots, self._state
        known, describe = self._about, self._describe
        for at in places:
            node = nodes[at]
            plan = plan_of(type(node))
            slots = plan.slots
            shapes.append(shapes_of(node))
            attributes.append(attributes_of(node, plan) if plan.has_attributes else ())
            if plan.saves_nothing:
                saved.append(())
                all_slots.append(slots)
                states.append("saves nothing")
                continue
            values = None if plan.is_function else untouched(node, plan)
            if values is None:
                rows = tuple([self._row(slot, at) for slot in autograd.saved_of(node, plan)])
                saved.append(rows)
                all_slots.append(None)
                states.append(_state(rows))
                continue
            state: NodeState = "opaque" if plan.is_opaque else "saves nothing"
            row: list[Description | None] = []
            for slot, tensor in zip(slots, values):
                if tensor is None:
                    row.append(None)
                else:
                    state = "holds"
                    row.append(known.get(id(tensor)) or describe(tensor, at, slot.name))
            saved.append(tuple(row))
            all_slots.append(slots)
            states.append(state)

    def _row(self, slot: tuple[str, str, Any, int | None], at: int) -> Row:
        name, state, detail, version = slot
        if detail is None:
            return name, state, None, None
        if state == "packed":
            return name, state, autograd.describe_hook(detail), None
        about = self._about.get(id(detail)) or self._describe(detail, at, name)
        return name, state, about, version

    def _describe(self, tensor: Any, at: int, slot: str) -> Description:
        self._held.append(tensor)
        tensors = self._tensors
        facts, of = autograd.facts_of(tensor), autograd.base_of(tensor)
        nbytes, key = facts[3], facts[4]
        known, base = tensors.saved(tensor, of, key, at, slot)
        number = None if key is None else tensors.storages.number_of(key, tensor)
        is_plain = type(tensor) is torch.Tensor and of is None  # as nearly all are
        is_parameter = not is_plain and autograd.is_parameter(tensor)
        unknown = None
        if known is None and nbytes is not None and nbytes <= _MOST_BYTES:
            unknown = len(self.unknown)
            self.unknown.append(tensor)
        about = self._about[id(tensor)] = facts, number, known, base, is_parameter, unknown
        return about

    def columns(self, values: list[FewValues]) -> FactColumns:
        """Everything read, as data; to be called once the tensors have been numbered.

        Args:
            values: Those of :attr:`unknown`.
        """
        count = len(self._name)
        variable: list[str | None] = [None] * count
        for at, leaf in self._leaves.items():
            variable[at] = leaf.id
        return FactColumns(
            self._name,
            SavedColumn(self._saved, self._slots, self._tensors.ids(), values),
            variable,
            self._shapes,
            self._state,
            self._attributes,
        )


def _state(rows: tuple[Row, ...]) -> NodeState:
    """State of a node from its slots (F4.02)."""
    found: NodeState = "saves nothing"
    for row in rows:
        state = row[1]
        if state == "held" or state == "modified":
            return "holds"
        if state == "packed" or (state == "freed" and found != "packed"):
            found = state  # type: ignore[assignment]
    return found
