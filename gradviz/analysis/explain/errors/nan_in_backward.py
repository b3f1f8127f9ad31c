"""Anomaly mode found a node that returned nan."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from gradviz.analysis.code.statements import (
    Statement,
    loops_around,
    names_bound,
    names_read,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.first_not_finite import (
    NotFiniteFound,
    finding,
    is_at_a_pole,
    maker_of_node,
    of_line,
    of_node,
)
from gradviz.analysis.explain.not_finite import NotFinite
from gradviz.analysis.explain.torch_messages import function_in
from gradviz.model.events import BackwardEnded
from gradviz.model.records import Node, TensorInfo
from gradviz.model.sentence import Term, say


def nan_in_backward(context: ErrorContext) -> Iterator[NotFiniteFound]:
    """The first nan or inf: of a value that forward computed, or of a gradient."""
    history, step = context.history, context.step
    name = function_in(context.raised.message) or "a node"
    ended = [e for _, e in history.events(BackwardEnded, step) if e.raised]
    first = NotFinite(history).first_of(ended[-1].number) if ended else None
    if first is None and not context.is_recorded:
        line = first_line(context)
        if line is not None:
            yield of_line(*line, say("{} returned nan", name), history, step)
            return
        nodes = _that_ran(name, context)
        if len(nodes) == 1:
            harm = say("{} returned nan", Term(nodes[0].id, name))
            yield of_node(nodes[0], harm, history, step, context.how_to_know)
            return
    found = finding(first, say("{} returned nan", name), history, step)
    is_it = found.node is not None and found.maker is not None and found.maker.is_gradient
    is_it = is_it and found.node is not None and found.node.name == name
    yield replace(found, case="itself" if is_it else found.case)


def first_line(context: ErrorContext) -> tuple[Statement, str] | None:
    """The first line that bound a tensor which has nan or inf, if all that it read is finite.

    Nobody saw it run: each name must be bound once, in the function that raised, in no loop, and
    all numbers must be known.
    """
    raised = context.statement
    lines = [] if raised is None else statements_of(raised.code)
    bound = Counter(name for one in lines for name in names_bound(one))
    known = {i.name: i for i in context.history.tensors(context.step) if i.name is not None}
    for one in lines:
        if raised is None or one.line >= raised.line or any(loops_around(one)):
            continue
        names = names_bound(one)
        value = getattr(one.node, "value", None)
        if len(names) != 1 or value is None or bound[names[0]] != 1:
            continue
        if not _is_odd(known.get(names[0])):
            continue
        read = [
            info
            for name in names_read(value)
            for info in known.values()
            if info.name == name or (info.name or "").startswith(f"{name}.")
        ]
        paths = {(info.name or "").partition(".")[0] for info in read}
        hidden = [c for c in one.parts if isinstance(c, ast.Call) and _is_other(c.func, paths)]
        is_certain = read and not hidden and all(map(_is_known_finite, read))
        return (one, names[0]) if is_certain else None
    return None


def _is_other(function: ast.expr, paths: set[str]) -> bool:
    """Whether a function is called that may read tensors which nobody knows."""
    return isinstance(function, ast.Name) and function.id not in paths


def _is_odd(info: TensorInfo | None) -> bool:
    values = () if info is None else info.values or ()
    return any(str(value).strip("-") in ("nan", "inf") for value in values)


def _is_known_finite(info: TensorInfo) -> bool:
    return info.values is not None and not _is_odd(info) and not info.version


def _that_ran(name: str, context: ErrorContext) -> list[Node]:
    """Nodes of this name that may have returned it: they have run, so what they saved is freed;
    of several those of which the numbers show it."""
    graph = context.recording.graph_at(context.step)
    nodes = [node for node in graph.nodes if node.name == name]
    if len(nodes) > 1:
        nodes = [node for node in nodes if node.state == "freed"] or nodes
    if len(nodes) > 1:
        makers = [(node, maker_of_node(node, context.history, "nan")) for node in nodes]
        nodes = [node for node, maker in makers if is_at_a_pole(maker)]
    return nodes
