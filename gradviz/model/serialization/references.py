"""Whether the ids in a document refer to nodes and tensors that it has."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gradviz.model.columns import ColumnsOf
from gradviz.model.records import ModuleInfo, Node, TensorInfo
from gradviz.model.serialization.reader import DamagedError

if TYPE_CHECKING:
    from gradviz.model.recording import StepRecord

Reference = tuple[str, str | None]
"""A place in a row, and the id there."""


def check_node(node: Node, before: int, place: str) -> int:
    """Check what the ids in a row of a graph have to be, whatever else the graph has.

    Args:
        node: The row.
        before: Number of the node before it.
        place: Where the row is.

    Returns:
        Its number.

    Raises:
        DamagedError: If an id has another form, or that of the node is not larger than ``before``.
    """
    number = _number(node.id, "n", f"{place}.id")
    if number <= before:
        raise DamagedError(f"{node.id!r} is not larger than 'n{before}'", f"{place}.id")
    for part, key in _nodes_of(node):
        if key is not None and not _is_number(key, "n"):
            raise _of_nothing(key, f"{place}{part}")
    _check_saved(node, place)
    return number


def check_graph(
    nodes: ColumnsOf,
    tensors: Sequence[TensorInfo],
    roots: Sequence[tuple[str, int]],
    modules: Sequence[ModuleInfo] = (),
    order: Sequence[str] | None = None,
) -> None:
    """Check the ids of a graph whose nodes have been checked by :func:`check_node`.

    Raises:
        DamagedError: If an id has another form, is not unique or in order, or refers to nothing.
    """
    known_tensors: set[str] = set()
    for i, info in enumerate(tensors):
        _number(info.id, "t", f"tensors[{i}].id")
        if info.id in known_tensors:
            raise DamagedError(f"{info.id!r} is the id of two tensors", f"tensors[{i}].id")
        known_tensors.add(info.id)
    for i, k, number in nodes.pointing_nowhere():
        raise _of_nothing(f"n{number}", f"nodes[{i}].next_functions[{k}][0]")
    for i, variable in enumerate(nodes.variable):
        if variable is not None and variable not in known_tensors:
            raise _of_nothing(variable, f"nodes[{i}].variable")
    known_nodes = _Ids(nodes)
    for i, info in enumerate(tensors):
        _refer([(".node", info.node)], known_nodes, f"tensors[{i}]")
    _refer(_roots(roots), known_nodes, "roots")
    _refer_to_modules(modules, known_tensors)
    _check_order(nodes, order)


def _refer_to_modules(modules: Sequence[ModuleInfo], known_tensors: Collection[str]) -> None:
    for i, module in enumerate(modules):
        of_module = (
            (f".{field}[{k}]", key)
            for field in ("tensors", "buffers")
            for k, key in enumerate(getattr(module, field))
        )
        _refer(of_module, known_tensors, f"modules[{i}]")


class _Ids(Collection[str]):
    """The ids of nodes, which are not in memory as text."""

    def __init__(self, nodes: ColumnsOf) -> None:
        self._numbers = range(len(nodes)) if nodes.in_order else set(nodes.numbers)

    def __contains__(self, key: object) -> bool:
        return type(key) is str and _is_number(key, "n") and int(key[1:]) in self._numbers

    def __iter__(self) -> Iterator[str]:
        return (f"n{number}" for number in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _check_order(nodes: ColumnsOf, order: Sequence[str] | None) -> None:
    """The order of a forward has every node that is no leaf once."""
    if order is None:
        return
    pairs = zip(nodes.numbers, nodes.variable, strict=True)
    made = {f"n{number}" for number, variable in pairs if variable is None}
    if len(order) != len(made) or set(order) != made:
        raise DamagedError(
            f"it does not name the {len(made)} nodes without a leaf, once each", "order"
        )


def check_recording(
    records: Sequence[StepRecord],
    modules: Sequence[ModuleInfo] = (),
    order: Sequence[str] | None = None,
) -> None:
    """Check the ids in the rows of a recording: entries and tensors refer to nodes that exist at
    the step, all others to what exists at any step.

    Raises:
        DamagedError: If an id has another form, or refers to nothing, or if the entries of a node
            change in number.
    """
    nodes: dict[str, Node] = {}
    known_nodes: dict[str, int] = {}
    """How many entries each node has."""
    known_tensors = {key for record in records for key, _ in record.changes.tensors}
    tensors: dict[str, TensorInfo] = {}
    pointing: dict[str, int] = {}
    """How many entries and tensors point to each node."""
    for i, record in enumerate(records):
        for j, (key, node) in enumerate(record.changes.nodes):
            place = f"steps[{i}].nodes[{j}]"
            _check_key(key, node, "n", place)
            _count(_pointed_to(nodes.pop(key, None)), pointing, -1)
            if node is not None:
                nodes[key] = node
                _count(_pointed_to(node), pointing, 1)
                entries = len(node.next_functions)
                if known_nodes.setdefault(key, entries) != entries:
                    said = f"has {entries} entries, {known_nodes[key]} at an earlier step"
                    raise DamagedError(said, f"{place}[1].next_functions")
        for j, (key, info) in enumerate(record.changes.tensors):
            _check_key(key, info, "t", f"steps[{i}].tensors[{j}]")
            before = tensors.pop(key, None)
            _count([] if before is None else [before.node], pointing, -1)
            if info is not None:
                tensors[key] = info
                _count([info.node], pointing, 1)
        for j, (key, node) in enumerate(record.changes.nodes):
            place = f"steps[{i}].nodes[{j}]"
            if node is None and pointing.get(key):
                raise DamagedError(f"{key!r} is gone, but a node or a tensor has it", place)
            if node is not None:
                _refer(_nodes_of(node), nodes, f"{place}[1]")
                _refer_to_tensors(node, known_tensors, f"{place}[1]")
        for j, (_, info) in enumerate(record.changes.tensors):
            if info is not None:
                _refer([(".node", info.node)], nodes, f"steps[{i}].tensors[{j}][1]")
        _refer(_roots(record.changes.roots or ()), known_nodes, f"steps[{i}].roots")
    _refer_to_modules(modules, known_tensors)
    _refer(((f"[{i}]", key) for i, key in enumerate(order or ())), known_nodes, "order")
    if len(set(order or ())) != len(order or ()):
        raise DamagedError("a node is there twice", "order")


def _check_key(key: str, row: Node | TensorInfo | None, letter: str, place: str) -> None:
    _number(key, letter, f"{place}[0]")
    if row is not None and row.id != key:
        raise DamagedError(f"{row.id!r} is not {key!r}, whose row it is", f"{place}[1].id")


def _pointed_to(node: Node | None) -> list[str]:
    return [] if node is None else [entry[0] for entry in node.next_functions if entry is not None]


def _count(keys: Iterable[str | None], pointing: dict[str, int], by: int) -> None:
    for key in keys:
        if key is not None:
            pointing[key] = pointing.get(key, 0) + by


def _nodes_of(node: Node) -> Iterator[Reference]:
    for i, entry in enumerate(node.next_functions):
        if entry is not None:
            yield f".next_functions[{i}][0]", entry[0]


def _refer_to_tensors(node: Node, known: Collection[str], place: str) -> None:
    _refer([(".variable", node.variable)], known, place)
    _check_saved(node, place)


def _check_saved(node: Node, place: str) -> None:
    for i, slot in enumerate(node.saved):  # what was saved may have lost its row
        for name, key in ((".tensor", slot.tensor), (".view_of", slot.view_of)):
            if key is not None:
                _number(key, "t", f"{place}.saved[{i}]{name}")


def _roots(roots: Sequence[tuple[str, int]]) -> Iterator[Reference]:
    return ((f"[{i}][0]", key) for i, (key, _) in enumerate(roots))


def _refer(references: Iterable[Reference], known: Collection[str], within: str) -> None:
    for place, key in references:
        if key is not None and key not in known:
            raise _of_nothing(key, f"{within}{place}")


def _of_nothing(key: str, place: str) -> DamagedError:
    return DamagedError(f"{key!r} is the id of nothing here", place)


def _number(key: str, letter: str, place: str) -> int:
    if not _is_number(key, letter):
        raise DamagedError(f"{key!r} is not an id like '{letter}0'", place)
    return int(key[1:])


def _is_number(key: str, letter: str) -> bool:
    digits = key[1:]
    if key[:1] != letter or not digits.isascii() or not digits.isdecimal() or len(digits) > 18:
        return False
    return key == f"{letter}{int(digits)}"
