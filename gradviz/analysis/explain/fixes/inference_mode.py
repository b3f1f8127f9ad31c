"""``no_grad`` in place of inference mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import Statement, last_name
from gradviz.model.explanation import CodeLine, Fix
from gradviz.model.sentence import say


@dataclass(frozen=True)
class Switch:
    """A decorator or the head of a ``with`` block that switches inference mode on."""

    at: CodeLine
    new: str
    """Its line with ``no_grad``; empty if there is no name for that."""


def switch_around(statement: Statement | None) -> Switch | None:
    """The innermost switch around a line."""
    for outer in reversed(() if statement is None else statement.around):
        for part in (*getattr(outer, "decorator_list", ()), *_contexts(outer)):
            whole = part.func if isinstance(part, ast.Call) else part
            is_on = not isinstance(part, ast.Call) or not (part.args or part.keywords)
            if statement is not None and last_name(whole) == "inference_mode" and is_on:
                return _switch(part, whole, statement)
    return None


def not_in_inference(switch: Switch | None) -> Iterator[Fix]:
    """``no_grad`` there."""
    if switch is not None and switch.new:
        does = say("records nothing either, but makes ordinary tensors")
        yield Fix(does, switch.new, "instead", switch.at)


def _contexts(outer: ast.stmt) -> list[ast.expr]:
    return [item.context_expr for item in getattr(outer, "items", ())]


def _switch(part: ast.expr, whole: ast.expr, statement: Statement) -> Switch:
    """The line of an expression, as text, with the function exchanged."""
    code, row = statement.code, part.lineno
    line = code.line(row + code.first_line - 1)
    old = ast.unparse(whole)
    new = old.removesuffix("inference_mode") + "no_grad"
    is_dotted = isinstance(whole, ast.Attribute)
    at = CodeLine(row + code.first_line - 1, line, code.name)
    return Switch(at, line.replace(old, new, 1) if is_dotted else "")
