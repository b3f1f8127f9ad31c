"""What differs in the saved tensors of a node, and in who shares memory with whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from gradviz.analysis.comparing.sides import Pairs, Reading
from gradviz.analysis.comparing.words import Fact, shape_words
from gradviz.model.comparing import Difference
from gradviz.model.facts import Node, SavedTensor

Holder: TypeAlias = tuple[str, str]
"""A tensor ``("t0", "")`` or a saved one ``("n0", "self")``, with ids after."""


class Storages:
    """Who shares memory with whom, among what is in both graphs.

    Args:
        pairs: The two graphs.
    """

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs
        self._before = self._groups(pairs.old, pairs.after)
        self._after = self._groups(pairs.new, {i: i for i in (*pairs.nodes, *pairs.tensors)})
        # Who is in one graph only shares memory with nobody in the other.
        common = set(self._before) & set(self._after)
        for groups in (self._before, self._after):
            for holder, others in groups.items():
                groups[holder] = others & common

    @staticmethod
    def _groups(reading: Reading, after: dict[str, str]) -> dict[Holder, frozenset[Holder]]:
        """The others on the storage of each holder."""
        found: dict[Holder, frozenset[Holder]] = {}
        for on_it in reading.on_storage().values():
            group = frozenset((after[key], slot) for key, slot in on_it if key in after)
            found.update((holder, group - {holder}) for holder in group)
        return found

    def of_tensor(self, tensor_id: str) -> tuple[Fact, Fact]:
        """Names of the tensors that share memory with one, before and after."""
        holder = tensor_id, ""
        if holder not in self._before or holder not in self._after:
            return None, None
        before, after = self._before[holder], self._after[holder]
        return self._tensors(before), self._tensors(after)

    def of_slot(self, node_id: str, slot: str) -> tuple[str, str]:
        """The saved tensors that share memory with one that is saved, where that differs."""
        holder = node_id, slot
        before, after = self._before.get(holder), self._after.get(holder)
        if before is None or after is None or before == after:
            return "", ""
        return self._words(before), self._words(after)

    def _tensors(self, others: frozenset[Holder]) -> Fact:
        names = [self._pairs.new.name(key) for key, slot in sorted(others) if not slot]
        return ", ".join(names) or "none"

    def _words(self, others: frozenset[Holder]) -> str:
        reading = self._pairs.new
        names = [
            f"saved {slot} of {key} {reading.node_name(key)}" if slot else reading.name(key)
            for key, slot in sorted(others)
        ]
        return f"in memory shared with {', '.join(names)}" if names else "in memory of its own"


def slot_differences(
    old: Node, new: Node, pairs: Pairs, storages: Storages
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


def _change(
    then: SavedTensor, now: SavedTensor, pairs: Pairs, shared: tuple[str, str]
) -> tuple[str, str] | None:
    """A slot before and after in words, ``None`` if it is the same."""
    sizes = list(_other_sizes(then, now))
    tensors = _differ(then.tensor, now.tensor, pairs), _differ(then.view_of, now.view_of, pairs)
    if _state(then) == _state(now) and not any((*sizes, *tensors, *shared)):
        return None
    more = [*sizes, shared]
    before = _joined((slot_words(then, pairs.old), *(words[0] for words in more)))
    after = _joined((slot_words(now, pairs.new), *(words[1] for words in more)))
    return before, f"another {after}" if before == after else after


def _differ(old_id: str | None, new_id: str | None, pairs: Pairs) -> bool:
    """Whether two saved tensors that are known are two; one that is new or gone is told so."""
    if old_id is not None and new_id is not None:
        return pairs.after.get(old_id) != new_id
    return old_id in pairs.after or new_id in pairs.tensors


def slot_words(slot: SavedTensor, reading: Reading) -> str:
    """State, versions and tensor of a slot: ``"held v0 a"``."""
    which = f"view of {reading.name(slot.view_of)}" if slot.view_of else reading.name(slot.tensor)
    return _joined((_state(slot), which))


def _state(slot: SavedTensor) -> str:
    if slot.state == "packed":
        return f"packed by {slot.packed_by}" if slot.packed_by else "packed"
    saved, now = slot.saved_version, slot.current_version
    if saved is None:
        versions = "" if now is None else f"saved version unknown, now v{now}"
    else:
        versions = f"v{saved}" if now in (None, saved) else f"saved v{saved}, now v{now}"
    return _joined((slot.state, "⚠" if slot.state == "modified" else "", versions))


def _other_sizes(then: SavedTensor, now: SavedTensor) -> Iterator[tuple[str, str]]:
    """Shape, dtype and device that are not the same, else bytes; as far as both are known."""
    found = [
        (shape_words(then.shape), shape_words(now.shape)),
        (then.dtype or "?", now.dtype or "?"),
        (then.device or "?", now.device or "?"),
    ]
    found = [words for words in found if words[0] != words[1] and "?" not in words]
    yield from found
    for template, was, is_now in (
        ("{} B", then.nbytes, now.nbytes),
        ("in a storage of {} B", then.storage_nbytes, now.storage_nbytes),
    ):
        if not found and None not in (was, is_now) and was != is_now:
            found.append((template.format(was), template.format(is_now)))
            yield found[-1]


def _joined(parts: Iterable[str]) -> str:
    return " ".join(filter(None, parts))
