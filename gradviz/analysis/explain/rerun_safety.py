"""Whether something can be done once more: a backward of kept nodes, lines of the forward."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Final

from gradviz.analysis.code.statements import Statement, last_name, names_bound, names_read
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.model.events import OptimizerStepped, Write

_OTHER_EACH_TIME: Final = ("next", "rand", "normal", "bernoulli", "multinomial", "uniform")
"""Beginnings of functions that give another value each time."""


def was_written(since: int, context: ErrorContext) -> bool:
    """Whether anything that the backward's nodes saved was written after a step."""
    history, until = context.history, context.step
    nodes = reachable(root_nodes(context), context)
    leaves = {node.variable for node in nodes.values()}
    storages = {
        slot.storage for key in nodes for row in history.node_rows(key, until) for slot in row.saved
    }
    stepped = history.events(OptimizerStepped, until, since + 1)
    written = history.events(Write, until, since + 1)
    return any(leaves & set(event.updated) for _, event in stepped) or any(
        event.storage in storages and event.storage is not None for _, event in written
    )


def can_repeat(nodes: Iterable[str], lines: Sequence[Statement], context: ErrorContext) -> bool:
    """Whether lines that made nodes would make the same nodes again.

    They would not if a line has run several times for them, if it reads what has another value by
    now, or if it draws random numbers.
    """
    history = context.history
    ran: dict[int, set[int]] = {}
    for key in nodes:
        node, born = history.node(key, context.step), history.born(key)
        line = None if node is None or node.variable is not None else history.made_at(node)
        if line is not None and line.line is not None and born is not None:
            ran.setdefault(line.line, set()).add(born)
    bound: set[str] = set()
    for statement in lines:
        steps = ran.get(statement.line, set())
        if len(steps) != 1 or draws(statement):
            return False
        needed = set(names_read(statement.node)) - bound
        if needed & _bound_since(min(steps), context):
            return False
        bound |= set(names_bound(statement))
    return True


def draws(statement: Statement) -> bool:
    """Whether a line draws random numbers, or takes the next of something."""
    calls = [part for part in statement.parts if isinstance(part, ast.Call)]
    return any(last_name(call.func).startswith(_OTHER_EACH_TIME) for call in calls)


def _bound_since(step: int, context: ErrorContext) -> set[str]:
    """Variables that lines have bound from a step on, its own line included."""
    found: set[str] = set()
    for later in range(step, context.step):
        facts = context.recording.records[later]
        statement = context.statement_at(context.history.line(later))
        if facts.kind != "line" or statement is None:
            continue
        is_in_place = any(isinstance(event, Write) for event in facts.events)
        if not (is_in_place and isinstance(statement.node, ast.AugAssign)):
            found |= set(names_bound(statement))
    return found
