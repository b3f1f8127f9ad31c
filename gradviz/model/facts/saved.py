"""The facts of a saved tensor."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from gradviz.model.facts.common import device_fact, dtype_fact, shape_fact, storage_fact
from gradviz.model.facts.fact import Fact, Facts, Maker, Surroundings, Values
from gradviz.model.formatting import UNREAD, numbers, size
from gradviz.model.records import (
    SavedTensor,
)

SlotKey: TypeAlias = Literal[
    "name",
    "tensor",
    "values",
    "state",
    "condition",
    "versions",
    "shape",
    "dtype",
    "device",
    "nbytes",
    "storage",
]
SlotFacts: TypeAlias = Facts[SlotKey, SavedTensor]


def slot_facts(slot: SavedTensor, around: Surroundings) -> SlotFacts:
    """The facts of a saved tensor."""
    return Facts(slot, around, _SLOT)


def _slot_name(slot: SavedTensor, around: Surroundings) -> Fact:
    """Its name; of a known tensor or a view of one also the tensor: ``self = b``."""
    name, tensor = around.tidy(slot.name), _saved_tensor(slot, around)
    equal = f"{name} = {tensor}" if tensor else name
    return Fact("saved", slot.name, name, equal, f"saved {equal}")


def _slot_tensor(slot: SavedTensor, around: Surroundings) -> Fact:
    words = _saved_tensor(slot, around)
    return Fact("tensor", slot.tensor or slot.view_of, words, words, words)


def _saved_tensor(slot: SavedTensor, around: Surroundings) -> str:
    """Name of the saved tensor: ``b``, ``view of x``, or empty when it is not known."""
    if slot.view_of is not None and slot.view_of in around.names:
        return f"view of {around.names[slot.view_of]}"
    return around.names.get(slot.tensor or "", "")


def _values(slot: SavedTensor, around: Surroundings) -> Fact:
    """The values of a small tensor that is no known one; the short form also leaves them out where
    the name says what it is a view of."""
    if slot.is_unread:
        return Fact("values", None, UNREAD, UNREAD, f"values {UNREAD}")
    if slot.values is None or slot.shape is None:
        return Fact("values")
    words = numbers(slot.values, slot.shape)
    short = "" if _saved_tensor(slot, around) else f"= {words}"
    return Fact("values", Values(slot.values, slot.shape), words, short, f"values {words}")


def _versions(slot: SavedTensor, around: Surroundings) -> Fact:
    """``v0``; both versions where they differ; "not known" where torch does not show one."""
    saved, now = slot.saved_version, slot.current_version
    if saved is None:
        words = "" if now is None else f"saved version not known, now v{now}"
    else:
        words = f"v{saved}" if now in (None, saved) else f"saved v{saved}, now v{now}"
    brief = f"⚠ {words or 'modified'}" if slot.state == "modified" else words
    at = f"at version {saved}" if saved is not None and slot.state == "held" else ""
    return Fact("versions", None if saved is None else (saved, now), words, brief, at)


def _slot_state(slot: SavedTensor, around: Surroundings) -> Fact:
    """The state; its short form has the versions, or the pack hook."""
    versions = _versions(slot, around)
    if slot.state == "packed":
        return _condition(slot, around)
    if slot.state == "held":
        return Fact("state", "held", "held", versions.short, versions.long)
    if slot.state == "modified":
        whole = f"modified, {versions.words or 'modified'}"
        return Fact("state", "modified", "modified", versions.short, whole)
    said = f"{slot.state} {versions.words}".rstrip()
    return Fact("state", slot.state, slot.state, said, said)


def _condition(slot: SavedTensor, around: Surroundings) -> Fact:
    """The state without versions: ``held``, ``packed by offload``."""
    words: str = slot.state
    if slot.state == "packed" and slot.packed_by:
        words += f" by {around.tidy(slot.packed_by)}"
    return Fact("state", slot.state, words, words, words)


def _nbytes(slot: SavedTensor, around: Surroundings) -> Fact:
    words = "" if slot.nbytes is None else size(slot.nbytes)
    return Fact("bytes", slot.nbytes, words, words, words)


_NOT_COUNTED: Final = Fact(
    "storage", None, "not counted", "not counted", "not counted in the total"
)
_SLOT: Final[dict[SlotKey, Maker[SavedTensor]]] = {
    "name": _slot_name,
    "tensor": _slot_tensor,
    "values": _values,
    "state": _slot_state,
    "condition": _condition,
    "versions": _versions,
    "shape": lambda slot, around: shape_fact(slot.shape),
    "dtype": lambda slot, around: dtype_fact(slot.dtype, around),
    "device": lambda slot, around: device_fact(slot.device, around),
    "nbytes": _nbytes,
    "storage": lambda slot, around: (
        _NOT_COUNTED if slot.is_without_size else storage_fact(slot.storage, slot.storage_nbytes)
    ),
}
"""Every fact of a saved tensor, in order."""
