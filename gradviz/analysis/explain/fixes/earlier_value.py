"""A value from before a loop that the loop compares with what it computes in the same way."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.errors.reused_value import Reused
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called, together
from gradviz.model.events import Operation
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


def is_computed_alike(values: Sequence[Reused], context: ErrorContext) -> bool:
    """Whether the graph of the later backward has each value twice: computed before the loop, and
    again in it, with the same operations of the same tensors. Only parameters may differ, which
    are updated between; the value is meant to be that of before."""
    own = reachable(root_nodes(context), context)
    alike: dict[object, list[str]] = {}
    expressions: dict[str, int] = {}
    numbers: dict[object, int] = {}
    for _, event in context.history.told(Operation):
        reads = tuple(expressions.get(key, key) for key in event.reads)
        shapes = tuple(one.shape for one in event.outputs)
        for place, key in enumerate(event.made):
            if key in event.reads:
                continue  # written in place, as a parameter that is updated, or given back
            expression = (event.name, event.module, reads, shapes, place)
            expressions[key] = numbers.setdefault(expression, len(numbers))
        if event.node in own and event.made and event.made[0] not in event.reads:
            alike.setdefault(expressions[event.made[0]], []).append(event.node or "")
    twice = {node for nodes in alike.values() if len(set(nodes)) > 1 for node in nodes}
    return bool(values) and all(one.node.id in twice for one in values)


def detached(values: Sequence[Reused], context: ErrorContext) -> Fix | None:
    """``detach()`` where the values are computed, each in a line of its own."""
    changes: list[Rewriting | None] = []
    for one in values:
        line = context.statement_at(context.history.line(one.made[one.place]))
        node = None if line is None else line.node
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        is_it = isinstance(target, ast.Name) and target.id in one.names
        if line is None or not isinstance(node, ast.Assign) or not is_it:
            return None
        changes.append(Rewriting(line, tuple(called(node.value, "detach()"))))
    does = say("keeps the value that it has before the loop, without its graph")
    return together(does, changes)
