"""An independent look at live autograd graphs, to compare snapshots with.

Written apart from ``gradviz.capture``, and on purpose in another way: depth first, matched with
the snapshot by following both at once, and slot by slot through the values that torch returns.
Saved versions come, where a program can be run twice, from a second run in which hooks note
the version at the moment of saving.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass
class Slot:
    """``state`` is ``"held or modified"`` where only a second run can tell."""

    name: str
    state: str
    tensor: Tensor | None = None
    saved_version: int | None = None


def unqualified(name: str) -> str:
    """``torch::autograd::CopySlices`` -> ``CopySlices``; template arguments stay."""
    return re.sub(r"^([A-Za-z_]\w*::|\(anonymous namespace\)::)+", "", name)


def root_of(output: Tensor) -> tuple[Any, int]:
    edge = torch.autograd.graph.get_gradient_edge(output)
    return edge.node, edge.output_nr


def all_nodes(roots: Sequence[Any]) -> list[Any]:
    seen: set[Any] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(n for n, _ in node.next_functions if n is not None)
    return list(seen)


NAMES: dict[type, tuple[str, ...]] = {}
"""Attributes of each class of nodes; looking them up is most of the cost of a walk."""


def names_in(kind: type) -> tuple[str, ...]:
    if kind not in NAMES:
        NAMES[kind] = tuple(sorted(dir(kind)))
    return NAMES[kind]


def slots_of(node: Any) -> list[Slot]:
    """What the node saves now, by its own getters; no unpack hook is run."""
    found: list[Slot] = []
    for attribute in (a for a in names_in(type(node)) if a.startswith("_raw_saved_")):
        name = attribute[11:]
        try:
            raw = getattr(node, attribute)
        except RuntimeError as error:
            if "after they have already been freed" not in str(error):
                raise
            found.append(Slot(name, "freed"))
            continue
        if isinstance(raw, tuple):
            found.extend(list_slots(node, name, raw))
        elif raw.unpack_hook is not None:
            found.append(Slot(name, "packed"))
        else:
            found.append(Slot(name, *reading(raw.data, lambda: getattr(node, f"_saved_{name}"))))  # noqa: B023
    return found


def list_slots(node: Any, name: str, raws: Sequence[Any]) -> Iterator[Slot]:
    for i, raw in enumerate(raws):
        at = f"{name}[{i}]"
        if raw.unpack_hook is not None:
            yield Slot(at, "packed")
        elif raw.data is None:
            yield Slot(at, "none")
        elif not hasattr(raw, "unpack"):  # came with torch 2.12; a list is not read item by item
            yield Slot(at, "held or modified", raw.data)
        else:
            state, tensor, version = reading(raw.data, raw.unpack)
            yield Slot(at, state, tensor, version)


def reading(data: Tensor | None, read: Any) -> tuple[str, Tensor | None, int | None]:
    """State of a saved tensor: torch's own refusal to hand it out, or the value."""
    try:
        value = read()
    except RuntimeError as error:
        text = str(error)
        if "already been freed" in text or "second time" in text:
            return "freed", None, None
        modified = re.search(r"expected version (\d+) instead", text)
        if modified and "modified by an inplace operation" in text:
            return "modified", data, int(modified[1])
        # A differentiable output of the node itself, read without the node.
        assert "detached in-place" in text or data is None, text
        return "held or modified", data, None
    if value is None:
        return "none", None, None
    return "held", data, version(value)


def version(tensor: Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version


def storage(tensor: Tensor) -> Any:
    """Something equal for tensors that share memory; ``None`` if torch cannot tell."""
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return None


def state_of(node: Any, slots: Sequence[Slot]) -> str:
    name = type(node).__name__
    if name in ("CppFunction", "CopySlices"):
        return "opaque"
    states = {slot.state for slot in slots}
    for state, word in (
        ({"held", "modified", "held or modified"}, "holds"),
        ({"packed"}, "packed"),
        ({"freed"}, "freed"),
    ):
        if states & state:
            return word
    return "saves nothing"


def scalars_of(node: Any) -> dict[str, Any]:
    """Saved values that are no tensors."""
    if isinstance(node, torch.autograd.function.BackwardCFunction):
        return {k: v for k, v in vars(node).items() if not k.startswith("_")}
    attributes = names_in(type(node))
    names = [a[7:] for a in attributes if a.startswith("_saved_")]
    return {n: getattr(node, f"_saved_{n}") for n in names if f"_raw_saved_{n}" not in attributes}


# --- saved versions, from a second run ------------------------------------------------------


@dataclass(frozen=True)
class Note:
    """What a pack hook leaves in place of a saved tensor."""

    version: int | None
    shape: tuple[int, ...]
    dtype: torch.dtype
    tensor: Tensor


class noting_saves(torch.autograd.graph.saved_tensors_hooks):  # noqa: N801
    """Programs run under this leave a :class:`Note` in every slot."""

    def __init__(self) -> None:
        super().__init__(note, lambda packed: packed.tensor)


def note(tensor: Tensor) -> Note:
    return Note(version(tensor), sizes(tensor), tensor.dtype, tensor.detach())


def notes_of(node: Any) -> dict[str, Note | None]:
    """Slot -> what was noted when it was saved; ``None`` for a slot that was not needed.

    Numbers that torch has wrapped as tensors (the 2 of ``x * 2``) are saved without hooks.
    """
    found: dict[str, Note | None] = {}
    for attribute in (a for a in names_in(type(node)) if a.startswith("_raw_saved_")):
        raw = getattr(node, attribute)
        several = isinstance(raw, tuple)
        for i, one in enumerate(raw if several else (raw,)):
            name = f"{attribute[11:]}[{i}]" if several else attribute[11:]
            found[name] = one.data if one.unpack_hook or one.data is None else note(one.data)
    return found


def sizes(tensor: Tensor) -> tuple[int, ...]:
    """Shape with -1 where it is not a number."""
    try:
        return tuple(n if type(n) is int else -1 for n in tensor.shape)
    except RuntimeError:
        return (-1,)


def pairs(graph: Any, roots: Sequence[tuple[Any, int]]) -> dict[str, Any]:
    """Node id -> live node, found by following graph and live graph at once.

    Raises:
        AssertionError: If they differ in names, entries or in which nodes are the same.
    """
    assert [nr for _, nr in graph.roots] == [nr for _, nr in roots]
    live: dict[str, Any] = {}
    ids: dict[Any, str] = {}
    stack = [(node_id, node) for (node_id, _), (node, _) in zip(graph.roots, roots)]
    by_id: Mapping[str, Any] = {node.id: node for node in graph.nodes}
    while stack:
        node_id, node = stack.pop()
        if node_id in live or node in ids:
            assert live.get(node_id) is node, f"{node_id} is not one node"
            assert ids.get(node) == node_id, f"{node_id} and {ids.get(node)} are one node"
            continue
        live[node_id], ids[node] = node, node_id
        data = by_id[node_id]
        assert data.name == unqualified(node.name()), node_id
        entries = node.next_functions
        assert len(entries) == len(data.next_functions), node_id
        for ours, (following, number) in zip(data.next_functions, entries):
            assert (ours is None) == (following is None), node_id
            if ours is not None:
                assert ours[1] == number, node_id
                stack.append((ours[0], following))
    assert len(live) == len(graph), "the snapshot has nodes that torch has not"
    return live
