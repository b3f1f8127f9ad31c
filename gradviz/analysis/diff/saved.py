"""Differences in the saved tensors of a node, and in which tensors share a storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from gradviz.analysis.diff.pairing import GraphLookup, NodePairs
from gradviz.analysis.diff.values import both, same
from gradviz.model.diff import Difference
from gradviz.model.facts import FactValue, SlotFacts, SlotKey, slot_facts
from gradviz.model.formatting import size
from gradviz.model.records import Node, SavedTensor

SIZES: Final[tuple[SlotKey, ...]] = ("shape", "dtype", "device")
SlotHolder: TypeAlias = tuple[str, str]
"""A tensor ``("t0", "")`` or a saved one ``("n0", "self")``, with ids after."""


class SlotStorages:
    """Which tensors share a storage, among those of both graphs.

    Args:
        pairs: The two graphs.
    """

    def __init__(self, pairs: NodePairs) -> None:
        self._pairs = pairs
        self._told: set[SlotHolder] = set()
        """Saved tensors of which it was told that their values are others."""
        self._before = self._groups(pairs.old, pairs.after)
        self._after = self._groups(pairs.new, {i: i for i in (*pairs.nodes, *pairs.tensors)})
        # A tensor that only one graph has shares no storage in the other.
        common = set(self._before) & set(self._after)
        for groups in (self._before, self._after):
            for holder, others in groups.items():
                groups[holder] = others & common

    @staticmethod
    def _groups(
        reading: GraphLookup, after: dict[str, str]
    ) -> dict[SlotHolder, frozenset[SlotHolder]]:
        """The other holders on the storage of each holder."""
        found: dict[SlotHolder, frozenset[SlotHolder]] = {}
        for on_it in reading.on_storage().values():
            group = frozenset((after[key], slot) for key, slot in on_it if key in after)
            found.update((holder, group - {holder}) for holder in group)
        return found

    def of_tensor(self, tensor_id: str) -> tuple[FactValue, FactValue]:
        """Names of the tensors that share the storage of a tensor, before and after."""
        holder = tensor_id, ""
        if holder not in self._before or holder not in self._after:
            return None, None
        before, after = self._before[holder], self._after[holder]
        return self._tensors(before), self._tensors(after)

    def of_slot(self, node_id: str, slot: str) -> tuple[str, str]:
        """The tensors that share the storage of a saved tensor, if they differ."""
        holder = node_id, slot
        before, after = self._before.get(holder), self._after.get(holder)
        if before is None or after is None or before == after:
            return "", ""
        return self._words(before), self._words(after)

    def tells_values(self, holder: SlotHolder) -> bool:
        """Whether another holder of the same storage tells that its values are others.

        That is a known tensor with values, or a saved one that was asked about before.
        """
        others = self._after.get(holder, frozenset())
        infos = (self._pairs.new.tensors[key] for key, slot in others if not slot)
        is_told = bool(others & self._told) or any(info.values is not None for info in infos)
        self._told.add(holder)
        return is_told

    def _tensors(self, others: frozenset[SlotHolder]) -> FactValue:
        names = [self._pairs.new.name(key) for key, slot in sorted(others) if not slot]
        return ", ".join(names) or "none"

    def _words(self, others: frozenset[SlotHolder]) -> str:
        reading = self._pairs.new
        names = [
            f"saved {slot} of {key} {reading.node_name(key)}" if slot else reading.name(key)
            for key, slot in sorted(others)
        ]
        return f"sharing the storage of {', '.join(names)}" if names else "in its own storage"


def slot_differences(
    old: Node, new: Node, pairs: NodePairs, storages: SlotStorages
) -> Iterator[Difference]:
    """Saved tensors of a node that is in both graphs."""
    before, after = pairs.old.slots(old), pairs.new.slots(new)
    name = pairs.new.node_name(new.id)
    for slot in dict.fromkeys((*before, *after)):
        then, now = before.get(slot), after.get(slot)
        ids = (
            f"{old.id}.saved.{then[0]}" if then else "",
            f"{new.id}.saved.{now[0]}" if now else "",
        )
        fact = f"saved {slot}"
        if then is None and now is not None:
            words = slot_words(now[1], pairs.new)
            yield Difference("new", "saved tensor", name, fact, "nothing", words, *ids)
        elif now is None and then is not None:
            words = slot_words(then[1], pairs.old)
            yield Difference("gone", "saved tensor", name, fact, words, "nothing", *ids)
        elif then is not None and now is not None:
            is_known = any((then[1].tensor, then[1].view_of, now[1].tensor, now[1].view_of))
            shared = ("", "") if is_known else storages.of_slot(new.id, slot)
            if found := _change(then[1], now[1], pairs, shared):
                yield Difference("changed", "saved tensor", name, fact, *found, *ids)


def value_differences(pairs: NodePairs, storages: SlotStorages) -> Iterator[Difference]:
    """Other values of saved tensors, each memory once."""
    for new_id, old_id in pairs.nodes.items():
        old, new = pairs.old.nodes[old_id], pairs.new.nodes[new_id]
        before, after = pairs.old.slots(old), pairs.new.slots(new)
        for slot in (slot for slot in after if slot in before):
            (at, then), (place, now) = before[slot], after[slot]
            was = slot_facts(then, pairs.old)["values"].value
            is_now = slot_facts(now, pairs.new)["values"].value
            if None in (was, is_now) or then.shape != now.shape or same(was, is_now):
                continue
            if not storages.tells_values((new_id, slot)):
                name, fact = pairs.new.node_name(new_id), f"values of saved {slot}"
                ids = f"{old_id}.saved.{at}", f"{new_id}.saved.{place}"
                words = both(was, is_now)
                yield Difference("changed", "saved tensor", name, fact, *words, *ids)


def _change(
    then: SavedTensor, now: SavedTensor, pairs: NodePairs, shared: tuple[str, str]
) -> tuple[str, str] | None:
    """A slot before and after in words, ``None`` if it is the same."""
    was, is_now = slot_facts(then, pairs.old), slot_facts(now, pairs.new)
    more = _other_sizes(was, is_now)
    if not more and (found := _other_bytes(then, now)):
        more.append(found)
    tensors = _differ(then.tensor, now.tensor, pairs), _differ(then.view_of, now.view_of, pairs)
    if _state(was) == _state(is_now) and not any((*more, *tensors, *shared)):
        return None
    more.append(shared)
    before = _joined((_told(was), *(words[0] for words in more)))
    after = _joined((_told(is_now), *(words[1] for words in more)))
    return before, f"another {after}" if before == after else after


def _differ(old_id: str | None, new_id: str | None, pairs: NodePairs) -> bool:
    """Whether two known saved tensors differ; new and gone ones are reported as such."""
    if old_id is not None and new_id is not None:
        return pairs.after.get(old_id) != new_id
    return old_id in pairs.after or new_id in pairs.tensors


def slot_words(slot: SavedTensor, reading: GraphLookup) -> str:
    """State, versions and tensor of a slot: ``"held v0 a"``."""
    return _told(slot_facts(slot, reading))


def _told(facts: SlotFacts) -> str:
    return _joined((_state(facts), facts["tensor"].words))


def _state(facts: SlotFacts) -> str:
    state = facts["state"]
    return _joined((state.words, "" if state.value == "packed" else facts["versions"].short))


def _other_sizes(then: SlotFacts, now: SlotFacts) -> list[tuple[str, str]]:
    """Shape, dtype and device that are not the same, as far as both are known."""
    pairs = ((then[key], now[key]) for key in SIZES)
    return [
        (was.words, is_now.words)
        for was, is_now in pairs
        if None not in (was.value, is_now.value) and was.value != is_now.value
    ]


def _other_bytes(then: SavedTensor, now: SavedTensor) -> tuple[str, str] | None:
    """Bytes of the tensor, else of its storage, that are not the same, if both are known."""
    for template, was, is_now in (
        ("{}", then.nbytes, now.nbytes),
        ("in a storage of {}", then.storage_nbytes, now.storage_nbytes),
    ):
        if was is not None and is_now is not None and was != is_now:
            words = size(was), size(is_now)
            if words[0] == words[1]:
                words = f"{was} B", f"{is_now} B"
            return template.format(words[0]), template.format(words[1])
    return None


def _joined(parts: Iterable[str]) -> str:
    return " ".join(filter(None, parts))
