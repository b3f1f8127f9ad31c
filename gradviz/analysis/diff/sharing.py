"""Which tensors and saved tensors share a storage, in both of two graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final, TypeAlias

from gradviz.analysis.diff.pairing import NodePairs

MOST_NAMED: Final = 20
"""How many that share a storage are named; the rest is counted."""
SlotHolder: TypeAlias = tuple[str, str]
"""A tensor ``("t0", "")`` or a saved one ``("n0", "self")``, with ids after."""


class Group:
    """All holders of one storage. A group is one object, however many holders it has.

    Args:
        holders: The holders.
    """

    __slots__ = ("holders", "order")

    def __init__(self, holders: frozenset[SlotHolder]) -> None:
        self.holders = holders
        self.order = sorted(holders)


class Sharing:
    """The groups of two graphs, each without holders that only one graph has: such a holder shares
    no storage in the other.

    A group that is the same in both graphs is one object. So each storage is gone through once,
    and not once for each of its holders. Holders that share nothing, nearly all, have no group.

    Args:
        before: The holders on each storage before that has several.
        after: The same after.
        is_common: Whether a holder is in both graphs.
    """

    def __init__(
        self,
        before: Iterable[Iterable[SlotHolder]],
        after: Iterable[Iterable[SlotHolder]],
        is_common: Callable[[SlotHolder], bool],
    ) -> None:
        known: dict[frozenset[SlotHolder], Group] = {}
        self.before, self.after = (
            dict(_groups(side, is_common, known)) for side in (before, after)
        )
        self._named: dict[tuple[Group, Group], list[SlotHolder]] = {}

    def change(self, holder: SlotHolder) -> tuple[Group, Group] | None:
        """The group of a holder before and after, if they are not the same."""
        before, after = self.before.get(holder), self.after.get(holder)
        if before is after:
            return None
        alone = Group(frozenset((holder,)))
        return before or alone, after or alone

    def others(
        self, holder: SlotHolder, group: Group, other: Group
    ) -> tuple[list[SlotHolder], int]:
        """Who shares a storage with a holder, and how many more do.

        Of many, those come first that do not share it in the other graph.

        Args:
            holder: A holder in both groups.
            group: Its group.
            other: Its group in the other graph.
        """
        found = self._named.get((group, other))
        if found is None:
            found = self._named[group, other] = _first(group, other)
        named = [one for one in found if one != holder][:MOST_NAMED]
        return named, len(group.order) - 1 - len(named)


def _groups(
    side: Iterable[Iterable[SlotHolder]],
    is_common: Callable[[SlotHolder], bool],
    known: dict[frozenset[SlotHolder], Group],
) -> Iterator[tuple[SlotHolder, Group]]:
    for holders in side:
        kept = frozenset(filter(is_common, holders))
        if len(kept) < 2:
            continue
        group = known.get(kept)
        if group is None:
            group = known[kept] = Group(kept)
        yield from ((holder, group) for holder in kept)


def _first(group: Group, other: Group) -> list[SlotHolder]:
    """The holders to name, one more than are named, since one of them may be the holder itself."""
    most = MOST_NAMED + 1
    if len(group.order) <= most:
        return group.order
    only = islice((one for one in group.order if one not in other.holders), most)
    return list(dict.fromkeys((*only, *group.order[: 2 * most])))[:most]


class SlotStorages:
    """Which tensors share a storage, among those of both graphs.

    Args:
        pairs: The two graphs.
    """

    def __init__(self, pairs: NodePairs) -> None:
        self._pairs = pairs
        before = [
            [(pairs.after[key], slot) for key, slot in holders if key in pairs.after]
            for holders in pairs.old.on_storages()
        ]
        after = pairs.new.on_storages()
        self._all = Sharing(before, after, self._is_common)
        self._tensors = Sharing(map(_tensors_of, before), map(_tensors_of, after), self._is_common)
        self._told: set[Group] = set()
        """Storages of which a saved tensor has told that their values are others."""

    def _is_common(self, holder: SlotHolder) -> bool:
        """Whether a holder, with its id after, has a storage in both graphs."""
        key, slot = holder
        pairs = self._pairs
        before = pairs.nodes.get(key) or pairs.tensors.get(key)
        return before is not None and pairs.new.holds(key, slot) and pairs.old.holds(before, slot)

    def of_tensor(self, tensor_id: str) -> tuple[str | None, str | None]:
        """Names of the tensors that share the storage of a tensor, if they differ."""
        holder = tensor_id, ""
        change = self._tensors.change(holder)
        if change is None:
            return None, None
        before, after = change
        words = self._words(self._tensors, holder, before, after)
        return words or "none", self._words(self._tensors, holder, after, before) or "none"

    def of_slot(self, node_id: str, slot: str) -> tuple[str, str]:
        """The tensors that share the storage of a saved tensor, if they differ."""
        holder = node_id, slot
        change = self._all.change(holder)
        if change is None:
            return "", ""
        before, after = change
        words = (
            self._words(self._all, holder, before, after),
            self._words(self._all, holder, after, before),
        )
        alone = "in its own storage"
        was, is_now = (f"sharing the storage of {one}" if one else alone for one in words)
        return was, is_now

    def tells_values(self, holder: SlotHolder) -> bool:
        """Whether another holder of the same storage tells that its values are others.

        That is a known tensor with values, or a saved one that was asked about before.
        """
        group = self._all.after.get(holder)
        if group is None:
            return False
        is_told = group in self._told
        self._told.add(group)
        return is_told or self._has_values(group)

    def _has_values(self, group: Group) -> bool:
        tensors = self._pairs.new.tensors
        return any(tensors[key].values is not None for key, slot in group.order if not slot)

    def _words(self, sharing: Sharing, holder: SlotHolder, group: Group, other: Group) -> str:
        reading = self._pairs.new
        named, more = sharing.others(holder, group, other)
        names = [
            f"saved {slot} of {key} {reading.node_name(key)}" if slot else reading.name(key)
            for key, slot in named
        ]
        return ", ".join([*names, f"{more} more"] if more else names)


def _tensors_of(holders: Iterable[SlotHolder]) -> list[SlotHolder]:
    return [holder for holder in holders if not holder[1]]
