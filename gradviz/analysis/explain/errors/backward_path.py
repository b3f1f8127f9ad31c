"""The part of the graph through which a failed backward would have run."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradviz.analysis.code.callers import depth_of, step_in_frame
from gradviz.analysis.code.statements import Statement, statement_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model import reachability
from gradviz.model.ids import by_number
from gradviz.model.records import Node


def reachable(starts: Iterable[str], context: ErrorContext) -> dict[str, Node]:
    """Nodes that a backward from these nodes reaches, including these."""
    history, step = context.history, context.step
    keys = reachability.reachable(starts, lambda key: reachability.entries(history.node(key, step)))
    return {key: node for key in keys if (node := history.node(key, step)) is not None}


def root_nodes(context: ErrorContext) -> list[str]:
    """Nodes at which the backward that raised started."""
    if context.backward is not None:
        return [node for node, _ in context.backward[1].roots]
    return [info.node for info in context.roots if info.node is not None]


def lines_that_made(
    nodes: Iterable[str], where: Statement, context: ErrorContext
) -> tuple[list[Statement], bool] | None:
    """Statements that made these nodes, to be repeated before ``where``.

    Returns:
        Them in the order of the text, and whether they can be put there as they are; ``None`` if
        they are not known or do more than bind a variable.
    """
    found: dict[int, Statement] = {}
    fits = True
    for key in by_number(nodes):
        node = context.history.node(key, context.step)
        if node is None or node.variable is not None:
            continue
        statement = made_in_frame(key, context)[0]
        if statement is None or statement.code != where.code:
            return None
        if not isinstance(statement.node, ast.Assign):
            if statement.line == where.line:
                continue
            return None
        depth = len(statement.around)
        fits &= [id(one) for one in where.around[:depth]] == [id(s) for s in statement.around]
        found[statement.line] = statement
    return [found[line] for line in sorted(found)], fits


def made_in_frame(key: str, context: ErrorContext) -> tuple[Statement | None, int | None]:
    """The line of the function that raised which made a node, itself or in what it called.

    Returns:
        It, and the last step of that run of it.
    """
    history = context.history
    node = history.node(key, context.step)
    born = history.birth(key)[0]
    made = None if node is None else history.made_at(node)
    step = step_in_frame(history, born, context.step) if born else None
    if step is not None and depth_of(history, step) < depth_of(history, born):
        return statement_of(history, step), step
    return context.statement_at(made), step if step is not None else history.born(key)
