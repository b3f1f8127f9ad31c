"""What an optimizer is to be given in place of something else."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradviz.analysis.code.statements import Statement, end_of, last_name, start_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model.explanation import Fix
from gradviz.model.sentence import say


def listed(bound: Statement) -> Iterator[Fix]:
    """A list in place of an iterator: it gives its items again and again."""
    node = bound.node
    if not isinstance(node, ast.Assign) or not bound.is_alone:
        return
    is_comprehension = isinstance(node.value, ast.GeneratorExp)
    if is_comprehension and bound.segment(node.value).startswith("("):
        text = bound.segment(node.value)[1:-1]
        code = bound.edited([(node.value, f"[{text}]")])
    else:
        code = bound.edited([(start_of(node.value), "list("), (end_of(node.value), ")")])
    yield Fix(say("a list gives its items each time"), code, "instead", bound.at)


def instead_of(
    given: ast.expr,
    statement: Statement,
    modules: Collection[str],
    case: str,
    context: ErrorContext,
) -> Iterator[Fix]:
    """The tensors of what was given.

    Args:
        given: The parameters, as the line types them.
        statement: The line.
        modules: What in it is a module, as typed there.
        case: Which of the forms it has.
        context: The error.
    """
    new, does = None, say("gives the parameters of the module")
    text = statement.segment(given)
    if case == "tensor":
        new, does = f"[{text}]", say("gives a list with the one tensor")
    elif case == "module":
        new = f"{text}.parameters()"
    elif case == "dict":
        new = _of_dict(given, statement, context)
        if new is not None and new.endswith(".values()"):
            does = say("gives the tensors of the dict")
    elif isinstance(given, ast.Dict):
        values = [v for v in given_in(given) if ast.unparse(v) in {_plain(m) for m in modules}]
        if len(values) == 1:
            value = statement.segment(values[0])
            new = statement.segment(given, [(values[0], f"{value}.parameters()")])
    elif isinstance(given, (ast.List, ast.Tuple)):
        new, does = _of_list(given, statement, modules), say("gives all parameters in one list")
    if new is not None:
        yield Fix(does, statement.edited([(given, new)]), "instead", statement.at)


def _of_dict(given: ast.expr, statement: Statement, context: ErrorContext) -> str | None:
    """The parameters of a module, or the tensors of a dict of leaves."""
    named = given
    if isinstance(given, ast.Call) and last_name(given.func) == "dict" and len(given.args) == 1:
        named = given.args[0]
    if isinstance(named, ast.Call) and isinstance(named.func, ast.Attribute):
        owner = statement.segment(named.func.value)
        is_known = named.func.attr in ("named_parameters", "state_dict") and not named.args
        return f"{owner}.parameters()" if is_known else None
    if not isinstance(given, (ast.Name, ast.Attribute)):
        return None
    text = ast.unparse(given)
    tensors = [
        one
        for one in context.history.tensors(context.step)
        if any(name.startswith(f"{text}[") for name in one.names)
    ]
    are_leaves = all(one.is_leaf and one.requires_grad for one in tensors)
    return f"{text}.values()" if tensors and are_leaves else None


def _of_list(
    given: ast.List | ast.Tuple, statement: Statement, modules: Collection[str]
) -> str | None:
    """``[*a.parameters(), *b.parameters()]`` of a list of modules, or of their iterators."""
    found = []
    for one in given.elts:
        text = statement.segment(one)
        is_several = isinstance(one, ast.Call) and last_name(one.func) in ("list", "parameters")
        values = [v for v in given_in(ast.List([one], ast.Load())) if v is not one]
        if is_several:
            found.append(f"*{text}")
        elif values and ast.unparse(values[0]) in {_plain(m) for m in modules}:
            new = f"{statement.segment(values[0])}.parameters()"
            found.append(statement.segment(one, [(values[0], new)]))
        elif isinstance(one, ast.Dict):
            found.append(text)
        elif text in modules and isinstance(one, (ast.Name, ast.Attribute, ast.Subscript)):
            found.append(f"*{text}.parameters()")
        else:
            return None
    return f"[{', '.join(found)}]"


def _plain(text: str) -> str:
    return ast.unparse(ast.parse(text, mode="eval"))


def given_in(given: ast.expr | None) -> list[ast.expr]:
    """What is given as parameters: the whole, or in each group what it has under ``"params"``."""
    if not isinstance(given, (ast.Dict, ast.List, ast.Tuple)):
        return [] if given is None else [given]
    found: list[ast.expr] = []
    for one in [given] if isinstance(given, ast.Dict) else given.elts:
        pairs = zip(one.keys, one.values, strict=True) if isinstance(one, ast.Dict) else ()
        values = [v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "params"]
        found += values or [one]
    return found


def overlapping(given: ast.expr | None) -> tuple[ast.expr, ast.expr] | None:
    """The parameters of a module and of a part of it, of which groups are made."""
    groups = [] if not isinstance(given, (ast.List, ast.Tuple)) else given.elts
    lists = [one for one in map(_parameters_of, groups) if one is not None]
    for large in lists:
        for small in lists:
            if small is not large and _is_in(_owner(small), _owner(large)):
                return large, small
    return None


def without_shared(given: ast.expr | None, statement: Statement) -> Iterator[Fix]:
    """The group of a module without the parameters of its part."""
    pair = overlapping(given)
    if pair is None or not isinstance(given, (ast.List, ast.Tuple)) or len(given.elts) != 2:
        return
    large, small = map(statement.segment, pair)
    new = f"[p for p in {large} if all(p is not q for q in {small})]"
    does = say("leaves the parameters of {} to the other group", _owner(pair[1]))
    yield Fix(does, statement.edited([(pair[0], new)]), "instead", statement.at)


def _parameters_of(group: ast.expr) -> ast.expr | None:
    """``model.parameters()`` of a group, as a dict."""
    pairs = zip(group.keys, group.values, strict=True) if isinstance(group, ast.Dict) else ()
    for key, value in pairs:
        if isinstance(key, ast.Constant) and key.value == "params":
            is_call = isinstance(value, ast.Call) and not value.args and not value.keywords
            return value if is_call and last_name(value.func) == "parameters" else None  # type: ignore[attr-defined]
    return None


def _owner(call: ast.expr) -> str:
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    return ast.unparse(call.func.value)


def _is_in(part: str, whole: str) -> bool:
    return part.startswith((f"{whole}.", f"{whole}["))
