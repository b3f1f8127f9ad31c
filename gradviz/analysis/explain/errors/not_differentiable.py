"""Calls that autograd cannot record, and requests for a gradient that does not exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.code.rebind_safety import has_other_name
from gradviz.analysis.code.statements import Statement, is_read_later, names_bound, statements_of
from gradviz.analysis.dataflow import Dataflow, Origins
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.no_graph import words_of
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.stay_on_graph import fixes_of
from gradviz.analysis.explain.torch_messages import operator_in
from gradviz.model.cut_reasons import REASONS
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause, Fix
from gradviz.model.records import Node
from gradviz.model.sentence import say

_NOTHING = GivenOperand(None, None, None)


@dataclass(frozen=True, kw_only=True)
class Refusal(Finding):
    """A tensor for which a call raised, and the cuts behind it."""

    context: ErrorContext
    operand: GivenOperand
    way: Origins | None = None


def _requiring(context: ErrorContext) -> GivenOperand:
    """The first argument that requires grad."""
    tensors = given(context)
    wants = [one for one in tensors if one.info is not None and one.info.requires_grad]
    return next(iter((*wants, *tensors)), _NOTHING)


def not_implemented(context: ErrorContext) -> Iterator[Refusal]:
    """An operation that has no derivative was called on a tensor that requires grad."""
    found, node = _requiring(context), context.node
    operator = operator_in(context.raised.message) or "the operation"
    called = context.noticed
    if node is not None:  # torch raises in backward
        called = context.history.made_at(node)
        found = _input_of(node, context) or found
    made = line_of(found.key, context)
    causes = [Cause("other", say("{} is called here", operator), called)]
    if made is not None:
        causes.append(Cause("other", say("{} was made here", found.words), made))
    yield Refusal(
        history=context.history,
        step=context.step,
        words={"operator": operator, "it": found.words},
        variables=(found.name,),
        node=node or context.node_of(found.info),
        causes=tuple(causes),
        targets=_target(found),
        context=context,
        operand=found,
    )


def _input_of(node: Node, context: ErrorContext) -> GivenOperand | None:
    """The first input of the operation that made a node."""
    history, made = context.history, context.history.birth(node.id)
    for step, call in history.events(Operation, made[0], made[0]):
        if call.node == node.id:
            for key in call.required:
                info = history.tensor(key, step) if key.startswith("t") else None
                if info is not None:
                    return GivenOperand(key, context.name(key), info, info.shape, info.dtype)
    return None


def without_gradient(context: ErrorContext) -> Iterator[Refusal]:
    """``retain_grad`` or a hook on a tensor that does not require grad."""
    found = next(iter(given(context)), _NOTHING)
    way = Origins(is_lost=True)
    if context.is_recorded and found.key is not None:
        flow = Dataflow(context.history, PythonValues(context.history), context.step)
        way = flow.back([found.key], requires=False)
    causes = [Cause("cut", words_of(cut, context), cut.at) for cut in way.cuts[:3]]
    made = line_of(found.key, context)
    if not causes and made is not None:
        what = say("{} was made here and does not require grad", found.words)
        causes.append(Cause("other", what, made))
    why = "backward computes gradients only of tensors that require grad"
    yield Refusal(
        history=context.history,
        step=context.step,
        words={"it": found.words, "why": REASONS[way.cuts[0].reason].why if way.cuts else why},
        variables=(found.name, *(context.name(k) for cut in way.cuts for k in cut.tensors)),
        causes=tuple(causes),
        targets=_target(found),
        context=context,
        operand=found,
        way=way,
    )


def on_the_graph(found: Refusal) -> Iterator[Fix]:
    """The graph without the cut."""
    yield from fixes_of(() if found.way is None else found.way.cuts, found.context)


def written_out(context: ErrorContext) -> Iterator[Refusal]:
    """``out=`` of an operation that would have to be recorded."""
    found, refused = _requiring(context), context.refused
    by = "the call" if refused is None else refused.name
    what = say("{} has out=, and {} requires grad", by, found.words)
    yield Refusal(
        history=context.history,
        step=context.step,
        words={"by": by, "it": found.words},
        variables=(_out_of(context), found.name),
        node=context.node_of(found.info),
        causes=(Cause("write", what, context.noticed),),
        targets=_target(found),
        context=context,
        operand=found,
    )


def without_out(found: Refusal) -> Iterator[Fix]:
    """The result bound to the name, if the tensor it would be written to has no other."""
    statement, call = found.context.statement, _call(found.context)
    name = _out_of(found.context)
    if statement is None or call is None or name is None or not name.isidentifier():
        return
    if not isinstance(statement.node, ast.Expr) or statement.node.value is not call:
        return
    if has_other_name(statement, name) or not _is_local(statement, name):
        return
    kept = [statement.segment(one) for one in call.args]
    kept += [statement.segment(one) for one in call.keywords if one.arg != "out"]
    does = say("binds {} to the result, which is recorded", name)
    code = f"{name} = {statement.segment(call.func)}({', '.join(kept)})"
    yield Fix(does, code, "instead", statement.at)


def _is_local(statement: Statement, name: str) -> bool:
    """Whether the function around a line, or the cell, has bound a name before it."""
    lines = statements_of(statement.code)
    return any(
        one.line < statement.line
        and name in names_bound(one)
        and one.around == statement.around[: len(one.around)]
        for one in lines
    ) and is_read_later(name, statement)


def _call(context: ErrorContext) -> ast.Call | None:
    parts = () if context.statement is None else context.statement.parts
    calls = [one for one in parts if isinstance(one, ast.Call)]
    calls = [one for one in calls if any(keyword.arg == "out" for keyword in one.keywords)]
    return calls[0] if len(calls) == 1 else None


def _out_of(context: ErrorContext) -> str | None:
    call = _call(context)
    values = [] if call is None else [one.value for one in call.keywords if one.arg == "out"]
    return ast.unparse(values[0]) if values else None


def _target(found: GivenOperand) -> dict[str, list[str | None]]:
    return {"it": [None if found.info is None else found.info.id]}
