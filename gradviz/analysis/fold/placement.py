"""Which module made each node: known from a recording, or inferred from the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from gradviz.model.graph import Graph


@dataclass(frozen=True, slots=True)
class Placement:
    """The module of each node."""

    paths: tuple[str | None, ...]
    """By place, the path of the module; ``""``: made outside of all modules; ``None``: not known.
    Of leaves ``None``."""
    inferred: frozenset[int]
    """Places of the nodes of which it is not known, but follows from those around them."""


def placement_of(graph: Graph) -> Placement:
    """The module of each node, as far as it is known or follows.

    A recording has seen it. Without one, a node that uses parameters or buffers of one module only
    was made by it (not so where a module's tensors are used by other code: then they are of two).
    What the forward made between two nodes of one module was made while that module ran.

    Examples:
        >>> from gradviz.model import Node
        >>> node = Node("n0", "SinBackward0", (None,), module="net")
        >>> placement_of(Graph.of([node], [("n0", 0)])).paths
        ('net',)
    """
    known: list[str | None] = [node.module for node in graph.nodes]
    order = graph.order
    if not any(known):
        known = _by_tensors(graph)
    paths = list(known)
    anchors = [i for i, place in enumerate(order) if known[place] is not None]
    inferred = set()
    for before, after in pairwise(anchors):
        common = _common(known[order[before]] or "", known[order[after]] or "")
        for place in order[before + 1 : after]:
            if common:
                paths[place] = common
                inferred.add(place)
    return Placement(tuple(paths), frozenset(inferred))


def _by_tensors(graph: Graph) -> list[str | None]:
    """By place, the only module whose parameters and buffers a node uses."""
    storages = {info.id: info.storage for info in graph.tensors}
    owners: dict[str, set[str]] = {}
    leaves: dict[str, set[str]] = {}
    for module in graph.modules:
        for key in module.tensors:
            leaves.setdefault(key, set()).add(module.path)
            if (storage := storages[key]) is not None:
                owners.setdefault(storage, set()).add(module.path)
    found: list[str | None] = [None] * len(graph)
    for place in graph.order:
        node = graph.nodes[place]
        used: Iterable[set[str]] = (
            owners[slot.storage] for slot in node.saved if slot.storage in owners
        )
        paths = set().union(*used)
        for entry in graph.targets[place]:
            if entry is not None and (leaf := graph.variables[entry[0]]) is not None:
                paths |= leaves.get(leaf, set())
        if len(paths) == 1:
            found[place] = paths.pop()
    return found


def _common(one: str, other: str) -> str:
    """The path of the innermost module that both are in."""
    parts = []
    for mine, theirs in zip(one.split("."), other.split(".")):
        if mine != theirs:
            break
        parts.append(mine)
    return ".".join(parts)
