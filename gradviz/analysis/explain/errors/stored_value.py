"""The line that put a value into an attribute or container, in which a later turn found it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import Statement, last_name, names_read
from gradviz.analysis.explain.error_context import ErrorContext

_ADDING = ("append", "appendleft", "extend", "insert", "add")


@dataclass(frozen=True)
class Store:
    """A line that stores a value.

    Args:
        step: Its step.
        statement: The line.
        holder: The attribute or container, as the line types it.
        name: Its last name: ``"cells"`` of ``self.cells``.
        value: The part of the line that is the value, if that is known.
        beside: The variables that are stored with it.
        is_list: Whether the line adds to a container.
    """

    step: int
    statement: Statement
    holder: str
    name: str
    value: ast.expr | None
    beside: frozenset[str]
    is_list: bool


def store_of(names: set[str], since: int, until: int, context: ErrorContext) -> Store | None:
    """The line that stored a value, if just one line can have done it.

    Args:
        names: Names of the tensor: ``"self.cells[0]"``, from wherever it was seen.
        since: Step at which it was made.
        until: Step at which it is used later.
        context: The error.
    """
    found: dict[tuple[str, int], Store] = {}
    records = context.recording.records
    for step in range(since, until if names else since):
        line = context.history.line(step) if records[step].kind == "line" else None
        statement = None if line is None else context.statement_at(line)
        for name in sorted(names):
            one = None if statement is None else _store(statement, name, step)
            if one is not None:
                found.setdefault((one.statement.code.name, one.statement.line), one)
    return next(iter(found.values())) if len(found) == 1 else None


def _store(statement: Statement, name: str, step: int) -> Store | None:
    """What a line stores under a name, if it does."""
    path = _path(name)
    for length in range(1, len(path) + 1):
        holder, rest = path[:length], path[length:]
        stored = _into(statement, holder)
        if stored is None:
            continue
        target, value, is_list = stored
        if (is_list and not rest) or (length == 1 and not is_list):
            continue
        inner = rest[1:] if is_list else rest
        part, beside = _part(value, inner)
        owner = target.value if isinstance(target, ast.Subscript) else target
        return Store(step, statement, ast.unparse(owner), last_name(owner), part, beside, is_list)
    return None


def _path(name: str) -> list[str]:
    """``["memory", ".rows", "[0]", "[1]"]`` of ``"memory.rows[0][1]"``, without the dots."""
    try:
        node: ast.AST = ast.parse(name, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript):
            found.append(f"[{ast.unparse(node.slice)}]")
        else:
            found.append(node.attr)
        node = node.value
    return [*([node.id] if isinstance(node, ast.Name) else []), *reversed(found)]


def _into(statement: Statement, holder: list[str]) -> tuple[ast.expr, ast.expr, bool] | None:
    """What a line stores into, what it stores, and whether it adds it to a container."""
    node = statement.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        func = call.func
        if not isinstance(func, ast.Attribute) or func.attr not in _ADDING:
            return None
        if call.args and last_name(func.value) == holder[-1]:
            added = call.args[-1]
            return func.value, ast.Starred(added) if func.attr == "extend" else added, True
        return None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and holder[-1].startswith("["):
            is_it = len(holder) > 1 and last_name(target.value) == holder[-2]
            return (target, node.value, False) if is_it else None
        if isinstance(target, (ast.Attribute, ast.Name)) and last_name(target) == holder[-1]:
            return target, node.value, False
    return None


def _part(value: ast.expr, path: list[str]) -> tuple[ast.expr | None, frozenset[str]]:
    """The part of what is stored that is at a path in it, and the variables in its other parts."""
    beside: set[str] = set()
    for one in path:
        parts = _parts(value)
        found = [part for name, part in parts if name == one]
        if len(found) != 1:
            return None, frozenset()
        beside |= {name for _, part in parts if part is not found[0] for name in names_read(part)}
        value = found[0]
    return (None if isinstance(value, ast.Starred) else value), frozenset(beside)


def _parts(value: ast.expr) -> list[tuple[str, ast.expr]]:
    """The parts of a tuple, list, dict, or call that makes a record, and how they are reached."""
    if isinstance(value, (ast.Tuple, ast.List)):
        return [(f"[{place}]", one) for place, one in enumerate(value.elts)]
    if isinstance(value, ast.Dict):
        pairs = zip(value.keys, value.values, strict=True)
        return [(f"[{ast.unparse(key)}]", one) for key, one in pairs if key is not None]
    if isinstance(value, ast.Call):
        given = [(one.id if isinstance(one, ast.Name) else "", one) for one in value.args]
        return [*given, *((k.arg, k.value) for k in value.keywords if k.arg is not None)]
    return []


def reads_of(name: str, statement: Statement) -> Iterator[ast.expr]:
    """Where a line reads an attribute or variable."""
    for part in statement.parts:
        if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Load):
            yield from [part] if last_name(part) == name else []
