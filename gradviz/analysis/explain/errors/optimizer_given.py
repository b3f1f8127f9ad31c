"""What an optimizer was given, if that are no parameters, or some of them twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.arguments import given_for
from gradviz.analysis.code.bindings import bound_before
from gradviz.analysis.code.statements import Statement, is_expression, last_name, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import named
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import optimizer_parameters
from gradviz.analysis.explain.torch_messages import is_about_iteration, type_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import say

_ITERATORS: Final = frozenset(
    {"children", "filter", "map", "modules", "named_parameters", "parameters", "zip", "chain"}
)
"""Functions and methods that give an iterator, which gives its items once."""
_OPTIMIZERS: Final = frozenset(
    {
        "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon",
        "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam", "add_param_group",
    }
)  # fmt: skip
"""What makes an optimizer, or adds to one, for sure: Python says of anything that it is not
iterable."""


@dataclass(frozen=True, kw_only=True)
class OptimizerRefused(Finding):
    """The call that makes an optimizer, and what it was given."""

    context: ErrorContext
    statement: Statement | None
    given: ast.expr | None
    """The parameters, as the line types them."""
    bound: Statement | None = None
    """The line that bound the iterator which is used up."""
    type: str = ""
    """Class of what is no tensor."""


def without_parameters(context: ErrorContext) -> Iterator[OptimizerRefused]:
    """The list of parameters is empty."""
    statement, call = context.statement, _call(context)
    value = _given(call)
    text = "" if statement is None or value is None else statement.segment(value)
    bound = None if statement is None or value is None else _iterator(value, statement, context)
    user = None if bound is None or statement is None else _reader(text, bound, statement)
    frozen = [] if value is None else _frozen(value, context)
    case, causes = "", []
    if bound is not None and user is not None:
        case = "used up"
        causes.append(Cause("other", say("{} went through {}", _line(user), text), user.at))
        causes.append(Cause("other", say("{} is an iterator", text), bound.at))
    elif frozen:
        case = "frozen"
        causes.append(Cause("other", say("{} gives no parameter", text), context.noticed))
    else:
        causes.append(Cause("other", say("no parameters are given here"), context.noticed))
    yield OptimizerRefused(
        history=context.history,
        step=context.step,
        case=case,
        words={"optimizer": _name(call), "given": text},
        variables=tuple(one.name for one in frozen[:3]),
        causes=tuple(causes),
        targets={"it": [one.id for one in frozen]},
        context=context,
        statement=statement,
        given=value,
        bound=bound if case == "used up" else None,
    )


def no_tensors(context: ErrorContext) -> Iterator[OptimizerRefused]:
    """The optimizer got a tensor, module, dict or list of such in place of a list of tensors."""
    statement, call = context.statement, _call(context)
    value = _given(call)
    kind = type_in(context.raised.message) or ""
    is_known = call is not None and last_name(call.func) in _OPTIMIZERS
    if is_about_iteration(context.raised.message) and not any(
        is_known and kind[:1].isupper() and not _is_call(one) and parameters_under(one, context)
        for one in optimizer_parameters.given_in(value)
    ):
        return  # another call in the line
    text = "" if statement is None or value is None else statement.segment(value)
    found = named(text, context) if is_expression(text) else None
    is_tensor = found is not None and found.info is not None
    is_module = value is not None and bool(parameters_under(value, context))
    case = "tensor" if is_tensor else "module" if is_module and not _is_call(value) else ""
    yield OptimizerRefused(
        history=context.history,
        step=context.step,
        case="dict" if kind == "str" else case,
        words={"optimizer": _name(call), "given": text or "its parameters", "type": kind},
        variables=(text if is_tensor else None,),
        causes=(Cause("other", say("{} is given here", text or "it"), context.noticed),),
        targets={"it": [found.info.id] if found is not None and found.info is not None else []},
        context=context,
        statement=statement,
        given=value,
        type=kind,
    )


def given_twice(context: ErrorContext) -> Iterator[OptimizerRefused]:
    """A parameter is in two groups."""
    statement, call = context.statement, _call(context)
    value = _given(call)
    pair = optimizer_parameters.overlapping(value)
    shared = [] if pair is None else parameters_under(pair[1], context)
    yield OptimizerRefused(
        history=context.history,
        step=context.step,
        words={"optimizer": _name(call)},
        variables=tuple(one.name for one in shared[:3]),
        causes=(Cause("other", say("the groups are given here"), context.noticed),),
        targets={"it": [one.id for one in shared]},
        context=context,
        statement=statement,
        given=value,
    )


# --- what the line gives ---------------------------------------------------------------------


def _call(context: ErrorContext) -> ast.Call | None:
    """The call that makes an optimizer, or adds a group to one."""
    parts = () if context.statement is None else context.statement.parts
    calls = [one for one in parts if isinstance(one, ast.Call) and (one.args or one.keywords)]
    made = [one for one in calls if _makes(last_name(one.func))]
    return next(iter((*made, *(calls if len(calls) == 1 else ()))), None)


def _makes(name: str) -> bool:
    return name[:1].isupper() or name in ("__init__", "add_param_group")


def _name(call: ast.Call | None) -> str:
    name = "" if call is None else last_name(call.func)
    return name if name[:1].isupper() else "the optimizer"


def _given(call: ast.Call | None) -> ast.expr | None:
    if call is None:
        return None
    keyword = (k.value for k in call.keywords if k.arg == "params")
    first = (one for one in call.args[:1] if not isinstance(one, ast.Starred))
    return next(iter((*first, *keyword)), None)


def _is_call(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Call)


def _line(statement: Statement) -> str:
    return f"line {statement.line}"


def _iterator(value: ast.expr, statement: Statement, context: ErrorContext) -> Statement | None:
    """The line that bound what a line gives to an iterator."""
    if not isinstance(value, (ast.Name, ast.Attribute)):
        return None
    bound = bound_before(ast.unparse(value), statement)
    node = None if bound is None else bound.node
    made = node.value if isinstance(node, ast.Assign) else None
    is_one = isinstance(made, ast.GeneratorExp)
    is_one |= isinstance(made, ast.Call) and last_name(made.func) in _ITERATORS
    return bound if is_one and made is not None and _has_tensors(made, context) else None


def _has_tensors(value: ast.expr, context: ErrorContext) -> bool:
    """Whether an expression is about tensors, or modules that have parameters."""
    parts = [part for part in ast.walk(value) if isinstance(part, ast.expr)]
    return any(
        parameters_under(part, context) or context.tensor_named(ast.unparse(part)) is not None
        for part in parts
    )


def _reader(text: str, bound: Statement, statement: Statement) -> Statement | None:
    """The first line after it that reads the iterator."""
    for one in statements_of(statement.code):
        if bound.line < one.line < statement.line and any(
            isinstance(part, (ast.Name, ast.Attribute))
            and isinstance(part.ctx, ast.Load)
            and ast.unparse(part) == text
            for part in one.parts
        ):
            return one
    return None


def _frozen(value: ast.expr, context: ErrorContext) -> list[TensorInfo]:
    """The parameters of a module, if none of them requires grad and the line asks for those that
    do."""
    asks = [one for one in ast.walk(value) if isinstance(one, ast.Attribute)]
    owners = [one.value for one in asks if one.attr in ("parameters", "named_parameters")]
    if len(owners) != 1 or not any(one.attr == "requires_grad" for one in asks):
        return []
    found = parameters_under(owners[0], context)
    return [] if any(one.requires_grad for one in found) else found


def parameters_under(value: ast.expr, context: ErrorContext) -> list[TensorInfo]:
    """The known leaves that belong to a module, as a line types it or its ``parameters()``."""
    if isinstance(value, ast.Call) and last_name(value.func) in ("parameters", "named_parameters"):
        value = value.func.value if isinstance(value.func, ast.Attribute) else value
    found = _under(value, context)
    return found or next(filter(None, (_under(v, context) for v in _sources(value, context))), [])


def _sources(value: ast.expr, context: ErrorContext) -> Iterator[ast.expr]:
    """What a variable or attribute was bound to, or the argument for it."""
    statement = context.statement
    for _ in range(3):
        if statement is None or not isinstance(value, (ast.Name, ast.Attribute)):
            return
        bound = bound_before(ast.unparse(value), statement)
        node = None if bound is None else bound.node
        given = given_for(ast.unparse(value), statement, context.recording)
        source = node.value if isinstance(node, ast.Assign) else given
        if source is None or ast.dump(source) == ast.dump(value):
            return
        value = source
        yield value


def _under(value: ast.expr, context: ErrorContext) -> list[TensorInfo]:
    path = ast.unparse(value).replace("[", ".").replace("]", "")
    if not all(part.isidentifier() or part.isdigit() for part in path.split(".")):
        return []
    own = path.removeprefix("self.")
    found = []
    for info in context.history.tensors(context.step):
        name = (info.name or "").replace("[", ".").replace("]", "")
        is_under = name.startswith(f"{path}.") or (own != path and f".{own}." in f".{name}")
        if is_under and info.is_leaf and context.history.is_alive(info.id, context.step):
            found.append(info)
    return found


# --- fixes -----------------------------------------------------------------------------------


def with_parameters(found: OptimizerRefused) -> Iterator[Fix]:
    """A list in place of an iterator that is used up, if the module has parameters."""
    if found.bound is not None:
        yield from optimizer_parameters.listed(found.bound)


def tensors_of_it(found: OptimizerRefused) -> Iterator[Fix]:
    """The parameters of what was given."""
    if found.given is None or found.statement is None:
        return
    context = found.context
    leaves = {
        ast.unparse(part)
        for part in ast.walk(found.given)
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript))
        and parameters_under(part, context)
    }
    yield from optimizer_parameters.instead_of(
        found.given, found.statement, leaves, found.case, context
    )


def each_once(found: OptimizerRefused) -> Iterator[Fix]:
    """The larger group without the parameters of the other."""
    if found.statement is not None:
        yield from optimizer_parameters.without_shared(found.given, found.statement)
