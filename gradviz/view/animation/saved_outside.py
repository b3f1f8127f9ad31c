"""Tensors of a recording that no node made, and the nodes that save them."""

from __future__ import annotations

from collections.abc import Set

from gradviz.model.recording import Recording
from gradviz.view.boxes import Saving, without_unused


def saving_in(recording: Recording, parts: Set[str]) -> Saving:
    """Tensors that may have a card of their own at some step, with the nodes that save them at
    any."""
    history, last = recording.history, len(recording.records)
    leaves = recording.graph.leaf_nodes

    def is_shown(key: str) -> bool:
        rows = (row for row in history.tensor_rows(key, last) if row.node is None)
        return any("constants" in parts or row.requires_grad for row in rows)

    saving: dict[str, dict[str, str]] = {
        key: {} for key in history.tensor_ids if key not in leaves and is_shown(key)
    }
    for key in history.node_ids:
        for node in reversed(history.node_rows(key, last)):
            for slot in node.saved:
                saving.get(slot.tensor or slot.view_of or "", {}).setdefault(key, slot.name)
    found = {key: tuple(savers.items()) for key, savers in saving.items()}
    return without_unused(found, recording.graph)
