"""Copies: of the tensors that an operation saves, and of storages that other code writes."""

from __future__ import annotations

import ast

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import (
    Span,
    Statement,
    behind,
    end_of,
    is_named,
    last_name,
    statement_of,
)
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.analysis.explain.torch_names import is_result
from gradviz.model.events import Operation
from gradviz.model.explanation import Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.records import Node, SavedTensor
from gradviz.model.sentence import Sentence


def saved_copy(
    node: Node, slot: SavedTensor, name: str | None, history: History
) -> Rewriting | None:
    """The operation saves a copy; if it saved its own result, a copy is handed on.

    Args:
        node: The node that saved.
        slot: What it saved.
        name: The variable that was saved.
        history: The recording.
    """
    statement = made_by(node, history)
    if statement is None or name is None or statement.is_compound:
        return None
    line = statement.node
    if is_result(slot):
        if not isinstance(line, ast.Assign) or len(line.targets) != 1:
            return None
        if not is_named(line.targets[0], name):
            return None
        return Rewriting(statement, tuple(called(line.value, "clone()")))
    if isinstance(line, ast.AugAssign) and is_named(line.target, name):
        return None  # what is written there may be what was saved
    uses = [
        part
        for part in statement.parts
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
        and isinstance(part.ctx, ast.Load)
        and is_named(part, name)
    ]
    changes = tuple((end_of(use), ".clone()") for use in uses)
    return Rewriting(statement, changes) if changes else None


def made_by(node: Node, history: History) -> Statement | None:
    """The statement that made a node."""
    place = history.birth(node.id)
    events = history.recording.records[place[0]].events
    event = events[place[1]] if place[1] < len(events) else None
    if isinstance(event, Operation) and history.is_made_then(node):
        site = site_of(history, place, event)
        if site is not None:
            return site.statement
    return statement_of(history, history.made_at(node))


def copied_alias(
    alias: tuple[EventPlace, Operation], does: Sentence, history: History
) -> Fix | None:
    """A copy where other code got hold of the memory.

    Args:
        alias: The call that gave it the memory: ``detach``, ``.data``, ``numpy``.
        does: What is gained.
        history: The recording.
    """
    place, event = alias
    site = site_of(history, place, event)
    node = None if site is None else site.node
    given = last_name(node.func if isinstance(node, ast.Call) else node) if node else ""
    if site is None or given not in (event.name, "asarray"):
        return None
    copy = ".copy()" if event.name in ("numpy", "__array__") else ".clone()"
    if event.name == "data" and isinstance(node, ast.Attribute):
        rest = Span(behind(node.value, node, site.statement), end_of(node))
        return Rewriting(site.statement, ((rest, ".detach().clone()"),)).fix(does)
    return Rewriting(site.statement, ((end_of(site.node), copy),)).fix(does)
