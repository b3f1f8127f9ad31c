"""A result that a module keeps in an attribute, kept without its graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.statements import Statement, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, line_of
from gradviz.analysis.explain.fixes.rewriting import called
from gradviz.model.explanation import Fix
from gradviz.model.recording import Code
from gradviz.model.sentence import say


def without_graph(found: GivenOperand, context: ErrorContext) -> Iterator[Fix]:
    """``detach()`` where an attribute takes the result, and a variable where it is read.

    Not if the attribute is read before it is bound, or in other code: that would be cut off.
    """
    statement = context.statement_at(line_of(found.key, context))
    node = None if statement is None else statement.node
    if statement is None or not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return
    target = node.targets[0]
    if not isinstance(target, ast.Attribute) or not statement.is_alone:
        return
    kept = ast.unparse(target)
    function = statement.function
    if function is None or _is_read_elsewhere(target.attr, function, context):
        return
    reads = _reads(kept, statement, function)
    does = say("keeps {} without its graph, so that deepcopy can copy it", found.words)
    if reads is None:
        return
    if not reads:
        yield Fix(does, statement.edited(called(node.value, "detach()")), "instead", statement.at)
        return
    name = target.attr
    if name in {one.id for one in ast.walk(function) if isinstance(one, ast.Name)}:
        return
    code = statement.edited([(target, name)]) + f"\n{kept} = {name}.detach()"
    also = tuple(
        Fix(say(""), one.edited([(part, name) for part in parts]), "instead", one.at)
        for one, parts in reads
    )
    yield Fix(does, code, "instead", statement.at, also)


def _is_read_elsewhere(name: str, function: ast.FunctionDef, context: ErrorContext) -> bool:
    """Whether recorded code other than a function reads an attribute with this name."""
    inside = {id(part) for part in ast.walk(function)}
    return any(
        isinstance(part, ast.Attribute)
        and part.attr == name
        and isinstance(part.ctx, ast.Load)
        and id(part) not in inside
        for code in context.recording.codes
        for one in statements_of(code)
        for part in one.parts
    )


def _reads(
    kept: str, statement: Statement, function: ast.FunctionDef
) -> list[tuple[Statement, list[ast.Attribute]]] | None:
    """Where a function reads an attribute after a statement; ``None`` if before it, too."""
    found = []
    for one in _lines_of(statement.code, function):
        parts = [
            part
            for part in one.parts
            if isinstance(part, ast.Attribute)
            and isinstance(part.ctx, ast.Load)
            and ast.unparse(part) == kept
        ]
        if parts and one.line <= statement.line:
            return None
        if parts:
            found.append((one, parts))
    is_simple = all(one.is_alone and not one.is_compound for one, _ in found)
    return found if is_simple else None


def _lines_of(code: Code, function: ast.FunctionDef) -> Iterator[Statement]:
    return (one for one in statements_of(code) if any(a is function for a in one.around))
