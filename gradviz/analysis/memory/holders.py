"""The bytes that nodes, modules and lines of code keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from gradviz.analysis.memory.modules import OUTSIDE, UNKNOWN
from gradviz.model.memory import KINDS, HeldStorage, Holder, StorageKind, UnknownSave
from gradviz.model.records import Node

Holders = tuple[Holder, ...]


def holders(
    nodes: Sequence[Node],
    storages: Sequence[HeldStorage],
    unknown: Sequence[UnknownSave],
    modules: Mapping[str, str],
) -> tuple[Holders, Holders, Holders]:
    """Nodes, modules and lines that save something, each with most bytes first.

    Modules and lines are left out if not one is known.
    """
    saving = {node for one in storages for node in one.nodes} | {one.node for one in unknown}
    nodes = [node for node in nodes if node.id in saving]

    def line_of(node: Node) -> str:
        return node.source or UNKNOWN

    by_node = _grouped(nodes, storages, unknown, lambda node: node.id)
    by_module = _grouped(nodes, storages, unknown, lambda node: modules[node.id])
    by_line = _grouped(nodes, storages, unknown, line_of)
    return (
        by_node,
        by_module if any(one.id not in (OUTSIDE, UNKNOWN) for one in by_module) else (),
        by_line if any(one.id != UNKNOWN for one in by_line) else (),
    )


def _grouped(
    nodes: Sequence[Node],
    storages: Sequence[HeldStorage],
    unknown: Sequence[UnknownSave],
    group_of: Callable[[Node], str],
) -> Holders:
    groups: dict[str, list[Node]] = {}
    for node in nodes:
        groups.setdefault(group_of(node), []).append(node)
    group = {node.id: key for key, members in groups.items() for node in members}
    kept: dict[str, list[_Kept]] = {key: [] for key in groups}
    saves = dict.fromkeys(groups, 0)
    for one in storages:
        keys = dict.fromkeys(group[node] for node, _ in one.saves)
        owner = group[one.owner]
        for key in keys:
            kept[key].append(_Kept(one.nbytes, one.kind, key == owner, len(keys) > 1))
        for saver, _ in one.saves:
            saves[group[saver]] += 1
    not_known = dict.fromkeys(groups, 0)
    for save in unknown:
        not_known[group[save.node]] += 1
    found = [
        _holder(key, members, kept[key], saves[key], not_known[key])
        for key, members in groups.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.nbytes, -one.unknown)))


class _Kept(NamedTuple):
    """A storage as one group keeps it."""

    nbytes: int
    kind: StorageKind
    is_owner: bool
    is_shared: bool


def _holder(
    key: str, members: Sequence[Node], kept: Sequence[_Kept], saves: int, unknown: int
) -> Holder:
    words = {OUTSIDE: "no module", UNKNOWN: "unknown", members[0].id: members[0].name}
    by_kind = [sum(one.nbytes for one in kept if one.kind == kind) for kind in KINDS]
    return Holder(
        id=key,
        name=words.get(key, key),
        nbytes=sum(one.nbytes for one in kept),
        counted=sum(one.nbytes for one in kept if one.is_owner),
        shared=sum(one.nbytes for one in kept if one.is_shared),
        by_kind=(by_kind[0], by_kind[1], by_kind[2], by_kind[3]),
        saves=saves + unknown,
        nodes=tuple(node.id for node in members),
        unknown=unknown,
    )
