"""The graph as the recording last read it, and what has changed since the last step.

Rows are read by the same code as a snapshot, and get the ids of the recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.deep_graphs import make_safe_to_free
from gradviz.capture.recorder.registry import Registry, RegistryEntry
from gradviz.capture.tensors import Known, Storages, Tensors
from gradviz.capture.traversal import no_collection, read_walked, walk
from gradviz.model import Node, SavedTensor, TensorInfo
from gradviz.model.devices import Place, devices_at, place_of
from gradviz.model.events import Event, FlagChanged, HookChanged, Note
from gradviz.model.ids import by_number, number_of
from gradviz.model.recording import RowChanges

Origin = Callable[[Any], "tuple[str | None, str | None, bool]"]
"""Source line and module of a node, and whether the recording saw it being made."""


class _WorldStorages(Storages):
    """Numbers that storages have for the whole recording."""

    def __init__(self, registry: Registry) -> None:
        super().__init__()
        self._registry = registry

    def number_of(self, key: int, tensor: torch.Tensor) -> int:
        number = self._registry.storage_number(key)
        if number is None:
            number = self._registry.storage(tensor)
        assert number is not None
        return number


class LiveGraph:
    """Rows of all nodes and tensors that are alive.

    Args:
        registry: Their numbers.
        values: Whether numbers are read.
        place: Tells source line and module of a node.
    """

    def __init__(self, registry: Registry, values: bool, place: Origin) -> None:
        self.registry = registry
        self.values = values
        self.nodes: dict[str, Node] = {}
        self.tensors: dict[str, TensorInfo] = {}
        self.roots: tuple[tuple[str, int], ...] = ()
        self._place = place
        self._places: dict[str, tuple[str | None, str | None, bool]] = {}
        self._sees_hooks = True
        """Whether every hook on nodes made in the recording is one of a live tensor."""
        self._with_hooks_left: set[str] = set()
        """Nodes with hooks of a tensor that has another node now."""
        self._uses: Counter[str] = Counter()
        """How many entries of ``next_functions`` point to each node."""
        self._unused: dict[str, None] = {}
        """Nodes that none points to."""
        self._changed_nodes: dict[str, None] = {}
        self._changed_tensors: dict[str, None] = {}
        self._told_roots: tuple[tuple[str, int], ...] | None = None
        self._held = HeldBytes()
        self._places_seen: set[Place | None] = set()
        self.first_nodes: dict[str, Node] = {}
        """Rows of nodes from before the recording, as they were then."""
        self.first_tensors: dict[str, TensorInfo] = {}

    @property
    def saved_bytes(self) -> int:
        """Bytes kept alive by saved tensors, each storage counted once."""
        return self._held.total

    @property
    def devices(self) -> list[str]:
        """The devices on which there ever was something."""
        return devices_at(self._places_seen)

    # ------------------------------------------------------------------- rows

    def set_node(self, key: str, row: Node | None) -> None:
        """Replace the row of a node, or take it away."""
        before = self.nodes.get(key)
        if before == row:
            return
        self._put(key, before, row)
        self._changed_nodes[key] = None

    def _put(self, key: str, before: Node | None, row: Node | None) -> None:
        self._held.replace(before, row)
        if row is None:
            del self.nodes[key]
            self._unused.pop(key, None)
        else:
            self.nodes[key] = row
            self._places_seen.update(map(place_of, row.saved))
            if not self._uses[key]:
                self._unused[key] = None
        if before is not None and row is not None and before.next_functions == row.next_functions:
            return
        for entry in () if before is None else before.next_functions:
            if entry is not None:
                self._uses[entry[0]] -= 1
                if not self._uses[entry[0]] and entry[0] in self.nodes:
                    self._unused[entry[0]] = None
        for entry in () if row is None else row.next_functions:
            if entry is not None:
                self._uses[entry[0]] += 1
                self._unused.pop(entry[0], None)

    def set_tensor(self, key: str, row: TensorInfo | None) -> None:
        """Replace the row of a tensor, or take it away."""
        if self.tensors.get(key) == row:
            return
        if row is None:
            del self.tensors[key]
        else:
            self.tensors[key] = row
            self._places_seen.add(place_of(row))
        self._changed_tensors[key] = None

    def changes(self) -> RowChanges:
        """What has changed since the last call."""
        roots = None if self.roots == self._told_roots else self.roots
        self._told_roots = self.roots
        found = RowChanges(
            tuple((k, self.nodes.get(k)) for k in by_number(self._changed_nodes)),
            tuple((k, self.tensors.get(k)) for k in by_number(self._changed_tensors)),
            roots,
        )
        self._changed_nodes.clear()
        self._changed_tensors.clear()
        return found

    # ---------------------------------------------------------------- reading

    def read(
        self,
        extra_roots: Sequence[tuple[Any, int]] = (),
        everything: bool = True,
        keep_roots: bool = False,
        also: Iterable[torch.Tensor] = (),
    ) -> list[Event]:
        """Read what is alive; returns flags and hooks that have changed.

        Args:
            extra_roots: Nodes, with output numbers, that no known tensor leads to.
            everything: Whether nodes that have been read before are read again. Their rows
                change only by writes in place and by backward.
            keep_roots: Whether the roots stay those of the backward that runs.
            also: Tensors without a name whose graphs are read.
        """
        roots = self.roots
        with autograd.unseen(), no_collection():
            events = self._read(extra_roots, everything, also)
        if keep_roots:
            self.roots = roots
        return events

    def read_existing(self, tensors: Sequence[torch.Tensor]) -> None:
        """Read tensors from before the recording, and their graphs, before they are first used.

        Nothing of the recorded code has touched them, so these rows are those of the beginning.
        """
        with autograd.unseen(), no_collection():
            alive = [(self.registry.know(tensor), tensor) for tensor in tensors]
            nodes, entries, index = walk([n for _, t in alive for n in self._nodes_behind(t)])
            try:
                node_rows, tensor_rows = self._rows(alive, nodes, entries, index)
            finally:
                make_safe_to_free(nodes, entries)
        for row in node_rows:
            if row.id not in self.nodes:
                self._put(row.id, None, row)
                self.first_nodes[row.id] = row
        for info in tensor_rows:
            if info.id not in self.tensors:
                self.tensors[info.id] = self.first_tensors[info.id] = info
                self._places_seen.add(place_of(info))

    def _read(
        self,
        extra_roots: Sequence[tuple[Any, int]],
        everything: bool,
        also: Iterable[torch.Tensor],
    ) -> list[Event]:
        alive = list(self.registry.alive())
        starts = [node for node, _ in extra_roots]
        starts += [node for tensor in also for node in self._nodes_behind(tensor)]
        starts += [node for _, tensor in alive for node in self._nodes_behind(tensor)]
        if everything:
            nodes, entries, index = walk(starts)
        else:
            nodes, entries, index = walk(starts, self._has_row)
        try:
            node_rows, tensor_rows = self._rows(alive, nodes, entries, index)
            roots = [(f"n{self.registry.node_number(node)}", nr) for node, nr in extra_roots]
        finally:
            make_safe_to_free(nodes, entries)
        del nodes, index
        if not everything:
            node_rows = [row for row in node_rows if row.id not in self.nodes]
        events: list[Event] = []
        for row in node_rows:
            self.set_node(row.id, row)
        self._drop_unused_leaves({row.id for row in node_rows})
        for info in map(self._at_leaf, tensor_rows):
            before = self.tensors.get(info.id)
            events += _differences(before, info)
            self.set_tensor(info.id, info)
            if before is not None and before.node != info.node:
                events += self._left_behind(before, info)
        seen = {info.id for info in tensor_rows}
        for key in [key for key in self.tensors if key not in seen]:
            self.set_tensor(key, None)
        self.roots = tuple(roots) or self._heads()
        return events

    def _left_behind(self, before: TensorInfo, after: TensorInfo) -> Iterator[Event]:
        """Hooks of a tensor that was written in place stay at the node of its old value.

        torch does not list them at the node, so from now on the hooks of that node are not known.
        """
        key = before.node
        left = (Counter(before.hooks) - Counter(after.hooks)).elements()
        for hook in left if key in self.nodes else ():
            assert key is not None
            self._with_hooks_left.add(key)
            self.set_node(key, replace(self.nodes[key], hooks_unknown=True))
            function = hook.name.rpartition(".")[2]
            made = f"which made the old value of {after.name or after.id}"
            yield Note("hook stays", f"hook {function} remains on {key}, {made}")

    def _has_row(self, node: Any) -> bool:
        """Whether a node was read before; an AccumulateGrad costs nothing to read again."""
        return self.registry.known_node(node) in self.nodes

    def _at_leaf(self, info: TensorInfo) -> TensorInfo:
        """A leaf with its AccumulateGrad, where the walk did not come to that."""
        if info.node is None and info.requires_grad and info.is_leaf:
            key = self.registry.leaf_node_of(info.id)
            if key is not None and self._uses[key]:
                return replace(info, node=key)
        return info

    def _rows(
        self,
        alive: Sequence[tuple[RegistryEntry, torch.Tensor]],
        nodes: list[Any],
        entries: Any,
        index: dict[Any, int],
    ) -> tuple[list[Node], list[TensorInfo]]:
        known = [Known(t, e.name_now, True) for e, t in alive]
        for one in known:
            one.is_root = not self.registry.may_be_stale(one.tensor)
        tensors = Tensors(known, index, self.values, _WorldStorages(self.registry))
        graph = read_walked((), nodes, entries, tensors, index)
        node_ids = [f"n{self.registry.node_number(node)}" for node in nodes]
        tensor_ids = {one.id: self.registry.know(one.tensor).id for one in tensors.shown}
        for one in tensors.shown:
            self.registry.know(one.tensor).storage = self.registry.storage(one.tensor)
            if one.grad is not None:
                self.registry.storage(one.grad)
        node_rows = [
            self._renumbered(node, node_ids, tensor_ids, nodes[i])
            for i, node in enumerate(graph.nodes)
        ]
        tensor_rows = []
        for one, info in zip(tensors.shown, graph.tensors, strict=True):
            entry = self.registry.know(one.tensor)
            tensor_rows.append(
                replace(
                    info,
                    id=entry.id,
                    # A leaf that the walk has found has a name too if it is in sight.
                    name=entry.name_now,
                    node=None if info.node is None else node_ids[number_of(info.node)],
                )
            )
        return node_rows, tensor_rows

    def _renumbered(
        self,
        node: Node,
        node_ids: list[str],
        tensor_ids: dict[str, str],
        live: Any,
    ) -> Node:
        key = node_ids[number_of(node.id)]
        if key not in self._places:
            self._places[key] = self._place(live)
        source, module, is_new = self._places[key]
        return replace(
            node,
            id=key,
            next_functions=tuple(
                None if e is None else (node_ids[number_of(e[0])], e[1])
                for e in node.next_functions
            ),
            saved=tuple(_renumbered_slot(s, tensor_ids) for s in node.saved),
            variable=None if node.variable is None else tensor_ids[node.variable],
            hooks_unknown=not (is_new and self._sees_hooks) or key in self._with_hooks_left,
            source=node.source or source,
            module=module,
        )

    def _drop_unused_leaves(self, seen: set[str]) -> None:
        """Take away rows of AccumulateGrads that no row points to any more."""
        for key in list(self._unused):
            if self.nodes[key].variable is not None and key not in seen:
                self.set_node(key, None)

    def _heads(self) -> tuple[tuple[str, int], ...]:
        """Nodes that no other points to."""
        outputs: dict[str, int] = {}
        for info in self.tensors.values():
            if info.node is not None:
                outputs.setdefault(info.node, info.output_nr)
        return tuple((key, outputs.get(key, 0)) for key in by_number(self._unused))

    def unmark(self) -> None:
        """Take the numbers out of all nodes that known tensors lead to."""
        with autograd.unseen(), no_collection():
            starts = [node for _, t in self.registry.alive() for node in self._nodes_behind(t)]
            nodes, entries, _ = walk(starts)
            for node in nodes:
                autograd.untag(node, self.registry)
            make_safe_to_free(nodes, entries)

    def _nodes_behind(self, tensor: torch.Tensor) -> list[Any]:
        """Nodes that a tensor, and its ``.grad`` in a double backward, lead to."""
        found: list[Any] = []
        if tensor.requires_grad and not self.registry.may_be_stale(tensor):
            try:
                node = tensor.grad_fn
            except RuntimeError:  # F1.14: a view that autograd can no longer follow
                return found
            if node is not None:
                found.append(node)
            if node is None or tensor.retains_grad:
                grad = autograd.grad_of(tensor)
                if grad is not None and grad.grad_fn is not None:
                    found.append(grad.grad_fn)
        return found

    def lose_sight_of_hooks(self) -> None:
        """From now on a node may have hooks that nothing lists."""
        self._sees_hooks = False

    # ----------------------------------------------------------------- deaths

    def bury(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove the rows of what no longer exists; returns ids of tensors and of nodes."""
        dead_tensors, dead_nodes = self.registry.died()
        tensors = [f"t{number}" for number in dead_tensors]
        nodes = [f"n{number}" for number in dead_nodes]
        gone_tensors = tuple(key for key in tensors if key in self.tensors)
        if any(self.tensors[key].hooks for key in gone_tensors):
            self.lose_sight_of_hooks()  # they stay with the node, and nothing lists them
        gone_nodes = [key for key in nodes if key in self.nodes]
        for key in gone_nodes:
            self.set_node(key, None)
        unused = [key for key in self._unused if self.nodes[key].variable is not None]
        self._drop_unused_leaves(set())
        for key in gone_tensors:
            node = self.registry.leaf_node_of(key)
            if node is None or node not in self.nodes:
                self.set_tensor(key, None)
        gone_nodes += by_number(unused)
        if gone_nodes:
            self._forget_places(set(gone_nodes))
        return gone_tensors, tuple(gone_nodes)

    def _forget_places(self, gone: set[str]) -> None:
        for key, info in list(self.tensors.items()):
            if info.node in gone:
                self.set_tensor(key, replace(info, node=None))
        self.roots = tuple(root for root in self.roots if root[0] not in gone)


class HeldBytes:
    """Bytes that saved tensors keep alive, each storage counted once."""

    def __init__(self) -> None:
        self.total = 0
        self._holders: Counter[str] = Counter()
        self._bytes: dict[str, int] = {}

    def replace(self, before: Node | None, after: Node | None) -> None:
        """A node's row is replaced."""
        for storage in _kept(before):
            self._holders[storage] -= 1
            if not self._holders[storage]:
                del self._holders[storage]
                self.total -= self._bytes.pop(storage)
        for storage, nbytes in _kept(after).items():
            self._holders[storage] += 1
            if storage not in self._bytes:
                self._bytes[storage] = nbytes
                self.total += nbytes


def _kept(row: Node | None) -> dict[str, int]:
    slots = () if row is None else row.saved
    return {
        slot.storage: slot.storage_nbytes
        for slot in slots
        if slot.storage is not None and slot.storage_nbytes is not None
    }


def _renumbered_slot(slot: SavedTensor, tensor_ids: dict[str, str]) -> SavedTensor:
    if slot.tensor is None and slot.view_of is None:
        return slot
    return replace(
        slot,
        tensor=None if slot.tensor is None else tensor_ids[slot.tensor],
        view_of=None if slot.view_of is None else tensor_ids[slot.view_of],
    )


def _differences(before: TensorInfo | None, after: TensorInfo) -> list[Event]:
    if before is None:
        return []
    found: list[Event] = []
    for flag in ("requires_grad", "is_leaf", "retains_grad"):
        old, new = getattr(before, flag), getattr(after, flag)
        if old != new and None not in (old, new):  # None: it could not be read
            found.append(FlagChanged(after.id, flag, old, new))
    found += _hook_differences(before, after)
    return found


def _hook_differences(before: TensorInfo, info: TensorInfo) -> list[Event]:
    old, new = Counter(before.hooks), Counter(info.hooks)
    # Those of a tensor that has another node now were not removed.
    gone = old - new if before.node == info.node else Counter()
    return [
        *(HookChanged(hook, True, info.id, info.node) for hook in (new - old).elements()),
        *(HookChanged(hook, False, info.id, info.node) for hook in gone.elements()),
    ]
