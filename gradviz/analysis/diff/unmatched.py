"""Tensors that only one of two graphs has; a name that only one graph has is not enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.diff.pairing import GraphLookup, NodePairs
from gradviz.model.records import SavedTensor, TensorInfo

IN_GRAPH: Final = "in the graph"
KEPT: Final = "kept by the graph"


def one_sided(pairs: NodePairs, *, is_new: bool) -> Iterator[tuple[TensorInfo, str]]:
    """Tensors with a name that only one graph has, and what they are to it.

    The output of a node of both graphs is in both, whether a variable holds it or not. A tensor
    outside the graph counts if the graph keeps it and the other does not: what else is known of it
    is a variable, and no fact about the graph. Leaves are reported as nodes.

    Args:
        pairs: The two graphs.
        is_new: Whether to look for what is only after, else for what is only before.
    """
    reading, other = (pairs.new, pairs.old) if is_new else (pairs.old, pairs.new)
    nodes = pairs.nodes if is_new else {node: pairs.after[node] for node in pairs.nodes.values()}
    known = set(pairs.tensors) if is_new else set(pairs.tensors.values())
    keepers = _keepers(reading)
    for info in reading.tensors.values():
        if info.id in known or not info.name or info.id in reading.leaf_node:
            continue
        if info.node is not None:
            if info.node not in nodes:
                yield info, IN_GRAPH
        elif info.id in keepers and not any(
            _may_keep(other, nodes.get(node), slot) for node, slot in keepers[info.id]
        ):
            yield info, KEPT


def _keepers(reading: GraphLookup) -> dict[str, list[tuple[str, SavedTensor]]]:
    """Nodes and slots that have saved each tensor."""
    found: dict[str, list[tuple[str, SavedTensor]]] = defaultdict(list)
    for node in reading.nodes.values():
        for slot in node.saved:
            if known := slot.tensor or slot.view_of:
                found[known].append((node.id, slot))
    return found


def _may_keep(other: GraphLookup, node_id: str | None, slot: SavedTensor) -> bool:
    """Whether the same slot of the other graph may keep the same, without a name for it."""
    if node_id is None:
        return False
    _, there = other.slots(other.nodes[node_id]).get(slot.name, (0, None))
    if there is None or there.state == "freed":
        return False
    is_named = there.tensor is not None or there.view_of is not None
    is_alike = there.shape == slot.shape or None in (there.shape, slot.shape)
    return is_alike and not is_named
