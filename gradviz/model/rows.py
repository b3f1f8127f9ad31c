"""What nodes and tensors were like at each step of a recording."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Generic, TypeVar

from gradviz.model.ids import by_number
from gradviz.model.records import Node, Number, TensorInfo

if TYPE_CHECKING:
    from gradviz.model.recording import Recording

Row = TypeVar("Row")


class RowHistory(Generic[Row]):
    """The rows that one node or tensor has had; ``None`` from where it no longer exists."""

    __slots__ = ("rows", "steps")

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.rows: list[Row | None] = []

    def add(self, step: int, row: Row | None) -> None:
        """Its row from a step on."""
        self.steps.append(step)
        self.rows.append(row)

    def at(self, step: int) -> Row | None:
        """The row after a step, ``None`` if it did not exist then."""
        place = bisect_right(self.steps, step) - 1
        return self.rows[place] if place >= 0 else None

    def last(self, step: int) -> Row | None:
        """The last row it had up to a step."""
        places = range(bisect_right(self.steps, step) - 1, -1, -1)
        return next((self.rows[at] for at in places if self.rows[at] is not None), None)

    def upto(self, step: int) -> Sequence[Row]:
        """The rows it had up to a step, the last one first."""
        return [r for r in reversed(self.rows[: bisect_right(self.steps, step)]) if r is not None]


class Rows:
    """Nodes and tensors of a recording by id, at any step.

    Args:
        recording: The recording; it is read once.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._nodes: dict[str, RowHistory[Node]] = {}
        self._tensors: dict[str, RowHistory[TensorInfo]] = {}
        self._roots: RowHistory[tuple[tuple[str, int], ...]] = RowHistory()
        for index, step in enumerate(recording.records):
            for key, node in step.changes.nodes:
                self._nodes.setdefault(key, RowHistory()).add(index, node)
            for key, info in step.changes.tensors:
                self._tensors.setdefault(key, RowHistory()).add(index, info)
            if step.changes.roots is not None:
                self._roots.add(index, step.changes.roots)

    def _of(self, key: str | None) -> RowHistory[Node] | RowHistory[TensorInfo] | None:
        return self._nodes.get(key or "") or self._tensors.get(key or "")

    # A node or tensor that no longer exists keeps its last row: errors and captions name it.

    def node(self, key: str | None, step: int) -> Node | None:
        """A node as it was last seen up to a step."""
        history = self._nodes.get(key or "")
        return None if history is None else history.last(step)

    def node_rows(self, key: str | None, step: int) -> Sequence[Node]:
        """A node as it was seen up to a step, the last time first."""
        history = self._nodes.get(key or "")
        return () if history is None else history.upto(step)

    def tensor(self, key: str | None, step: int) -> TensorInfo | None:
        """A tensor as it was last seen up to a step."""
        history = self._tensors.get(key or "")
        return None if history is None else history.last(step)

    def tensor_rows(self, key: str | None, step: int) -> Sequence[TensorInfo]:
        """A tensor as it was seen up to a step, the last time first."""
        history = self._tensors.get(key or "")
        return () if history is None else history.upto(step)

    def tensor_at(self, key: str | None, step: int) -> TensorInfo | None:
        """A tensor as it was after a step, ``None`` if it did not exist then."""
        history = self._tensors.get(key or "")
        return None if history is None else history.at(step)

    def node_at(self, key: str | None, step: int) -> Node | None:
        """A node as it was after a step, ``None`` if it did not exist then."""
        history = self._nodes.get(key or "")
        return None if history is None else history.at(step)

    def values(self, key: str | None, step: int) -> tuple[Number, ...] | None:
        """Values of a tensor after a step, if they are known."""
        info = self.tensor_at(key, step)
        return None if info is None else info.values

    @cached_property
    def node_ids(self) -> tuple[str, ...]:
        """Ids of all nodes, by number."""
        return by_number(self._nodes)

    @cached_property
    def tensor_ids(self) -> tuple[str, ...]:
        """Ids of all tensors, by number."""
        return by_number(self._tensors)

    def nodes(self, step: int) -> Iterator[Node]:
        """All nodes known up to a step, also those that no longer exist."""
        return filter(None, (self.node(key, step) for key in self.node_ids))

    def tensors(self, step: int) -> Iterator[TensorInfo]:
        """All tensors known up to a step, also those that no longer exist."""
        return filter(None, (self.tensor(key, step) for key in self.tensor_ids))

    def nodes_at(self, step: int) -> Iterator[Node]:
        """The nodes that existed after a step."""
        return filter(None, (self._nodes[key].at(step) for key in self.node_ids))

    def tensors_at(self, step: int) -> Iterator[TensorInfo]:
        """The tensors that existed after a step."""
        return filter(None, (self._tensors[key].at(step) for key in self.tensor_ids))

    def roots(self, step: int) -> tuple[tuple[str, int], ...]:
        """Node id and output number of each root after a step."""
        return self._roots.at(step) or ()

    @property
    def all_roots(self) -> tuple[tuple[str, int], ...]:
        """Those of all steps, the first ones first."""
        return tuple(dict.fromkeys(root for roots in self._roots.rows for root in roots or ()))

    def is_alive(self, key: str, step: int) -> bool:
        """Whether a node or tensor existed after a step."""
        history = self._of(key)
        return history is not None and history.at(step) is not None

    def born(self, key: str) -> int | None:
        """Step at which a node or tensor was first seen."""
        history = self._of(key)
        return None if history is None else history.steps[0]

    def changed(self, step: int) -> list[str]:
        """Nodes and tensors that a step changed or that began to exist at it, nodes first."""
        changes = self.recording.records[step].changes
        return [key for key, row in (*changes.nodes, *changes.tensors) if row is not None]

    def begun(self, step: int) -> list[str]:
        """Nodes and tensors that began to exist at a step, nodes first."""
        return [key for key in self.changed(step) if not self.is_alive(key, step - 1)]

    def named(self, name: str, step: int) -> tuple[str, ...]:
        """Ids of the tensors that had a name after a step, by number."""
        history = self._named.get(name)
        return () if history is None else history.at(step) or ()

    @cached_property
    def _named(self) -> dict[str, RowHistory[tuple[str, ...]]]:
        """Which tensor had each name, from which step on."""
        renamings: list[tuple[int, str, str | None, str | None]] = []
        for key, history in self._tensors.items():
            names = [None if row is None else row.name for row in history.rows]
            renamings += zip(history.steps, repeat(key), [None, *names], names)
        found: dict[str, RowHistory[tuple[str, ...]]] = defaultdict(RowHistory)
        for step, key, old, new in sorted(renamings, key=lambda one: one[0]):
            for name in () if old == new else filter(None, (old, new)):
                others = {*(found[name].at(step) or ()), key} - ({key} if name == old else set())
                found[name].add(step, by_number(others))
        return dict(found)

    def name(self, key: str | None, step: int) -> str | None:
        """Name of a tensor; of one that has lost it, the last one it had."""
        return next((row.name for row in self.tensor_rows(key, step) if row.name), None)

    def bearers(self, name: str) -> dict[str, int]:
        """All tensors that ever had a name, and the step since which each had it first."""
        found: dict[str, int] = {}
        history = self._named.get(name, RowHistory[tuple[str, ...]]())
        for step, keys in zip(history.steps, history.rows, strict=True):
            found = dict.fromkeys(keys or (), step) | found
        return found

    @cached_property
    def _bearers(self) -> dict[str, dict[str, None]]:
        """All tensors that ever had each name."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for key, history in self._tensors.items():
            for row in history.rows:
                if row is not None and row.name is not None:
                    found[row.name][key] = None
        return dict(found)

    def is_renamed(self, key: str, step: int) -> bool:
        """Whether another tensor has the name by now."""
        name, now = self.name(key, step), self.tensor_at(key, step)
        return (
            name is not None
            and (now is None or now.name != name)
            and any(
                other != key and (row := self.tensor(other, step)) is not None and row.name == name
                for other in self._bearers.get(name, ())
            )
        )

    def leaf_before(self, key: str, step: int) -> TensorInfo | None:
        """The leaf that required grad and had the name of a tensor before it got it, if the leaf
        has no name by now; ``None`` for a tensor that is such a leaf itself."""
        row, since = self.tensor(key, step), self.born(key)
        if row is None or row.name is None or not since or (row.is_leaf and row.requires_grad):
            return None
        for other in self.named(row.name, since - 1):
            was, now = self.tensor_at(other, since - 1), self.tensor_at(other, step)
            if was is not None and was.is_leaf and was.requires_grad and other != key:
                return was if now is None or now.name is None else None
        return None

    def on_storage(self, storage: str | None, step: int) -> list[TensorInfo]:
        """Tensors whose last memory up to a step is a storage, by number."""
        rows = (self.tensor(key, step) for key in self._on_storage.get(storage, ()))
        return [row for row in rows if row is not None and row.storage == storage]

    @cached_property
    def _on_storage(self) -> dict[str | None, tuple[str, ...]]:
        """Tensors that were ever on a storage."""
        found: dict[str | None, dict[str, None]] = defaultdict(dict)
        for key in self.tensor_ids:
            for row in self._tensors[key].rows:
                if row is not None and row.storage is not None:
                    found[row.storage][key] = None
        return {storage: tuple(keys) for storage, keys in found.items()}

    def has_leaf_on(self, storage: str | None, step: int) -> bool:
        """Whether a memory is that of a leaf that requires grad."""
        return any(row.requires_grad and row.is_leaf for row in self.on_storage(storage, step))

    def output_of(self, node: str | None, step: int, output_nr: int = 0) -> str | None:
        """Id of a tensor that is, or was, this output of a node."""
        return next(self.outputs_of(node, step, output_nr), None)

    def outputs_of(self, node: str | None, step: int, output_nr: int = 0) -> Iterator[str]:
        """Ids of the tensors that are, or were, this output of a node, by number."""
        outputs = self._outputs.get((node, output_nr), ())
        return (key for key, born in outputs if born <= step)

    @cached_property
    def _outputs(self) -> dict[tuple[str | None, int], list[tuple[str, int]]]:
        """Tensors that were ever an output of a node, by number, and since which step."""
        found: dict[tuple[str | None, int], dict[str, int]] = defaultdict(dict)
        for key in self.tensor_ids:
            history = self._tensors[key]
            for step, row in zip(history.steps, history.rows, strict=True):
                if row is not None and row.node is not None:
                    found[row.node, row.output_nr].setdefault(key, step)
        return {output: list(keys.items()) for output, keys in found.items()}

    def nodes_of(self, tensor: str) -> set[str]:
        """The nodes that a tensor was the output of, over all steps."""
        history = self._tensors.get(tensor)
        rows = () if history is None else history.rows
        return {row.node for row in rows if row is not None and row.node is not None}

    def readers(self, node: str) -> Sequence[Node]:
        """Nodes that hand their gradient on to a node, over all steps."""
        return self._readers.get(node, ())

    @cached_property
    def _readers(self) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = defaultdict(list)
        for node in self.recording.graph.nodes:
            for key in {entry[0] for entry in node.next_functions if entry is not None}:
                found[key].append(node)
        return found
