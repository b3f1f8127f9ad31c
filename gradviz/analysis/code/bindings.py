"""The line that gave a name its value, as the text shows it."""

from __future__ import annotations

import ast

from gradviz.analysis.code.statements import Statement, statements_of

_BLOCKS = (ast.With, ast.AsyncWith)


def bound_before(name: str, statement: Statement) -> Statement | None:
    """The line that has bound a variable or attribute last before a statement.

    Args:
        name: How it is typed there: ``"params"``, ``"self.params"``.
        statement: The statement.

    Returns:
        ``None`` if that line may not have run: it is in a branch or loop that the statement is not
        in. A write in place with ``+=`` binds nothing here.
    """
    found = None
    around = [id(one) for one in statement.around]
    for one in statements_of(statement.code):
        if one.place >= statement.place or isinstance(one.node, ast.AugAssign):
            continue
        if _binds(one.node, name):
            outer = [id(s) for s in one.around if not isinstance(s, _BLOCKS)]
            found = one if [s for s in around if s in outer] == outer else None
    return found


def _binds(node: ast.stmt, name: str) -> bool:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = list(node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.For, ast.AsyncFor)):
        targets = [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [one.optional_vars for one in node.items if one.optional_vars is not None]
    return any(
        isinstance(part, (ast.Name, ast.Attribute))
        and isinstance(part.ctx, ast.Store)
        and ast.unparse(part) == name
        for target in targets
        for part in ast.walk(target)
    )
