"""What a function cannot do while ``torch.vmap`` calls it for all samples at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import (
    Statement,
    TextChange,
    calls_in,
    last_name,
    names_bound,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting, with_keyword
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import Sentence, say

_FILLED: Final = ("empty", "full", "ones", "zeros")
_NUMBERS: Final = ("item", "__int__", "__float__", "__bool__", "tolist")


@dataclass(frozen=True, kw_only=True)
class UnderVmap(Finding):
    """The line, and the tensor it is about."""

    context: ErrorContext
    typed: str | None
    """How the tensor is typed."""


def value_read(context: ErrorContext) -> Iterator[UnderVmap]:
    """A Python number or a branch would be made of a tensor with a value per sample."""
    read = _read(context)
    typed = None if read is None else ast.unparse(read)
    call = _item(context)
    by = "item()" if call is not None else "the condition"
    words = typed or "a tensor"
    yield UnderVmap(
        history=context.history,
        step=context.step,
        words={"by": by, "it": words},
        variables=tuple(context.values_read(read)),
        causes=(Cause("other", say("{} would become one Python value", words), context.noticed),),
        context=context,
        typed=typed,
    )


def write(context: ErrorContext) -> Iterator[UnderVmap]:
    """A tensor without a dimension of samples would be written with values that have one."""
    tensors = given(context)
    found = tensors[0] if tensors else GivenOperand(None, None, None)
    typed = found.name or _target_of(context)
    made = _maker(typed, context)
    at = made.at if made is not None else line_of(found.key, context)
    by = "the line" if context.refused is None else context.refused.name
    by = "the assignment" if by == "__setitem__" else by
    words = found.words if found.name is not None else Sentence(typed or "a tensor")
    causes = [Cause("write", say("{} would write {}", by, words), context.noticed)]
    if at is not None:
        causes.insert(0, Cause("other", say("{} was made here, without samples", words), at))
    yield UnderVmap(
        history=context.history,
        step=context.step,
        words={"by": by, "it": words},
        variables=(typed,),
        causes=tuple(causes),
        targets={"it": [None if found.info is None else found.info.id]},
        context=context,
        typed=typed,
    )


def random(context: ErrorContext) -> Iterator[UnderVmap]:
    """Random numbers would be made."""
    by = "the line" if context.refused is None else context.refused.name
    statement = context.statement
    names = () if statement is None else names_bound(statement)
    yield UnderVmap(
        history=context.history,
        step=context.step,
        words={"by": by},
        variables=tuple(names),
        causes=(Cause("other", say("{} makes random numbers", by), context.noticed),),
        context=context,
        typed=None,
    )


# --- the text --------------------------------------------------------------------------------


def _item(context: ErrorContext) -> ast.Call | None:
    """The call in the line that makes a number of a tensor."""
    parts = () if context.statement is None else context.statement.parts
    calls = [one for one in parts if isinstance(one, ast.Call) and not one.args]
    found = [c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in _NUMBERS]
    return found[0] if len(found) == 1 else None


def _read(context: ErrorContext) -> ast.expr | None:
    """The tensor of which the line reads the value."""
    call = _item(context)
    if call is not None and isinstance(call.func, ast.Attribute):
        return call.func.value
    node = None if context.statement is None else context.statement.node
    test = node.test if isinstance(node, (ast.If, ast.While, ast.Assert)) else None
    if test is not None:
        return test
    parts = () if context.statement is None else context.statement.parts
    tests = [one.test for one in parts if isinstance(one, ast.IfExp)]
    return tests[0] if len(tests) == 1 else None


def _target_of(context: ErrorContext) -> str | None:
    """The variable that the line writes to."""
    node = None if context.statement is None else context.statement.node
    target: ast.expr | None = None
    if isinstance(node, ast.Assign):
        target = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        target = node.target
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        func = node.value.func
        target = func.value if isinstance(func, ast.Attribute) else None
    while isinstance(target, ast.Subscript):
        target = target.value
    return None if target is None else ast.unparse(target)


def _maker(name: str | None, context: ErrorContext) -> Statement | None:
    """The one line of the function that binds the name to the result of a call."""
    statement = context.statement
    if statement is None or name is None:
        return None
    bound = [
        one
        for one in statements_of(statement.code)
        if name in names_bound(one)
        and one.line < statement.line
        and one.function is statement.function
    ]
    return bound[0] if len(bound) == 1 else None


# --- fixes -----------------------------------------------------------------------------------


def as_tensor(found: UnderVmap) -> Iterator[Fix]:
    """Arithmetic with the tensor in place of its value."""
    call, statement = _item(found.context), found.context.statement
    if call is None or statement is None or not isinstance(call.func, ast.Attribute):
        return
    sums = [one for one in statement.parts if isinstance(one, ast.BinOp)]
    if call.func.attr == "item" and any(call in (one.left, one.right) for one in sums):
        does = say("{} stays a tensor, with a value per sample", found.typed or "it")
        change: TextChange = (call, statement.segment(call.func.value))
        yield Rewriting(statement, (change,)).fix(does)


def with_samples(found: UnderVmap) -> Iterator[Fix]:
    """A tensor made of an argument, which has the dimension of samples."""
    made = _maker(found.typed, found.context)
    node = None if made is None else made.node
    call = node.value if isinstance(node, ast.Assign) else None
    function = None if made is None else made.function
    if made is None or function is None or not isinstance(call, ast.Call):
        return
    if last_name(call.func) not in _FILLED or not ast.unparse(call.func).startswith("torch."):
        return
    source = _source(found.context, function)
    if source is None or any(one.arg in ("out", "requires_grad") for one in call.keywords):
        return
    does = say("makes {} of {}, so that it has values per sample", found.typed or "it", source)
    change: TextChange = (call.func, f"{source}.new_{last_name(call.func)}")
    yield Rewriting(made, (change,)).fix(does)


def _source(context: ErrorContext, function: ast.FunctionDef) -> str | None:
    """The argument of the function of which the written values are computed, if it is one."""
    arguments = [one.arg for one in function.args.args]
    found = [name for name in context.names_read if name in arguments]
    return found[0] if len(found) == 1 else None


def different(found: UnderVmap) -> Iterator[Fix]:
    """``randomness="different"``, as a loop over the samples does."""
    statements = [
        one
        for code in found.context.recording.codes
        for one in statements_of(code)
        if calls_in(one, "vmap")
    ]
    if len(statements) == 1 and len(calls := calls_in(statements[0], "vmap")) == 1:
        does = say("makes new random numbers for each sample, as a loop would")
        new = with_keyword(statements[0], calls[0], "randomness", '"different"')
        if new is not None:
            yield new.fix(does)
