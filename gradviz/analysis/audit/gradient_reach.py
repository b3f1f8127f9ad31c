"""Which outputs of which nodes get a gradient in a backward, as far as the graph shows it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from gradviz.model.reachability import in_order
from gradviz.model.records import Node

Output: TypeAlias = "tuple[str, int]"
"""A node and the number of one of its outputs."""

FIRST_DECIDES: Final = (
    "CudnnRnnBackward",
    "LinalgLstsqBackward",
    "MiopenRnnBackward",
    "MkldnnRnnLayerBackward",
    "NativeGroupNormBackward",
    "TriangularSolveBackward",
)
"""Nodes with several outputs that hand gradients on to all inputs if their first output has one.
Others, such as those of a gradient's own gradient, may hand on none."""
IDENTITY: Final = "BackwardHookFunctionBackward"
"""What a module with full backward hooks leaves: output ``i`` is input ``i``."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """An output that gets a gradient."""

    is_sure: bool
    """Whether it gets one in any case."""
    up_to: str = ""
    """Else the node whose backward decides."""
    is_never: bool = False
    """Whether that node's backward is known to give it none."""


def arrivals(
    nodes: Sequence[Node],
    roots: Sequence[Output],
    functions: Collection[str],
    given: Mapping[str, Sequence[bool]] = MappingProxyType({}),
) -> dict[Output, Arrival]:
    """Every output that backward reaches.

    Args:
        nodes: All nodes of a graph.
        roots: Where backward starts.
        functions: Nodes that are custom Functions.
        given: To which of their inputs compiled ones give a gradient.
    """
    found: dict[Output, Arrival] = {root: Arrival(True) for root in roots}
    used: dict[str, set[int]] = {}
    for key, number in found:
        used.setdefault(key, set()).add(number)
    for node in in_order(nodes):
        outputs = {nr: found[node.id, nr] for nr in sorted(used.get(node.id, ()))}
        for slot, entry in enumerate(node.next_functions):
            if entry is None:
                continue
            if node.id in given and not given[node.id][slot]:
                arrival = Arrival(False, node.id, is_never=True)
            else:
                is_function = node.id in functions and node.id not in given
                arrival = _handed_on(node, slot, outputs, is_function, node.id in given)
            known = found.get(entry)
            if known is None or _order(arrival) > _order(known):
                found[entry] = arrival
            used.setdefault(entry[0], set()).add(entry[1])
    return found


def _order(arrival: Arrival) -> tuple[bool, bool]:
    return arrival.is_sure, not arrival.is_never


def _handed_on(
    node: Node, slot: int, outputs: Mapping[int, Arrival], is_function: bool, is_given: bool
) -> Arrival:
    """What a node does with the gradients of its outputs, for one entry."""
    if outputs and all(arrival.is_never for arrival in outputs.values()):
        return next(iter(outputs.values()))
    sure = {nr for nr, arrival in outputs.items() if arrival.is_sure}
    if is_function:
        is_through = node.name == IDENTITY and slot in sure
        return Arrival(True) if is_through else Arrival(False, node.id)
    if not sure:
        return Arrival(False, next((a.up_to for a in outputs.values()), node.id))
    return Arrival(True) if is_given or _is_total(node, sure) else Arrival(False, node.id)


def _is_total(node: Node, sure: set[int]) -> bool:
    """Whether a node of torch's own hands a gradient on to each of its inputs."""
    if node.name.startswith("LinalgVectorNormBackward"):
        return dict(node.attributes).get("ord") not in (0, 0.0)  # counting has no gradient
    if len(sure) >= len(node.output_shapes):
        return True
    if node.name.startswith("LinalgSlogdetBackward"):
        return 1 in sure  # the sign has no gradient
    inputs = sum(entry is not None for entry in node.next_functions)
    return inputs == 1 or (0 in sure and node.name.startswith(FIRST_DECIDES))
