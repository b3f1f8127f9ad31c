"""Whether a node of one recording can be that of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping

from gradviz.model.history import History
from gradviz.model.records import Node, SavedTensor, TensorInfo


class SameNodes:
    """Compares nodes of a later recording with those of an earlier one.

    Threads count their nodes alone, so that two nodes may have one number. They are two where what
    they are differs, where they hold other memory, or where the nodes differ that they lead to.

    Args:
        later: The later recording.
        storages: Keys of its storages, by id.
        earlier: The earlier recording.
        known: Ids of the storages that existed at its end, by their keys.
    """

    def __init__(
        self,
        later: History,
        storages: Mapping[str, int],
        earlier: History,
        known: Mapping[int, str],
    ) -> None:
        self._later, self._earlier = later, earlier
        self._storages, self._known = storages, known
        self._existed = frozenset(known.values())
        self._may_be: dict[tuple[str, str], bool] = {}

    def may_be(self, now: Node, before: Node) -> bool:
        """Whether the row of a node can be a later one of the same node.

        Args:
            now: As it was first seen in the later recording.
            before: As it was last seen in the earlier one.
        """
        todo = [(now, before)]
        while todo:
            one, other = todo[-1]
            key = one.id, other.id
            if key not in self._may_be:
                self._may_be[key] = self._is_alike(one, other)
                if self._may_be[key]:
                    todo += self._inputs(one, other)
                    continue
            todo.pop()
            if self._may_be[key]:
                pairs = ((a.id, b.id) for a, b in self._inputs(one, other))
                self._may_be[key] = all(self._may_be.get(pair, True) for pair in pairs)
        return self._may_be[now.id, before.id]

    def _inputs(self, now: Node, before: Node) -> list[tuple[Node, Node]]:
        """The nodes that two nodes lead to, by slot."""
        found = []
        for one, other in zip(now.next_functions, before.next_functions):
            if one is None or other is None:
                continue
            rows = self._later.node_rows(one[0], len(self._later.recording.records))
            row = self._earlier.node(other[0], len(self._earlier.recording.records))
            if rows and row is not None:
                found.append((rows[-1], row))
        return found

    def _is_alike(self, now: Node, before: Node) -> bool:
        entries = zip(now.next_functions, before.next_functions)
        return (
            now.name == before.name
            and now.output_shapes == before.output_shapes
            and len(now.next_functions) == len(before.next_functions)
            and all((one is None) == (other is None) for one, other in entries)
            and [slot.name for slot in now.saved] == [slot.name for slot in before.saved]
            and all(map(self._is_same_slot, now.saved, before.saved))
            and self._is_same_leaf(now.variable, before.variable)
        )

    def _is_same_slot(self, now: SavedTensor, before: SavedTensor) -> bool:
        pairs = ((now.saved_version, before.saved_version), (now.shape, before.shape))
        if not all(None in pair or pair[0] == pair[1] for pair in pairs):
            return False
        # A parameter may have got other memory meanwhile, as by ``p.data = ...``.
        return now.is_parameter or not self._is_other_memory(now.storage, before.storage)

    def _is_same_leaf(self, now: str | None, before: str | None) -> bool:
        if now is None or before is None:
            return now is before
        one = self._later.tensor_rows(now, len(self._later.recording.records))
        other = self._earlier.tensor(before, len(self._earlier.recording.records))
        if not one or other is None:
            return True
        return _has_a_name_of(one[-1], other) or not self._is_other_memory(
            one[-1].storage, other.storage
        )

    def _is_other_memory(self, now: str | None, before: str | None) -> bool:
        """Whether two storages, of which both recordings say what they are, are not the same."""
        key = self._storages.get(now or "")
        if key is None or before not in self._existed:
            return False
        return self._known.get(key) != before


def _has_a_name_of(one: TensorInfo, other: TensorInfo) -> bool:
    return not set(one.names).isdisjoint(other.names)
