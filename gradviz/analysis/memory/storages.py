"""The storages that saved tensors keep alive, each once, and what kind each is."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gradviz.model.graph import Graph
from gradviz.model.memory import HeldStorage, StorageKind, UnknownSave
from gradviz.model.progress import counted
from gradviz.model.records import Attribute, Node, SavedTensor, TensorInfo

_NO_STORAGE = "its memory is not one storage"
_OPAQUE = "torch does not show what this node saves"
_ON_CTX = "kept on ctx; backward does not free it"
_TENSOR: Final = re.compile(r"\w+ \[[-\d, ]*\]")
"""How a tensor among the attributes of a node reads: ``"Tensor [50]"``."""


class SavingNodes(Iterable[Node]):
    """The nodes of a graph that save tensors, or may; each is made anew in every round, since all
    of them together take more memory than their graph.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        self._nodes = graph.nodes
        self._places = array(
            "q",
            (
                place
                for place, n in counted(enumerate(graph.nodes), "nodes", len(graph))
                if _may_save(n)
            ),
        )

    def __iter__(self) -> Iterator[Node]:
        return map(self._nodes.__getitem__, self._counted())

    def _counted(self) -> Iterable[int]:
        return counted(self._places, "nodes that save something", len(self._places))


def _may_save(node: Node) -> bool:
    return bool(node.saved) or node.state == "opaque" or any(_on_ctx(node))


def storages_of(nodes: Iterable[Node], graph: Graph) -> tuple[HeldStorage, ...]:
    """All storages behind saved tensors, in the order in which nodes save them.

    Args:
        nodes: Those that may save something.
        graph: Whose nodes they are; its modules tell parameters and buffers from other tensors.
    """
    saves: dict[str, _Saves] = {}
    for node in nodes:
        for slot in node.saved:
            if slot.storage is not None and slot.storage_nbytes is not None:
                saves.setdefault(slot.storage, _Saves()).add(node.id, slot)
    known: dict[str, list[TensorInfo]] = {}
    for info in graph.tensors:
        if info.storage is not None:
            known.setdefault(info.storage, []).append(info)
    kinds = _kinds_in_modules(graph)
    return tuple(
        _storage(key, found, known.get(key, ()), kinds.get(key)) for key, found in saves.items()
    )


def _kinds_in_modules(graph: Graph) -> dict[str, StorageKind]:
    """By id of a storage, what the first module that has it has it as."""
    storages = {info.id: info.storage for info in graph.tensors}
    found: dict[str, StorageKind] = {}
    for module in graph.modules:
        for key in module.tensors:
            if (storage := storages[key]) is not None:
                found.setdefault(storage, "buffer" if key in module.buffers else "parameter")
    return found


def unknown_saves(nodes: Iterable[Node]) -> tuple[UnknownSave, ...]:
    """Saved tensors of which torch does not show how many bytes they keep."""
    found: list[UnknownSave] = []
    for node in nodes:
        for slot in node.saved:
            if slot.state == "packed":
                by = f"packed by {slot.packed_by}" if slot.packed_by else "packed by a hook"
                found.append(UnknownSave(node.id, slot.name, by))
            elif slot.is_without_size:
                found.append(UnknownSave(node.id, slot.name, _NO_STORAGE))
        if node.state == "opaque":
            found.append(UnknownSave(node.id, "", _OPAQUE))
        found += [UnknownSave(node.id, f"ctx.{name}", _ON_CTX) for name in _on_ctx(node)]
    return tuple(found)


def _on_ctx(node: Node) -> Iterator[str]:
    """Attributes with which a custom Function keeps tensors by itself."""
    return (name for name, value in node.attributes if _has_tensor(value))


def _has_tensor(value: Attribute) -> bool:
    if isinstance(value, tuple):
        return any(map(_has_tensor, value))
    return isinstance(value, str) and _TENSOR.fullmatch(value) is not None


class _Saves:
    """The saved tensors on one storage; nothing is kept of them but what is needed."""

    __slots__ = ("is_parameter", "is_result", "nbytes", "places", "tensors")

    def __init__(self) -> None:
        self.nbytes = 0
        self.is_parameter = self.is_result = False
        self.places: tuple[tuple[str, str], ...] | list[tuple[str, str]] = ()
        """Node and slot of each."""
        self.tensors: frozenset[str] = frozenset()
        """The known tensors that they are, or are views of."""

    def add(self, node_id: str, slot: SavedTensor) -> None:
        """Add a saved tensor."""
        self.nbytes = slot.storage_nbytes or 0
        self.is_parameter |= slot.is_parameter
        self.is_result |= slot.name.startswith("result")
        if not self.places:
            self.places = ((node_id, slot.name),)
        elif isinstance(self.places, tuple):
            self.places = [*self.places, (node_id, slot.name)]
        else:
            self.places.append((node_id, slot.name))
        if slot.tensor or slot.view_of:
            self.tensors |= {key for key in (slot.tensor, slot.view_of) if key}


def _storage(
    key: str,
    found: _Saves,
    known: Sequence[TensorInfo],
    in_module: StorageKind | None,
) -> HeldStorage:
    return HeldStorage(
        id=key,
        nbytes=found.nbytes,
        kind=in_module or _kind(found, known),
        name=_name(found, known),
        saves=tuple(found.places),
    )


def _kind(found: _Saves, known: Sequence[TensorInfo]) -> StorageKind:
    if found.is_parameter:
        return "parameter"
    if found.is_result or not known:
        return "activation"
    # A leaf has a node too, its AccumulateGrad; None means that torch could not be asked.
    return "input" if all(info.is_leaf for info in known) else "activation"


def _name(found: _Saves, known: Sequence[TensorInfo]) -> str:
    first = sorted(known, key=lambda info: info.id not in found.tensors)
    return next((info.name for info in first if info.name), "")
