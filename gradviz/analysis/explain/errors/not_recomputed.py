"""A checkpointed function computed something else when backward called it again."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.callers import start_of_line
from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.model.events import NodeRan, Operation
from gradviz.model.explanation import Cause
from gradviz.model.sentence import Sentence, say

_CALLS: Final = ("checkpoint", "checkpoint_sequential")
_Key = tuple[str, str | None, tuple[object, ...]]


@dataclass(frozen=True)
class _Region:
    """One call of ``checkpoint``: the operations that its function made in forward."""

    line: Statement
    calls: tuple[tuple[int, Operation], ...]
    """Each with its step."""


def not_recomputed(context: ErrorContext) -> Iterator[Finding]:
    """The first operation that differs, the condition it depends on, and what changes that."""
    again = _recomputed(context)
    region = _region_of(again, context)
    line, words, place = None, Sentence(), 0
    if region is not None:
        place = _common(region, again)
        line, words = _differing(region, again, place, context)
    condition = _condition(region, line, place, context)
    state = None if condition is None else _state(condition)
    module = next((e.module for e in again if e.module), None)
    causes = []
    if state is not None:
        causes.append(Cause("other", say("{} changes in each call", state[0]), state[1].at))
    if condition is not None:
        causes.append(Cause("other", say("what runs depends on this condition"), condition.at))
    if line is not None and words:
        causes.append(Cause("other", words, line.at))
    if region is not None:
        causes.append(Cause("other", say("checkpoint was called here"), region.line.at))
    where = say(" of {}", module.rpartition(".")[0] or module) if module else Sentence()
    yield Finding(
        history=context.history,
        step=context.step,
        words={"where": where},
        variables=(None if state is None else state[0], module),
        node=context.node,
        causes=tuple(causes),
        targets={"node": [None if context.node is None else context.node.id]},
        unknown=()
        if len(causes) > 1 or not context.is_recorded
        else (
            say("what differs. torch.utils.checkpoint.checkpoint(…, debug=True) lists both runs"),
        ),
    )


def _recomputed(context: ErrorContext) -> list[Operation]:
    """The operations of the recomputation that failed."""
    ran = [step for step, _ in context.history.events(NodeRan, context.step)]
    since = ran[-1] + 1 if ran else 0
    calls = context.history.events(Operation, context.step, since)
    return [event for _, event in calls if event.recomputed]


def _region_of(again: list[Operation], context: ErrorContext) -> _Region | None:
    """The call of ``checkpoint`` whose operations are most like those of the recomputation."""
    found = [one for one in _regions(context) if _likeness(one, again)]
    return max(reversed(found), key=lambda one: _likeness(one, again), default=None)


def _regions(context: ErrorContext) -> Iterator[_Region]:
    history = context.history
    for step, facts in enumerate(context.recording.records[: context.step]):
        line = context.statement_at(history.line(step)) if facts.kind == "line" else None
        if line is None or not calls_in(line, *_CALLS):
            continue
        found = history.events(Operation, step, start_of_line(history, step))
        calls = [(s, e) for s, e in found if not e.recomputed]
        depths = {s: context.recording.records[s].depth for s, _ in calls}
        inner = [(s, e) for s, e in calls if depths[s] > facts.depth]
        yield _Region(line, tuple(inner or calls))


def _likeness(region: _Region, again: list[Operation]) -> tuple[int, int]:
    keys = {_key(one) for one in again}
    return sum(_key(e) in keys for _, e in region.calls), _common(region, again)


def _common(region: _Region, again: list[Operation]) -> int:
    """How many operations are the same from the beginning."""
    pairs = zip(region.calls, again, strict=False)
    return next((n for n, ((_, a), b) in enumerate(pairs) if _key(a) != _key(b)), len(again))


def _key(call: Operation) -> _Key:
    return call.name, call.module, tuple((one.shape, one.dtype) for one in call.outputs)


def _differing(
    region: _Region, again: list[Operation], place: int, context: ErrorContext
) -> tuple[Statement | None, Sentence]:
    """The line of the first operation that differs in forward, and how."""
    if place >= len(region.calls):
        return None, Sentence()
    step, call = region.calls[place]
    line = context.statement_at(context.history.line(step))
    if place >= len(again):
        return line, Sentence()
    other = again[place]
    if (other.name, other.module) == (call.name, call.module):
        return line, say("{} returns another shape or dtype the second time", call.name)
    return line, say("{} ran here in forward, {} in the recomputation", call.name, other.name)


def _condition(
    region: _Region | None, line: Statement | None, place: int, context: ErrorContext
) -> Statement | None:
    """The ``if`` around the operation that differs, or between it and the one before."""
    if region is None or line is None or line == region.line:
        return None
    own = statements_of(line.code)
    around = [one for one in own if isinstance(one.node, ast.If) and one.node in line.around]
    if around:
        return around[-1]
    before = region.calls[place - 1][0] if place else None
    first = None if before is None else context.statement_at(context.history.line(before))
    since = first.line if first is not None and first.code == line.code else 0
    between = [
        one
        for one in own
        if isinstance(one.node, ast.If)
        and since < one.line < line.line
        and one.around == line.around[: len(one.around)]
    ]
    return between[-1] if between else None


def _state(condition: Statement) -> tuple[str, Statement] | None:
    """An attribute that the condition reads and that the same function writes."""
    node = condition.node
    test = node.test if isinstance(node, ast.If) else None
    read = [] if test is None else [n for n in ast.walk(test) if isinstance(n, ast.Attribute)]
    for text in map(ast.unparse, read):
        for one in statements_of(condition.code):
            target: ast.expr | None = None
            if isinstance(one.node, ast.AugAssign):
                target = one.node.target
            if isinstance(one.node, ast.Assign):
                target = one.node.targets[0]
            is_same = one.function is condition.function
            if target is not None and ast.unparse(target) == text and is_same:
                return text, one
    return None
