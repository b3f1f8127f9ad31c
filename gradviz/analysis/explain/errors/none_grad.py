"""A ``.grad`` that is None was used as if it were a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradviz.analysis.code.arguments import arguments_of, given_in
from gradviz.analysis.code.callers import depth_of
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    expression_of,
    names_bound,
    names_read,
    statements_at,
    statements_of,
)
from gradviz.analysis.explain.beside_the_way import backwards_until, beside_the_way, causes_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import keep_leaf, skip_none, stay_on_graph
from gradviz.analysis.explain.rerun_safety import can_repeat
from gradviz.model.events import LoopVariable, ZeroedGrad
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, say


@dataclass(frozen=True)
class _Line:
    """A line that reads ``.grad``, or got what another one returned."""

    statement: Statement
    step: int
    given: dict[str, str] = field(default_factory=dict)
    """Of a line in a function: what was passed for each argument."""
    caller: Statement | None = None
    """And the line that called it."""


@dataclass(frozen=True)
class _Read:
    """A ``.grad`` that is None."""

    tensor: TensorInfo
    part: ast.Attribute
    typed: str
    """How the tensor is typed in ``line``."""
    line: Statement
    """The line that reads it, or passes the tensor to a function that does."""


@dataclass(frozen=True, kw_only=True)
class NoneGrad(Finding):
    """The tensor whose ``.grad`` is None, and the leaf that had its name before."""

    context: ErrorContext
    tensor: TensorInfo
    leaf: TensorInfo | None
    made: CodeLine | None
    """Line that made the tensor."""
    read: _Read


def none_grad(context: ErrorContext) -> Iterator[NoneGrad]:
    """The first ``.grad`` in the line that is None, and why it is."""
    found = next(_read_as_none(context), None)
    if found is None:
        return
    tensor = found.tensor
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
        variables=(context.name(tensor.id), _loop_variable(found.part, context)),
        node=context.node_of(tensor),
        causes=tuple(causes),
        targets={"it": [tensor.id]},
        context=context,
        tensor=tensor,
        leaf=leaf,
        made=made,
        read=found,
    )


def _loop_variable(read: ast.Attribute, context: ErrorContext) -> str | None:
    return ast.unparse(read.value) if skip_none.is_of_loop(read, context.statement) else None


def _read_as_none(context: ErrorContext) -> Iterator[_Read]:
    """Known tensors of which a line reads ``.grad``, which is None: the line that raised, or the
    one from which a variable of it has the None."""
    for line in _lines_that_read(context):
        known = _known(line.step, context)
        for part in line.statement.parts:
            if isinstance(part, ast.Attribute) and part.attr == "grad":
                text = ast.unparse(part.value)
                given = line.given.get(text)
                info = known.get(given or text)
                if info is not None and info.grad is None:
                    where = line.statement if given is None else line.caller
                    yield _Read(info, part, given or text, where or line.statement)
        for part, group in skip_none.over_parameters(line.statement):
            for info in context.history.tensors_at(context.step):
                is_one = (info.name or "").startswith(f"{group}.") or info.name == group
                if is_one and _may_be_parameter(info, context) and info.grad is None:
                    yield _Read(info, part, ast.unparse(part.value), line.statement)
        for part, group in skip_none.over_list(line.statement):
            for name, info in known.items():
                if name.startswith(f"{group}[") and info.grad is None:
                    yield _Read(info, part, ast.unparse(part.value), line.statement)


def _may_be_parameter(info: TensorInfo, context: ErrorContext) -> bool:
    """Whether a tensor of a module requires grad, or has done so: a buffer does not."""
    was = context.history.switched_off(info.id, context.step) is not None
    return bool(info.is_leaf) and (info.requires_grad or was)


def _lines_that_read(context: ErrorContext) -> Iterator[_Line]:
    """The line that raised, then those that bound what it reads, and what they called returned."""
    statement, history = context.statement, context.history
    if statement is None:
        for one in statements_at(history, context.noticed):
            yield _Line(one, context.step)
        return
    yield _Line(statement, context.step)
    for name in dict.fromkeys(names_read(statement.node)):
        for step in range(context.step - 1, 0, -1):
            if context.recording.records[step].kind != "line":
                continue
            other = context.statement_at(history.line(step))
            if other is None or other.code != statement.code or name not in names_bound(other):
                continue
            yield _Line(other, step)
            is_called = context.recording.records[step - 1].depth > depth_of(history, step)
            last = context.statement_at(history.line(step - 1)) if is_called else None
            if last is not None and isinstance(last.node, ast.Return):
                yield _Line(last, step - 1, _given(other, last), other)
            break


def _given(caller: Statement, line: Statement) -> dict[str, str]:
    """What a line passes for each argument of the function that another line is in."""
    function = line.function
    calls = [] if function is None else calls_in(caller, function.name)
    if function is None or len(calls) != 1:
        return {}
    return {name: ast.unparse(one) for name, one in given_in(calls[0], function).items()}


def _known(at: int, context: ErrorContext) -> dict[str, TensorInfo]:
    """Tensors by the names that they have at a step; where an error left the function, by those
    that they had before."""
    history = context.history
    now = list(history.tensors_at(at))
    before = {info.id: info for info in history.tensors_at(at - 1)}
    known: dict[str, TensorInfo] = {}
    for info in now:
        row = info if info.name else before.get(info.id, info)
        for name in (*row.aliases, row.name):
            if name:
                known[expression_of(name)] = row
    for step, event in history.events(LoopVariable, at):
        found = history.tensor_at(event.value.tensor, at)
        if found is not None and step < at:
            known.setdefault(event.name, found)
            if found.name != event.name:
                known[event.name] = found
    return known


def _reason(
    tensor: TensorInfo, leaf: TensorInfo | None, made: CodeLine | None, context: ErrorContext
) -> tuple[str, list[Cause]]:
    """Which case it is, and the line that caused it."""
    name = context.term(tensor.id)
    if leaf is not None:
        what = say(
            "{} is bound to another tensor here; the leaf that was {} before is not it", name, name
        )
        case = "result" if tensor.requires_grad else "constant"
        return case, [Cause("other", what, made)]
    frozen = context.history.switched_off(tensor.id, context.step)
    if not tensor.requires_grad and frozen is not None:
        what = say("requires_grad of {} was switched off here", name)
        return "frozen", [Cause("other", what, context.history.line(frozen))]
    if not tensor.requires_grad:
        return "constant", [Cause("other", say("{} was made here", name), made)] if made else []
    cleared = _cleared(tensor, context)
    if cleared is not None:
        return "cleared", [Cause("other", say("{}.grad was set to None here", name), cleared)]
    if context.is_recorded and not backwards_until(context.step, context.history):
        return "no backward", []
    until, history = context.step, context.history
    beside = beside_the_way(tensor, until, history) if context.is_recorded else None
    if beside is not None:
        case = "not reached" if tensor.is_leaf or beside.cuts else "beside"
        return case, causes_of(tensor, beside, until, history)
    if not tensor.is_leaf:
        made_it = say("{} was made here and is not a leaf", name)
        return "result", [Cause("other", made_it, made)] if made else []
    return ("not reached" if context.is_recorded else "not known"), []


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
    statement = context.statement_at(made)
    part = found.read.part
    if found.read.line == context.statement and skip_none.is_of_loop(part, context.statement):
        if tensor.is_leaf:  # a list without the others would be another model
            yield from skip_none.where_none(part, context)
        return
    if found.leaf is not None:
        for update in keep_leaf.written_in_place(found.leaf, tensor, statement):
            yield keep_leaf.with_others(update, statement)
        yield from keep_leaf.made_leaf_again(tensor, statement)
    elif found.case == "beside":
        yield from _of_its_base(found, statement)
    elif found.case == "result" and not _may_be_beside(tensor, context):
        ran = [
            context.statement_at(context.history.line(place))
            for place, _ in context.history.started.values()
        ]
        lines = [one.at for one in ran if one is not None]
        kept = _kept(found, statement)  # behind the line with the backward it would be too late
        yield from (fix for fix in kept if fix.how == "before" or fix.at not in lines)
    elif (
        found.case == "constant"
        and tensor.dtype.startswith(("float", "bfloat", "complex"))
        and tensor.is_leaf
        and tensor.node is None
    ):
        yield from stay_on_graph.require_grad(Sentence(_typed(tensor)), made, context)


def _may_be_beside(tensor: TensorInfo, context: ErrorContext) -> bool:
    """Whether a loss may have been computed without a result, where no recording says it: it keeps
    its gradient already, or what it shows a part of has one."""
    shown = context.history.on_storage(tensor.storage, context.step)
    return not context.is_recorded and (
        tensor.retains_grad or any(info.grad is not None for info in shown)
    )


def _of_its_base(found: NoneGrad, made: Statement | None) -> Iterator[Fix]:
    """Of a view, the same view of the gradient of that which it shows and the loss used."""
    line, part, context = found.read.line, found.read.part, found.context
    value = getattr(None if made is None else made.node, "value", None)
    if (
        made is None
        or value is None
        or line != context.statement
        or made.code != line.code
        or [*map(ast.unparse, getattr(made.node, "targets", ()))] != [found.read.typed]
    ):
        return
    known = _known(context.step, context)
    for base in ast.walk(value):
        info = known.get(ast.unparse(base)) if isinstance(base, ast.expr) else None
        if info is None or info.grad is None or info.storage != found.tensor.storage:
            continue
        if can_repeat([found.tensor.node or ""], [made], context):
            does = say("reads the same part of the gradient of {}", context.term(info.id))
            new = made.segment(value, [(base, f"{ast.unparse(base)}.grad")])
            yield Fix(does, line.edited([(part, new)]), "instead", line.at)
        return


def _kept(found: NoneGrad, made: Statement | None) -> Iterator[Fix]:
    """``retain_grad`` after the line that made the result or gave it the name that is read; of an
    argument, in the first line of the function."""
    line, read = found.read.line, found.read.typed
    does = say(
        "keeps the gradient of {}, though it is no leaf", found.context.term(found.tensor.id)
    )
    name = _typed(found.tensor)
    if made is not None and not made.is_compound and not isinstance(made.node, ast.Return):
        target = made.node.targets[0] if isinstance(made.node, ast.Assign) else None
        is_path = isinstance(target, ast.Attribute) and name.endswith(f".{target.attr}")
        typed = made.segment(target) if target is not None and is_path else name
        if keep_leaf.reads_gradient_of(typed, made):
            yield from keep_leaf.updated(typed, made)
            return
        if is_path or made.code == line.code or name in names_bound(made):
            yield Fix(does, f"{typed}.retain_grad()", "after", made.at)
            return
    lines = statements_of(line.code)
    bound = [one for one in lines if one.line < line.line and read in names_bound(one)]
    bound = [one for one in bound if one.around == line.around[: len(one.around)]]
    function = line.function
    if made is None and any(read in names_bound(one) for one in lines if one not in bound):
        return  # another line may have made it
    if bound and keep_leaf.reads_gradient_of(read, bound[-1]):
        yield from keep_leaf.updated(read, bound[-1])
    elif bound and not bound[-1].is_compound:
        yield Fix(does, f"{read}.retain_grad()", "after", bound[-1].at)
    elif function is not None and not bound and read in arguments_of(function):
        first = next(one for one in lines if one.node is _first_of(function))
        yield Fix(does, f"{read}.retain_grad()", "before", first.at)


def _first_of(function: ast.FunctionDef) -> ast.stmt:
    """The first line of a function that is not its docstring."""
    has_text = ast.get_docstring(function) is not None
    return function.body[1] if has_text and function.body[1:] else function.body[0]


def _typed(tensor: TensorInfo) -> str:
    return expression_of(tensor.name or "")
