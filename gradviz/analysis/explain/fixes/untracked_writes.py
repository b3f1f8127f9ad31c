"""Fixes for writes that did not change the version, or were not recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from gradviz.analysis.code.callers import depth_of, step_in_frame
from gradviz.analysis.code.rebind_safety import may_rebind
from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import is_expression, statement_of
from gradviz.analysis.explain.fixes import copies
from gradviz.analysis.explain.fixes.grad_modes import mode_around
from gradviz.analysis.explain.fixes.move_line import moved
from gradviz.analysis.explain.fixes.out_of_place import out_of_place, spelled, target_of
from gradviz.analysis.explain.silent.sentences import alias_route
from gradviz.model.events import Operation, Write
from gradviz.model.explanation import Fix
from gradviz.model.history import ALIASES, EventPlace, History, WriteEvent
from gradviz.model.records import Node, SavedTensor
from gradviz.model.sentence import Sentence, Term, say


def of_hidden(
    act: WriteEvent,
    place: EventPlace,
    name: str,
    node: Node | None,
    slot: SavedTensor,
    history: History,
) -> tuple[Fix, ...]:
    """Fixes for a write to a saved tensor.

    Args:
        act: The write.
        place: When backward used the memory.
        name: Variable that was saved.
        node: The node that had saved it, if it is the only one.
        slot: Its slot.
        history: The recording.
    """
    found = [*copied_alias(act, name, history)]
    is_constant = act.event.by in ("zero_", "fill_") and not _is_used_before(act, history)
    if is_constant and not found:
        return ()  # what follows does not depend on anything, however it is written
    if not is_constant and not _is_leaf(slot.tensor or slot.view_of, act, history):
        found += recorded_write(act, name, history, "; the saved tensor is not modified")
    if len(found) < 2 and node is not None and is_expression(name):
        rewriting = copies.saved_copy(node, slot, name, history)
        does = say("{} saves a copy", Term(node.id, node.name))
        found += [] if rewriting is None else [rewriting.fix(does)]
    if len(found) < 2:
        found += line_moved(
            act.place, place, "after", "backward has used the saved tensor by then", history
        )
    return tuple(found[:2])


def line_moved(
    place: EventPlace, to: EventPlace, side: Literal["before", "after"], why: str, history: History
) -> Iterator[Fix]:
    """A line taken to another line of the same block."""
    line, other = history.line_term(history.line(place)), history.line_term(history.line(to))
    does = say("moves {} {} {}: {}", line, side, other, why)
    one, other_one = statement_of(history, place), statement_of(history, to)
    caller = step_in_frame(history, place[0], to[0]) if side == "after" else None
    if caller is not None and depth_of(history, caller) < depth_of(history, place[0]):
        one = statement_of(history, caller)
        does = say("{} runs {} {}: {}", history.line_term(history.line(caller)), side, other, why)
        if one is None or not isinstance(one.node, ast.Expr) or _is_read(place, to, history):
            return
    fix = moved(one, other_one, side, does)
    yield from () if fix is None else (fix,)


def _is_read(place: EventPlace, to: EventPlace, history: History) -> bool:
    """Whether anything was computed from the memory that a step wrote, before another step."""
    written = {
        key
        for event in history.recording.records[place[0]].events
        if isinstance(event, Write)
        for key in (*event.tensors, *event.made)
    }
    calls = history.events(Operation, to[0], place[0] + 1)
    return any(written & set(event.reads) for _, event in calls if not event.name.endswith("_"))


def recorded_write(act: WriteEvent, name: str, history: History, price: str = "") -> Iterator[Fix]:
    """The write as an operation that autograd records, to a new tensor."""
    site = site_of(history, act.place, act.event)
    typed = None if site is None else spelled(target_of(site, act.event.by), name)
    if site is None or typed is None or not is_expression(typed):
        return
    if not may_rebind(site.statement, typed):
        return
    found = out_of_place(site, act.event.by, typed, mode=mode_around(site.statement))
    if found is not None:
        yield found.fix(say("makes a new tensor with a recorded operation{}", price))


def _is_used_before(act: WriteEvent, history: History) -> bool:
    """Whether anything was computed from the values that a write replaced."""
    keys = set(act.event.tensors)
    calls = history.placed(Operation)
    return any(
        keys & set(call.reads) and not keys & set(call.made) and call.name not in ALIASES
        for at, call in calls
        if at < act.place
    )


def copied_alias(act: WriteEvent, name: str, history: History) -> Iterator[Fix]:
    """A copy where other code got hold of the memory."""
    made, line = alias_route(act, history).made, history.line(act.place)
    given = None if made is None else history.line(made[0])
    if made is None or given is None or line is None or given.line == line.line:
        return
    does = say(
        "{} writes to a copy; {} is not modified",
        history.line_term(line),
        _term(name, act, history),
    )
    fix = copies.copied_alias(made, does, history)
    yield from () if fix is None else (fix,)


def _term(name: str, act: WriteEvent, history: History) -> Sentence:
    """The tensor that was written, in a sentence."""
    step = act.place[0]
    keys = (key for key in act.event.tensors if history.name(key, step) == name)
    return history.tensor_term(next(keys, None), step, name)


def _is_leaf(tensor: str | None, act: WriteEvent, history: History) -> bool:
    info = history.tensor(tensor, act.place[0])
    if info is not None and info.requires_grad and info.is_leaf:
        return True
    return history.has_leaf_on(act.event.storage, act.place[0])
