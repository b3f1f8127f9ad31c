"""A gradient that is given: assigned to ``.grad``, passed to backward, or returned by a hook."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.statements import Statement, is_expression
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import called_root
from gradviz.analysis.explain.errors.hook_size import returned_by
from gradviz.analysis.explain.errors.operands import given
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.analysis.explain.torch_messages import counts_in, hook_types_in
from gradviz.model.events import Write
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import plural
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, Term, say

_DTYPES: Final = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "ComplexFloatTensor": "complex64",
    "ComplexDoubleTensor": "complex128",
}
"""dtypes by the names that torch's messages have for tensors of the CPU."""


@dataclass(frozen=True, kw_only=True)
class GivenGradient(Finding):
    """A gradient that does not fit its tensor, as the line has both."""

    statement: Statement | None
    value: ast.expr | None
    owner: str | None
    """The tensor it is for, as it can be typed."""
    type: str = ""
    """Type of the value that was given, if it is no tensor."""
    is_meta: bool = False
    """Whether one of the two has no memory."""


# --- assigned to .grad -----------------------------------------------------------------------


def assigned(context: ErrorContext) -> Iterator[GivenGradient]:
    """``w.grad = value``: the tensor, the value, and what both are like."""
    statement = context.statement
    target, value = _assignment(statement)
    owner = None if target is None else ast.unparse(target.value)
    info = None if owner is None else context.tensor_named(owner)
    other = _info_of(value, context)
    it: Sentence | Term | str = owner or "the tensor"
    if info is not None and owner is not None:
        it = Term(info.id, owner)
    yield GivenGradient(
        history=context.history,
        step=context.step,
        case="assigned",
        words={"it": it, "given": _like(other, info), "wanted": _like(info, other)},
        variables=(owner, *context.tensors_read(value)),
        causes=(Cause("other", say("assigns the gradient of {}", it), context.noticed),),
        targets={"it": [None if info is None else info.id]},
        statement=statement,
        value=value,
        owner=owner,
        is_meta="'meta'" in context.raised.message,
        type=_type_in(context.raised.message),
    )


def _type_in(message: str) -> str:
    """The type that a message names, of a value that is no tensor."""
    found = re.search(r"(?:of type|but got) '?([\w.]+)'?$", message.strip().rstrip("."))
    return "" if found is None else found[1]


def _assignment(statement: Statement | None) -> tuple[ast.Attribute | None, ast.expr | None]:
    """What ``.grad`` is assigned to, and the value."""
    node = None if statement is None else statement.node
    targets = node.targets if isinstance(node, ast.Assign) else []
    for target in targets:
        if isinstance(target, ast.Attribute) and target.attr == "grad":
            return target, node.value if isinstance(node, ast.Assign) else None
    return None, None


def _info_of(value: ast.expr | None, context: ErrorContext) -> TensorInfo | None:
    text = None if value is None else ast.unparse(value)
    return context.tensor_named(text) if text is not None and is_expression(text) else None


def _like(info: TensorInfo | None, other: TensorInfo | None) -> str:
    """dtype and shape of a tensor, and its device if that of the other is not the same."""
    if info is None:
        return ""
    is_elsewhere = other is not None and other.device != info.device
    return f" {info.dtype} {info.shape}{f' on {info.device}' if is_elsewhere else ''}"


def as_the_tensor(found: GivenGradient) -> Iterator[Fix]:
    """The same numbers in the dtype and on the device of the tensor."""
    if found.is_meta:
        return  # there is nothing to copy
    if found.statement is not None and found.value is not None and found.owner is not None:
        does = say("the gradient has the dtype and the device of {}", found.owner)
        changes = tuple(called(found.value, f"to({found.owner})"))
        yield Rewriting(found.statement, changes).fix(does)


def of_its_size(found: GivenGradient) -> Iterator[Fix]:
    """Zeros of the shape of the tensor, where zeros are assigned."""
    value, statement, owner = found.value, found.statement, found.owner
    if statement is None or owner is None or not isinstance(value, ast.Call):
        return
    name = ast.unparse(value.func)
    if name in ("torch.zeros", "torch.zeros_like", "torch.ones", "torch.ones_like"):
        new = f"{name.removesuffix('_like')}_like({owner})"
        yield Rewriting(statement, ((value, new),)).fix(say("has the shape of {}", owner))


def none_or_tensor(found: GivenGradient) -> Iterator[Fix]:
    """``None`` for 0, a tensor of the shape for another number."""
    value, statement, owner = found.value, found.statement, found.owner
    if statement is None or owner is None or value is None:
        return
    if "ndarray" in found.type:
        new = f"torch.as_tensor({statement.segment(value)}).to({owner})"
        yield Rewriting(statement, ((value, new),)).fix(say("the array as a tensor"))
    elif isinstance(value, ast.Name) and found.type in ("int", "float"):
        new = f"torch.full_like({owner}, {value.id})"
        yield Rewriting(statement, ((value, new),)).fix(say("has the shape of {}", owner))
    if not isinstance(value, ast.Constant):
        return
    if value.value == 0:
        does = say("clears the gradient; backward makes a new one")
        yield Rewriting(statement, ((value, "None"),)).fix(does)
    if isinstance(value.value, (int, float)):
        new = f"torch.full_like({owner}, {value.value})"
        yield Rewriting(statement, ((value, new),)).fix(say("has the shape of {}", owner))


def copied(found: GivenGradient) -> Iterator[Fix]:
    """A copy of the values."""
    if found.statement is not None and found.value is not None:
        changes = tuple(called(found.value, "detach().clone()"))
        yield Rewriting(found.statement, changes).fix(say("the gradient is a tensor of its own"))


def accumulated(context: ErrorContext) -> Iterator[GivenGradient]:
    """A leaf got a gradient of another shape than its ``.grad`` has: it was given other memory."""
    history = context.history
    found = [
        info
        for info in history.tensors(context.step)
        if info.is_leaf and info.grad is not None and info.grad.shape != info.shape
    ]
    if len(found) != 1 or found[0].grad is None:
        return
    info, name = found[0], context.name(found[0].id)
    it, node = context.term(info.id), context.node_of(info)
    writes = [
        history.line(place)
        for place, event in history.placed(Write)
        if event.agent == "assignment" and event.variable == name and place[0] < context.step
    ]
    wrote = writes[-1] if writes else None
    yield GivenGradient(
        history=context.history,
        step=context.step,
        case="accumulated",
        words={
            "it": it,
            "wanted": f" {info.shape}",
            "given": f" {found[0].grad.shape}",
        },
        variables=(name,),
        node=node,
        causes=() if wrote is None else (Cause("other", say("gave {} other memory", it), wrote),),
        targets={"it": [info.id]},
        statement=context.statement_at(wrote),
        value=None,
        owner=name,
    )


def cleared_with_it(found: GivenGradient) -> Iterator[Fix]:
    """Zeros of the new shape where the memory is replaced."""
    statement, owner = found.statement, found.owner
    if statement is not None and owner is not None and is_expression(owner):
        does = say("gives {} a gradient of its shape", owner)
        yield Fix(does, f"{owner}.grad = torch.zeros_like({owner})", "after", statement.at)


# --- passed to backward ----------------------------------------------------------------------


def passed(context: ErrorContext) -> Iterator[GivenGradient]:
    """The gradient in a call of backward or grad."""
    found = called_root(context)
    value = None if found is None else _gradient_in(found.call, found.is_method)
    if "iterable" in context.raised.message and not isinstance(value, (ast.Constant, ast.Name)):
        return  # something else may have looked for elements in a number
    root = None if found is None else found.statement.segment(found.root)
    owner = root if root is not None and is_expression(root) else None
    counts = counts_in(context.raised.message)
    info = None if owner is None else context.tensor_named(owner)
    it: Sentence | Term | str = root or "the root"
    if info is not None and owner is not None:
        it = Term(info.id, owner)
    yield GivenGradient(
        history=context.history,
        step=context.step,
        case="passed",
        words={
            "it": it,
            "given": "" if counts is None else counts[1],
            "wanted": "" if counts is None else counts[0],
            "gave": "" if counts is None else _given_words(counts[1]),
        },
        variables=(owner, *context.tensors_read(value)),
        causes=(Cause("backward", say("the gradient was given here"), context.noticed),),
        targets={"it": [None if info is None else info.id]},
        statement=None if found is None else found.statement,
        value=value,
        owner=owner,
        type=_type_in(context.raised.message),
    )


def _given_words(count: int) -> str:
    return f"{plural(count, 'gradient')} {'was' if count == 1 else 'were'}"


def _gradient_in(call: ast.Call, is_method: bool) -> ast.expr | None:
    names = ("gradient", "grad_tensors", "grad_outputs")
    for keyword in call.keywords:
        if keyword.arg in names:
            return keyword.value
    is_grad = isinstance(call.func, ast.Attribute) and call.func.attr == "grad"
    place = 0 if is_method else 2 if is_grad else 1
    return call.args[place] if place < len(call.args) else None


def as_a_tensor(found: GivenGradient) -> Iterator[Fix]:
    """The number as a tensor of the shape of the root; a list as a tensor."""
    value, statement, owner = found.value, found.statement, found.owner
    if statement is None or owner is None:
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
        new = f"torch.full_like({owner}, {value.value})"
    elif isinstance(value, (ast.List, ast.Tuple)) and all(map(_is_number, value.elts)):
        elements = ", ".join(statement.segment(one) for one in value.elts)
        new = f"torch.tensor([{elements}], dtype={owner}.dtype)"
    elif value is not None and not isinstance(value, (ast.List, ast.Tuple)):
        new = f"torch.as_tensor({statement.segment(value)}).to({owner})"
    else:
        return
    does = say("the gradient is a tensor")
    yield Rewriting(statement, ((value, new),)).fix(does)


def in_its_dtype(found: GivenGradient) -> Iterator[Fix]:
    """The gradient in the dtype of the root."""
    value, statement, owner = found.value, found.statement, found.owner
    if statement is None or owner is None or value is None:
        return
    if not isinstance(value, (ast.List, ast.Tuple)):
        does = say("the gradient has the dtype of {}", owner)
        yield Rewriting(statement, tuple(called(value, f"to({owner}.dtype)"))).fix(does)


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and isinstance(inner.value, (int, float))


# --- returned by a hook ----------------------------------------------------------------------


def hook_type(context: ErrorContext) -> Iterator[GivenGradient]:
    """A hook returned a gradient of another dtype, or one on another device."""
    name, was, got = hook_types_in(context.raised.message) or ("", "", "")
    statement, value = returned_by(name, context)
    yield _of_hook(context, name, statement, value, _DTYPES.get(was, was), _DTYPES.get(got, got))


def hook_of_no_tensor(context: ErrorContext) -> Iterator[GivenGradient]:
    """A hook returned something that is neither a tensor nor None."""
    statement, value = returned_by(None, context)
    found = re.search(r"hook returned '?([\w.]+)", context.raised.message)
    hook = _of_hook(context, "", statement, value, "", "" if found is None else found[1])
    is_of_node = "expected tuple" in context.raised.message
    yield replace(hook, case="node hook") if is_of_node else hook


def hook_from_numpy(found: GivenGradient) -> Iterator[Fix]:
    """The array that the hook returns as a tensor."""
    statement, value = found.statement, found.value
    is_array = found.case == "hook" and found.words["given"] == "numpy.ndarray"
    if statement is not None and value is not None and is_array:
        new = f"torch.from_numpy({statement.segment(value)})"
        does = say("the hook returns the array as a tensor")
        yield Rewriting(statement, ((value, new),)).fix(does)


def vector(context: ErrorContext) -> Iterator[Finding]:
    """The vector of a product with a Jacobian has another shape."""
    found = given(context)[:2]
    yield Finding(
        history=context.history,
        step=context.step,
        variables=tuple(one.name for one in found),
        targets={"it": [None if one.info is None else one.info.id for one in found[:1]]},
        causes=(Cause("other", say("it is given here"), context.noticed),),
    )


def _of_hook(
    context: ErrorContext,
    name: str,
    statement: Statement | None,
    value: ast.expr | None,
    was: str,
    got: str,
) -> GivenGradient:
    short = name.rpartition(".")[2]
    it = f"the hook {short}" if short else "a hook"
    what = say("{} returns it", it)
    where = say("which line of the hook returns it; write it as a def with one return")
    return GivenGradient(
        history=context.history,
        step=context.step,
        case="hook",
        words={"it": it, "given": got, "wanted": was},
        variables=tuple(context.values_read(value)[:1]),
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=() if statement is None else (Cause("other", what, statement.at),),
        unknown=() if statement is not None else (where,),
        statement=statement,
        value=value,
        owner=was,
    )


def in_the_dtype_before(found: GivenGradient) -> Iterator[Fix]:
    """The gradient that the hook returns, in the dtype that it got."""
    statement, value = found.statement, found.value
    if statement is None or value is None or found.owner not in _DTYPES.values():
        return
    does = say("the hook returns a gradient of the dtype that it got")
    yield Rewriting(statement, tuple(called(value, f"to(torch.{found.owner})"))).fix(does)
