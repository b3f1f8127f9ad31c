"""Saved tensors that were written since: the one that torch found, and others on its way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.kinds import versions_in
from gradviz.analysis.explaining.paths import reachable, root_nodes
from gradviz.analysis.explaining.words import is_result
from gradviz.model.facts import Node, SavedTensor


class Suspect(NamedTuple):
    """A saved tensor that was written since, and the node that keeps it."""

    node: Node
    slot: SavedTensor
    tensor: str | None
    """Id of the tensor, or of the one that the saved one is a view of."""
    name: str | None


def suspects_of(evidence: Evidence) -> list[Suspect]:
    """Saved tensors that torch can have meant; one, if all is known."""
    pairs = [*_on_the_way(evidence)]
    if evidence.node is not None:
        pairs = [(evidence.node, s) for s in evidence.used if s.state == "modified"]
    told = versions_in(evidence.raised.message)
    fitting = [(n, s) for n, s in pairs if told is None or _fits(s, *told)]
    if evidence.node is not None:
        fitting = (fitting or pairs)[:1]  # the first of a node's slots that torch reads
    return [_suspect(node, slot, evidence) for node, slot in fitting]


def all_suspects(found: Suspect, evidence: Evidence) -> list[Suspect]:
    """The one that torch found first, and those that backward would come to after it."""
    others = [_suspect(n, s, evidence) for n, s in _on_the_way(evidence)]
    known = (found.node.id, found.slot.name)
    return [found, *(one for one in others if (one.node.id, one.slot.name) != known)]


def _on_the_way(evidence: Evidence) -> Iterator[tuple[Node, SavedTensor]]:
    nodes = reachable(root_nodes(evidence), evidence)
    for node in nodes.values() or evidence.history.nodes(evidence.step):
        yield from ((node, slot) for slot in node.saved if slot.state == "modified")


def _suspect(node: Node, slot: SavedTensor, evidence: Evidence) -> Suspect:
    tensor = _tensor_of(node, slot, evidence)
    return Suspect(node, slot, tensor, evidence.name(tensor))


def _fits(slot: SavedTensor, sizes: tuple[int, ...], saved: int, now: int) -> bool:
    return (
        slot.shape in (None, sizes)
        and slot.saved_version in (None, saved)
        and slot.current_version in (None, now)
    )


def _tensor_of(node: Node, slot: SavedTensor, evidence: Evidence) -> str | None:
    """The tensor in a slot, or the one it is a view of, as it was ever known."""
    for row in evidence.history.node_rows(node.id, evidence.step):
        for other in row.saved:
            if other.name == slot.name and (other.tensor or other.view_of):
                return other.tensor or other.view_of
    if is_result(slot):
        return evidence.history.output_of(node.id, evidence.step)
    return None
