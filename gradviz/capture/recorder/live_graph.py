"""The graph as the recording last read it, and what has changed since the last step.

Rows are read by the same code as a snapshot, and get the ids of the recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd
from gradviz.capture.deep_graphs import make_safe_to_free
from gradviz.capture.recorder.registry import Registry, RegistryEntry
from gradviz.capture.recorder.row_index import RowIndex
from gradviz.capture.recorder.run_tensors import RunTensors
from gradviz.capture.traversal import Entries, read_columns, walk
from gradviz.model import Node, TensorInfo
from gradviz.model.collector import no_collection
from gradviz.model.columns import Columns
from gradviz.model.devices import Place, devices_at, place_of
from gradviz.model.events import Event, FirstRead, FlagChanged, HookChanged, Note
from gradviz.model.ids import by_number, number_of
from gradviz.model.recording import RowChanges


class Origin(NamedTuple):
    """Where a node comes from."""

    source: str | None = None
    """Source line."""
    calls: tuple[tuple[str, int], ...] = ()
    """The calls of modules in which it was made, see :attr:`Node.calls`."""
    is_seen: bool = False
    """Whether the recording saw it being made."""
    number: int | None = None
    """Its sequence number; ``None`` if another thread made it, which counts its own."""


_NO_CHANGES: Final = RowChanges()


class LiveGraph:
    """Rows of all nodes and tensors that are alive.

    Args:
        registry: Their numbers.
        values: Whether numbers are read.
        origin: Tells where a node comes from, which is asked when it is first read; of one that
            was there before the recording only its number counts.
    """

    def __init__(self, registry: Registry, values: bool, origin: Callable[[Any], Origin]) -> None:
        self.registry = registry
        self.values = values
        self.nodes: dict[str, Node] = {}
        self.tensors: dict[str, TensorInfo] = {}
        self.roots: tuple[tuple[str, int], ...] = ()
        self._origin = origin
        self._origins: dict[str, Origin] = {}
        self._reads_existing = False
        self._sees_hooks = True
        """Whether every hook on nodes made in the recording is one of a live tensor."""
        self._with_hooks_left: set[str] = set()
        """Nodes with hooks of a tensor that has another node now."""
        self._index = RowIndex()
        registry.is_saved = lambda storage: bool(self._index.holders(f"s{storage}"))
        self._unused: dict[str, None] = {}
        """Nodes that none points to."""
        self._unused_leaves: dict[str, None] = {}
        """AccumulateGrads among them."""
        self._heads_now: tuple[tuple[str, int], ...] | None = None
        """What :meth:`_heads` has found, until something in it changes."""
        self._stale: dict[str, None] = {}
        """Nodes whose rows may have changed since they were read."""
        self._written: dict[int, None] = {}
        """Numbers of storages that were written since."""
        self._hooked: dict[str, None] = {}
        """Tensors with hooks."""
        self._left_behind_rows: dict[str, None] = {}
        """Rows of tensors that no longer exist, but for the AccumulateGrad they had."""
        self._changed_nodes: dict[str, None] = {}
        self._changed_tensors: dict[str, None] = {}
        self._told_roots: tuple[tuple[str, int], ...] | None = None
        self._held = HeldBytes()
        self._places_seen: set[Place | None] = set()
        self.first_nodes: dict[str, Node] = {}
        """Rows of nodes from before the recording, as they were then."""
        self.first_tensors: dict[str, TensorInfo] = {}

    @property
    def numbers(self) -> dict[str, int]:
        """Sequence numbers of all nodes that were read, by id."""
        numbers = ((key, origin.number) for key, origin in self._origins.items())
        return {key: number for key, number in numbers if number is not None}

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
        unused = self._index.node_replaced(key, before, row)
        for slot in () if before is None else before.saved:
            if slot.storage is not None:
                self.registry.released(number_of(slot.storage))
        if row is None:
            del self.nodes[key]
            self._set_used(key)
        else:
            self.nodes[key] = row
            self._places_seen.update(map(place_of, row.saved))
            if not self._index.is_used(key):
                self._set_unused(key)
            for entry in row.next_functions:
                if entry is not None and entry[0] in self._unused:
                    self._set_used(entry[0])
        for one in unused:
            if one in self.nodes:
                self._set_unused(one)

    def _set_used(self, key: str) -> None:
        if key in self._unused:
            del self._unused[key]
            self._unused_leaves.pop(key, None)
            self._heads_now = None

    def _set_unused(self, key: str) -> None:
        if key not in self._unused:
            self._unused[key] = None
            self._heads_now = None
            if self.nodes[key].variable is not None:
                self._unused_leaves[key] = None

    def set_tensor(self, key: str, row: TensorInfo | None) -> None:
        """Replace the row of a tensor, or take it away."""
        before = self.tensors.get(key)
        if before == row:
            return
        self._put_tensor(key, before, row)
        self._changed_tensors[key] = None

    def _put_tensor(self, key: str, before: TensorInfo | None, row: TensorInfo | None) -> None:
        self._index.tensor_replaced(key, before, row)
        if row is not None and row.hooks:
            self._hooked[key] = None
        else:
            self._hooked.pop(key, None)
        for one in (before, row):
            if one is not None and one.node in self._unused:
                self._heads_now = None
        if row is None:
            del self.tensors[key]
        else:
            self.tensors[key] = row
            self._places_seen.add(place_of(row))

    def changes(self) -> RowChanges:
        """What has changed since the last call."""
        roots = None if self.roots == self._told_roots else self.roots
        self._told_roots = self.roots
        if roots is None and not self._changed_nodes and not self._changed_tensors:
            return _NO_CHANGES  # as after most of what happens inside of a backward
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
        everything: bool = False,
        keep_roots: bool = False,
        also: Iterable[torch.Tensor] = (),
    ) -> list[Event]:
        """Read what is alive; returns flags and hooks that have changed.

        Args:
            extra_roots: Nodes, with output numbers, that no known tensor leads to.
            everything: Whether all is read again, not only what may have changed.
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
            nodes, entries, index = walk(self._nodes_behind(tensors))
            self._reads_existing = True
            try:
                node_rows, tensor_rows = self._rows(alive, nodes, entries, index, [])
            finally:
                self._reads_existing = False
                make_safe_to_free(nodes, entries)
        for row in node_rows:
            if row.id not in self.nodes:
                self._put(row.id, None, row)
                self.first_nodes[row.id] = row
        for info in tensor_rows:
            if info.id not in self.tensors:
                self._put_tensor(info.id, None, info)
                self.first_tensors[info.id] = info

    def _read(
        self,
        extra_roots: Sequence[tuple[Any, int]],
        everything: bool,
        also: Iterable[torch.Tensor],
    ) -> list[Event]:
        stale: dict[str, None] = {}
        if everything:
            alive = list(self.registry.alive())
        else:
            alive, stale = self._changed()
        starts = [node for node, _ in extra_roots]
        starts += self._nodes_behind([*also, *(tensor for _, tensor in alive)])
        if stale:
            starts += self._living(stale, starts)
        ends: list[bool] = []

        def ends_at(node: Any) -> bool:
            key = None if everything else self.registry.known_node(node)
            ends.append(key in self.nodes and key not in stale)
            return ends[-1]

        nodes, entries, index = walk(starts, ends_at)
        try:
            node_rows, tensor_rows = self._rows(alive, nodes, entries, index, ends)
            roots = [(f"n{self.registry.node_number(node)}", nr) for node, nr in extra_roots]
        finally:
            make_safe_to_free(nodes, entries, len(self.nodes))
        del nodes, index, starts
        events: list[Event] = []
        older = [row.id for row in node_rows if self._is_first_read(row)]
        if older:
            events.append(FirstRead(tuple(older)))
        for row in node_rows:
            self.set_node(row.id, row)
        read = {row.id for row in node_rows}
        dropped = self._drop_unused_leaves(read)
        if not everything:
            self._forget_places(dropped)
        for info in map(self._at_leaf, tensor_rows):
            before = self.tensors.get(info.id)
            events += _differences(before, info)
            self.set_tensor(info.id, info)
            if before is not None and before.node != info.node:
                events += self._left_behind(before, info)
        seen = {info.id for info in tensor_rows}
        for key in list(self.tensors if everything else self._left_behind_rows):
            is_left = key in self._left_behind_rows or self.registry.entry(number_of(key))
            if key not in seen and key in self.tensors and is_left:  # the others are buried
                self.set_tensor(key, None)
        self._left_behind_rows.clear()
        # What nothing known leads to now may be found again, in a value that gets a name.
        self._stale = {key: None for key in self._stale if key in self.nodes and key not in read}
        self._written.clear()
        self._rename(seen)
        self.registry.changed.clear()
        self.roots = tuple(roots) or self._heads()
        return events

    def _is_first_read(self, row: Node) -> bool:
        """Whether a node that has no row yet is not known to have been made in the recording."""
        is_new_row = row.id not in self.nodes and row.variable is None
        return is_new_row and not self._origins[row.id].is_seen

    def _rename(self, read: set[str]) -> None:
        """Of tensors that have only got another name, nothing else is read."""
        for number in sorted(self.registry.renamed):
            entry = self.registry.entry(number)
            row = None if entry is None or entry.id in read else self.tensors.get(entry.id)
            if entry is not None and row is not None:
                named = replace(row, name=entry.name_now, aliases=entry.aliases_now)
                self.set_tensor(entry.id, named)
        self.registry.renamed.clear()

    # ------------------------------------------- what has changed: NOTE [What a line costs]

    def was_written(self, storage: str | None) -> None:
        """A storage was written: what is on it, and what has saved something on it, is read."""
        if storage is not None:
            self._written[number_of(storage)] = None

    def have_run(self, nodes: Iterable[str]) -> None:
        """Nodes of which more than what they have saved may have changed."""
        self._stale.update(dict.fromkeys(nodes))

    def outputs(self, node: str) -> list[TensorInfo]:
        """Rows of the tensors that are outputs of a node, by number."""
        return [self.tensors[key] for key in by_number(self._index.outputs(node))]

    def hooks_changed(self) -> None:
        """A hook of a tensor may have been removed."""
        self.registry.changed.update(dict.fromkeys(map(number_of, self._hooked)))

    def _changed(self) -> tuple[list[tuple[RegistryEntry, torch.Tensor]], dict[str, None]]:
        """Tensors, by number, and ids of nodes whose rows may have changed."""
        registry, stale = self.registry, dict(self._stale)
        new = (n for n in registry.renamed if f"t{n}" not in self.tensors)
        registry.changed.update(dict.fromkeys(new))
        asked: set[int] = set()
        while self._written or not asked.issuperset(registry.changed):
            for storage in self._written:
                registry.was_written(storage)
                stale.update(dict.fromkeys(self._index.holders(f"s{storage}")))
            self._written.clear()
            for number in [number for number in registry.changed if number not in asked]:
                asked.add(number)
                entry = registry.entry(number)
                tensor = None if entry is None else entry.ref()
                if entry is not None and tensor is not None:
                    stale.update(dict.fromkeys(self._depends_on(entry, tensor)))
        stale = {key: None for key in stale if key in self.nodes}
        self._stale = dict(stale)
        for key in stale:
            outputs = map(number_of, self._index.outputs(key))
            registry.changed.update(dict.fromkeys(outputs))
        found = [registry.entry(number) for number in sorted(registry.changed)]
        alive = [
            (entry, tensor) for entry in found if entry and (tensor := entry.ref()) is not None
        ]
        return alive, stale

    def _depends_on(self, entry: RegistryEntry, tensor: torch.Tensor) -> Iterator[str]:
        """Nodes whose rows may have changed with a tensor."""
        row, storage = self.tensors.get(entry.id), self.registry.storage(tensor)
        if row is None:  # a node may have saved it when it had no name
            for key in self._index.unknown(f"s{storage}"):
                shape = autograd.shape_of(tensor)
                slots = self.nodes[key].saved
                if any(s.tensor is None and (s.shape == shape or not s.view_of) for s in slots):
                    yield key
            return
        is_written = row.version != autograd.version_of(tensor)  # by what did not say so
        if (is_written or row.requires_grad != tensor.requires_grad) and storage is not None:
            self._written[storage] = None  # a view requires grad if its base does
        if row.storage != (None if storage is None else f"s{storage}"):
            yield from self._index.mentions(entry.id)
        if row.node is not None and (row.hooks or autograd.tensor_hooks(tensor)):
            yield row.node

    def _living(self, keys: Iterable[str], starts: Sequence[Any]) -> list[Any]:
        """Nodes by their ids; each is reached from a known tensor, on a way through the rows.

        Args:
            keys: Their ids.
            starts: Nodes of which some may be new, and lead to them too.
        """
        known = self.registry.known_node
        nodes, entries, _ = walk(starts, lambda node: known(node) in self.nodes)
        make_safe_to_free(nodes, entries, len(self.nodes))
        found = {known(node): node for node in nodes}
        for key in keys:
            way = [key]
            node = found.get(key) or self._output_node(key)
            while node is None:
                above = next((k for k in self._index.readers(way[-1]) if k in self.nodes), None)
                if above is None:
                    break
                way.append(above)
                node = found.get(above) or self._output_node(above)
            while node is not None:
                found[way.pop()] = node
                if not way:
                    break
                following = (one for one, _ in node.next_functions if one is not None)
                node = next((n for n in following if known(n) == way[-1]), None)
        return [found[key] for key in keys if key in found]

    def _output_node(self, key: str) -> Any:
        """A node that a known tensor is an output of."""
        for tensor_id in self._index.outputs(key):
            entry = self.registry.entry(number_of(tensor_id))
            tensor = None if entry is None else entry.ref()
            for node in () if tensor is None else self._nodes_behind([tensor]):
                if self.registry.known_node(node) == key:
                    return node
        return None

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

    def _at_leaf(self, info: TensorInfo) -> TensorInfo:
        """A leaf with its AccumulateGrad, where the walk did not come to that."""
        if info.node is None and info.is_leaf:
            key = self.registry.leaf_node_of(info.id)
            if key is not None and self._index.is_used(key):
                return replace(info, node=key)
        return info

    def _rows(
        self,
        alive: Sequence[tuple[RegistryEntry, torch.Tensor]],
        nodes: list[Any],
        entries: Entries,
        index: dict[Any, int],
        ends: Sequence[bool],
    ) -> tuple[list[Node], tuple[TensorInfo, ...]]:
        """Rows of what was walked, but for the nodes at which the walk has ended."""
        places = list(range(len(nodes)))
        if any(ends):  # those come last
            places.sort(key=ends.__getitem__)
            index = {nodes[place]: at for at, place in enumerate(places)}
        count = len(nodes) - sum(ends)
        tensors = RunTensors(self.registry, alive, index, nodes, self.values, self.tensors.get)
        ordered = [nodes[place] for place in places]
        read = [entries[place] for place in places[:count]]
        columns, infos = read_columns(ordered, read, tensors, index)
        keys = [tensors.node_id(index[node]) for node in nodes]
        rows = [self._row(columns, at, keys[places[at]], keys, ordered[at]) for at in range(count)]
        return rows, infos

    def _row(self, columns: Columns, at: int, key: str, keys: Sequence[str], live: Any) -> Node:
        origin = self._origins.get(key)
        if origin is None:
            origin = self._origin(live)
            if self._reads_existing:
                origin = Origin(number=origin.number)
            self._origins[key] = origin
        following = tuple(
            [None if e is None else (keys[e[0]], e[1]) for e in columns.next_functions[at]]
        )
        return Node(
            id=key,
            name=columns.name[at],
            next_functions=following,
            saved=columns.saved[at],
            variable=columns.variable[at],
            output_shapes=columns.output_shapes[at],
            state=columns.state[at],
            hooks=columns.hooks[at],
            hooks_unknown=not (origin.is_seen and self._sees_hooks) or key in self._with_hooks_left,
            attributes=columns.attributes[at],
            arguments=columns.arguments[at],
            formula=columns.formula[at],
            source=columns.source[at] or origin.source,
            module=origin.calls[-1][0] if origin.calls else None,
            calls=origin.calls,
        )

    def _drop_unused_leaves(self, seen: set[str]) -> list[str]:
        """Take away rows of AccumulateGrads that no row points to any more; returns their ids."""
        dropped = [key for key in self._unused_leaves if key not in seen]
        for key in dropped:
            self.set_node(key, None)
        return dropped

    def _heads(self) -> tuple[tuple[str, int], ...]:
        """Nodes that no other points to."""
        if self._heads_now is None:
            first = {
                key: min(self._index.outputs(key), key=number_of, default="")
                for key in self._unused
            }
            self._heads_now = tuple(
                (key, self.tensors[first[key]].output_nr if first[key] else 0)
                for key in by_number(self._unused)
            )
        return self._heads_now

    def unmark(self) -> None:
        """Take the numbers out of all nodes that known tensors lead to."""
        with autograd.unseen(), no_collection():
            starts = self._nodes_behind([tensor for _, tensor in self.registry.alive()])
            nodes, entries, _ = walk(starts)
            for node in nodes:
                autograd.untag(node, self.registry)
            make_safe_to_free(nodes, entries)

    def _nodes_behind(self, tensors: Iterable[torch.Tensor]) -> list[Any]:
        """Nodes that tensors, and their ``.grad`` in a double backward, lead to."""
        found: list[Any] = []
        with_grad: list[torch.Tensor] = []
        places: list[int] = []
        for tensor in tensors:
            if not tensor.requires_grad or self.registry.may_be_stale(tensor):
                continue
            try:
                node = tensor.grad_fn
            except RuntimeError:  # F1.14: a view that autograd can no longer follow
                continue
            if node is not None:
                found.append(node)
            if node is None or tensor.retains_grad:
                with_grad.append(tensor)
                places.append(len(found))
                found.append(None)
        grads = autograd.grads_of(with_grad) if with_grad else []
        for place, grad in zip(places, grads, strict=True):
            found[place] = None if grad is None else grad.grad_fn
        return [node for node in found if node is not None]

    def lose_sight_of_hooks(self) -> None:
        """From now on a node may have hooks that nothing lists."""
        if self._sees_hooks:
            self._sees_hooks = False
            self._stale.update(dict.fromkeys(self.nodes))

    def leads_on(self, tensors: Iterable[torch.Tensor]) -> bool:
        """Whether tensors, such as those that a function returns, have nodes without a row."""
        with autograd.unseen():
            known = self.registry.known_node
            return any(known(node) not in self.nodes for node in self._nodes_behind(tensors))

    # ----------------------------------------------------------------- deaths

    def bury(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Remove the rows of what no longer exists; returns ids of tensors and of nodes."""
        dead_tensors, dead_nodes = self.registry.died()
        tensors = [f"t{number}" for number in dead_tensors]
        nodes = [f"n{number}" for number in dead_nodes]
        gone_tensors = tuple(key for key in tensors if key in self.tensors)
        if any(self.tensors[key].hooks for key in gone_tensors):
            self.lose_sight_of_hooks()  # they stay with the node, and nothing lists them
        for key in gone_tensors:
            self._stale.update(dict.fromkeys(self._index.mentions(key)))
        gone_nodes = [key for key in nodes if key in self.nodes]
        for key in gone_nodes:
            self.set_node(key, None)
        unused = self._drop_unused_leaves(set())
        for key in gone_tensors:
            node = self.registry.leaf_node_of(key)
            if node is None or node not in self.nodes:
                self.set_tensor(key, None)
            else:
                self._left_behind_rows[key] = None
        gone_nodes += by_number(unused)
        if gone_nodes:
            self._forget_places(gone_nodes)
        return gone_tensors, tuple(gone_nodes)

    def _forget_places(self, gone: Iterable[str]) -> None:
        for node in gone:
            for key in list(self._index.outputs(node)):
                self.set_tensor(key, replace(self.tensors[key], node=None))
        if any(root[0] not in self.nodes for root in self.roots):
            self.roots = tuple(root for root in self.roots if root[0] in self.nodes)


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
    if before.hooks == info.hooks:
        return []
    old, new = Counter(before.hooks), Counter(info.hooks)
    # Those of a tensor that has another node now were not removed.
    gone = old - new if before.node == info.node else Counter()
    return [
        *(HookChanged(hook, True, info.id, info.node) for hook in (new - old).elements()),
        *(HookChanged(hook, False, info.id, info.node) for hook in gone.elements()),
    ]
