"""Changes to a call that autograd refused."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.fixes.cut import require_grad
from gradviz.analysis.explaining.fixes.rewriting import called, called_before, with_keyword
from gradviz.analysis.explaining.operands import Given
from gradviz.analysis.explaining.roots import Root, root_expression
from gradviz.analysis.explaining.statements import (
    calls_in,
    end_of,
    is_expression,
    last_name,
)
from gradviz.model.explanation import CodeLine, Cure


def of_non_scalar(is_complex: bool, evidence: Evidence) -> Iterator[Cure]:
    """A sum of the root, or its real part, or a gradient for it."""
    statement, found = evidence.statement, root_expression(evidence)
    if statement is None or found is None or isinstance(found[1], (ast.List, ast.Tuple)):
        return
    call, root = found
    is_method = root is not (call.args[0] if call.args else None)
    method, does = "sum()", "the gradient of the sum of all elements"
    if is_complex:
        method, does = "real", "the gradient of the real part"
    changes = called_before(call, method) if is_method else called(root, method)
    yield Cure(does, statement.edited(changes), "instead", statement.line)
    keyword = "gradient" if is_method else "grad_outputs"
    ones = with_keyword(statement, call, keyword, f"torch.ones_like({statement.segment(root)})")
    if ones is not None:
        yield Cure("says how much each element counts", ones, "instead", statement.line)


def bound_name(evidence: Evidence) -> str | None:
    """The variable that the line would have bound."""
    node = None if evidence.statement is None else evidence.statement.node
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def of_integers(name: str | None, evidence: Evidence) -> Iterator[Cure]:
    """Numbers with a point."""
    statement = evidence.statement
    if statement is None:
        return
    does = "numbers with a point can change a little"
    line = statement.line
    node = statement.node
    if isinstance(node, ast.Assign) and _is_flag(node.targets[0]) and name:
        yield Cure(does, f"{name} = {name}.float()", "before", line)
        return
    for call in calls_in(statement, "requires_grad_"):
        code = statement.edited(called_before(call, "float()"))
        if isinstance(node, ast.Expr) and node.value is call and name and is_expression(name):
            code = f"{name} = {code}"
        yield Cure(does, code, "instead", line)
        return
    for call in calls_in(statement, "Parameter"):
        if call.args:
            code = statement.edited(called(call.args[0], "float()"))
            yield Cure(does, code, "instead", line)
            return
    calls = [
        part
        for part in statement.parts
        if isinstance(part, ast.Call) and any(k.arg == "requires_grad" for k in part.keywords)
    ]
    if len(calls) == 1:
        new = with_keyword(statement, calls[0], "dtype", "torch.float32")
        if new is not None:
            yield Cure(does, new, "instead", line)


def _is_flag(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == "requires_grad"


def of_flag(name: str | None, evidence: Evidence) -> Iterator[Cure]:
    """A tensor outside of the graph in place of the flag."""
    statement = evidence.statement
    if statement is None or name is None or not is_expression(name):
        return
    calls = calls_in(statement, "requires_grad_")
    line = statement.line
    does = f"{name} goes on outside of the graph; what made it keeps its node"
    if isinstance(statement.node, (ast.Assign, ast.Expr)) and (
        not calls or isinstance(statement.node, ast.Expr)
    ):
        yield Cure(does, f"{name} = {name}.detach()", "instead", line)
    elif len(calls) == 1:
        yield Cure(does, statement.edited([(calls[0], f"{name}.detach()")]), "instead", line)


def of_numpy(found: Given, is_on_device: bool, evidence: Evidence) -> Iterator[Cure]:
    """``detach()`` before it becomes an array."""
    statement = evidence.statement
    if statement is None:
        return
    line, does = statement.line, "the array shares its memory; writes to it are not noticed"
    method = "detach().cpu()" if is_on_device else "detach()"
    if is_on_device:
        does = "a copy on the host, outside of the graph"
    calls = calls_in(statement, "numpy")
    if len(calls) == 1:
        yield Cure(does, statement.edited(called_before(calls[0], method)), "instead", line)
        code = with_keyword(statement, calls[0], "force", "True")
        if code is not None:
            yield Cure("detaches, copies to the host if needed", code, "instead", line)
        return
    reads = [
        part
        for part in statement.parts
        if isinstance(part, ast.expr)
        and isinstance(getattr(part, "ctx", None), ast.Load)
        and found.name is not None
        and statement.segment(part) == found.name
    ]
    if reads:
        code = statement.edited([(end_of(part), f".{method}") for part in reads])
        yield Cure(does, code, "instead", line)


def of_deepcopy(name: str | None, evidence: Evidence) -> Iterator[Cure]:
    """``clone``, inside or outside of the graph."""
    statement = evidence.statement
    if statement is None or name is None or not is_expression(name):
        return
    calls = [c for c in calls_in(statement, "deepcopy") if c.args]
    line = statement.line
    if len(calls) == 1 and statement.segment(calls[0].args[0]) == name:
        code = statement.edited([(calls[0], f"{name}.detach().clone()")])
        yield Cure("a copy of the values, outside of the graph", code, "instead", line)
        code = statement.edited([(calls[0], f"{name}.clone()")])
        yield Cure("a copy that stays on the graph", code, "instead", line)
    else:
        does = f"{name} keeps its values, and no graph that would have to be copied"
        yield Cure(does, f"{name} = {name}.detach()", "before", line)


def of_gradient(root: Root, gradient: Given | None, evidence: Evidence) -> Iterator[Cure]:
    """A gradient of the shape of the root."""
    statement, found = evidence.statement, root_expression(evidence)
    if statement is None or found is None or isinstance(found[1], (ast.List, ast.Tuple)):
        return
    call = found[0]
    text = statement.segment(found[1])
    keywords = {k.arg: k.value for k in call.keywords}
    places = [keywords.get(name) for name in ("gradient", "grad_outputs", "grad_tensors")]
    is_method = found[1] is not (call.args[0] if call.args else None)
    place = 0 if is_method else 2 if last_name(call.func) == "grad" else 1
    given = next(filter(None, places), None)
    given = given or (call.args[place] if place < len(call.args) else None)
    if given is None or isinstance(given, (ast.List, ast.Tuple)):
        return
    old = statement.segment(given)
    sizes = None if gradient is None else gradient.sizes
    if sizes is not None and root.sizes is not None and is_expression(old):
        if prod(sizes) == prod(root.sizes):
            code = statement.edited([(given, f"{old}.reshape_as({text})")])
            yield Cure("the same numbers in the right shape", code, "instead", statement.line)
        elif _expands(sizes, root.sizes):
            code = statement.edited([(given, f"{old}.expand_as({text})")])
            yield Cure("the same numbers for every row", code, "instead", statement.line)
    code = statement.edited([(given, f"torch.ones_like({text})")])
    yield Cure("every element counts once", code, "instead", statement.line)


def of_unused(evidence: Evidence) -> Iterator[Cure]:
    """``None``, or zeros, for what has no gradient."""
    statement, found = evidence.statement, root_expression(evidence)
    if statement is None or found is None:
        return
    for name, does in (
        ("allow_unused", "gives None for what the result does not depend on"),
        ("materialize_grads", "gives zeros for what the result does not depend on"),
    ):
        code = with_keyword(statement, found[0], name, "True")
        if code is not None:
            yield Cure(does, code, "instead", statement.line)


def ask_for(name: str, made: CodeLine | None, evidence: Evidence) -> Iterator[Cure]:
    """``requires_grad_()`` where a tensor is made."""
    cure = require_grad(name, made, evidence)
    if cure is not None:
        yield cure


def _expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    if len(small) > len(large):
        return False
    return all(a in (1, b) for a, b in zip(small[::-1], large[::-1]))
