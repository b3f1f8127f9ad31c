"""What the one caller of a function types for an argument."""

from __future__ import annotations

import ast

from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.model.recording import Recording


def arguments_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The arguments of a function that may be given by their place."""
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def given_in(call: ast.Call, function: ast.FunctionDef) -> dict[str, ast.expr]:
    """What a call types for each argument of a function."""
    names = arguments_of(function)
    is_method = isinstance(call.func, ast.Attribute) and names[:1] == ["self"]
    found = dict(zip(names[is_method:], call.args, strict=False))
    return found | {k.arg: k.value for k in call.keywords if k.arg is not None}


def given_for(name: str, statement: Statement, recording: Recording) -> ast.expr | None:
    """What a call types for an argument of the function around a line.

    Args:
        name: The argument.
        statement: The line.
        recording: All recorded code.

    Returns:
        ``None`` if it is no argument, or the function is not called in exactly one place.
    """
    function = statement.function
    if function is None:
        return None
    every = (one for code in recording.codes for one in statements_of(code))
    calls = [call for one in every for call in calls_in(one, function.name)]
    if len(calls) != 1 or any(isinstance(one, ast.Starred) for one in calls[0].args):
        return None
    return given_in(calls[0], function).get(name)
