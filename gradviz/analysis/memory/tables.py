"""A count of memory as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gradviz.analysis.memory.modules import OUTSIDE, UNKNOWN
from gradviz.analysis.memory.sentences import line_words
from gradviz.model.memory import KIND_WORDS, KINDS, Curve, Holder, Memory
from gradviz.model.report import Cell, Column, Table

_BYTES: Final = Column("bytes", "bytes", "All bytes that it keeps, each storage once.")
_KIND_HELP: Final = (
    "Of these, parameters; they stay in memory without the graph too.",
    "Of these, buffers of the module that was given.",
    "Of these, other known tensors that this graph did not compute: data, detached tensors.",
    "Of these, all others: computed by the forward, or without a name.",
)
_NOT_COMPUTED: Final = KIND_WORDS["input"]
_AMOUNTS: Final = (
    Column("shared", "bytes", "Of the bytes, those that other rows of this table keep too."),
    Column("counted", "bytes", "Bytes of storages that it owns; they add up to the total."),
)
_UNKNOWN: Final = Column("unknown", "number", "Saved tensors whose size is not known.")
_MODULE_HELP: Final = "Path of the module that made the node, where it is known."


def tables_of(memory: Memory, modules: Mapping[str, str]) -> Iterator[Table]:
    """Nodes; modules, lines and steps where there are any; storages; and what is not known."""
    yield _nodes(memory, modules)
    if memory.modules:
        yield _others("By module", Column("module"), memory, memory.modules)
    if memory.lines:
        yield _others("By line of code", Column("line"), memory, memory.lines)
    if memory.curve is not None:
        yield _steps(memory.curve)
    yield _storages(memory)
    if memory.unknown:
        yield _not_known(memory)


def _nodes(memory: Memory, modules: Mapping[str, str]) -> Table:
    words = {OUTSIDE: "no module", UNKNOWN: "unknown"}
    columns, kinds = _columns(memory)
    first = [Column("node"), Column("name")]
    if memory.modules:
        first.append(Column("module", "text", _MODULE_HELP))
    rows = []
    for one in memory.nodes:
        module = modules[one.id]
        named = [one.id, one.name, words.get(module, module)][: len(first)]
        rows.append((*named, *_amounts(memory, one, kinds)))
    ids = tuple(one.id for one in memory.nodes)
    return Table("By node", (*first, *columns), tuple(rows), ids)


def _others(caption: str, first: Column, memory: Memory, found: Sequence[Holder]) -> Table:
    columns, kinds = _columns(memory)
    nodes = Column("nodes", "number", "Nodes that save something.")
    rows = [(one.name, len(one.nodes), *_amounts(memory, one, kinds)) for one in found]
    # A row selects a node of its own in the picture: the first of them.
    ids = tuple(one.nodes[0] for one in found)
    return Table(caption, (first, nodes, *columns), tuple(rows), ids)


def _columns(memory: Memory) -> tuple[tuple[Column, ...], tuple[int, ...]]:
    """Columns of amounts, and which kinds are among them: those that there are."""
    amounts = (memory.parameters, memory.buffers, memory.inputs, memory.activations)
    kinds = tuple(i for i, amount in enumerate(amounts) if amount)
    named = tuple(Column(KIND_WORDS[KINDS[i]], "bytes", _KIND_HELP[i]) for i in kinds)
    unknown = (_UNKNOWN,) if memory.unknown else ()
    return (_BYTES, *named, *_AMOUNTS, *unknown), kinds


def _amounts(memory: Memory, one: Holder, kinds: tuple[int, ...]) -> tuple[Cell, ...]:
    unknown = (one.unknown,) if memory.unknown else ()
    if one.unknown and not one.nbytes:
        return (*[None] * (len(kinds) + 3), *unknown)
    return (one.nbytes, *(one.by_kind[i] for i in kinds), one.shared, one.counted, *unknown)


def _steps(curve: Curve) -> Table:
    beside = (
        Column("allocated", "bytes", "torch.cuda.memory_allocated()")
        if curve.beside == "allocated"
        else Column("live tensors", "bytes", "Bytes of live tensors that the recording knows.")
    )
    kept = Column("kept", "bytes", "Bytes that saved tensors keep alive after the step.")
    rows = [
        (
            point.number,
            line_words(point) or None,
            point.held,
            point.beside,
            "peak" if point.step == curve.peak else "",
        )
        for point in curve.points
        if point.level == 0 or point.step == curve.peak
    ]
    step = Column("step", "number", "Step at which the line had run; a backward takes many steps.")
    columns = (step, Column("line"), kept, beside, Column("mark"))
    return Table("Over the steps", columns, tuple(rows))


def _storages(memory: Memory) -> Table:
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
    rows = [
        (
            one.id,
            one.name,
            _NOT_COMPUTED if one.kind == "input" else one.kind,
            one.nbytes,
            one.owner,
            one.saves[0][1],
            ", ".join(f"{node} {slot}" for node, slot in one.saves[1:]),
        )
        for one in found
    ]
    return Table("By storage", columns, tuple(rows), tuple(one.owner for one in found))


def _not_known(memory: Memory) -> Table:
    names = {one.id: one.name for one in memory.nodes}
    rows = [(one.node, names[one.node], one.slot, one.why) for one in memory.unknown]
    columns = (Column("node"), Column("name"), Column("saved as"), Column("why"))
    return Table("Not counted", columns, tuple(rows), tuple(one.node for one in memory.unknown))
