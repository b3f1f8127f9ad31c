"""Unrecorded writes to a tensor through which backward ran afterwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import statement_of, statements_at
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.grad_modes import mode_around
from gradviz.analysis.explain.fixes.untracked_writes import copied_alias, recorded_write
from gradviz.analysis.explain.silent.exemptions import (
    is_harmless,
    is_of_part,
    is_scaled_with,
    may_be_put_back,
)
from gradviz.analysis.explain.silent.sentences import write_cause
from gradviz.model.events import NodeRan
from gradviz.model.explanation import Fix
from gradviz.model.history import EventPlace, History, WriteEvent
from gradviz.model.records import Node, Number, TensorInfo, ValueSummary
from gradviz.model.sentence import Term, say

_PARTS: Final = frozenset(
    f"{name}Backward0"
    for name in ("Slice", "Select", "Index", "IndexSelect", "Gather", "Narrow", "Split", "Unbind")
)
"""Nodes that read a part of a tensor."""


@dataclass(frozen=True)
class UnseenWrite:
    """A write that backward ignored."""

    act: WriteEvent
    tensor: TensorInfo
    """What was written, as it was before."""
    node: str
    """Its node, which got the gradient as if nothing had been written."""
    reader: str | None
    """The node that read the written tensor; ``None`` if backward started there."""
    slot: int
    place: EventPlace
    """When backward ran the node."""


@dataclass(frozen=True, kw_only=True)
class UnrecordedWrite(Finding):
    """A write that backward ignored."""

    act: WriteEvent
    name: str
    """Variable that was written."""


def unrecorded_writes(history: History) -> Iterator[UnrecordedWrite]:
    """Writes in place to tensors of the graph that have no node."""
    ran: _Ran = {}
    for place, event in history.runs:
        ran.setdefault(event.node, {}).setdefault(event.backward, (place, event))
    for acts in history.acts.values():
        for act in acts:
            miss = _missed(act, ran, history)
            node = None if miss is None else history.node(miss.node, miss.place[0])
            if miss is None or node is None or is_scaled_with(node, act, history):
                continue
            if not is_harmless(act, history):
                yield _finding(miss, history)


_Ran = dict[str, dict[int, tuple[EventPlace, NodeRan]]]
"""Nodes that ran, by id and number of the backward."""


def _missed(act: WriteEvent, ran: _Ran, history: History) -> UnseenWrite | None:
    """The first backward that ignored a write."""
    if history.has_leaf_on(act.event.storage, act.place[0]):
        return None  # a leaf's own value counts, and views of it see that
    if _left_a_node(act, history):
        return None  # written through a view, it is in the graph of the base too
    found = [m for info in _written(act, history) for m in _misses(act, info, ran, history)]
    return min(found, key=lambda m: m.place, default=None)


def _left_a_node(act: WriteEvent, history: History) -> bool:
    """Whether the call that wrote was recorded with a node of its own.

    Under no_grad what it returns has the node that it had before.
    """
    node = None if act.operation is None else act.operation.node
    return node is not None and history.birth(node)[0] == act.place[0]


def _written(act: WriteEvent, history: History) -> Iterator[TensorInfo]:
    """Tensors with a node whose values a write changed, that which was named first."""
    step = act.place[0]
    keys = act.event.tensors
    if act.is_assignment:
        keys = tuple(i.id for i in history.tensors(step) if i.name == act.event.name)
    rows = [info for key in keys if (info := history.tensor_at(key, step - 1)) is not None]
    for info in sorted(rows, key=lambda i: i.name != act.event.name):
        if info.node is None or not info.requires_grad or info.is_leaf is not False:
            continue
        before, after = info.values, history.values(info.id, step)
        if before is not None and before == after:
            continue
        if info.is_view and info.id != act.written and (before is None or after is None):
            continue  # it may be another part of the memory
        yield info


def _misses(
    act: WriteEvent, info: TensorInfo, ran: _Ran, history: History
) -> Iterator[UnseenWrite]:
    node = info.node or ""
    own = {row.node for row in history.tensor_rows(info.id, len(history.recording.records))}
    # A write that is recorded makes a node of the tensor's own.
    readers = [r for r in history.readers(node) if r.id in ran and r.id not in own]
    after = [r for r in readers if act.is_before(history.birth(r.id)) and history.is_made_then(r)]
    after = [r for r in after if not _is_put_back(act, info, r.id, history)]
    # The backward of a Function is the derivative of what its forward writes.
    after = [r for r in after if not _is_in_forward_of(r, act, history)]
    if info.values is None:  # it may be another part that was read
        after = [r for r in after if r.name not in _PARTS or not is_of_part(act, history)]
    for backward, (place, run) in ran.get(node, {}).items():
        if place < act.place:
            continue
        if after == readers and not _arrives(act, info, run.grad_outputs, info.output_nr, history):
            continue
        for reader in after:
            by = ran[reader.id].get(backward)
            for slot, entry in enumerate(reader.next_functions if by is not None else ()):
                is_read = by is not None and entry == (node, info.output_nr)
                if (
                    by is not None
                    and is_read
                    and _arrives(act, info, by[1].grad_inputs, slot, history)
                ):
                    yield UnseenWrite(act, info, node, reader.id, slot, place)
        if _is_root(act, info, backward, history):
            yield UnseenWrite(act, info, node, None, 0, place)


def _is_in_forward_of(node: Node, act: WriteEvent, history: History) -> bool:
    """Whether a write is in the forward of the custom Function of a node.

    Of a class inside a function the recording has the text of forward alone. Where forward is not
    followed, what it does is at the call of ``apply``.
    """
    if not node.name.endswith("Backward"):  # torch numbers its own
        return False
    if history.birth(node.id)[0] == act.place[0]:
        site = site_of(history, act.place, act.event)
        if site is not None and site.function_around(act.event.by) is not None:
            return True
    for statement in statements_at(history, act.place):
        functions = [n for n, one in enumerate(statement.around) if _is_forward(one)]
        if not functions:
            continue
        owner = statement.around[functions[-1] - 1] if functions[-1] else None
        if not isinstance(owner, ast.ClassDef) or node.name == f"{owner.name}Backward":
            return True
    return False


def _is_forward(one: ast.stmt) -> bool:
    """Whether it is the definition of the forward of a custom Function."""
    if not isinstance(one, ast.FunctionDef) or one.name != "forward":
        return False
    return any(getattr(mark, "id", "") == "staticmethod" for mark in one.decorator_list)


def _is_put_back(act: WriteEvent, info: TensorInfo, reader: str, history: History) -> bool:
    """Whether a node read values that the tensor had before it was written."""
    born = history.birth(reader)
    read = history.values(info.id, max(act.place[0], born[0] - 1))
    if read is None:
        made = history.birth(info.node or "")
        acts = [a for a in history.acts[act.event.storage] if made < a.place < born]
        return may_be_put_back(acts, history)
    rows = history.tensor_rows(info.id, act.place[0] - 1)
    return any(row.values == read for row in rows if row.node == info.node)


def _is_root(act: WriteEvent, info: TensorInfo, backward: int, history: History) -> bool:
    """Whether backward started at a tensor that was written through its own name."""
    if backward not in history.started:
        return False
    place, started = history.started[backward]
    own = act.written == info.id or any(
        info.id in made.reads for _, made in history.aliases(act.written)
    )
    in_line = own and all(p[0] == act.place[0] for p, _ in history.aliases(act.written))
    return in_line and act.place < place and (info.node, info.output_nr) in started.roots


def _arrives(
    act: WriteEvent,
    info: TensorInfo,
    grads: tuple[ValueSummary | None, ...],
    at: int,
    history: History,
) -> bool:
    """Whether the changed values got a gradient other than 0."""
    if not grads:
        return True  # it is not known
    grad = grads[at] if at < len(grads) else None
    if grad is None or grad.norm == 0:
        return False
    before, after = info.values, history.values(info.id, act.place[0])
    if before is None or after is None or grad.values is None or len(grad.values) != len(before):
        return True
    changed: list[tuple[Number, Number, Number]] = [*zip(before, after, grad.values)]
    return any(old != new and g != 0 for old, new, g in changed)


def _mode(miss: UnseenWrite, history: History) -> str:
    """Under which mode nothing is recorded, if it is seen around the line."""
    statement = statement_of(history, miss.act.place)
    if statement is None or not mode_around(statement):
        return ""
    return " in inference mode" if "inference" in mode_around(statement) else " under no_grad"


def _finding(miss: UnseenWrite, history: History) -> UnrecordedWrite:
    act, info, step = miss.act, miss.tensor, miss.place[0]
    known = history.name(info.id, act.place[0])
    name = known or act.event.name
    cause = write_cause(act, name, None if known is None else info.id, history)
    node = history.node(miss.node, step)
    reader = history.node(miss.reader, step)
    came = say("went from {} straight to", Term(reader.id, reader.name)) if reader else "started at"
    return UnrecordedWrite(
        history=history,
        step=step,
        noticed=history.line(step),
        words={
            "wrote": cause.what,
            "mode": _mode(miss, history),
            "it": name if known is None else Term(info.id, name),
            "node": "its node" if node is None else Term(node.id, node.name),
            "came": came,
            "line": history.line_term(cause.at),
            "by": act.event.by,
        },
        variables=(name,),
        node=node,
        causes=(cause,),
        targets={
            "edge": [None if reader is None else f"{reader.id}.{miss.slot}"],
            "it": [info.id],
        },
        by=act.event.by,
        called=act.event.agent == "call",
        site=site_of(history, act.place, act.event),
        act=act,
        name=name,
    )


def fixes(found: UnrecordedWrite) -> Iterator[Fix]:
    """The write as an operation that is recorded, or to a copy."""
    yield from recorded_write(found.act, found.name, found.history)
    yield from copied_alias(found.act, found.name, found.history)
