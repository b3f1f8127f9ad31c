"""Rows of the tables of memory in blocks: modules with all that is in them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import groupby

from gradviz.analysis.memory.holders import Saves
from gradviz.analysis.memory.modules import WORDS
from gradviz.analysis.row_blocks import NamedRows, Path
from gradviz.model.formatting import plural
from gradviz.model.memory import CurvePoint, HeldStorage, Holder, StorageKind, UnknownSave
from gradviz.model.report import Cell


class _Blocks(NamedRows):
    """What all these rows have in common: they are in modules.

    Args:
        names: What the rows are called.
        modules: Per row the path of its module; ``None`` where rows are in no order of modules.
    """

    def __init__(self, names: Sequence[str], modules: Sequence[str | None]) -> None:
        super().__init__(names)
        known = {
            one: () if one is None else tuple(one.split(".")) for one in dict.fromkeys(modules)
        }
        self.paths = [known[module] for module in modules]

    def label(self, path: Path) -> str:
        """A path as it is written."""
        written = super().label(path)
        return WORDS.get(written, written)


class HolderBlocks(_Blocks):
    """Rows of holders: nodes, modules or lines.

    Args:
        found: What the rows are about.
        modules: As above.
        saves: What sets of nodes keep.
        cells: The cells of a holder, from its label and what its rows add up to.
    """

    def __init__(
        self,
        found: Sequence[Holder],
        modules: Sequence[str | None],
        saves: Saves,
        cells: Callable[[str, Holder, int], tuple[Cell, ...]],
    ) -> None:
        super().__init__([one.id for one in found], modules)
        self._found = found
        self._saves = saves
        self._cells = cells
        self._ranks: dict[tuple[int, int], tuple[int, int]] = {}
        """What is equal is one object."""

    def alike(self, row: int) -> Hashable:
        """Its bytes by kind; of nodes the name too."""
        one = self._found[row]
        name = "" if one.name == one.id else one.name
        return name, one.by_kind, one.unknown, len(one.nodes), one.inferred

    def rank(self, rows: Sequence[int]) -> tuple[int, int]:
        """Most bytes first."""
        held = self._together("", rows)
        rank = -held.nbytes, -held.unknown
        return self._ranks.setdefault(rank, rank)

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """Totals, each storage once."""
        added = sum(self._found[row].nbytes for row in rows)
        return self._cells(label, self._together(label, rows), added)

    def _together(self, label: str, rows: Sequence[int]) -> Holder:
        if len(rows) == 1:
            return self._found[rows[0]]
        nodes = [node for row in rows for node in self._found[row].nodes]
        return self._saves.held_by(label, label, nodes)


class StorageBlocks(_Blocks):
    """Rows of storages, in the modules of their owners.

    Args:
        found: What the rows are about.
        modules: As above.
        words: The kinds in words.
    """

    def __init__(
        self,
        found: Sequence[HeldStorage],
        modules: Sequence[str],
        words: Mapping[StorageKind, str],
    ) -> None:
        super().__init__([one.id for one in found], modules)
        self._found = found
        self._words = words
        self._ranks: dict[int, int] = {}
        """What is equal is one object."""

    def alike(self, row: int) -> Hashable:
        """Its kind, its bytes and as what it is saved."""
        one = self._found[row]
        return one.kind, one.nbytes, tuple(slot for _, slot in one.saves)

    def rank(self, rows: Sequence[int]) -> int:
        """Most bytes first."""
        rank = -sum(self._found[row].nbytes for row in rows)
        return self._ranks.setdefault(rank, rank)

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """How many, which kinds, and their bytes."""
        kinds = ", ".join(dict.fromkeys(self._words[self._found[row].kind] for row in rows))
        # Sorted, since a set of all of them takes more memory than what it is made of.
        owners = sum(1 for _ in groupby(sorted(self._found[row].owner for row in rows)))
        amount = -self.rank(rows)
        return label, plural(len(rows), "storage"), kinds, amount, plural(owners, "node"), "", ""


class UnknownBlocks(_Blocks):
    """Rows of saves whose size is not known, in the modules of their nodes."""

    def __init__(self, found: Sequence[UnknownSave], modules: Sequence[str]) -> None:
        super().__init__([one.node for one in found], modules)
        self._found = found

    def alike(self, row: int) -> Hashable:
        """As what it is saved, and why its size is not known."""
        return self._found[row].slot, self._found[row].why

    def rank(self, rows: Sequence[int]) -> int:
        """The largest number first."""
        return -len(rows)

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """How many of how many nodes, and why."""
        nodes = len({self._found[row].node for row in rows})
        why = ", ".join(dict.fromkeys(self._found[row].why for row in rows))
        return label, plural(nodes, "node"), plural(len(rows), "saved tensor"), why


class StepBlocks(_Blocks):
    """Rows of steps, in the steps that they are sub-steps of.

    Args:
        points: What was kept after each of them.
        lines: Their lines of code.
        peak: Step at which most is kept.
    """

    is_ordered = True

    def __init__(self, points: Sequence[CurvePoint], lines: Sequence[str], peak: int) -> None:
        names = [str(point.number) for point in points]
        super().__init__(names, names)
        self._points = points
        self._line_of = dict(zip(names, lines, strict=True))
        self._peak = peak

    def alike(self, row: int) -> Hashable:
        """Each step is another one."""
        return row

    def rank(self, _rows: Sequence[int]) -> int:
        """In the order in which they ran."""
        return 0

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """The most that is kept after one of them."""
        points = [self._points[row] for row in rows]
        beside = [point.beside for point in points if point.beside is not None]
        has_peak = any(point.step == self._peak for point in points)
        return (
            label,
            self._line_of.get(label) or None,
            max(point.held for point in points),
            max(beside, default=None),
            "peak" if has_peak else "",
        )
