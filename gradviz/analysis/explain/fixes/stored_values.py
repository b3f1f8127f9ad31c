"""Changes to lines that store values for later turns, and to containers that nobody empties."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from gradviz.analysis.code.statements import (
    Statement,
    TextChange,
    calls_in,
    loops_around,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_path import reachable, root_nodes
from gradviz.analysis.explain.errors.reused_value import Reused
from gradviz.analysis.explain.errors.stored_value import Store, reads_of
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called, together
from gradviz.model import reachability
from gradviz.model.explanation import Fix
from gradviz.model.freed import EarlierBackward
from gradviz.model.reachability import leading_to
from gradviz.model.records import Node
from gradviz.model.sentence import say

_TERMS: Final = frozenset(
    {
        "AddBackward0", "CatBackward0", "MeanBackward0", "NegBackward0", "StackBackward0",
        "SubBackward0", "SumBackward0",
    }
)  # fmt: skip
"""Nodes of which the gradient of one term does not depend on the others."""
_SCALED: Final = frozenset({"DivBackward0", "MulBackward0"})
"""The same, if all but one are constants."""


# --- data for later turns --------------------------------------------------------------------


def stored_without_graph(
    values: Sequence[Reused], earlier: EarlierBackward, context: ErrorContext
) -> Fix | None:
    """``detach()`` where values are stored, if they are data for later turns.

    They are if the turn that uses them computes such values itself, with the same operations of
    the same leaves, so that no leaf stops learning, and if the turn that stored them did not read
    them from where it stored them.

    Args:
        values: All values that are reused.
        earlier: The backward that freed their graph.
        context: The error.
    """
    stores = [one.store for one in values if one.store is not None]
    if len(stores) < len(values) or len({s.statement.line for s in stores}) > 1:
        return None
    if not all(_is_data(one, store, earlier, context) for one, store in zip(values, stores)):
        return None
    if not _are_computed_again(values, context):
        return None
    store = stores[0]
    parts = list({id(s.value): s.value for s in stores}.values())
    does = say(
        "stores the value without its graph, as data for later turns: no gradient goes through it"
    )
    changes = [None if p is None else Rewriting(store.statement, _detach(p)) for p in parts]
    return together(does, changes)


def _detach(part: ast.expr) -> tuple[TextChange, ...]:
    return tuple(called(part, "detach()"))


def _is_data(one: Reused, store: Store, earlier: EarlierBackward, context: ErrorContext) -> bool:
    """Whether what is stored is for later turns; if it was stored before the loop, whether the
    record has what it was computed from too, so that the loop can compute it anew."""
    if store.value is None or any(
        a <= earlier.step and store.step <= b for a, b in context.history.counted
    ):
        return False
    if one.kept == "before":
        return _is_stored_with_its_input(one, store, context)
    return not _is_read(store, store.step + 1, earlier.step, context)


def _is_stored_with_its_input(one: Reused, store: Store, context: ErrorContext) -> bool:
    """``memory.append((state, policy(state)))``."""
    for step in one.made:
        line = context.statement_at(context.history.line(step))
        if line is None:
            continue
        if line.code == store.statement.code and _given_plainly(line.node) & store.beside:
            return True
        for call in calls_in(line, store.statement.code.name.rpartition(": ")[2]):
            plain = {arg.id for arg in call.args if isinstance(arg, ast.Name)}
            made = (arg for arg in call.args if isinstance(arg, ast.Call))
            if any(plain & _given_plainly(arg) for arg in made):
                return True
    return False


def _given_plainly(node: ast.AST) -> set[str]:
    """Variables that calls in a part of a text get as arguments."""
    calls = (part for part in ast.walk(node) if isinstance(part, ast.Call))
    return {arg.id for call in calls for arg in call.args if isinstance(arg, ast.Name)}


def _is_read(store: Store, since: int, until: int, context: ErrorContext) -> bool:
    """Whether a line that ran between two steps reads the attribute or container."""
    return any(
        True
        for step in range(since, until + 1)
        if context.recording.records[step].kind == "line"
        and (line := context.statement_at(context.history.line(step))) is not None
        and line.node is not store.statement.node
        for _ in reads_of(store.name, line)
    )


def _are_computed_again(values: Sequence[Reused], context: ErrorContext) -> bool:
    """Whether the later graph has, without the values, the same operations of their leaves."""
    own = reachable(root_nodes(context), context)
    kept = {one.node.id for one in values}
    new = _behind([r for r in root_nodes(context) if r not in kept], kept, own)
    old = _behind(sorted(kept), set(), own)
    before, now = _users(old, own), _users(new, own)
    return bool(before) and all(kinds & now.get(leaf, set()) for leaf, kinds in before.items())


def _behind(start: Sequence[str], without: set[str], own: dict[str, Node]) -> list[str]:
    def after(key: str) -> list[str]:
        return [k for k in reachability.entries(own.get(key)) if k not in without]

    return list(reachability.reachable(list(start), after))


def _users(keys: Sequence[str], own: dict[str, Node]) -> dict[str, set[str]]:
    """Names of the nodes that use leaves, by leaf."""
    found: dict[str, set[str]] = {}
    for key in keys:
        for into in reachability.entries(own.get(key)):
            if into in own and own[into].variable is not None:
                found.setdefault(into, set()).add(own[key].name)
    return found


# --- a container that nobody empties ---------------------------------------------------------


def cleared_after_backward(
    one: Reused, earlier: EarlierBackward, context: ErrorContext
) -> Fix | None:
    """The container is cleared after backward, if what earlier turns put there are further terms
    of the loss, and nothing else reads it.

    Args:
        one: What is reused of it.
        earlier: The backward that freed its graph.
        context: The error.
    """
    store, noticed, name = one.store, context.statement, context.name(one.key)
    if store is None or noticed is None or name is None or one.turn is None or not store.is_list:
        return None
    first = context.statement_at(earlier.at)
    if first is None or first.node is not noticed.node or noticed.is_compound:
        return None
    if not noticed.is_alone or not any(True for _ in loops_around(noticed)):
        return None
    container = _container(name, store.name)
    if container is None or any(a <= context.step for a, _ in context.history.counted):
        return None
    if _is_read(store, earlier.step, one.turn.first, context):
        return None
    if not _is_read_in_turn_only(store, one.turn.first, context) or not _are_terms(
        earlier, context
    ):
        return None
    does = say("{} keeps nothing of earlier turns", container)
    return Fix(does, f"{container}.clear()", "after", noticed.at)


def _container(name: str, last: str) -> str | None:
    """``"probe.seen"`` of ``"probe.seen[0]"``."""
    try:
        node: ast.AST = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        inner = node.value
        is_it = isinstance(inner, ast.Attribute) and inner.attr == last
        if isinstance(node, ast.Subscript) and (
            is_it or (isinstance(inner, ast.Name) and inner.id == last)
        ):
            return ast.unparse(inner)
        node = inner
    return None


def _is_read_in_turn_only(store: Store, since: int, context: ErrorContext) -> bool:
    """Whether every line that reads the container has run in the turn of the error, and none asks
    for its length or a part of it."""
    ran = {
        (line.code.name, line.line)
        for step in range(since, context.step + 1)
        if (line := context.statement_at(context.history.line(step))) is not None
    }
    for code in context.recording.codes:
        for line in statements_of(code):
            reads = [*reads_of(store.name, line)]
            if not reads or _is_same(line, store.statement):
                continue
            if (code.name, line.line) not in ran or _is_measured(reads, line):
                return False
    return True


def _is_same(one: Statement, other: Statement) -> bool:
    return one.code.name == other.code.name and one.line == other.line


def _is_measured(reads: Sequence[ast.expr], line: Statement) -> bool:
    for part in line.parts:
        if isinstance(part, ast.Subscript) and any(part.value is one for one in reads):
            return True
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name):
            is_given = any(arg is one for arg in part.args for one in reads)
            if part.func.id == "len" and is_given:
                return True
    return False


def _are_terms(earlier: EarlierBackward, context: ErrorContext) -> bool:
    """Whether the loss is a sum, in which what is left of earlier turns has terms of its own."""
    own = reachable(root_nodes(context), context)
    leaves = {key for key, row in own.items() if row.variable is not None}
    old = {k for k in own if k not in leaves and context.history.birth(k)[0] <= earlier.step}
    new = {key: row for key, row in own.items() if key not in old}
    both = (leading_to(old, own) & leading_to(leaves, new)) - old
    return all(
        own[key].name in _TERMS
        or (own[key].name in _SCALED and len([*reachability.entries(own[key])]) == 1)
        for key in both
    )
