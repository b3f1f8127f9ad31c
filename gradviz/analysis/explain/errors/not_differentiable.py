"""Calls that autograd cannot record, and requests for a gradient that does not exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.code.rebind_safety import has_other_name
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    is_read_later,
    last_name,
    names_bound,
    statements_of,
)
from gradviz.analysis.dataflow import Dataflow, Origins
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.inplace_refused import written_by_call
from gradviz.analysis.explain.errors.no_graph import words_of
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import with_keyword
from gradviz.analysis.explain.fixes.stay_on_graph import fixes_of
from gradviz.analysis.explain.torch_messages import operator_in
from gradviz.model.cut_reasons import REASONS
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause, Fix
from gradviz.model.operations import operation_of
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
    called = context.noticed
    named = "the operation" if node is None else operation_of(node)
    operator = operator_in(context.raised.message) or named
    if node is not None:  # torch raises in backward
        called = context.history.made_at(node)
        found = _input_of(node, context) or found
    elif context.refused is not None and context.refused.name in ("backward", "grad"):
        called, found = None, _NOTHING
    made = line_of(found.key, context)
    causes = [Cause("other", say("{} is called here", operator), called)] if called else []
    if made is not None:
        causes.append(Cause("other", say("{} was made here", found.words), made))
    yield Refusal(
        history=context.history,
        step=context.step,
        words={"operator": operator, "it": found.words},
        variables=(found.name,),
        node=node or context.node_of(found.info),
        causes=tuple(causes),
        targets=found.targets,
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


def not_defined(context: ErrorContext) -> Iterator[Refusal]:
    """The gradient of a decomposition depends on a choice that is free."""
    yield from not_implemented(context)


def reduced(found: Refusal) -> Iterator[Fix]:
    """``mode="reduced"`` of a QR decomposition of which only R is used."""
    cause = next(iter(found.causes), None)
    statement = None if cause is None else found.context.statement_at(cause.at)
    if statement is None:
        return
    for call in calls_in(statement, "qr"):
        for one in call.keywords:
            is_r = isinstance(one.value, ast.Constant) and one.value.value == "r"
            changed = with_keyword(statement, call, "mode", '"reduced"') if is_r else None
            if one.arg == "mode" and changed is not None:
                yield changed.fix(say("computes Q too, which the gradient of R needs"))


def per_number(context: ErrorContext) -> Iterator[Refusal]:
    """A Python function would be called with each number."""
    found, refused = written_by_call(context), context.refused
    call = _per_number(context)
    by = last_name(call.func) if call is not None else "the call"
    by = by if refused is None else refused.name
    what = say("{} would write {}", by, found.words)
    yield Refusal(
        history=context.history,
        step=context.step,
        words={"by": by, "it": found.words},
        variables=(found.name,),
        node=context.node_of(found.info),
        causes=(Cause("write", what, context.noticed),),
        targets=found.targets,
        context=context,
        operand=found,
    )


def _per_number(context: ErrorContext) -> ast.Call | None:
    calls = (
        [] if context.statement is None else calls_in(context.statement, "apply_", "map_", "map2_")
    )
    return calls[0] if len(calls) == 1 else None


def as_operations(found: Refusal) -> Iterator[Fix]:
    """The arithmetic of a lambda, with the whole tensor in place of its numbers."""
    statement, call = found.context.statement, _per_number(found.context)
    info = found.operand.info
    if info is None or info.is_leaf or info.aliases:
        return  # other lines would not see the new tensor
    if statement is None or call is None or not isinstance(statement.node, ast.Expr):
        return
    function = call.args[-1] if call.args else None
    is_it = statement.node.value is call and isinstance(call.func, ast.Attribute)
    if not is_it or not isinstance(function, ast.Lambda) or not _is_arithmetic(function.body):
        return
    owner = call.func.value  # type: ignore[attr-defined]
    names = [one.arg for one in function.args.args]
    values = [owner, *call.args[:-1]]
    if not isinstance(owner, ast.Name) or len(names) != len(values):
        return
    given = dict(zip(names, map(statement.segment, values), strict=True))
    simple = all(isinstance(one, (ast.Name, ast.Attribute)) for one in values)
    given = given if simple else {name: f"({text})" for name, text in given.items()}
    parts = [part for part in ast.walk(function.body) if isinstance(part, ast.Name)]
    if {part.id for part in parts} <= set(given):
        body = statement.segment(function.body, [(part, given[part.id]) for part in parts])
        does = say("computes the same with operations that are recorded")
        yield Fix(does, f"{owner.id} = {body}", "instead", statement.at)


def _is_arithmetic(body: ast.expr) -> bool:
    """Whether an expression means the same for a tensor as for each of its numbers."""
    allowed = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.Name, ast.operator, ast.unaryop, ast.Load)
    whole = isinstance(body, (ast.BinOp, ast.UnaryOp))
    return whole and all(isinstance(part, allowed) for part in ast.walk(body))


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
        targets=found.targets,
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
        targets=found.targets,
        context=context,
        operand=found,
    )


def without_out(found: Refusal) -> Iterator[Fix]:
    """The result bound to the name, if the tensor it would be written to has no other; a part of a
    tensor is assigned."""
    statement, call = found.context.statement, _call(found.context)
    name = _out_of(found.context)
    if statement is None or call is None or name is None or statement.is_compound:
        return
    kept = [statement.segment(one) for one in call.args]
    kept += [statement.segment(one) for one in call.keywords if one.arg != "out"]
    new = f"{statement.segment(call.func)}({', '.join(kept)})"
    is_whole = isinstance(statement.node, ast.Expr) and statement.node.value is call
    if not is_whole:
        if name.isidentifier() and not is_read_later(name, statement):
            does = say("gives the result, which is recorded")
            yield Fix(does, statement.edited([(call, new)]), "instead", statement.at)
    elif _is_part(name):
        if not _is_leaf(name, found.context):
            does = say("assigns the result, which is recorded")
            yield Fix(does, f"{name} = {new}", "instead", statement.at)
    elif name.isidentifier() and _may_bind(statement, name, found.context):
        does = say("binds {} to the result, which is recorded", name)
        yield Fix(does, f"{name} = {new}", "instead", statement.at)


def _is_part(name: str) -> bool:
    """``rows[0]``, ``self.scratch``."""
    tree = ast.parse(name, mode="eval").body
    return isinstance(tree, (ast.Subscript, ast.Attribute))


def _is_leaf(name: str, context: ErrorContext) -> bool:
    """Whether an assignment would write a leaf that requires grad, or replace a parameter."""
    tree: ast.expr = ast.parse(name, mode="eval").body
    while isinstance(tree, ast.Subscript):
        tree = tree.value
    info = context.tensor_named(ast.unparse(tree))
    return info is not None and info.requires_grad and info.is_leaf is not False


def _may_bind(statement: Statement, name: str, context: ErrorContext) -> bool:
    info = context.tensor_named(name)
    if has_other_name(statement, name) or (info is not None and info.aliases):
        return False
    is_outside = statement.function is None
    return _is_local(statement, name) or (is_outside and is_read_later(name, statement))


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
