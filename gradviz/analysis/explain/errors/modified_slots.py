"""Modified saved tensors: the one that torch found, and others in the same backward."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.torch_messages import versions_in
from gradviz.analysis.explain.torch_names import is_result
from gradviz.model.records import Node, SavedTensor


class ModifiedSlot(NamedTuple):
    """A saved tensor that was modified, and the node that saved it."""

    node: Node
    slot: SavedTensor
    tensor: str | None
    """Id of the tensor, or of the one that the saved one is a view of."""
    name: str | None


def modified_slots_of(context: ErrorContext) -> list[ModifiedSlot]:
    """Saved tensors that the error may be about; one, if all is known."""
    pairs = [*_on_the_way(context)]
    if context.node is not None:
        used = [s for s in context.used if s.state == "modified"]
        used = used or [s for s in context.node.saved if s.state == "modified"]
        pairs = [(context.node, s) for s in used]
    told = versions_in(context.raised.message)
    fitting = [(n, s) for n, s in pairs if told is None or _fits(s, *told)]
    if context.node is not None:
        fitting = (fitting or pairs)[:1]  # the first of a node's slots that torch reads
    return [_suspect(node, slot, context) for node, slot in fitting]


def all_modified_slots(found: ModifiedSlot, context: ErrorContext) -> list[ModifiedSlot]:
    """The one that torch found first, and those that backward would reach after it."""
    others = [_suspect(n, s, context) for n, s in _on_the_way(context)]
    known = (found.node.id, found.slot.name)
    return [found, *(one for one in others if (one.node.id, one.slot.name) != known)]


def _on_the_way(context: ErrorContext) -> Iterator[tuple[Node, SavedTensor]]:
    nodes = reachable(root_nodes(context), context)
    for node in nodes.values() or context.history.nodes(context.step):
        yield from ((node, slot) for slot in node.saved if slot.state == "modified")


def _suspect(node: Node, slot: SavedTensor, context: ErrorContext) -> ModifiedSlot:
    tensor = _tensor_of(node, slot, context)
    name = context.name(tensor) or context.history.saved_name(node, slot.name, context.step)
    return ModifiedSlot(node, slot, tensor, name)


def _fits(slot: SavedTensor, sizes: tuple[int, ...], saved: int, now: int) -> bool:
    return (
        slot.shape in (None, sizes)
        and slot.saved_version in (None, saved)
        and slot.current_version in (None, now)
    )


def _tensor_of(node: Node, slot: SavedTensor, context: ErrorContext) -> str | None:
    """The tensor in a slot, or the one it is a view of, as it was ever known."""
    for row in context.history.node_rows(node.id, context.step):
        for other in row.saved:
            if other.name == slot.name and (other.tensor or other.view_of):
                return other.tensor or other.view_of
    if is_result(slot):
        return context.history.output_of(node.id, context.step)
    return None
