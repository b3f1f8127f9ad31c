"""Changes to a call that raised an error."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import Final

from gradviz.analysis.code.statements import (
    Span,
    Statement,
    behind,
    calls_in,
    end_of,
    is_expression,
    is_named,
    last_name,
    names_bound,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.backward_root import BackwardRoot, called_root
from gradviz.analysis.explain.errors.operands import GivenOperand, given
from gradviz.analysis.explain.fixes.refused_methods import detached_in_loop, is_loop_variable
from gradviz.analysis.explain.fixes.rewriting import (
    Rewriting,
    before,
    called,
    called_before,
    with_keyword,
)
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence, say

_EDGE: Final = "get_gradient_edge"


def of_non_scalar(is_complex: bool, context: ErrorContext) -> Iterator[Fix]:
    """A sum of the root, or its real part, or a gradient for it."""
    found = called_root(context)
    if found is None or isinstance(found.root, (ast.List, ast.Tuple)):
        return
    statement, call, root, is_method = found.statement, found.call, found.root, found.is_method
    method, does = "sum()", say("computes the gradient of the sum of all elements")
    if is_complex:
        method, does = "real", say("computes the gradient of the real part")
    changes = called_before(call, method) if is_method else called(root, method)
    yield Fix(does, statement.edited(changes), "instead", statement.at)
    keyword = "grad_outputs" if last_name(call.func) == "grad" else "grad_tensors"
    keyword = "gradient" if is_method else keyword
    ones = with_keyword(statement, call, keyword, f"torch.ones_like({statement.segment(root)})")
    if ones is not None:
        yield ones.fix(say("starts with gradient 1 for every element"))


def asked_name(context: ErrorContext) -> str | None:
    """The variable that a line would have bound to a tensor that requires grad."""
    node = None if context.statement is None else context.statement.node
    value = node.value if isinstance(node, ast.Assign) else None
    asks = isinstance(value, ast.Call) and (
        last_name(value.func) in ("Parameter", "requires_grad_")
        or any(one.arg == "requires_grad" for one in value.keywords)
    )
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and asks:
        return node.targets[0].id
    return None


def of_integers(name: str | None, context: ErrorContext) -> Iterator[Fix]:
    """A floating point dtype; of a parameter that was not typed as numbers, a buffer."""
    parameter = None if context.site is not None else _made_parameter(context.statement)
    if parameter is not None and not _is_typed(parameter[1].args[0]):
        yield from _without_gradient(*parameter)
        return
    found = _rewritten_to_float(name, context)
    if found is not None:
        yield found.fix(say("a floating point tensor can require grad"))


def of_ids(context: ErrorContext) -> Iterator[Fix]:
    """No flag: what ids select has the gradient."""
    statement = context.statement
    if statement is None or statement.is_compound:
        return
    does = say("ids need no gradient; the rows that they select get one")
    calls = [one for one in statement.parts if isinstance(one, ast.Call)]
    flagged = [c for c in calls if any(k.arg == "requires_grad" for k in c.keywords)]
    asked = calls_in(statement, "requires_grad_")
    if len(flagged) == 1 and not asked:
        changed = with_keyword(statement, flagged[0], "requires_grad", "False")
        if changed is not None:
            yield changed.fix(does)
    elif len(asked) == 1 and statement.node is not None:
        call = asked[0]
        assert isinstance(call.func, ast.Attribute)
        if isinstance(statement.node, ast.Expr) and statement.node.value is call:
            yield from _removed(statement, does)
        else:
            end = behind(call.func.value, call, statement)
            yield Rewriting(statement, ((Span(end, end_of(call)), ""),)).fix(does)
    elif isinstance(statement.node, ast.Assign) and _is_flag(statement.node.targets[0]):
        yield from _removed(statement, does)


def _is_flag(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and target.attr == "requires_grad"


def _removed(statement: Statement, does: Sentence) -> Iterator[Fix]:
    """The block without the line, if it has others."""
    outer = statement.around[-1] if statement.around else None
    if statement.is_alone and (outer is None or getattr(outer, "body", None) != [statement.node]):
        yield Fix(does, "", "instead", statement.at)


def _rewritten_to_float(name: str | None, context: ErrorContext) -> Rewriting | None:
    site = context.site
    if site is None:
        return _parameter_of_floats(context.statement)
    statement, node = site.statement, site.node
    if isinstance(node, ast.Attribute) and name:  # x.requires_grad = True
        change = before(statement, f"{name} = {name}.float()")
        return None if change is None else Rewriting(statement, (change,))
    asked = site.call_of("requires_grad_")
    if asked is not None and isinstance(asked.func, ast.Attribute):
        changes = called_before(asked, "float()")
        line = statement.node
        if isinstance(line, ast.Expr) and line.value is asked and name and is_expression(name):
            changes = [(start_of(line), f"{name} = "), *changes]
        return Rewriting(statement, tuple(changes))
    if isinstance(node, ast.Call) and any(k.arg == "requires_grad" for k in node.keywords):
        return with_keyword(statement, node, "dtype", "torch.float32")
    return None


def _made_parameter(statement: Statement | None) -> tuple[Statement, ast.Call] | None:
    """The recording contains no position for ``nn.Parameter``."""
    calls = [] if statement is None else calls_in(statement, "Parameter")
    if statement is None or len(calls) != 1 or not calls[0].args:
        return None
    return statement, calls[0]


def _is_typed(value: ast.expr) -> bool:
    """Whether the numbers are typed here, without a dtype: ``torch.tensor([1, 2])``."""
    is_call = isinstance(value, ast.Call) and last_name(value.func) == "tensor"
    return is_call and not getattr(value, "keywords", None)


def _parameter_of_floats(statement: Statement | None) -> Rewriting | None:
    made = _made_parameter(statement)
    return None if made is None else Rewriting(made[0], tuple(called(made[1].args[0], "float()")))


def _without_gradient(statement: Statement, call: ast.Call) -> Iterator[Fix]:
    """A buffer, or a parameter that does not require grad."""
    line = statement.node
    target = line.targets[0] if isinstance(line, ast.Assign) and line.value is call else None
    if isinstance(target, ast.Attribute) and len(call.args) == 1 and not call.keywords:
        owner, value = statement.segment(target.value), statement.segment(call.args[0])
        code = statement.edited([(line, f'{owner}.register_buffer("{target.attr}", {value})')])
        does = say("stores it with the module, in state_dict and on its device; it is not trained")
        yield Fix(does, code, "instead", statement.at)
    kept = with_keyword(statement, call, "requires_grad", "False")
    if kept is not None:
        yield kept.fix(say("a parameter that is not trained"))


def of_flag(name: str | None, context: ErrorContext) -> Iterator[Fix]:
    """A tensor outside the graph in place of the flag; no flag if it was to be what it is."""
    site = context.site
    if site is None or name is None or not is_expression(name):
        return
    line, call = site.statement.node, site.call_of("requires_grad_")
    is_whole = isinstance(line, ast.Expr) and line.value is call
    is_whole |= isinstance(line, ast.Assign) and line.targets == [site.node]
    owner = call.func if call is not None else site.node
    typed = owner.value if isinstance(owner, ast.Attribute) else None
    # Torch advises to detach where the flag was to be False.
    part, is_off = line if is_whole else call, "detach()" in context.raised.message
    if is_off and typed is not None and is_loop_variable(site.statement, ast.unparse(typed)):
        yield from detached_in_loop(site, typed, context)
    elif part is not None:
        words = "detaches {} from its graph; the operation that made it stays recorded"
        term = next((one.words for one in given(context)), Sentence(name))
        new = f"{name}.detach()" if is_off else name
        if is_whole:
            new = f"{name} = {new}" if is_off else ""
        does = say(words if is_off else "{} requires grad already", term)
        yield Rewriting(site.statement, ((part, new),)).fix(does)


def of_deepcopy(name: str | None, context: ErrorContext) -> Iterator[Fix]:
    """``clone``, inside or outside the graph."""
    site = context.site
    if site is None or name is None or not is_expression(name):
        return
    statement, call = site.statement, site.call_of("deepcopy")
    if call is not None and call.args and is_named(call.args[0], name):
        for method, does in (
            ("detach().clone()", say("copies the values, outside the graph")),
            ("clone()", say("makes a copy that stays in the graph")),
        ):
            yield Rewriting(statement, ((call, f"{name}.{method}"),)).fix(does)
        return
    change = before(statement, f"{name} = {name}.detach()")
    copied = None if call is None or not call.args else ast.unparse(call.args[0])
    if change is not None and copied is not None and name.startswith((f"{copied}.", f"{copied}[")):
        term = next((one.words for one in given(context)), Sentence(name))
        words = say("detaches {}, so that there is no graph to copy", term)
        yield Rewriting(statement, (change,)).fix(words)


def of_gradient(
    root: BackwardRoot, gradient: GivenOperand | None, context: ErrorContext
) -> Iterator[Fix]:
    """A gradient of the shape of the root."""
    found = called_root(context)
    if found is None or isinstance(found.root, (ast.List, ast.Tuple)):
        return
    statement, call, is_method = found.statement, found.call, found.is_method
    text = _tensor_of(found.root, statement)
    keywords = {k.arg: k.value for k in call.keywords}
    places = [keywords.get(name) for name in ("gradient", "grad_outputs", "grad_tensors")]
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
            yield Fix(
                say("passes the same values in the right shape"), code, "instead", statement.at
            )
        elif _expands(sizes, root.sizes):
            code = statement.edited([(given, f"{old}.expand_as({text})")])
            yield Fix(say("passes the same values for every row"), code, "instead", statement.at)
    code = statement.edited([(given, f"torch.ones_like({text})")])
    yield Fix(say("starts with gradient 1 for every element"), code, "instead", statement.at)


def _tensor_of(root: ast.expr, statement: Statement) -> str:
    """The root as it is typed; for a gradient edge the tensor that it was made of."""
    edges = [root] if isinstance(root, ast.Call) else []
    for one in statements_of(statement.code):
        if one.place < statement.place and ast.unparse(root) in names_bound(one):
            edges = calls_in(one, _EDGE)[:1]
    for edge in edges:
        if last_name(edge.func) == _EDGE and len(edge.args) == 1:
            return ast.unparse(edge.args[0])
    return statement.segment(root)


def of_unused(context: ErrorContext) -> Iterator[Fix]:
    """``None`` for inputs without a gradient where the code handles it, else zeros."""
    found = called_root(context)
    if found is None:
        return
    name = "materialize_grads"
    does = say("gives zeros for inputs that the result does not depend on: they do not change")
    if any(_asks_for_none(one) for one in statements_of(found.statement.code)):
        name = "allow_unused"
        does = say("gives None for inputs that the result does not depend on")
    changed = with_keyword(found.statement, found.call, name, "True")
    if changed is not None:
        yield changed.fix(does)


def _asks_for_none(statement: Statement) -> bool:
    """Whether a line compares something with ``None``."""
    compared = (part for part in statement.parts if isinstance(part, ast.Compare))
    values = (value for one in compared for value in (one.left, *one.comparators))
    return any(isinstance(value, ast.Constant) and value.value is None for value in values)


def _expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    if len(small) > len(large):
        return False
    return all(a in (1, b) for a, b in zip(small[::-1], large[::-1]))
