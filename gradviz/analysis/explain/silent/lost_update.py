"""A new value of a parameter that is bound to the variable of a loop, and lost."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import (
    Statement,
    is_named,
    loops_around,
    names_read,
    statement_of,
    statements_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.grad_modes import without_record
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import History
from gradviz.model.sentence import say


@dataclass(frozen=True, kw_only=True)
class LostUpdate(Finding):
    """The line that computes the new value, and whether operations are recorded there."""

    statement: Statement
    recorded: bool


def lost_updates(history: History) -> Iterator[LostUpdate]:
    """``p = p - lr * p.grad`` for a variable of a loop that nothing reads afterwards."""
    seen: set[tuple[str, int]] = set()
    for place, event in history.told(Operation):
        line = history.line(place)
        statement = None if line is None else statement_of(history, place)
        if line is None or statement is None or (line.code, statement.line) in seen:
            continue
        name = _bound_in_vain(statement)
        info = None if name is None else _leaf(event, history, place[0])
        if name is None or info is None:
            continue
        seen.add((line.code, statement.line))
        term = history.tensor_term(info, place[0])
        words = say("binds the new value to {}; {} keeps the old one", name, term)
        yield LostUpdate(
            history=history,
            step=place[0],
            noticed=line,
            words={"line": history.line_term(line), "it": term, "name": name},
            variables=(history.name(info, place[0]), name),
            causes=(Cause("other", words, line),),
            targets={"it": [info]},
            statement=statement,
            recorded=event.recorded,
        )


def _leaf(event: Operation, history: History, step: int) -> str | None:
    """A leaf that requires grad among what an operation reads."""
    for key in event.reads:
        info = history.tensor(key, step)
        if info is not None and info.is_leaf and info.requires_grad:
            return key
    return None


def _bound_in_vain(statement: Statement) -> str | None:
    """The variable of the innermost loop that a line binds to a value of itself and its gradient,
    if nothing in the function reads it after that."""
    node = statement.node
    loop = next(iter(reversed(list(loops_around(statement)))), None)
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name):
        return None
    if not isinstance(loop, ast.For) or not _reads_gradient(node.value, target.id, loop):
        return None
    bound = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    later = [
        one
        for one in statements_of(statement.code)
        if one.place > statement.place and not _clears_gradient(one, target.id)
    ]
    is_read = any(target.id in names_read(part) for one in later for part in one.parts)
    is_deferred = any(isinstance(part, (ast.Lambda, ast.FunctionDef)) for part in ast.walk(loop))
    is_first = not any(
        one.place < statement.place and target.id in _stored(one)
        for one in statements_of(statement.code)
        if any(around is loop for around in one.around)
    )
    return target.id if target.id in bound and is_first and not (is_read or is_deferred) else None


def _clears_gradient(statement: Statement, name: str) -> bool:
    """Whether a line is ``p.grad = None``, which reads no value of ``p``."""
    node = statement.node
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and all(is_named(target, f"{name}.grad") for target in node.targets)
    )


def _stored(statement: Statement) -> set[str]:
    parts = statement.parts
    return {p.id for p in parts if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Store)}


def _reads_gradient(value: ast.expr, name: str, loop: ast.For) -> bool:
    """Whether a value is computed from a variable and its gradient: ``p.grad``, or what the loop
    takes together with it."""
    read = names_read(value)
    if name not in read:
        return False
    grads = [
        one for one in ast.walk(value) if isinstance(one, ast.Attribute) and one.attr == "grad"
    ]
    together = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)} - {name}
    is_change = isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub))
    return is_change and (bool(grads) or bool(together & set(read)))


def in_place(found: LostUpdate) -> Iterator[Fix]:
    """``p -= ...``, under ``no_grad``."""
    statement, node = found.statement, found.statement.node
    value = node.value if isinstance(node, ast.Assign) else None
    if not isinstance(value, ast.BinOp) or not isinstance(node, ast.Assign):
        return
    name = ast.unparse(node.targets[0])
    if not isinstance(value.left, ast.Name) or value.left.id != name:
        return
    if name in names_read(value.right) and not _only_gradient(value.right, name):
        return
    sign = "-=" if isinstance(value.op, ast.Sub) else "+="
    code = statement.edited([(node, f"{name} {sign} {statement.segment(value.right)}")])
    does = say("changes the parameter in place")
    yield Fix(does, without_record(code) if found.recorded else code, "instead", statement.at)


def _only_gradient(value: ast.expr, name: str) -> bool:
    """Whether a value reads a variable for its gradient alone."""
    owners = {
        id(one.value)
        for one in ast.walk(value)
        if isinstance(one, ast.Attribute) and one.attr == "grad"
    }
    names = [one for one in ast.walk(value) if isinstance(one, ast.Name) and one.id == name]
    return all(id(one) in owners for one in names)
