"""A ``.grad`` that is None was used as if it were a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import expression_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import keep_leaf, skip_none, stay_on_graph
from gradviz.model.events import BackwardEnded, LoopVariable, ZeroedGrad
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, say


@dataclass(frozen=True, kw_only=True)
class NoneGrad(Finding):
    """The tensor whose ``.grad`` is None, and the leaf that had its name before."""

    context: ErrorContext
    tensor: TensorInfo
    leaf: TensorInfo | None
    made: CodeLine | None
    """Line that made the tensor."""
    read: ast.Attribute
    """The ``.grad`` in the line."""


def none_grad(context: ErrorContext) -> Iterator[NoneGrad]:
    """The first ``.grad`` in the line that is None, and why it is."""
    tensor, read = next(_read_as_none(context), (None, None))
    if tensor is None or read is None:
        return
    history = context.history
    born = history.born(tensor.id)
    made = history.line(born) if born else None
    leaf = history.leaf_before(tensor.id, context.step)
    case, causes = _reason(tensor, leaf, made, context)
    yield NoneGrad(
        history=history,
        step=context.step,
        case=case,
        words={"it": context.term(tensor.id)},
        variables=(context.name(tensor.id), _loop_variable(read, context)),
        node=context.node_of(tensor),
        causes=tuple(causes),
        targets={"it": [tensor.id]},
        context=context,
        tensor=tensor,
        leaf=leaf,
        made=made,
        read=read,
    )


def _loop_variable(read: ast.Attribute, context: ErrorContext) -> str | None:
    return ast.unparse(read.value) if skip_none.is_of_loop(read, context.statement) else None


def _read_as_none(context: ErrorContext) -> Iterator[tuple[TensorInfo, ast.Attribute]]:
    """Known tensors of which the line reads ``.grad``, which is None."""
    history, at = context.history, context.step
    known = {expression_of(t.name): t for t in history.tensors_at(at) if t.name}
    for step, event in history.events(LoopVariable, at):
        info = history.tensor_at(event.value.tensor, at)
        if info is not None and step < at:
            known.setdefault(event.name, info)
            if info.name != event.name:
                known[event.name] = info
    for part in () if context.statement is None else context.statement.parts:
        if isinstance(part, ast.Attribute) and part.attr == "grad":
            info = known.get(ast.unparse(part.value))
            if info is not None and info.grad is None:
                yield info, part
    for part, group in skip_none.over_parameters(context.statement):
        for info in history.tensors_at(at):
            is_one = (info.name or "").startswith(f"{group}.") or info.name == group
            if is_one and info.is_leaf and info.requires_grad and info.grad is None:
                yield info, part


def _reason(
    tensor: TensorInfo, leaf: TensorInfo | None, made: CodeLine | None, context: ErrorContext
) -> tuple[str, list[Cause]]:
    """Which case it is, and the line that caused it."""
    name = context.term(tensor.id)
    if leaf is not None:
        what = say("bound {} to another tensor; the leaf that was {} before is not it", name, name)
        case = "result" if tensor.requires_grad else "constant"
        return case, [Cause("other", what, made)]
    if not tensor.requires_grad:
        return "constant", [Cause("other", say("made {}", name), made)] if made else []
    if not tensor.is_leaf:
        made_it = say("made {}, which is no leaf", name)
        return "result", [Cause("other", made_it, made)] if made else []
    if not context.is_recorded:
        return "not known", []
    cleared = _cleared(tensor, context)
    if cleared is not None:
        return "cleared", [Cause("other", say("set {}.grad to None", name), cleared)]
    ran = any(not event.raised for _, event in context.history.events(BackwardEnded, context.step))
    return ("not reached" if ran else "no backward"), []


def _cleared(tensor: TensorInfo, context: ErrorContext) -> CodeLine | None:
    """The line that set a gradient to None, if there was one."""
    history = context.history
    for step, event in reversed([*history.events(ZeroedGrad, context.step)]):
        if tensor.id in event.tensors:
            return history.line(step)
    rows = history.tensor_rows(tensor.id, context.step)
    if any(row.grad is not None for row in rows):
        for step in range(context.step, 0, -1):
            was = history.tensor_at(tensor.id, step - 1)
            if was is not None and was.grad is not None:
                return history.line(step)
    return None


def fixes(found: NoneGrad) -> Iterator[Fix]:
    """Write the leaf in place, keep the gradient of the result, or let the tensor require grad."""
    context, tensor, made = found.context, found.tensor, found.made
    name = context.term(tensor.id)
    statement = context.statement_at(made)
    if skip_none.is_of_loop(found.read, context.statement):
        yield from skip_none.where_none(found.read, context)
        return
    if found.leaf is not None:
        yield from keep_leaf.written_in_place(found.leaf, tensor, statement)
    elif found.case == "result" and statement is not None and not statement.is_compound:
        does = say("keeps the gradient of {}, though it is no leaf", name)
        yield Fix(does, f"{_typed(tensor)}.retain_grad()", "after", statement.at)
    elif found.case == "constant" and tensor.dtype.startswith(("float", "bfloat", "complex")):
        fix = stay_on_graph.require_grad(Sentence(_typed(tensor)), made, context)
        if fix is not None and tensor.is_leaf and tensor.node is None:
            yield fix


def _typed(tensor: TensorInfo) -> str:
    return expression_of(tensor.name or "")
