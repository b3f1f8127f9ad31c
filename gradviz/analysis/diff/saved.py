"""Differences in the saved tensors of a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.analysis.diff.pairing import GraphLookup, NodePairs
from gradviz.analysis.diff.sharing import SlotStorages
from gradviz.analysis.diff.values import both, same
from gradviz.model.diff import Difference
from gradviz.model.facts import SlotFacts, SlotKey, slot_facts
from gradviz.model.formatting import size
from gradviz.model.progress import counted
from gradviz.model.records import Node, SavedTensor

SIZES: Final[tuple[SlotKey, ...]] = ("shape", "dtype", "device")


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
    count = len(pairs.nodes)
    for new_id, old_id in counted(pairs.nodes.items(), "nodes compared by values", count):
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
