"""A tensor where a module keeps a parameter, and data that a tensor cannot get."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import Statement, calls_in, is_expression, last_name
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, given, named
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.grad_modes import without_record
from gradviz.analysis.explain.fixes.rewriting import called
from gradviz.analysis.explain.torch_messages import data_type_in, is_about_a_dtype, parameter_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import say


@dataclass(frozen=True, kw_only=True)
class Assigned(Finding):
    """A value that would be stored as a parameter, or as the data of a tensor."""

    context: ErrorContext
    statement: Statement | None
    value: ast.expr | None
    """The value, as the line types it."""
    target: ast.expr | None
    """The attribute that the line assigns; ``None`` if it registers a parameter."""
    old: TensorInfo | None = None
    """The parameter that the module has."""
    has_graph: bool | None = None
    """Whether the value requires grad; ``None`` if that is not known."""


def not_a_parameter(context: ErrorContext) -> Iterator[Assigned]:
    """A module has a parameter under this name, or is to register one, and gets a tensor."""
    statement, name = context.statement, parameter_in(context.raised.message) or "a parameter"
    target, value = _assignment(statement, name)
    typed = name if target is None or statement is None else statement.segment(target)
    old = None if target is None else _known(typed, context)
    info = _value_info(value, statement, context)
    what = say("{} is given here", "it" if value is None or statement is None else "the value")
    yield Assigned(
        history=context.history,
        step=context.step,
        case="" if target is not None else "registered",
        words={"it": typed if old is None else context.term(old.id), "name": name},
        variables=(typed if is_expression(typed) and target is not None else None,),
        causes=(Cause("other", what, context.noticed),),
        targets={"it": [None if old is None else old.id]},
        context=context,
        statement=statement,
        value=value,
        target=target,
        old=old,
        has_graph=None if info is None else info.requires_grad,
    )


def _assignment(statement: Statement | None, name: str) -> tuple[ast.expr | None, ast.expr | None]:
    """The attribute that a line assigns, and the value; only the value of a call that registers
    it."""
    node = None if statement is None else statement.node
    targets = node.targets if isinstance(node, ast.Assign) else []
    if len(targets) == 1 and isinstance(targets[0], ast.Attribute) and targets[0].attr == name:
        return targets[0], node.value  # type: ignore[union-attr]
    calls = [] if statement is None else calls_in(statement, "register_parameter")
    if len(calls) != 1:
        return None, None
    keyword = (k.value for k in calls[0].keywords if k.arg == "param")
    return None, next(iter((*calls[0].args[1:2], *keyword)), None)


def _known(typed: str, context: ErrorContext) -> TensorInfo | None:
    """The parameter that a line calls ``self.weight``, ``layer.weight``."""
    found = context.tensor_named(typed)
    own, _, attribute = typed.rpartition(".")
    if found is not None or not own.startswith("self"):
        return found
    tail = f".{typed.removeprefix('self.')}"
    infos = {
        i.id: i for i in context.history.tensors(context.step) if (i.name or "").endswith(tail)
    }
    alive = [i for i in infos.values() if context.history.is_alive(i.id, context.step)]
    return alive[0] if len(alive) == 1 and attribute else None


def _value_info(
    value: ast.expr | None, statement: Statement | None, context: ErrorContext
) -> TensorInfo | None:
    """What is known about a value: it has a name, or the call that raised got it."""
    if value is None or statement is None:
        return None
    text = statement.segment(value)
    found = named(text, context).info if is_expression(text) else None
    tensors = given(context)
    if found is None and len(tensors) == 1:
        return tensors[0].info
    return found


def as_parameter(found: Assigned) -> Iterator[Fix]:
    """The values written into the parameter that is there, or a new parameter."""
    statement, value, target = found.statement, found.value, found.target
    if statement is not None and value is None:
        yield from _set_by_name(statement)
    if statement is None or value is None or not statement.is_alone:
        return
    text = statement.segment(value)
    if target is None:
        code = statement.edited([(value, f"{_nn(statement)}Parameter({text})")])
        does = say("a parameter is a leaf with these values, which learns")
        yield Fix(does, code, "instead", statement.at)
        return
    typed = statement.segment(target)
    if found.old is not None and not _learns_from_another(found):
        code = without_record(f"{typed}.copy_({text})")
        does = say("writes the values; {} stays the tensor that an optimizer has", typed)
        yield Fix(does, code, "instead", statement.at)
    if found.has_graph is False or _is_made_here(value):
        code = statement.edited([(value, f"{_nn(statement)}Parameter({text})")])
        does = say("a new parameter; an optimizer made before it has the old one")
        yield Fix(does, code, "instead", statement.at)


def _set_by_name(statement: Statement) -> Iterator[Fix]:
    """``getattr(net, name).copy_(value)`` in place of ``setattr(net, name, value)``."""
    node = statement.node
    calls = calls_in(statement, "setattr")
    if len(calls) != 1 or not isinstance(node, ast.Expr) or node.value is not calls[0]:
        return
    if len(calls[0].args) == 3 and statement.is_alone:
        owner, name, value = map(statement.segment, calls[0].args)
        code = without_record(f"getattr({owner}, {name}).copy_({value})")
        does = say("writes the values; the parameter stays the tensor that an optimizer has")
        yield Fix(does, code, "instead", statement.at)


def _nn(statement: Statement) -> str:
    """How the text calls ``torch.nn``."""
    text = statement.code.text
    return (
        "nn."
        if "nn.Parameter" in text.replace("torch.nn.", "") or "(nn.Module" in text
        else ("torch.nn.")
    )


def _learns_from_another(found: Assigned) -> bool:
    """Whether the value may have a graph that leads to other leaves than the old parameter."""
    if found.has_graph is False or found.value is None or _is_made_here(found.value):
        return False
    typed = None if found.target is None else ast.unparse(found.target)
    others = [
        part
        for part in ast.walk(found.value)
        if isinstance(part, (ast.Name, ast.Attribute))
        and (info := _known(ast.unparse(part), found.context)) is not None
        and info.requires_grad
        and ast.unparse(part) != typed
    ]
    calls = [part for part in ast.walk(found.value) if isinstance(part, ast.Call)]
    is_plain = all(_is_method_or_torch(call) for call in calls)
    return bool(others) or not is_plain


def _is_method_or_torch(call: ast.Call) -> bool:
    """Whether a call is none of a module or function, which may have leaves of its own."""
    return isinstance(call.func, ast.Attribute) and call.func.attr not in ("apply", "forward")


_MAKERS: Final = frozenset(
    {
        "arange", "empty", "eye", "from_numpy", "full", "linspace", "ones", "ones_like", "rand",
        "rand_like", "randn", "randn_like", "tensor", "zeros", "zeros_like",
    }
)  # fmt: skip
"""Functions that make a tensor without a graph."""


def _is_made_here(value: ast.expr) -> bool:
    """Whether a value is a new tensor without a graph: ``torch.eye(2)``, ``0.1 * torch.eye(2)``."""
    if isinstance(value, ast.BinOp):
        sides = [one for one in (value.left, value.right) if not isinstance(one, ast.Constant)]
        return bool(sides) and all(map(_is_made_here, sides))
    is_call = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
    return is_call and last_name(value.func) in _MAKERS  # type: ignore[attr-defined]


# --- data ------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DataRefused(Finding):
    """A tensor, and what would become its data."""

    context: ErrorContext
    tensor: GivenOperand
    value: ast.expr | None
    is_dtype: bool
    """Whether it has a dtype that cannot require grad."""


def other_data(context: ErrorContext) -> Iterator[DataRefused]:
    """``.data`` of a tensor that requires grad was set to what cannot be its data."""
    statement = context.statement
    node = None if statement is None else statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    is_data = isinstance(target, ast.Attribute) and target.attr == "data"
    tensors = given(context)
    found = tensors[0] if tensors else GivenOperand(None, None, None)
    if found.name is None and is_data and statement is not None:
        found = named(statement.segment(target.value), context)  # type: ignore[union-attr]
    value = node.value if is_data and isinstance(node, ast.Assign) else None
    kind = tensors[1].dtype if len(tensors) == 2 else None
    new = "the new data" if kind is None else f"the new data ({kind})"
    yield DataRefused(
        history=context.history,
        step=context.step,
        words={"it": found.words, "new": new},
        variables=(found.name,),
        node=context.node_of(found.info),
        causes=(Cause("write", say("sets .data of {}", found.words), context.noticed),),
        targets={"it": [None if found.info is None else found.info.id]},
        context=context,
        tensor=found,
        value=value,
        is_dtype=is_about_a_dtype(context.raised.message),
    )


def as_its_dtype(found: DataRefused) -> Iterator[Fix]:
    """The values in the dtype of the tensor; of a list, a tensor of them."""
    statement, value, info = found.context.statement, found.value, found.tensor.info
    if statement is None or value is None or info is None:
        return
    does = say("gives the values the dtype of {}", found.tensor.words)
    if data_type_in(found.context.raised.message) in ("list", "tuple", "numpy.ndarray"):
        new = f"torch.tensor({statement.segment(value)}, dtype=torch.{info.dtype})"
        yield Fix(does, statement.edited([(value, new)]), "instead", statement.at)
    elif found.is_dtype:
        code = statement.edited(called(value, f"to(torch.{info.dtype})"))
        yield Fix(does, code, "instead", statement.at)
