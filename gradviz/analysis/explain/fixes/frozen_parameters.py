"""Parameters that were frozen, though an optimizer is to update them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradviz.analysis.code.statements import (
    Statement,
    is_expression,
    last_name,
    plain,
    statements_of,
)
from gradviz.analysis.cuts import Cut
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


@dataclass(frozen=True)
class GivenModule:
    """A line that gives the parameters of a module to an optimizer: ``SGD(net.parameters())``."""

    statement: Statement
    module: ast.expr


def modules_of_optimizers(context: ErrorContext) -> Iterator[GivenModule]:
    """The modules whose parameters alone a line gives to a class, as to an optimizer."""
    for code in context.recording.codes:
        for statement in statements_of(code):
            calls = [part for part in statement.parts if isinstance(part, ast.Call)]
            for call in calls:
                is_kind = last_name(call.func)[:1].isupper() and bool(call.args)
                first = call.args[0] if is_kind else None
                func = first.func if isinstance(first, ast.Call) else None
                if isinstance(func, ast.Attribute) and func.attr == "parameters":
                    yield GivenModule(statement, func.value)


def given_to_optimizer(cuts: Sequence[Cut], context: ErrorContext) -> Fix | None:
    """Let the parameters that an optimizer was given require grad, where a line froze them with
    others.

    Args:
        cuts: Those that froze parameters.
        context: The error of a backward that found none to compute a gradient for.
    """
    given = list(modules_of_optimizers(context))
    frozen = [key for cut in cuts if cut.reason == "requires_grad" for key in cut.tensors]
    names = [name for key in frozen if (name := context.name(key))]
    lines = [context.statement_at(cut.at) for cut in cuts]
    if len(given) != 1 or len(names) < len(frozen) or not all(lines):
        return None
    module, statement = ast.unparse(given[0].module), given[0].statement
    own = [name for name in names if name.startswith(f"{_dotted(module)}.")]
    if not own or len(own) == len(names) or not is_expression(module):
        return None  # with all of them, freezing may have been the mistake
    later = [line for line in lines if line is not None and line.line > statement.line]
    if later or any(line is not None and line.code != statement.code for line in lines):
        return None
    if statement.is_compound or not statement.is_first:
        return None
    does = say("lets the parameters that the optimizer was given require grad")
    used = {
        p.id for p in ast.walk(ast.parse(plain(statement.code.text))) if isinstance(p, ast.Name)
    }
    name = next((n for n in ("parameter", "weight", "one") if n not in used), None)
    if name is None:
        return None
    code = f"for {name} in {module}.parameters():\n    {name}.requires_grad_()"
    return Fix(does, code, "before", statement.at)


def _dotted(module: str) -> str:
    """``"model.2"`` of ``model[2]``, as parameters are named."""
    return module.replace("[", ".").replace("]", "")
