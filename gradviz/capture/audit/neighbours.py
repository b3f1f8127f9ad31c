"""Live tensors around a graph that show why it does not lead to a parameter.

A tensor without a graph that lies on the memory of one with a graph was cut off from it; and a
tensor that leads to a parameter shows that the parameter was used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from gradviz.capture import autograd
from gradviz.capture.deep_graphs import make_safe_to_free
from gradviz.capture.naming import Named
from gradviz.capture.traversal import Entries, walk

MOST_NODES: Final = 20_000
"""How many nodes of other graphs are read."""


@dataclass(slots=True)
class Neighbours:
    """What was found."""

    aliases: list[tuple[Named, Named, int]] = field(default_factory=list)
    """A tensor without a graph, one with a graph on the same memory, and the parameters that the
    second leads to, one bit each."""
    carriers: list[tuple[Named, int]] = field(default_factory=list)
    """A tensor with a graph, and the parameters that it leads to."""
    has_looked: bool = True
    """Whether everything was read."""


@dataclass(slots=True)
class _Outside:
    name: str
    tensor: torch.Tensor
    node: Any
    storage: int | None


def look_around(
    named: Iterable[Named],
    index: dict[Any, int],
    parameters: Sequence[torch.Tensor],
    wanted: int,
) -> Neighbours:
    """Look at named tensors that are not in a graph.

    Args:
        named: Tensors by name.
        index: The nodes of the graph.
        parameters: Tensors that graphs of other tensors may lead to.
        wanted: Which of them are searched for, one bit each.
    """
    around = Neighbours()
    if not wanted:
        return around
    outside, without = _sort(named, index, {id(p) for p in parameters}, around)
    if not outside:
        return around
    count = 0

    def ends_at(node: Any) -> bool:
        nonlocal count
        count += 1
        return node in index or count > MOST_NODES

    nodes, entries, places = walk([one.node for one in outside], ends_at)
    make_safe_to_free(nodes, entries)
    around.has_looked = around.has_looked and count <= MOST_NODES
    masks = _masks(nodes, entries, {id(p): 1 << i for i, p in enumerate(parameters)})
    by_storage: dict[int, list[Named]] = {}
    for storage, pair in without:
        by_storage.setdefault(storage, []).append(pair)
    for one in outside:
        found = masks[places[one.node]] & wanted
        if found:
            around.carriers.append(((one.name, one.tensor), found))
            for pair in by_storage.get(one.storage, ()) if one.storage is not None else ():
                around.aliases.append((pair, (one.name, one.tensor), found))
    return around


def _sort(
    named: Iterable[Named], index: dict[Any, int], own: set[int], around: Neighbours
) -> tuple[list[_Outside], list[tuple[int, Named]]]:
    """Tensors with a graph that is not this one, and tensors without one by their storage."""
    outside: list[_Outside] = []
    without: list[tuple[int, Named]] = []
    seen: set[int] = set(own)
    for name, tensor in named:
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        try:
            storage = autograd.storage_of(tensor)
            key = None if storage is None else storage[0]
            if not tensor.requires_grad:
                if key is not None and (tensor.is_floating_point() or tensor.is_complex()):
                    without.append((key, (name, tensor)))
            elif autograd.place_may_be_stale(tensor):
                around.has_looked = False
            elif (node := tensor.grad_fn) is not None and node not in index:
                outside.append(_Outside(name, tensor, node, key))
        except Exception:  # what merely lies in scope never makes an audit fail
            continue
    return outside, without


def _masks(nodes: list[Any], entries: Entries, bits: dict[int, int]) -> list[int]:
    """Per node the parameters that it leads to, one bit each."""
    masks: list[int] = [0] * len(nodes)
    done = [False] * len(nodes)
    todo = list(range(len(nodes)))
    while todo:
        at = todo[-1]
        if done[at]:
            todo.pop()
            continue
        behind = [entry[0] for entry in entries[at] if entry is not None]
        missing = [place for place in behind if not done[place]]
        if missing:
            todo.extend(missing)
            continue
        todo.pop()
        done[at] = True
        for place in behind:
            masks[at] |= masks[place]
        if autograd.plan_of(type(nodes[at])).is_accumulator:
            variable = autograd.variable_of(nodes[at])
            masks[at] |= 0 if variable is None else bits.get(id(variable), 0)
    return masks
