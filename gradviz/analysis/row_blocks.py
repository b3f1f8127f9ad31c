"""Rows of a table in blocks with totals: modules with what is in them, equal ones as one row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from gradviz.model.report import Block, Cell, RowMember

FEW: Final = 12
"""Rows that are shown without blocks."""
MOST: Final = 15
"""Rows and blocks that are shown at first; and members of a block that are no equal ones."""
MOST_IN_ORDER: Final = 20
"""The same where rows stay in their order: twelve layers, and what is before and after them."""
EQUAL: Final = 3
"""So many equal rows or blocks side by side are one block."""
LONG: Final = 200
"""Members that a block shows when it is opened; more are in parts of ``PART``."""
PART: Final = 100

Path = tuple[str, ...]
_Member = TypeVar("_Member", bound="int | _Draft")


class RowFacts(Protocol):
    """What is known of the rows of a table."""

    paths: Sequence[Path]
    """Per row the parts of a path: rows whose paths begin alike are in one block."""
    is_ordered: bool
    """Whether rows stay in their order; of too many none matters more, and they are in parts."""

    def label(self, path: Path) -> str:
        """A path in words."""

    def name(self, row: int) -> str:
        """What a row is called."""

    def alike(self, row: int) -> Hashable:
        """What equal rows have in common, beside the end of their path."""

    def rank(self, rows: Sequence[int]) -> Any:
        """By which rows and blocks are sorted, the smallest first."""

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """The totals of a block: one cell per column, its label first."""


class NamedRows:
    """Rows whose names are paths."""

    is_ordered = False

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self.paths: Sequence[Path] = [tuple(name.split(".")) for name in names]

    def label(self, path: Path) -> str:
        """A path as it is written."""
        return ".".join(path)

    def name(self, row: int) -> str:
        """What a row is called."""
        return self._names[row]


def blocks_of(facts: RowFacts) -> tuple[RowMember, ...]:
    """The rows of a table in one block with the total, which has blocks in it.

    Rows whose paths begin alike are a block; one with few rows is not divided any further. Equal
    ones side by side are one block. In each block comes first what matters most, and of more than
    fit a screen the first ones and a block with the others. As many blocks are open as fit a
    screen.

    Returns:
        Nothing for few rows, which need no blocks.
    """
    if len(facts.paths) <= FEW:
        return ()
    folding = _Folding(facts)
    root = folding.root()
    folding.open(root)
    return (folding.finished(root),)


def ranges(places: Iterable[int], names: Sequence[str], most: int = 2) -> str:
    """Names of places side by side by the first and the last of them.

    Of several such the beginning of paths is written once, where numbers follow it.

    Args:
        places: Rising.
        names: By place.
        most: How many ranges are written out.

    Examples:
        >>> names = [f"h.{i}" for i in range(100)]
        >>> ranges(range(100), names), ranges([0, 1, 2, 4, 6, 7], names)
        ('h.0 … h.99', 'h.0 … 2, 4, 6, 7')
        >>> ranges(range(0, 100, 2), names)
        'h.0, 2 and 48 more'
    """
    runs: list[list[int]] = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    words = []
    start = _common_start([names[place] for run in runs for place in run]) if runs[1:] else 0
    for run in runs:
        inside = [names[place][0 if place == runs[0][0] else start :] for place in run]
        words.append(f"{inside[0]} … {inside[-1]}" if len(run) >= EQUAL else ", ".join(inside))
    if len(runs) <= most + 1:
        return ", ".join(words)
    rest = sum(map(len, runs[most:]))
    return f"{', '.join(words[:most])} and {rest} more"


def _common_start(names: Sequence[str]) -> int:
    """The length of the path that all names have before a number; 0 if they have no such one."""
    start = names[0].rpartition(".")[0]
    is_numbered = all(
        above == start and end.isdecimal() for above, _, end in (n.rpartition(".") for n in names)
    )
    return len(start) + 1 if is_numbered and start else 0


@dataclass(slots=True, eq=False)
class _Draft:
    """A block while it is made."""

    label: str
    members: list[int | _Draft]
    rows: list[int]
    may_open: bool = True
    """Whether it may be open at first: not the equal ones, nor those that are left."""
    is_open: bool = False
    rank: Any = None
    """By which it is sorted, once it is known."""


class _Folding:
    """Makes blocks of rows, from the inside out."""

    def __init__(self, facts: RowFacts) -> None:
        self._facts = facts

    def root(self) -> _Draft:
        """The block with all rows."""
        rows = list(range(len(self._facts.paths)))
        inside = self._block(rows, 0)
        return _Draft("total", inside.members if inside.may_open else [inside], rows)

    def open(self, root: _Draft) -> None:
        """Open as many blocks as fit a screen, those that matter most first; where none does, those
        with the most rows."""
        is_ordered = self._facts.is_ordered
        most = MOST_IN_ORDER if is_ordered else MOST
        root.is_open = True
        shown = 1 + len(root.members)
        waiting = [root]
        while waiting:
            block = waiting.pop(0)
            if block is not root:
                if not block.may_open or shown + len(block.members) > most:
                    continue
                block.is_open = True
                shown += len(block.members)
            waiting = self._ranked([*waiting, *self._blocks(block)])
            if is_ordered:
                waiting.sort(key=lambda one: -len(one.rows))

    def finished(self, draft: _Draft) -> Block:
        """A block with its totals."""
        members = [one if isinstance(one, int) else self.finished(one) for one in draft.members]
        cells = self._facts.cells(draft.label, draft.rows)
        return Block(cells, tuple(members), draft.is_open)

    def _blocks(self, draft: _Draft) -> list[_Draft]:
        return [one for one in draft.members if isinstance(one, _Draft)]

    def _block(self, rows: list[int], depth: int) -> _Draft:
        """The block of rows whose paths have their first parts in common."""
        paths = self._facts.paths
        first = paths[rows[0]]
        while all(len(paths[row]) > depth and paths[row][depth] == first[depth] for row in rows):
            depth += 1
        members = self._members(rows, depth)
        if len(members) == 1 and isinstance(members[0], _Draft):
            return members[0]
        return _Draft(self._facts.label(first[:depth]), members, rows)

    def _members(self, rows: list[int], depth: int) -> list[int | _Draft]:
        if len(rows) <= FEW:
            return self._ranked(rows)
        found: list[int | _Draft] = []
        inside: dict[str, list[int]] = {}
        for row in rows:
            path = self._facts.paths[row]
            if len(path) > depth:
                inside.setdefault(path[depth], []).append(row)
            else:
                found.append(row)
        is_numbered = all(map(str.isdecimal, inside))
        for name in sorted(inside, key=int) if is_numbered else inside:
            some = inside[name]
            found.append(some[0] if len(some) == 1 else self._block(some, depth + 1))
        found = self._equal_together(found, depth, are_rows=False)
        if len(found) > MOST:
            found = self._equal_together(found, depth, are_rows=True)
        found = self._ranked(found)
        if len(found) > MOST and self._facts.is_ordered:
            return self._parts(found, -(-len(found) // FEW))
        if len(found) > MOST:
            rest = found[FEW:]
            found[FEW:] = [self._together(f"{len(rest)} more", rest)]
        return found

    def _equal_together(
        self, members: list[int | _Draft], depth: int, are_rows: bool
    ) -> list[int | _Draft]:
        """Members with those that are equal, if they are enough, as one block each.

        Args:
            members: Rows and blocks.
            depth: How many parts of their paths they have in common.
            are_rows: Whether rows are put together, or blocks.
        """
        groups: dict[Hashable, list[int]] = {}
        for place, one in enumerate(members):
            if isinstance(one, int) is are_rows:
                groups.setdefault(self._shape(one, depth), []).append(place)
        together = {places[0]: places for places in groups.values() if len(places) >= EQUAL}
        is_inside = bytearray(len(members))
        for places in together.values():
            for place in places[1:]:
                is_inside[place] = True
        names = [self._name(one) for one in members] if together else []
        found: list[int | _Draft] = []
        for place, one in enumerate(members):
            if place in together:
                places = together[place]
                label = f"{ranges(places, names)} ×{len(places)}"
                found.append(self._together(label, [members[place] for place in places]))
            elif not is_inside[place]:
                found.append(one)
        return found

    def _together(self, label: str, members: list[int | _Draft]) -> _Draft:
        """Members in one block, in parts where they are very many."""
        rows = [row for one in members for row in ([one] if isinstance(one, int) else one.rows)]
        members = self._ranked(members)
        while len(members) > LONG:
            members = self._parts(members, PART)
        return _Draft(label, members, rows, may_open=False)

    def _parts(self, members: list[int | _Draft], size: int) -> list[int | _Draft]:
        """Members in parts of a size, each with the names of its first and last one."""
        parts = [members[at : at + size] for at in range(0, len(members), size)]
        return [
            self._together(f"{self._name(part[0])} … {self._name(part[-1])}", part)
            for part in parts
        ]

    def _shape(self, one: int | _Draft, depth: int) -> Hashable:
        facts = self._facts
        if isinstance(one, int):
            return facts.alike(one)
        return tuple((facts.paths[row][depth + 1 :], facts.alike(row)) for row in one.rows)

    def _name(self, one: int | _Draft) -> str:
        return self._facts.name(one) if isinstance(one, int) else one.label

    def _ranked(self, members: Sequence[_Member]) -> list[_Member]:
        """What matters most first; what matters as much in the order of the rows."""
        in_order = sorted(members, key=lambda one: one if isinstance(one, int) else one.rows[0])
        return sorted(in_order, key=self._rank)

    def _rank(self, one: int | _Draft) -> Any:
        if isinstance(one, int):
            return self._facts.rank([one])
        if one.rank is None:
            one.rank = self._facts.rank(one.rows)
        return one.rank
