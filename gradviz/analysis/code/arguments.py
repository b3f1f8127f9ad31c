"""What the one caller of a function types for an argument."""

from __future__ import annotations

import ast

from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.model.recording import Recording


def given_for(name: str, statement: Statement, recording: Recording) -> ast.expr | None:
    """What a call types for an argument of the function around a line.

    Args:
        name: The argument.
        statement: The line.
        recording: All recorded code.

    Returns:
        ``None`` if it is no argument, or the function is not called in exactly one place.
    """
    functions = [one for one in statement.around if isinstance(one, ast.FunctionDef)]
    if not functions:
        return None
    function = functions[-1]
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    every = (one for code in recording.codes for one in statements_of(code))
    calls = [call for one in every for call in calls_in(one, function.name)]
    if len(calls) != 1 or any(isinstance(one, ast.Starred) for one in calls[0].args):
        return None
    is_method = isinstance(calls[0].func, ast.Attribute) and names[:1] == ["self"]
    given = dict(zip(names[is_method:], calls[0].args, strict=False))
    given |= {k.arg: k.value for k in calls[0].keywords if k.arg is not None}
    return given.get(name)
