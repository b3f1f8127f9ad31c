"""Which variables a line can read: from the text of its function and of others in the same file."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from gradviz.analysis.code.statements import Statement, loops_around, names_bound, statements_of
from gradviz.model.recording import Code, Recording

_Function: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef"
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_ALWAYS: Final = frozenset(dir(builtins))
_OF_CELLS: Final = frozenset({"torch"})
"""Notebooks that autograd records have it."""


def names_at(statement: Statement, recording: Recording) -> frozenset[str]:
    """Variables that have a value where a statement begins, as far as the recorded text shows it.

    Those of its own function that are bound before it, those of functions around it, and those
    that code of the same file reads from outside of its functions.

    Args:
        statement: The line.
        recording: Has the text.
    """
    functions = functions_around(statement)
    is_cell = not _file(statement.code).endswith(".py")
    found = set(_ALWAYS | _OF_CELLS if is_cell else _ALWAYS)
    found |= _of_functions_around(statement.code, recording)
    for function in functions:
        found |= all_arguments(function)
    own = [s for s in statements_of(statement.code) if functions_around(s) == functions]
    found |= _bound(s for s in own if _is_before(s, statement))
    late = _bound(own) - found if functions else set()
    outer = (s for s in statements_of(statement.code) if len(functions_around(s)) < len(functions))
    found |= _bound(outer)
    for code in recording.codes:
        if _file(code) == _file(statement.code):
            found |= _global_names(code) | set(code.imports)
    return frozenset(found - late)


def _of_functions_around(code: Code, recording: Recording) -> set[str]:
    """Variables of functions in which a function is defined, which has a text of its own."""
    last = code.first_line + code.text.rstrip().count("\n")
    outer = (
        other
        for other in recording.codes
        if other != code
        and _file(other) == _file(code)
        and other.first_line < code.first_line
        and last <= other.first_line + other.text.rstrip().count("\n")
    )
    found: set[str] = set()
    for one in (s for other in outer for s in statements_of(other)):
        if one.line < code.first_line and (functions := functions_around(one)):
            found |= _bound([one]).union(*map(all_arguments, functions))
    return found


def made_local(statement: Statement, names: Iterable[str]) -> frozenset[str]:
    """Variables that an assignment at a line would make local to its function.

    They are what the function reads from outside until then; no line of it, nor one before the
    assignment, finds that any more.

    Args:
        statement: The line of the assignment.
        names: What it assigns to.
    """
    functions = functions_around(statement)
    if not functions:
        return frozenset()
    own = [s for s in statements_of(statement.code) if functions_around(s) == functions]
    declared = (s.node.names for s in own if isinstance(s.node, (ast.Global, ast.Nonlocal)))
    bound = (all_arguments(functions[-1]) | _bound(own)).union(*declared)
    return frozenset(names) - bound


def reads_before(statement: Statement, names: Iterable[str]) -> bool:
    """Whether a line that its function may run before another one reads one of some variables."""
    functions, wanted = functions_around(statement), set(names)
    own = (s for s in statements_of(statement.code) if functions_around(s) == functions)
    return any(
        wanted & _read(s.parts) for s in own if s is not statement and _is_before(s, statement)
    )


def functions_around(statement: Statement) -> list[_Function]:
    """The functions that a statement is in, the innermost last."""
    return [one for one in statement.around if isinstance(one, _FUNCTIONS)]


def all_arguments(function: _Function) -> set[str]:
    """The arguments of a function, however they are given."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {one.arg for one in every if one is not None}


def _bound(statements: Iterable[Statement]) -> set[str]:
    return {name for one in statements for name in _names_of(one)}


def _names_of(statement: Statement) -> Iterator[str]:
    """Variables that a statement binds, with those of imports and definitions."""
    yield from names_bound(statement)
    node = statement.node
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        yield node.name
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
    if isinstance(node, ast.Try):
        yield from (one.name for one in node.handlers if one.name)


def _is_before(one: Statement, other: Statement) -> bool:
    """Whether a statement may have run before another of the same function."""
    if one.place < other.place:
        return True
    loops = {id(loop) for loop in loops_around(other)}
    return any(id(loop) in loops for loop in loops_around(one))


@lru_cache(maxsize=64)
def _global_names(code: Code) -> frozenset[str]:
    """Variables of a file or notebook that a text reads, or binds outside of functions.

    What it binds outside of functions it has read before that, or it is no such variable yet.
    """
    found: set[str] = set()
    local: dict[int, set[str]] = {}
    for one in statements_of(code):
        functions = functions_around(one)
        known = set(_bound_in(one, functions, local))
        found |= {name for name in _read(one.parts) if name not in known}
    return frozenset(found)


def _bound_in(
    statement: Statement, functions: list[_Function], local: dict[int, set[str]]
) -> Iterator[str]:
    """Names that are variables of the functions around, or that the cell has bound before."""
    for function in functions:
        if id(function) not in local:
            inside = (s for s in statements_of(statement.code) if function in s.around)
            local[id(function)] = all_arguments(function) | _bound(inside)
        yield from local[id(function)]
    if not functions:
        rows = statements_of(statement.code)
        yield from _bound(s for s in rows if not functions_around(s) and s.place < statement.place)


def lacking(body: Iterable[ast.stmt], known: Iterable[str]) -> set[str]:
    """Variables that statements read before they have a value.

    Args:
        body: The statements, in the order in which they run.
        known: Variables that have a value before.
    """
    known, found = set(known), set[str]()
    for one in body:
        parts = list(ast.walk(one))
        found |= _read(parts) - known - (stored(one) if hasattr(one, "body") else set())
        if isinstance(one, ast.AugAssign):
            found |= stored(one) - known
        known |= stored(one)
    return found


def stored(node: ast.AST) -> set[str]:
    """Variables that are bound anywhere in a part of a text."""
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def _read(parts: Sequence[ast.AST]) -> set[str]:
    """Variables that are read, without those of comprehensions and lambdas."""
    names = (n for n in parts if isinstance(n, ast.Name))
    read = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    for part in parts:
        if isinstance(part, ast.comprehension):
            read -= stored(part.target)
        elif isinstance(part, ast.Lambda):
            read -= {one.arg for one in part.args.args}
    return read


def _file(code: Code) -> str:
    return code.name.partition(":")[0]
