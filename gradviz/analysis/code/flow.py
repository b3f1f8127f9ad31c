"""Which variables a value reaches in the text of the recorded code, and whether backward starts
there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.statements import Statement, last_name, names_read, statements_of
from gradviz.model.recording import Recording

_STARTS = frozenset({"backward", "grad"})


def may_reach_backward(statement: Statement, recording: Recording) -> bool:
    """Whether what a line computes may belong to what backward starts at.

    Followed are variables, attributes and what functions return, by their names alone, so that it
    says yes too often rather than too rarely.

    Args:
        statement: The line.
        recording: All recorded code.
    """
    every = [one for code in recording.codes for one in statements_of(code)]
    every = every if statement.code in recording.codes else [*every, *statements_of(statement.code)]
    reached = set(_bound_by(statement))
    if _is_handed_over(reached, every):
        return True
    while True:
        readers = [one for one in every if reached & _read_in(one)]
        if any(_starts_backward(one, reached) for one in readers):
            return True
        new = {name for one in readers for name in _bound_by(one)} - reached
        if not new:
            return False
        reached |= new
        if _is_handed_over(new, every):
            return True


def _bound_by(statement: Statement) -> Iterator[str]:
    """Names that get the value of a line; of ``return``, that of the function."""
    node = statement.node
    for part in statement.parts:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store):
            yield part.attr
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            yield last_name(part.value)
    if isinstance(node, ast.Return) and statement.function is not None:
        yield statement.function.name


def _read_in(statement: Statement) -> set[str]:
    loads = (
        part.attr
        for part in statement.parts
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Load)
    )
    heads = ast.Tuple([p for p in statement.parts if isinstance(p, ast.expr)], ast.Load())
    return {*names_read(heads), *loads}


def _starts_backward(statement: Statement, names: set[str]) -> bool:
    return any(
        isinstance(part, ast.Call)
        and last_name(part.func) in _STARTS
        and names & {one for child in ast.walk(part) for one in _named(child)}
        for part in statement.parts
    )


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def _is_handed_over(names: set[str], every: list[Statement]) -> bool:
    """Whether a function is the forward of a module, or is given to another function to be
    called."""
    functions = {one.node.name for one in every if isinstance(one.node, ast.FunctionDef)} & names
    return "forward" in functions or any(
        isinstance(given, ast.Name) and given.id in functions
        for one in every
        for part in one.parts
        if isinstance(part, ast.Call)
        for given in (*part.args, *(k.value for k in part.keywords))
    )
