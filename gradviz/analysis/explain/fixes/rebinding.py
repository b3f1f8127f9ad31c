"""Whether a new tensor may take the place of an argument: what the functions that called see."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.arguments import arguments_of
from gradviz.analysis.code.callers import caller_step
from gradviz.analysis.code.rebind_safety import has_other_name, may_rebind
from gradviz.analysis.code.scopes import all_arguments, functions_around
from gradviz.analysis.code.statements import (
    Statement,
    is_named,
    last_name,
    loops_around,
    names_bound,
    statement_of,
    statements_of,
)
from gradviz.model.history import ALIASES, History

_MOST = 6
"""Calls that are followed back at most."""
_METADATA = frozenset(
    {"device", "dim", "dtype", "is_cuda", "layout", "ndim", "numel", "requires_grad", "shape"}
    | {"size"}
)
"""What is read of a tensor without its values."""


def may_take_place(statement: Statement, name: str, step: int, history: History) -> bool:
    """Whether a new tensor may be bound to a name, and all that follows sees it.

    An argument may be bound again where those who called do not read the values of what they
    gave any more.

    Args:
        statement: The line.
        name: How the tensor is typed there.
        step: Step at which the line ran.
        history: The recording.
    """
    if may_rebind(statement, name):
        return True
    if not name.isidentifier() or not _is_argument(statement, name):
        return False
    return not has_other_name(statement, name) and _is_dropped(statement, name, step, history, 0)


def _is_dropped(statement: Statement, name: str, step: int, history: History, times: int) -> bool:
    """Whether no caller reads what it gave for an argument any more."""
    function = statement.function
    at = caller_step(history, step)
    caller = None if at is None else statement_of(history, at)
    if function is None or caller is None or at is None or times > _MOST:
        return False
    calls = [part for part in caller.parts if isinstance(part, ast.Call)]
    named = [call for call in calls if last_name(call.func) == function.name]
    given = [_given(call, function, name) for call in named or _of_objects(calls, function)]
    if not given or None in given:
        return False
    return all(_is_left(one, caller, at, history, times + 1) for one in given if one is not None)


def _of_objects(calls: list[ast.Call], function: ast.FunctionDef) -> list[ast.Call]:
    """Calls of modules and other objects: those with enough arguments."""
    if function.name not in ("forward", "__call__"):
        return []
    return [one for one in calls if one.args or one.keywords]


def _given(call: ast.Call, function: ast.FunctionDef, name: str) -> ast.expr | None:
    """What a call gives for an argument."""
    names = arguments_of(function)
    if names and names[0] in ("self", "cls"):
        names = names[1:]
    keywords = [k.value for k in call.keywords if k.arg == name]
    if keywords:
        return keywords[0]
    place = names.index(name) if name in names else len(call.args)
    if any(isinstance(one, ast.Starred) for one in call.args) or place >= len(call.args):
        return None
    return call.args[place]


def _is_left(given: ast.expr, caller: Statement, step: int, history: History, times: int) -> bool:
    """Whether what was given is a value that nobody reads any more."""
    while True:
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
            if given.func.attr not in ALIASES:
                return True
            given = given.func.value
        elif isinstance(given, ast.Subscript):
            given = given.value
        else:
            break
    if not isinstance(given, ast.Name):
        return not isinstance(given, ast.Attribute)
    name = given.id
    if _reads_other_than(given, caller):
        return False
    is_bound = isinstance(caller.node, ast.Assign) and name in names_bound(caller)
    if not is_bound and not isinstance(caller.node, ast.Return) and _is_read_after(name, caller):
        return False
    if has_other_name(caller, name):
        return False
    if _is_argument(caller, name):
        return _is_dropped(caller, name, step, history, times)
    functions = functions_around(caller)
    inside = (s for s in statements_of(caller.code) if functions_around(s) == functions)
    return not functions or any(name in names_bound(one) for one in inside)


def _reads_other_than(given: ast.expr, caller: Statement) -> bool:
    """Whether the line reads the values of a variable in another place too."""
    every = [p for p in reads_of_values(caller.parts, ast.unparse(given)) if p is not given]
    return bool(every)


def _is_read_after(name: str, statement: Statement) -> bool:
    """Whether the values of a variable are read after a line, before it is bound again."""
    every = statements_of(statement.code)
    own = functions_around(statement)
    inside = [s for s in every if functions_around(s) == own]
    later = [s for s in inside if s.place > statement.place]
    loops = {id(loop) for loop in loops_around(statement)}
    turn = [s for s in inside if loops & {id(outer) for outer in s.around} or id(s.node) in loops]
    turn = [s for s in turn if s.place <= statement.place]
    return _is_read_in(name, later) or (bool(loops) and _is_read_in(name, turn))


def _is_read_in(name: str, statements: list[Statement]) -> bool:
    for one in statements:
        if any(True for _ in reads_of_values(one.parts, name)):
            return True
        if name in names_bound(one) and not isinstance(one.node, ast.AugAssign):
            return False
    return False


def reads_of_values(parts: list[ast.AST], name: str) -> Iterator[ast.AST]:
    """Places where the values of a tensor are read, not only its shape, dtype or device."""
    passed: set[int] = set()
    for part in parts:
        if isinstance(part, ast.Attribute) and part.attr in _METADATA:
            passed.add(id(part.value))
        elif isinstance(part, ast.Call) and last_name(part.func) == "len":
            passed |= {id(one) for one in part.args}
    for part in parts:
        is_load = isinstance(getattr(part, "ctx", None), ast.Load)
        if is_load and is_named(part, name) and id(part) not in passed:
            yield part


def _is_argument(statement: Statement, name: str) -> bool:
    function = statement.function
    return function is not None and name in all_arguments(function)
