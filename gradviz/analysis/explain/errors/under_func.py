"""What a function cannot do, or return, that ``torch.func`` or ``torch.autograd.functional``
differentiates."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import (
    Span,
    Statement,
    behind,
    end_of,
    is_named,
    last_name,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, given
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.analysis.explain.torch_messages import method_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import say

TRANSFORMS: Final = frozenset(
    {
        "grad", "grad_and_value", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp",
        "linearize", "vhp", "vjp", "vmap",
    }
)  # fmt: skip
"""Functions that call a function in order to differentiate it."""
_NUMBERS: Final = ("item", "tolist", "numpy")


@dataclass(frozen=True, kw_only=True)
class UnderFunc(Finding):
    """The line that raised, or the line of the function that returns."""

    context: ErrorContext
    returns: Statement | None = None
    """The one line of the function that returns; the line that raised if it is a lambda."""
    value: ast.expr | None = None
    """What is returned there."""
    method: str = ""


def not_possible(context: ErrorContext) -> Iterator[UnderFunc]:
    """A flag was set, or backward called, inside of a function that is differentiated."""
    method = method_in(context.raised.message) or "backward"
    found = next(iter(given(context)), GivenOperand(None, None, None))
    name = found.name or _owner(method, context)
    words = found.words if found.name is not None else name or "a tensor"
    what = say("{}() is called here", method)
    yield UnderFunc(
        history=context.history,
        step=context.step,
        words={"by": f"{method}()", "it": words},
        variables=(name,),
        causes=(Cause("other", what, context.noticed),),
        targets={"it": [None if found.info is None else found.info.id]},
        context=context,
        method=method,
    )


def not_a_scalar(context: ErrorContext) -> Iterator[UnderFunc]:
    """The function returns more than one number."""
    yield _returned(context, "more than one element")


def no_tensor(context: ErrorContext) -> Iterator[UnderFunc]:
    """The function returns a value that is no tensor."""
    yield _returned(context, "no tensor")


def _returned(context: ErrorContext, what: str) -> UnderFunc:
    function, lambdas = _function(context), _lambdas(context)
    returns = None if function is None else _only_return(function)
    value = getattr(None if returns is None else returns.node, "value", None)
    if function is None and len(lambdas) == 1:
        returns, value = context.statement, lambdas[0].body
    name = "the function" if function is None else function.name
    at = context.noticed if returns is None else returns.at
    words = say("{} returns {}", name, what)
    return UnderFunc(
        history=context.history,
        step=context.step,
        words={"it": f"what {name} returns", "function": name, "what": f"has {what}"},
        causes=(Cause("other", words, at),),
        context=context,
        returns=returns,
        value=value,
    )


# --- where ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Function:
    name: str
    lines: tuple[Statement, ...]


def _function(context: ErrorContext) -> _Function | None:
    """The function that the line hands to a transform, if the text beside it defines it."""
    statement = context.statement
    parts = () if statement is None else statement.parts
    names = [
        call.args[0].id
        for call in parts
        if isinstance(call, ast.Call)
        and last_name(call.func) in TRANSFORMS
        and call.args
        and isinstance(call.args[0], ast.Name)
    ]
    for code in context.recording.codes:
        every = statements_of(code)
        for one in every:
            node = one.node
            if isinstance(node, ast.FunctionDef) and names == [node.name]:
                lines = tuple(s for s in every if any(outer is node for outer in s.around))
                return _Function(node.name, lines)
    return None


def _lambdas(context: ErrorContext) -> list[ast.Lambda]:
    """The lambdas that the line hands to a transform."""
    parts = () if context.statement is None else context.statement.parts
    calls = [one for one in parts if isinstance(one, ast.Call)]
    given = [one.args[0] for one in calls if last_name(one.func) in TRANSFORMS and one.args]
    return [one for one in given if isinstance(one, ast.Lambda)]


def _only_return(function: _Function) -> Statement | None:
    found = [s for s in function.lines if isinstance(s.node, ast.Return)]
    return found[0] if len(found) == 1 else None


def _call(method: str, context: ErrorContext) -> ast.Call | None:
    parts = () if context.statement is None else context.statement.parts
    calls = [
        one
        for one in parts
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr == method
    ]
    return calls[0] if len(calls) == 1 else None


def _owner(method: str, context: ErrorContext) -> str | None:
    call = _call(method, context)
    owner = None if call is None else call.func.value  # type: ignore[attr-defined]
    return ast.unparse(owner) if isinstance(owner, (ast.Name, ast.Attribute)) else None


# --- fixes ------------------------------------------------------------------------------------


def without_call(found: UnderFunc) -> Iterator[Fix]:
    """The function without the call: its arguments are differentiated anyway."""
    statement, call = found.context.statement, _call(found.method, found.context)
    if found.method != "requires_grad_" or statement is None or call is None:
        return
    does = say("the transform itself differentiates with respect to the arguments")
    assert isinstance(call.func, ast.Attribute)
    is_whole = isinstance(statement.node, ast.Expr) and statement.node.value is call
    if is_whole and statement.is_alone and not _is_alone_in_block(statement):
        yield Fix(does, "", "instead", statement.at)
    elif not is_whole and not statement.is_compound:
        owner = call.func.value
        while _is_detached(owner):
            owner = owner.func.value  # type: ignore[attr-defined]
        end = behind(owner, call, statement)
        node = statement.node
        is_same = (
            isinstance(node, ast.Assign)
            and node.value is call
            and is_named(owner, ast.unparse(node.targets[0]))
        )
        if is_same and statement.is_alone and not _is_alone_in_block(statement):
            yield Fix(does, "", "instead", statement.at)
        elif not is_same:
            yield Rewriting(statement, ((Span(end, end_of(call)), ""),)).fix(does)


def _is_detached(value: ast.expr) -> bool:
    """Whether a call makes a leaf of an argument, which would cut the derivative off."""
    return isinstance(value, ast.Call) and last_name(value.func) == "detach"


def _is_alone_in_block(statement: Statement) -> bool:
    outer = statement.around[-1] if statement.around else None
    return outer is not None and getattr(outer, "body", None) == [statement.node]


def summed(found: UnderFunc) -> Iterator[Fix]:
    """The sum of what the function returns."""
    one, value = found.returns, found.value
    if one is not None and value is not None and not isinstance(value, ast.Tuple):
        does = say("computes the gradient of the sum of all elements")
        yield Rewriting(one, tuple(called(value, "sum()"))).fix(does)


def as_tensor(found: UnderFunc) -> Iterator[Fix]:
    """The tensor in place of the number that is made of it."""
    one, value = found.returns, found.value
    if one is None or not isinstance(value, ast.Call):
        return
    does = say("returns the tensor, which has the graph")
    name = last_name(value.func)
    if isinstance(value.func, ast.Attribute) and name in _NUMBERS and not value.args:
        end = behind(value.func.value, value, one)
        yield Rewriting(one, ((Span(end, end_of(value)), ""),)).fix(does)
    elif isinstance(value.func, ast.Name) and name == "float" and len(value.args) == 1:
        yield Rewriting(one, ((value, one.segment(value.args[0])),)).fix(does)
