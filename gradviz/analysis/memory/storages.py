"""The storages that saved tensors keep alive, each once, and what kind each is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.model.graph import Graph
from gradviz.model.memory import HeldStorage, StorageKind, UnknownSave
from gradviz.model.records import Attribute, Node, SavedTensor, TensorInfo

_THERE = ("held", "modified")
_NO_STORAGE = "its memory is not one storage"
_OPAQUE = "torch does not show what this node saves"
_ON_CTX = "kept on ctx; backward does not free it"
_TENSOR: Final = re.compile(r"\w+ \[[-\d, ]*\]")
"""How a tensor among the attributes of a node reads: ``"Tensor [50]"``."""


def saving_nodes(graph: Graph) -> list[Node]:
    """Nodes that save tensors, or may; a graph builds its nodes at each access."""
    return [n for n in graph.nodes if n.saved or n.state == "opaque" or any(_on_ctx(n))]


def storages_of(nodes: Sequence[Node], graph: Graph) -> tuple[HeldStorage, ...]:
    """All storages behind saved tensors, in the order in which nodes save them.

    Args:
        nodes: Those that may save something.
        graph: Whose nodes they are; its modules tell parameters and buffers from other tensors.
    """
    saves: dict[str, list[tuple[str, SavedTensor]]] = {}
    for node in nodes:
        for slot in node.saved:
            if slot.storage is not None and slot.storage_nbytes is not None:
                saves.setdefault(slot.storage, []).append((node.id, slot))
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


def unknown_saves(nodes: Sequence[Node]) -> tuple[UnknownSave, ...]:
    """Saved tensors of which torch does not show how many bytes they keep."""
    found: list[UnknownSave] = []
    for node in nodes:
        for slot in node.saved:
            if slot.state == "packed":
                by = f"packed by {slot.packed_by}" if slot.packed_by else "packed by a hook"
                found.append(UnknownSave(node.id, slot.name, by))
            elif slot.state in _THERE and None in (slot.storage, slot.storage_nbytes):
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


def _storage(
    key: str,
    found: Sequence[tuple[str, SavedTensor]],
    known: Sequence[TensorInfo],
    in_module: StorageKind | None,
) -> HeldStorage:
    slots = [slot for _, slot in found]
    return HeldStorage(
        id=key,
        nbytes=slots[-1].storage_nbytes or 0,
        kind=in_module or _kind(slots, known),
        name=_name(slots, known),
        saves=tuple((node, slot.name) for node, slot in found),
    )


def _kind(slots: Sequence[SavedTensor], known: Sequence[TensorInfo]) -> StorageKind:
    if any(slot.is_parameter for slot in slots):
        return "parameter"
    if any(slot.name.startswith("result") for slot in slots) or not known:
        return "activation"
    # A leaf has a node too, its AccumulateGrad; None means that torch could not be asked.
    return "input" if all(info.is_leaf for info in known) else "activation"


def _name(slots: Sequence[SavedTensor], known: Sequence[TensorInfo]) -> str:
    saved = {key for slot in slots for key in (slot.tensor, slot.view_of) if key}
    first = sorted(known, key=lambda info: info.id not in saved)
    return next((info.name for info in first if info.name), "")
