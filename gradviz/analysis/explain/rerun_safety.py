"""Whether something can be done once more: a backward of kept nodes, lines of the forward."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from gradviz.analysis.code.callers import start_of_line
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    last_name,
    names_bound,
    names_read,
    statement_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import made_in_frame, reachable
from gradviz.model.events import Operation, OptimizerStepped, Write

_OTHER_EACH_TIME: Final = ("next", "rand", "normal", "bernoulli", "multinomial", "uniform")
"""Beginnings of functions that give another value each time."""


def was_written(since: int, roots: Iterable[str], context: ErrorContext) -> bool:
    """Whether anything that the nodes of a backward from these saved was written after a step."""
    history, until = context.history, context.step
    nodes = reachable(roots, context)
    leaves = {node.variable for node in nodes.values()}
    storages = {
        slot.storage for key in nodes for row in history.node_rows(key, until) for slot in row.saved
    }
    stepped = history.events(OptimizerStepped, until, since + 1)
    written = history.events(Write, until, since + 1)
    return any(leaves & set(event.updated) for _, event in stepped) or any(
        event.storage in storages and event.storage is not None for _, event in written
    )


def can_repeat(
    nodes: Iterable[str],
    lines: Sequence[Statement],
    context: ErrorContext,
    renewed: Collection[str] = (),
) -> bool:
    """Whether lines that made nodes would make the same nodes again.

    They would not if a line has run several times for them, if it reads what has another value by
    now, or if it draws random numbers.

    Args:
        nodes: The nodes.
        lines: The lines.
        context: The error.
        renewed: Variables whose other values are meant, such as the data of each turn of a loop.
    """
    history = context.history
    ran: dict[int, set[int]] = {}
    for key in nodes:
        node = history.node(key, context.step)
        if node is not None and node.variable is None:
            statement, step = made_in_frame(key, context)
            if statement is not None and step is not None:
                ran.setdefault(statement.line, set()).add(step)
    bound: set[str] = set()
    for statement in lines:
        steps = ran.get(statement.line, set())
        if len(steps) != 1 or draws(statement) or _has_effects(min(steps), context):
            return False
        needed = set(names_read(statement.node)) - bound - set(renewed)
        if needed & _bound_since(min(steps), context):
            return False
        bound |= set(names_bound(statement))
    return True


def _has_effects(step: int, context: ErrorContext) -> bool:
    """Whether the functions that a line called did more than compute: wrote what was there before,
    kept something, or drew random numbers."""
    records, history = context.recording.records, context.history
    own: set[str] = set()
    for at in range(start_of_line(history, step), step + 1):
        facts = records[at]
        statement = statement_of(history, at) if facts.depth > records[step].depth else None
        if statement is not None and (_keeps(statement) or draws(statement)):
            return True
        for event in facts.events:
            if isinstance(event, Operation):
                own |= set(event.made) - set(event.reads)
                if _is_random(event):
                    return True
            written = event.reads[:1] or event.tensors if isinstance(event, Write) else ()
            if facts.depth > records[step].depth and not set(written) <= own:
                return True
    return False


def draws_inside(step: int, context: ErrorContext) -> bool:
    """Whether a line, or a function that it called, drew random numbers."""
    records, history = context.recording.records, context.history
    for at in range(start_of_line(history, step), step + 1):
        statement = statement_of(history, at) if records[at].depth > records[step].depth else None
        if statement is not None and draws(statement):
            return True
        if any(isinstance(one, Operation) and _is_random(one) for one in records[at].events):
            return True
    return False


def _is_random(call: Operation) -> bool:
    return call.name.startswith(_OTHER_EACH_TIME) or "dropout" in call.name


def _keeps(statement: Statement) -> bool:
    """Whether a line stores something where later lines find it."""
    stored = (ast.Attribute, ast.Subscript)
    return any(
        isinstance(part, stored) and not isinstance(part.ctx, ast.Load) for part in statement.parts
    ) or bool(calls_in(statement, "append", "extend", "insert", "add", "update", "setdefault"))


def draws(statement: Statement) -> bool:
    """Whether a line draws random numbers, or takes the next of something."""
    calls = [part for part in statement.parts if isinstance(part, ast.Call)]
    return any(last_name(call.func).startswith(_OTHER_EACH_TIME) for call in calls)


def _bound_since(step: int, context: ErrorContext) -> set[str]:
    """Variables that lines have bound from a step on, its own line included."""
    found: set[str] = set()
    own = None if context.statement is None else context.statement.code
    for later in range(step, context.step):
        facts = context.recording.records[later]
        statement = context.statement_at(context.history.line(later))
        if facts.kind != "line" or statement is None or statement.code != own:
            continue
        is_in_place = any(isinstance(event, Write) for event in facts.events)
        if not (is_in_place and isinstance(statement.node, ast.AugAssign)):
            found |= set(names_bound(statement))
    return found
