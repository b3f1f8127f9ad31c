"""A count of memory as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gradviz.analysis.memory.holders import Saves
from gradviz.analysis.memory.kept_blocks import (
    HolderBlocks,
    StepBlocks,
    StorageBlocks,
    UnknownBlocks,
)
from gradviz.analysis.memory.modules import Modules
from gradviz.analysis.memory.sentences import line_words
from gradviz.analysis.row_blocks import blocks_of
from gradviz.model.formatting import plural
from gradviz.model.memory import KIND_WORDS, KINDS, Curve, Holder, Memory, StorageKind
from gradviz.model.report import Cell, Column, Table

_BYTES: Final = Column("bytes", "bytes", "All bytes that it keeps, each storage once.")
_KIND_HELP: Final = (
    "Of these, parameters; they stay in memory without the graph too.",
    "Of these, buffers of the module that was given.",
    "Of these, other known tensors that this graph did not compute: data, detached tensors.",
    "Of these, all others: computed by the forward, or without a name.",
)
_WORDS_OF_ONE: Final[dict[StorageKind, str]] = {one: one for one in KINDS} | {
    "input": KIND_WORDS["input"]
}
"""Of what kind a storage is, in words."""
_AMOUNTS: Final = (
    Column("shared", "bytes", "Of the bytes, those that other rows of this table keep too."),
    Column("counted", "bytes", "Bytes of storages that it owns; they add up to the total."),
)
_UNKNOWN: Final = Column("unknown", "number", "Saved tensors whose size is not known.")
_MODULE_HELP: Final = (
    "Path of the module that made the node, where it is known; (inferred): no recording has seen "
    "it, it follows from parameters and the nodes around."
)
_ITSELF: Final = "A row has what the module itself made, a block also what the modules in it made."
_INFERRED_HELP: Final = "Of these, those whose module no recording has seen: it is inferred."
_SHARE: Final = Column("% of total", "number", "The bytes as a part of the total.")
_ADDED: Final = Column(
    "rows add up to", "bytes", "Where it is more than bytes: several rows keep the same storage."
)


def tables_of(memory: Memory, modules: Modules, saves: Saves) -> Iterator[Table]:
    """Nodes; modules, lines and steps where there are any; storages; and what is not known."""
    columns = _Columns(memory, saves)
    yield _nodes(memory, modules, columns)
    if memory.modules:
        paths = [one.id for one in memory.modules]
        yield _others(
            "By module", Column("module", "text", _ITSELF), memory.modules, paths, columns
        )
    if memory.lines:
        lines = [None] * len(memory.lines)
        yield _others("By line of code", Column("line"), memory.lines, lines, columns)
    if memory.curve is not None:
        yield _steps(memory.curve)
    yield _storages(memory, modules)
    if memory.unknown:
        yield _not_known(memory, modules, saves)


class _Columns:
    """The amounts of a holder as cells.

    Args:
        memory: What was counted; columns of kinds that it has not are left out.
        saves: What sets of nodes keep.
    """

    def __init__(self, memory: Memory, saves: Saves) -> None:
        self.saves = saves
        self._total = memory.total
        self._shares: dict[float | None, float | None] = {}
        """What is equal is one object."""
        amounts = (memory.parameters, memory.buffers, memory.inputs, memory.activations)
        self._kinds = tuple(i for i, amount in enumerate(amounts) if amount)
        self._has_unknown = bool(memory.unknown)
        self._has_shared = bool(memory.shared)
        self.has_inferred = any(one.inferred for one in memory.nodes)

    def of(self, is_folded: bool) -> tuple[Column, ...]:
        """The columns; those that blocks need only where there are some."""
        kinds = (Column(KIND_WORDS[KINDS[i]], "bytes", _KIND_HELP[i]) for i in self._kinds)
        unknown = (_UNKNOWN,) if self._has_unknown else ()
        added = (_ADDED,) if is_folded and self._has_shared else ()
        share = (_SHARE,) if is_folded else ()
        return (_BYTES, *share, *kinds, *added, *_AMOUNTS, *unknown)

    def cells(self, one: Holder, is_folded: bool, added: int | None = None) -> tuple[Cell, ...]:
        """The amounts of a holder.

        Args:
            one: The holder.
            is_folded: As above.
            added: What the rows of a block add up to.
        """
        unknown = (one.unknown,) if self._has_unknown else ()
        if one.unknown and not one.nbytes:
            return (*[None] * (len(self.of(is_folded)) - len(unknown)), *unknown)
        more = added if added != one.nbytes else None
        share = round(100 * one.nbytes / self._total, 1) if self._total else None
        share = self._shares.setdefault(share, share)
        return (
            one.nbytes,
            *([share] if is_folded else ()),
            *(one.by_kind[i] for i in self._kinds),
            *([more] if is_folded and self._has_shared else ()),
            one.shared,
            one.counted,
            *unknown,
        )


def _nodes(memory: Memory, modules: Modules, columns: _Columns) -> Table:
    first = [Column("node"), Column("name")]
    if memory.modules:
        first.append(Column("module", "text", _MODULE_HELP))

    def cells(label: str, one: Holder, added: int) -> tuple[Cell, ...]:
        names = set(map(columns.saves.name, one.nodes))
        many = f"{names.pop()} ×{len(one.nodes)}" if len(names) == 1 else ""
        about = (label, many or plural(len(one.nodes), "node"), "")[: len(first)]
        return _joined(about, columns.cells(one, True, added), True)

    paths = [modules.path(one.id) if memory.modules else None for one in memory.nodes]
    members = blocks_of(HolderBlocks(memory.nodes, paths, columns.saves, cells))
    is_folded = bool(members)
    rows = []
    for one in memory.nodes:
        named = (one.id, one.name, modules.words(one.id))[: len(first)]
        rows.append(_joined(named, columns.cells(one, is_folded), is_folded))
    ids = tuple(one.id for one in memory.nodes)
    all_columns = _joined(tuple(first), columns.of(is_folded), is_folded)
    return Table("By node", all_columns, tuple(rows), ids, members)


def _joined(about: tuple[Any, ...], amounts: tuple[Any, ...], is_folded: bool) -> tuple[Any, ...]:
    """What a row is about and its amounts; beside a block come its bytes and its share."""
    first = 2 if is_folded else 0
    return (about[0], *amounts[:first], *about[1:], *amounts[first:])


def _others(
    caption: str,
    first: Column,
    found: Sequence[Holder],
    paths: Sequence[str | None],
    columns: _Columns,
) -> Table:
    """Modules or lines."""
    nodes = [Column("nodes", "number", "Nodes that save something.")]
    if columns.has_inferred and first.name == "module":
        nodes.append(Column("inferred", "number", _INFERRED_HELP))

    def about(label: str, one: Holder) -> tuple[Cell, ...]:
        return (label, len(one.nodes), one.inferred)[: 1 + len(nodes)]

    def cells(label: str, one: Holder, added: int) -> tuple[Cell, ...]:
        return _joined(about(label, one), columns.cells(one, True, added), True)

    members = blocks_of(HolderBlocks(found, paths, columns.saves, cells))
    is_folded = bool(members)
    rows = [
        _joined(about(one.name, one), columns.cells(one, is_folded), is_folded) for one in found
    ]
    # A row selects a node of its own in the picture: the first of them.
    ids = tuple(one.nodes[0] for one in found)
    all_columns = _joined((first, *nodes), columns.of(is_folded), is_folded)
    return Table(caption, all_columns, tuple(rows), ids, members)


def _steps(curve: Curve) -> Table:
    beside = (
        Column("allocated", "bytes", "torch.cuda.memory_allocated()")
        if curve.beside == "allocated"
        else Column("live tensors", "bytes", "Bytes of live tensors that the recording knows.")
    )
    kept = Column("kept", "bytes", "Bytes that saved tensors keep alive after the step.")
    points = [one for one in curve.points if one.level == 0 or one.step == curve.peak]
    lines = [line_words(point) for point in points]
    rows = [
        (
            point.number,
            line or None,
            point.held,
            point.beside,
            "peak" if point.step == curve.peak else "",
        )
        for point, line in zip(points, lines, strict=True)
    ]
    members = blocks_of(StepBlocks(points, lines, curve.peak))
    step = Column("step", "number", "Step at which the line had run; a backward takes many steps.")
    columns = (step, Column("line"), kept, beside, Column("mark"))
    return Table("Over the steps", columns, tuple(rows), members=members)


def _storages(memory: Memory, modules: Modules) -> Table:
    columns = (
        Column("storage"),
        Column("tensor", "text", "Name of a tensor on it, if one is known."),
        Column("kind"),
        Column("bytes", "bytes", "Bytes of the whole storage; a view keeps all of it."),
        Column("owner", "text", "The first node, in visiting order, that saves it."),
        Column("saved as"),
        Column("also saved by"),
    )
    found = sorted(memory.storages, key=lambda one: -one.nbytes)
    paths = [modules.path(one.owner) for one in found]
    members = blocks_of(StorageBlocks(found, paths, _WORDS_OF_ONE))
    rows = tuple(
        (
            one.id,
            one.name,
            _WORDS_OF_ONE[one.kind],
            one.nbytes,
            one.owner,
            one.saves[0][1],
            ", ".join(f"{node} {slot}" for node, slot in one.saves[1:]),
        )
        for one in found
    )
    return Table("By storage", columns, rows, tuple(one.owner for one in found), members)


def _not_known(memory: Memory, modules: Modules, saves: Saves) -> Table:
    rows = [(one.node, saves.name(one.node), one.slot, one.why) for one in memory.unknown]
    columns = (Column("node"), Column("name"), Column("saved as"), Column("why"))
    members = blocks_of(
        UnknownBlocks(memory.unknown, [modules.path(one.node) for one in memory.unknown])
    )
    ids = tuple(one.node for one in memory.unknown)
    return Table("Not counted", columns, tuple(rows), ids, members)
