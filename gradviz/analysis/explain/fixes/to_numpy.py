"""Changes to a line that would make a NumPy array of a tensor which requires grad."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import Final

from gradviz.analysis.code.arguments import given_for
from gradviz.analysis.code.flow import may_reach_backward
from gradviz.analysis.code.scopes import names_at
from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.code.statements import (
    Span,
    Statement,
    TextChange,
    behind,
    calls_in,
    end_of,
    is_expression,
    is_named,
    last_name,
    names_read,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand
from gradviz.analysis.explain.errors.stored_value import Store, reads_of, store_of
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called, called_before, with_keyword
from gradviz.model.explanation import Fix
from gradviz.model.recording import Recording
from gradviz.model.sentence import say

_SAME: Final = frozenset(
    {
        "abs", "arccos", "arcsin", "arctan", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor",
        "log", "log10", "log1p", "log2", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh",
    }
)  # fmt: skip
"""Functions of one array that torch has under the same name."""
_REDUCING: Final = frozenset({"mean", "prod", "sum"})
"""The same, of which the result is one number if nothing else is given."""
_WITH_NUMBERS: Final = frozenset({"clip"})
"""The same, with numbers as further arguments."""
_NUMPY: Final = ("np", "numpy")
_TYPES: Final = ("float", "int", "float32", "float64", "int64")
_WRAPPING: Final = ("FloatTensor", "Tensor", "as_tensor", "from_numpy", "tensor")
_HARMLESS: Final = ("len", "print")


def of_numpy(found: GivenOperand, is_on_device: bool, context: ErrorContext) -> Iterator[Fix]:
    """The function of torch with the same name; else ``detach()`` before it becomes an array, if
    backward does not need what is computed from it."""
    site = context.site
    if site is None:
        return
    stays = may_reach_backward(site.statement, context.recording)
    yield from _torch_function(found, site, stays, context.recording)
    if stays:
        return
    method = "detach().cpu()" if is_on_device else "detach()"
    does = say("the array shares its memory; autograd does not detect writes to it")
    if is_on_device:
        does = say("makes a copy in host memory, outside the graph")
    call = site.call_of("numpy")
    if call is not None and isinstance(call.func, ast.Attribute):
        yield Rewriting(site.statement, tuple(called_before(call, method))).fix(does)
        forced = with_keyword(site.statement, call, "force", "True")
        if forced is not None:
            yield forced.fix(say("detaches, and copies to host memory if needed"))
        return
    reads = typed_tensors(found, site, context)
    if reads:
        changes = [change for part in reads for change in called(part, method)]
        yield Rewriting(site.statement, tuple(changes)).fix(does)
        return
    element = _element(found, site)
    if element is not None:
        yield Rewriting(site.statement, tuple(called(element, method))).fix(does)
    items = typed_list(found, site)
    if items is not None:
        yield from _where_stored(found, site, method, context)
        name = next(n for n in ("t", "one", "tensor") if n not in names_read(site.statement.node))
        text = site.statement.segment(items)
        new = f"[{name}.{method} for {name} in {text}]"
        yield Rewriting(site.statement, ((items, new),)).fix(
            say("makes the array of values outside the graph")
        )


def in_torch(statement: Statement, made: Collection[str]) -> list[TextChange] | None:
    """Changes after which a line computes with torch what it computes with NumPy.

    Args:
        statement: The line.
        made: Variables that are tensors after these changes, not arrays.

    Returns:
        ``None`` if torch has not all the functions under the same names, or if the line computes
        with other arrays.
    """
    names = [p for p in statement.parts if isinstance(p, ast.Name) and p.id in _NUMPY]
    calls = [p for p in statement.parts if _is_numpys(p)]
    if not names:
        return []
    if len(names) > len(calls) or not isinstance(statement.node, (ast.Assign, ast.Return)):
        return None
    if any(isinstance(t, ast.Subscript) for t in getattr(statement.node, "targets", ())):
        return None
    changes = dict[tuple[int, int], TextChange]()
    for call in calls:
        assert isinstance(call, ast.Call)
        is_same = last_name(call.func) in _SAME | _REDUCING
        if not is_same or len(call.args) != 1 or call.keywords:
            return None
        others = _arrays(call.args[0], made)
        if others:
            return None
        assert isinstance(call.func, ast.Attribute)
        changes[start_of(call)] = (call.func.value, "torch")
    for call in calls_in(statement, "numpy"):
        if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
            at = behind(call.func.value, call, statement)
            changes[at] = (Span(at, end_of(call)), "")
    return list(changes.values())


def _arrays(node: ast.expr, made: Collection[str]) -> bool:
    """Whether an argument may have an array in it, or a list, besides what is a tensor then."""
    if isinstance(node, ast.Call):
        is_left = isinstance(node.func, ast.Attribute) and node.func.attr == "numpy"
        return not is_left and (not _is_numpys(node) or any(_arrays(a, made) for a in node.args))
    if isinstance(node, ast.BinOp):
        return _arrays(node.left, made) or _arrays(node.right, made)
    if isinstance(node, ast.UnaryOp):
        return _arrays(node.operand, made)
    if isinstance(node, ast.Name):
        return node.id not in made
    return not isinstance(node, ast.Constant)


# --- how the line types it -------------------------------------------------------------------


def typed_tensors(found: GivenOperand, site: Site, context: ErrorContext) -> list[ast.expr]:
    """Where a call types the tensor: by its name, or as what the function was given."""
    parts = [
        part
        for part in ast.walk(site.node)
        if isinstance(part, ast.expr) and isinstance(getattr(part, "ctx", None), ast.Load)
    ]
    if found.name is not None and (named := [p for p in parts if is_named(p, found.name)]):
        return named
    values = _arguments(site)
    if len(values) != 1:
        return []
    if isinstance(values[0], ast.Name):
        return values if _is_given(values[0].id, found, site, context) else []
    return values if _is_made_by(values[0], found, context) else []


def _arguments(site: Site) -> list[ast.expr]:
    """The arguments of a call that are no constants."""
    node = site.node
    values = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) else []
    return [one for one in values if not isinstance(one, ast.Constant) and not _is_type(one)]


def _is_type(value: ast.expr) -> bool:
    return isinstance(value, (ast.Name, ast.Attribute)) and last_name(value) in _TYPES


def _is_given(name: str, found: GivenOperand, site: Site, context: ErrorContext) -> bool:
    """Whether a variable is an argument of the function around, for which its one caller types the
    tensor."""
    value = given_for(name, site.statement, context.recording)
    if value is None:
        return False
    is_it = found.name is not None and is_named(value, found.name)
    return is_it or _is_made_by(value, found, context)


def _is_made_by(value: ast.expr, found: GivenOperand, context: ErrorContext) -> bool:
    """Whether an expression is the one whose result a tensor is."""
    made = context.history.makers.get(found.key or "")
    site = None if made is None else site_of(context.history, *made)
    return site is not None and not site.ordinal and ast.dump(site.node) == ast.dump(value)


def typed_list(found: GivenOperand, site: Site) -> ast.expr | None:
    """The list of tensors that a call got, if one of them is what it raised for."""
    for value in _arguments(site):
        text = ast.unparse(value)
        own = text.removeprefix("self")
        head, _, index = _plain(found.name or "").rpartition("[")
        is_it = head == text or (own != text and head.endswith(own))
        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)) and is_it:
            return value if index[:-1].isdigit() else None
    return None


def _element(found: GivenOperand, site: Site) -> ast.expr | None:
    """The tensor in a comprehension: ``h["loss"]`` of ``[h["loss"] for h in hs]``."""
    values = _arguments(site)
    if len(values) != 1 or not isinstance(values[0], (ast.ListComp, ast.GeneratorExp)):
        return None
    element = values[0].elt
    key = _plain(found.name or "").rpartition("[")[2]
    typed = ast.unparse(element)
    is_part = isinstance(element, ast.Subscript) and typed.endswith(f"[{key}") and bool(key)
    is_name = isinstance(element, ast.Attribute) and (found.name or "").endswith(f".{element.attr}")
    return element if is_part or is_name else None


def _plain(name: str) -> str:
    """A name as syntax trees write it."""
    return ast.unparse(ast.parse(name, mode="eval")) if is_expression(name) else name


# --- fixes -----------------------------------------------------------------------------------


def _torch_function(
    found: GivenOperand, site: Site, stays: bool, recording: Recording
) -> Iterator[Fix]:
    """``torch.exp(x)`` in place of ``np.exp(x)``, and ``torch.sum(x)`` in place of
    ``np.sum(x.numpy())``."""
    allowed = _SAME | _REDUCING if stays else _SAME
    changes: list[TextChange] = []
    if stays:
        yield from _without_array(found, site)
    if any(map(site.is_in, calls_in(site.statement, *_WRAPPING))):
        return  # the result would be put into a tensor without a graph
    inner = site.call_of("numpy")
    if inner is not None and isinstance(inner.func, ast.Attribute):
        if not stays or typed_list(found, site) is not None:
            return
        changes.append((Span(behind(inner.func.value, inner, site.statement), end_of(inner)), ""))
    for node in site.statement.parts:
        module = node.func.value if _is_numpys(node) else None  # type: ignore[attr-defined]
        if module is None or not site.is_in(node):
            continue
        assert isinstance(node, ast.Call)
        name = last_name(node.func)
        others = [*node.args[1:], *(k.value for k in node.keywords)]
        has_options = bool(others) and stays and name in _WITH_NUMBERS | _REDUCING
        are_numbers = all(isinstance(one, (ast.Constant, ast.UnaryOp)) for one in others)
        is_list = not node.args or isinstance(node.args[0], (ast.List, ast.Tuple))
        if is_list or (others and not (has_options and are_numbers)):
            return
        if name not in (allowed | _WITH_NUMBERS if others else allowed):
            return
        changes.append((module, "torch"))
    within = [p for p in ast.walk(site.node) if _is_numpys(p) and p is not site.node]
    if len(changes) > (inner is not None) and not within and typed_list(found, site) is None:
        does = say("computes it with torch, which records it")
        as_method = _method(site) if "torch" not in names_at(site.statement, recording) else None
        yield Rewriting(site.statement, as_method or tuple(changes)).fix(does)


def _method(site: Site) -> tuple[TextChange, ...] | None:
    """``x.sqrt()`` in place of ``np.sqrt(x)``, in a file that does not import torch."""
    node = site.node
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    value = node.args[0]
    if not isinstance(value, (ast.Attribute, ast.Call, ast.Name, ast.Subscript)):
        return None
    head = (Span(start_of(node), start_of(value)), "")
    return head, (Span(end_of(value), end_of(node)), f".{last_name(node.func)}()")


def _without_array(found: GivenOperand, site: Site) -> Iterator[Fix]:
    """``h * 2`` in place of ``torch.from_numpy(h.numpy() * 2)``, and ``torch.stack(hs)`` in place
    of ``torch.tensor(np.array(hs))``."""
    statement = site.statement
    outer = [one for one in calls_in(statement, *_WRAPPING) if site.is_in(one)]
    if len(outer) != 1 or len(outer[0].args) != 1 or outer[0].keywords:
        return
    value, inner = outer[0].args[0], site.call_of("numpy")
    does = say("stays in torch, which records it")
    items = typed_list(found, site)
    if value is site.node and items is not None and last_name(site.node.func) in _ARRAYS:  # type: ignore[attr-defined]
        new = f"torch.stack({statement.segment(items)})"
        yield Rewriting(statement, ((outer[0], new),)).fix(does)
    elif inner is not None and isinstance(inner.func, ast.Attribute) and _is_arithmetic(value):
        end = behind(inner.func.value, inner, statement)
        text = statement.segment(value, [(Span(end, end_of(inner)), "")])
        new = text if isinstance(value, ast.Call) else f"({text})"
        node = statement.node
        is_whole = isinstance(node, ast.Assign) and node.value is outer[0]
        yield Rewriting(statement, ((outer[0], text if is_whole else new),)).fix(does)


_ARRAYS: Final = ("array", "asarray", "stack")


def _is_arithmetic(value: ast.expr) -> bool:
    """Whether operators and numbers are all that is around ``x.numpy()``."""
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return all(isinstance(one, ast.Constant) or _is_arithmetic(one) for one in sides)
    if isinstance(value, ast.UnaryOp):
        return _is_arithmetic(value.operand)
    return isinstance(value, ast.Call) and last_name(value.func) == "numpy"


def _is_numpys(node: ast.AST) -> bool:
    """Whether it is a call of a function of NumPy."""
    func = node.func if isinstance(node, ast.Call) else None
    is_path = isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name)
    return is_path and func.value.id in _NUMPY  # type: ignore[union-attr]


def _where_stored(
    found: GivenOperand, site: Site, method: str, context: ErrorContext
) -> Iterator[Fix]:
    """The number, or the values without the graph, where a line adds the tensor to the list."""
    history, key = context.history, found.key
    made = history.makers.get(key or "")
    if made is None or found.name is None or found.sizes is None or not context.is_recorded:
        return
    store = store_of({found.name}, made[0][0], context.step, context)
    if store is None or store.value is None or not store.is_list or _is_read(store, site, context):
        return
    does = say("stores the values without the graph, which the list would keep in memory")
    if not found.sizes:
        method, does = "item()", say("stores the number, not the graph behind it")
    yield Rewriting(store.statement, tuple(called(store.value, method))).fix(does)


def _is_read(store: Store, site: Site, context: ErrorContext) -> bool:
    """Whether another line computes with what is in the list."""
    own = {(s.code.name, s.line) for s in (store.statement, site.statement)}
    for code in context.recording.codes:
        for one in statements_of(code):
            if (one.code.name, one.line) in own or not any(reads_of(store.name, one)):
                continue
            if not _only_prints(one):
                return True
    return False


def _only_prints(statement: Statement) -> bool:
    node = statement.node
    value = node.value if isinstance(node, (ast.Expr, ast.Assign)) else None
    return isinstance(value, ast.Call) and last_name(value.func) in _HARMLESS
