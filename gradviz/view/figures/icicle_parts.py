"""The boxes of an icicle: the bytes from the total down to each saved tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from gradviz.model.memory import KIND_WORDS, KINDS, HeldStorage, Memory
from gradviz.model.report import Block, Table
from gradviz.view import formatting
from gradviz.view.text import clean


@dataclass(slots=True)
class IciclePart:
    """A part of the bytes and what it consists of."""

    label: str
    nbytes: int
    kind: str
    """One of the kinds of storages, ``"total"``, or ``"rest"`` for small parts taken together."""
    words: str
    """All that is known, for a tooltip."""
    id: str = ""
    """Node it is about."""
    parts: list[IciclePart] = field(default_factory=list)


def parts_of(memory: Memory) -> tuple[IciclePart, tuple[str, ...]]:
    """The total with all its parts, and the name of each level.

    Where the table of the nodes has blocks, so have the parts: nodes of one operation in a block
    are together.
    """
    if memory.tables and memory.tables[0].members:
        return _parts_of_blocks(memory, memory.tables[0])
    module_of = {node: one.name for one in memory.modules for node in one.nodes}
    names = {one.id: one.name for one in memory.nodes}
    total = IciclePart("total", memory.total, "total", "")

    def node_label(one: HeldStorage) -> str:
        return f"{one.owner} {clean(names[one.owner])}"

    levels: list[tuple[str, Callable[[HeldStorage], str]]] = [
        ("kind", lambda one: KIND_WORDS[one.kind])
    ]
    if memory.modules:
        levels.append(("module", lambda one: clean(module_of[one.owner])))
    levels += [("node", node_label), ("saved tensor", _slot)]
    kept = [one for one in memory.storages if one.nbytes]
    _divide(total, sorted(kept, key=lambda one: KINDS.index(one.kind)), [of for _, of in levels])
    _say(total, ())
    return total, ("kept", *(name for name, _ in levels))


def _parts_of_blocks(memory: Memory, table: Table) -> tuple[IciclePart, tuple[str, ...]]:
    total = IciclePart("total", memory.total, "total", "")
    block_of = _blocks_shown(table)
    names = {one.id: one.name for one in memory.nodes}
    levels: list[Callable[[HeldStorage], str]] = [
        lambda one: KIND_WORDS[one.kind],
        lambda one: clean(block_of[one.owner]),
        lambda one: clean(names[one.owner]),
        lambda one: clean(one.saves[0][1]),
    ]
    kept = [one for one in memory.storages if one.nbytes]
    _divide(total, sorted(kept, key=lambda one: KINDS.index(one.kind)), levels, together=True)
    _say(total, ())
    return total, ("kept", "kind", "block", "operation", "saved tensor")


def _blocks_shown(table: Table) -> dict[str, str]:
    """By id of a node the innermost block with it that is shown at first."""
    found: dict[str, str] = {}
    for line in table.lines():
        if isinstance(line.member, Block):
            label = str(table.cells(line)[0])
            found |= {table.ids[row]: label for row in line.member.rows}
    return found


def _slot(one: HeldStorage) -> str:
    slot = clean(one.saves[0][1])
    return f"{slot} = {clean(one.name)}" if one.name else slot


def _divide(
    part: IciclePart,
    storages: Sequence[HeldStorage],
    levels: Sequence[Callable[[HeldStorage], str]],
    together: bool = False,
) -> None:
    """Fill a part with its parts, the largest first; kinds keep their order.

    Args:
        part: What is filled.
        storages: All that is in it.
        levels: How it is divided, and its parts after it.
        together: Whether nodes are together in a part, and their saved tensors too.
    """
    groups: dict[tuple[str, str], list[HeldStorage]] = {}
    for one in storages:
        # Two slots of one node may have the same words; they stay two boxes.
        own = one.id if len(levels) == 1 and not together else ""
        groups.setdefault((levels[0](one), own), []).append(one)
    for (label, _), members in groups.items():
        amount = sum(one.nbytes for one in members)
        owners = {one.owner for one in members} if len(levels) <= 2 else ()
        owner = members[0].owner if len(owners) == 1 else ""
        made = IciclePart(label, amount, members[0].kind, "", owner)
        if len(levels) > 1:
            _divide(made, members, levels[1:], together)
        elif len(members) == 1:
            made.words = _shared(members[0])
        else:
            made.words = f" in {len(members):,} storages"
        part.parts.append(made)
    if part.kind != "total":
        part.parts.sort(key=lambda one: -one.nbytes)


def _shared(one: HeldStorage) -> str:
    others = [f"{node} {clean(slot)}" for node, slot in one.saves[1:]]
    if not others:
        return ""
    more = f" and {len(others) - 4} more" if len(others) > 4 else ""
    return f"; also saved by {', '.join(others[:4])}{more}"


def _say(part: IciclePart, path: tuple[str, ...]) -> None:
    """Add the words of each part: its path and its bytes."""
    here = (*path, part.label) if part.kind != "total" else path
    where = " › ".join(here) or "kept for backward"
    part.words = f"{where}: {formatting.size(part.nbytes)}{part.words}"
    for one in part.parts:
        _say(one, here)


def walk(part: IciclePart) -> Iterator[IciclePart]:
    """A part and all its parts, at every depth."""
    yield part
    for one in part.parts:
        yield from walk(one)
