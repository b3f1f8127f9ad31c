"""What a recording knows: nodes, tensors and storages, each with a number for life.

Nothing is kept alive: nodes carry their number in their own dictionary, tensors and storages are
referred to weakly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.model.ids import number_of


@dataclass(slots=True)
class RegistryEntry:
    """A tensor of the recording."""

    number: int
    ref: autograd.TensorRef
    name: str | None
    was_there: bool
    """Whether it existed before the recording began."""
    storage: int | None
    """Number of its storage when it was last read."""
    is_named: bool = False
    """Whether the name is one that it has now."""
    is_renamed: bool = False
    """Whether another tensor has its name now."""
    aliases: tuple[str, ...] = ()
    """Its other names."""

    @property
    def name_now(self) -> str | None:
        """Its name; one from before the recording counts while no other tensor has it."""
        return self.name if self.is_named or (self.was_there and not self.is_renamed) else None

    @property
    def aliases_now(self) -> tuple[str, ...]:
        """Its other names, if it has a name."""
        return () if self.name_now is None else self.aliases

    @property
    def id(self) -> str:
        """Id in the recording."""
        return f"t{self.number}"


class Registry:
    """Numbers of nodes, tensors and storages.

    Args:
        existing: Named tensors before the recording began. They become part of it when they are
            first used.
    """

    def __init__(self, existing: Iterable[tuple[str, torch.Tensor]] = ()) -> None:
        self._entries: dict[int, RegistryEntry] = {}
        """By ``id()`` of the tensor, which is valid while the tensor exists."""
        self._existing: dict[int, tuple[str, autograd.TensorRef]] = {}
        for name, tensor in existing:
            self._existing.setdefault(id(tensor), (name, autograd.TensorRef(tensor)))
        self._dead_tensors: list[int] = []
        self._gone_tensors: list[autograd.NumberedRef] = []
        self._gone_nodes: list[autograd.NumberedRef] = []
        self._places: dict[int, int] = {}
        """Keys of :attr:`entries`, by number."""
        self._nodes = 0
        self._marks: list[autograd.NumberedRef] = []
        self._tensors = 0
        self._leaf_nodes: dict[int, int] = {}
        self._storages: dict[int, tuple[int, autograd.StorageRef]] = {}
        self._storage_count = 0
        self._storage_keys: dict[int, int] = {}
        self._live_bytes = 0
        self._perhaps_gone: dict[int, None] = {}
        """Numbers of storages that nothing known holds, or held when it was last looked."""
        self.is_saved: Callable[[int], bool] = _never
        """Whether a node holds a storage."""
        self.names_in_sight: Callable[[int], Sequence[str]] = _no_names
        """Names of a tensor, by its ``id()``, when the last line had run."""
        self.newly_stored: dict[int, None] = {}
        """Numbers of tensors that have another storage since somebody asked."""
        self.newly_known: list[int] = []
        """``id()`` of tensors that have become known since :class:`TensorKeys` asked."""
        self._fresh: dict[int, tuple[autograd.TensorRef, int | None]] = {}
        self._on_storage: dict[int, dict[int, RegistryEntry]] = {}
        """Entries by the number of their storage."""
        self._grad_storage: dict[int, int] = {}
        """Number of the storage of the ``.grad`` of tensors, by their number."""
        self._grads_on: dict[int, dict[int, None]] = {}
        self._bearers: Counter[str] = Counter()
        """How many tensors have a name now."""
        self._called: dict[str, dict[int, RegistryEntry]] = {}
        """Tensors from before the recording by their name, or the last one they had."""
        self.unnamed: dict[int, None] = {}
        """By ``id()``: tensors that have become known, or have gone, since names were given."""
        self.changed: dict[int, None] = {}
        """Numbers of tensors of which the rows may have changed since they were read."""
        self.renamed: dict[int, None] = {}
        """Numbers of tensors that have another name since then."""

    # ---------------------------------------------------------------- tensors

    @property
    def entries(self) -> dict[int, RegistryEntry]:
        """Tensors that are alive, by ``id()``."""
        while self._gone_tensors:
            number = self._gone_tensors.pop().number
            place = self._places.pop(number)
            entry = self._entries.pop(place)
            self.unnamed[place] = None
            self._is_called(entry, False)
            self.renamed.update(dict.fromkeys(self._called_again(entry.name)))
            self._move(entry, None)
            self._move_grad(number, None)
            self.changed.pop(number, None)
            self.renamed.pop(number, None)
            self._dead_tensors.append(number)
        return self._entries

    def died(self) -> tuple[list[int], list[int]]:
        """Numbers of the tensors and of the nodes that died since asked last, sorted."""
        if self._gone_tensors:
            self.entries  # noqa: B018  which takes them out
        tensors, self._dead_tensors = self._dead_tensors, []
        nodes = [self._gone_nodes.pop().number for _ in range(len(self._gone_nodes))]
        return sorted(tensors), sorted(nodes)

    @property
    def has_dead(self) -> bool:
        """Whether any have died."""
        return bool(self._gone_tensors or self._dead_tensors or self._gone_nodes)

    def existed(self, tensor: torch.Tensor) -> str | None:
        """Name a tensor had before the recording began, if it has not been used yet."""
        found = self._existing.get(id(tensor))
        return found[0] if found is not None and found[1]() is tensor else None

    def know(self, tensor: torch.Tensor, name: str | None = None) -> RegistryEntry:
        """The entry of a tensor; made if it is new."""
        entry = self.entries.get(id(tensor))
        if entry is not None:
            return entry
        before = self.existed(tensor)
        self._existing.pop(id(tensor), None)
        number = self._tensors
        self._tensors += 1
        ref = autograd.TensorRef(tensor, number, self._gone_tensors.append)
        entry = RegistryEntry(number, ref, name or before, before is not None, None)
        if before is not None:
            entry.aliases = _others(self.names_in_sight(id(tensor)), before)
        self._entries[id(tensor)], self._places[number] = entry, id(tensor)
        self._is_called(entry, True)
        self._called_again(entry.name)
        self.unnamed[id(tensor)] = None
        self._move(entry, self.storage(tensor))
        self.changed[number] = None
        self.newly_known.append(id(tensor))
        return entry

    def find(self, tensor: torch.Tensor) -> RegistryEntry | None:
        """The entry of a tensor that is part of the recording, or was there before it."""
        entry = self.entries.get(id(tensor))
        if entry is None and self.existed(tensor) is not None:
            entry = self.know(tensor)
        return entry

    def alive(self) -> Iterator[tuple[RegistryEntry, torch.Tensor]]:
        """All tensors of the recording that are alive, by number."""
        for entry in sorted(self.entries.values(), key=lambda e: e.number):
            tensor = entry.ref()
            if tensor is not None:
                yield entry, tensor

    def entry(self, number: int) -> RegistryEntry | None:
        """The tensor with a number, ``None`` if it no longer exists."""
        entries = self.entries
        place = self._places.get(number)
        return None if place is None else entries[place]

    def has_changed(self, tensors: Iterable[torch.Tensor]) -> None:
        """What is read of these tensors may have changed; those that are not known do not count."""
        entries = self.entries
        for tensor in tensors:
            entry = entries.get(id(tensor))
            if entry is not None:
                self.changed[entry.number] = None

    def was_written(self, storage: int) -> None:
        """Tensors on a storage have changed, and those with a ``.grad`` on it."""
        self.changed.update(dict.fromkeys(self._on_storage.get(storage, ())))
        self.changed.update(self._grads_on.get(storage, {}))

    def moved(self, entry: RegistryEntry, tensor: torch.Tensor) -> None:
        """A tensor may have another storage by now."""
        self._move(entry, self.storage(tensor))

    def _move(self, entry: RegistryEntry, storage: int | None) -> None:
        if entry.storage == storage:
            return
        if entry.storage is not None:
            self._perhaps_gone[entry.storage] = None
            self._on_storage.get(entry.storage, {}).pop(entry.number, None)
            if not self._on_storage.get(entry.storage):
                self._on_storage.pop(entry.storage, None)
        entry.storage = storage
        self.newly_stored[entry.number] = None
        if storage is not None:
            self._on_storage.setdefault(storage, {})[entry.number] = entry

    def has_grad(self, entry: RegistryEntry, grad: torch.Tensor | None) -> None:
        """What ``.grad`` of a tensor is by now."""
        self._move_grad(entry.number, None if grad is None else self.storage(grad))

    def _move_grad(self, number: int, storage: int | None) -> None:
        before = self._grad_storage.pop(number, None)
        if before is not None:
            self._perhaps_gone[before] = None
            self._grads_on[before].pop(number, None)
            if not self._grads_on[before]:
                del self._grads_on[before]
        if storage is not None:
            self._grad_storage[number] = storage
            self._grads_on.setdefault(storage, {})[number] = None

    def with_grad_on(self, storage: int | None) -> list[tuple[RegistryEntry, torch.Tensor]]:
        """Tensors whose ``.grad`` is, or since it was read may be, on a storage, by number."""
        numbers = {*self._grads_on.get(-1 if storage is None else storage, ()), *self.changed}
        found = [self.entry(number) for number in sorted(numbers)]
        return [(e, tensor) for e in found if e is not None and (tensor := e.ref()) is not None]

    def on_storage(self, number: int | None) -> list[tuple[RegistryEntry, torch.Tensor]]:
        """Tensors of the recording that share a storage, by number."""
        if number is None:
            return []
        self.entries  # noqa: B018  which takes out what no longer exists
        found = sorted(self._on_storage.get(number, {}).items())
        alive = [(entry, entry.ref()) for _, entry in found]
        return [(entry, tensor) for entry, tensor in alive if tensor is not None]

    # ------------------------------------------------------------------ names

    def is_new(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor is no part of the recording and was not there before it."""
        return id(tensor) not in self.entries and self.existed(tensor) is None

    def name(self, place: int, names: Sequence[str]) -> bool:
        """Give a tensor the names that it has now; of one that is not known nothing is noted.

        Args:
            place: ``id()`` of the tensor, which exists.
            names: All its names, the best one first.

        Returns:
            Whether the name of any tensor is another one than before.
        """
        entry = self.entries.get(place)
        if entry is None:
            return False
        before, is_named = entry.name, bool(names)
        name = before
        if names:  # the first name counts, but one that it still has stays
            name = before if _is_path(before) and before in names else names[0]
        aliases = _others(names, name)
        if (name, is_named, aliases) == (before, entry.is_named, entry.aliases):
            return False
        was = entry.name_now, entry.aliases_now
        self._is_called(entry, False)
        entry.name, entry.is_named, entry.aliases = name, is_named, aliases
        self._is_called(entry, True)
        others = self._called_again(before) | self._called_again(name)
        if was != (entry.name_now, entry.aliases_now):
            others.add(entry.number)
        self.renamed.update(dict.fromkeys(others))
        return bool(others)

    def _is_called(self, entry: RegistryEntry, so: bool) -> None:
        """A tensor begins, or stops, to have the name of its entry."""
        if entry.name is None:
            return
        if entry.is_named:
            self._bearers[entry.name] += 1 if so else -1
            if not self._bearers[entry.name]:
                del self._bearers[entry.name]
        if entry.was_there:
            called = self._called.setdefault(entry.name, {})
            if so:
                called[entry.number] = entry
            else:
                called.pop(entry.number, None)

    def _called_again(self, name: str | None) -> set[int]:
        """Tensors from before the recording that lose a name to another one, or get it back."""
        is_taken = name in self._bearers
        found = set()
        for entry in self._called.get(name or "", {}).values():
            was = entry.name_now
            entry.is_renamed = is_taken and not entry.is_named
            if was != entry.name_now:
                found.add(entry.number)
        return found

    # ------------------------------------------------------------------ views

    def is_fresh(self, tensor: torch.Tensor) -> None:
        """An operation has just returned this tensor: its place is up to date.

        That is not so of a tensor that was written in place without grad mode (F1.14).
        """
        if autograd.place_may_be_stale(tensor):
            version = autograd.version_of(tensor)
            if len(self._fresh) > 10_000:
                self._fresh.clear()
            self._fresh[id(tensor)] = autograd.TensorRef(tensor), version

    def may_be_stale(self, tensor: torch.Tensor) -> bool:
        """Whether reading ``grad_fn`` could make a node (F1.14).

        A view is up to date while its counter is as it was when an operation returned it.
        """
        if not autograd.place_may_be_stale(tensor):
            return False
        ref, version = self._fresh.get(id(tensor), (None, None))
        return ref is None or ref() is not tensor or autograd.version_of(tensor) != version

    def swapped(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Two tensors have got each other's content: their AccumulateGrads, but not their names."""
        places = id(one), id(other)
        fresh = [self._fresh.pop(place, None) for place in places]
        for tensor, known in zip((other, one), fresh, strict=True):
            if known is not None and known[0]() is not None:
                self._fresh[id(tensor)] = autograd.TensorRef(tensor), known[1]
        known_here = [self.entries.get(place) for place in places]
        if any(entry and entry.number in self._leaf_nodes for entry in known_here):
            numbers = [self.know(tensor).number for tensor in (one, other)]
            nodes = [self._leaf_nodes.pop(number, None) for number in numbers]
            for number, node in zip(reversed(numbers), nodes, strict=True):
                if node is not None:
                    self._leaf_nodes[number] = node

    # ------------------------------------------------------------------ nodes

    def node_number(self, node: Any) -> int:
        """Number of a node; a new one if it has none yet.

        An AccumulateGrad has the number of its leaf, though torch may make it anew.
        """
        if autograd.plan_of(type(node)).is_accumulator:
            leaf = autograd.variable_of(node)
            if leaf is not None:
                key = self.know(leaf).number
                if key not in self._leaf_nodes:
                    self._leaf_nodes[key] = self._new_node()
                return self._leaf_nodes[key]
        number = autograd.tag_of(node, self)
        if number is None:
            number = self._new_node()
            autograd.tag(node, self, number, self._marks, self._gone_nodes.append)
        return number

    @property
    def node_count(self) -> int:
        """How many nodes have a number."""
        return self._nodes

    def known_node(self, node: Any) -> str | None:
        """Id of a node that has a number already."""
        if autograd.plan_of(type(node)).is_accumulator:
            leaf = autograd.variable_of(node)
            entry = None if leaf is None else self.entries.get(id(leaf))
            number = None if entry is None else self._leaf_nodes.get(entry.number)
        else:
            number = autograd.tag_of(node, self)
        return None if number is None else f"n{number}"

    def leaf_node_of(self, tensor_id: str) -> str | None:
        """Id of the AccumulateGrad of a leaf, if there ever was one."""
        number = self._leaf_nodes.get(number_of(tensor_id))
        return None if number is None else f"n{number}"

    def _new_node(self) -> int:
        self._nodes += 1
        return self._nodes - 1

    # --------------------------------------------------------------- storages

    def storage(self, tensor: torch.Tensor) -> int | None:
        """Number of a tensor's storage; ``None`` if it has none."""
        found = autograd.storage_of(tensor)
        if found is None:
            return None
        known = self._storages.get(found[0])
        if known is not None and known[1].is_gone:
            self._drop(found[0])
            known = None
        if known is None:
            known = self._storages[found[0]] = (self._storage_count, autograd.StorageRef(tensor))
            self._storage_keys[self._storage_count] = found[0]
            self._perhaps_gone[self._storage_count] = None
            self._storage_count += 1
            self._live_bytes += known[1].nbytes
        return known[0]

    def _drop(self, key: int) -> None:
        number, ref = self._storages.pop(key)
        del self._storage_keys[number]
        self._perhaps_gone.pop(number, None)
        self._live_bytes -= ref.nbytes

    def storage_number(self, key: int) -> int | None:
        """Number of the storage with this key."""
        known = self._storages.get(key)
        return None if known is None or known[1].is_gone else known[0]

    def storage_keys(self) -> dict[str, int]:
        """Keys of the storages that are known and exist, by their ids."""
        kept = self._storages.items()
        return {f"s{number}": key for key, (number, ref) in kept if not ref.is_gone}

    def live_bytes(self, perhaps_gone: Iterable[int] | None = None) -> int:
        """Bytes of all known storages that have not been given back.

        Args:
            perhaps_gone: Numbers of the only storages that can have been given back since this
                was asked last; not given, all are looked at that nothing known holds.
        """
        for number in list(self._perhaps_gone) if perhaps_gone is None else perhaps_gone:
            key = self._storage_keys.get(number)
            if key is not None and self._storages[key][1].is_gone:
                self._drop(key)
            elif perhaps_gone is None and self._is_held(number):
                del self._perhaps_gone[number]
        return self._live_bytes

    def released(self, storage: int) -> None:
        """A node holds a storage no longer."""
        self._perhaps_gone[storage] = None

    def _is_held(self, storage: int) -> bool:
        """Whether something known holds a storage, which is not gone then."""
        return storage in self._on_storage or storage in self._grads_on or self.is_saved(storage)

    def forget(self) -> None:
        """Drop all references, and take the numbers out of nodes that still have one."""
        autograd.untag_lost(self._marks)
        self._marks.clear()
        self._gone_tensors.clear()
        self._gone_nodes.clear()
        self._places.clear()
        self._entries.clear()
        self._existing.clear()
        self._fresh.clear()
        self._storages.clear()
        self._storage_keys.clear()
        self._on_storage.clear()
        self._grads_on.clear()
        self._grad_storage.clear()
        self.changed.clear()
        self.renamed.clear()
        self._called.clear()
        self._bearers.clear()
        self._perhaps_gone.clear()
        self.newly_known.clear()
        self.newly_stored.clear()
        self.is_saved = _never
        self.names_in_sight = _no_names
        self.unnamed.clear()


def _never(_: int) -> bool:
    return False


def _no_names(_: int) -> Sequence[str]:
    return ()


def _others(names: Iterable[str], best: str | None) -> tuple[str, ...]:
    return tuple(name for name in dict.fromkeys(names) if name != best)


def _is_path(name: str | None) -> bool:
    """Whether a name says where something belongs, as ``model.fc.weight`` does."""
    return name is not None and not name.isidentifier()
