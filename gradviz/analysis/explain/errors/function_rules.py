"""A custom Function that is written in a way in which torch cannot use it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    last_name,
    names_bound,
    start_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.custom_function import class_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.analysis.explain.torch_messages import call_of, device_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import Sentence, say

_RULES: Final[tuple[tuple[str, str, str, str], ...]] = (
    (
        "save_for_backward",
        r"save_for_(backward|forward)",
        "save_for_backward got a value that is no tensor",
        "save_for_backward takes tensors, whose versions backward checks; other values are "
        "attributes of ctx",
    ),
    (
        "static",
        r"non-static forward",
        "its forward is not a static method",
        "torch calls forward and backward of the class, through apply, and gives them ctx",
    ),
    (
        "no backward",
        r"either the backward or vjp",
        "it has no backward",
        "torch differentiates a custom Function only by its own backward",
    ),
    (
        "no forward",
        r"must implement the forward",
        "it has no forward",
        "apply calls the static method forward of the class",
    ),
    (
        "both",
        r"both 'backward' and 'vjp'",
        "it has both backward and vjp",
        "they are two names of one method",
    ),
    (
        "dirty",
        r"marked as dirty",
        "forward marks an input as dirty and does not return it",
        "mark_dirty says that forward writes an input in place; that input must be an output, so "
        "that its grad_fn is this Function",
    ),
    (
        "setup_context",
        r"setup_context",
        "it has no setup_context",
        "transforms of torch.func need a forward without ctx, and setup_context to save tensors",
    ),
    (
        "vmap",
        r"vmap static",
        "it does not say what it does under vmap",
        "vmap cannot look into forward; generate_vmap_rule = True lets it, if it calls only torch",
    ),
)
"""Parts of a class, torch's words about them, what is wrong, and why."""


@dataclass(frozen=True, kw_only=True)
class FunctionRule(Finding):
    """The class, as syntax, and what is wrong with it."""

    part: str
    owner: Statement | None
    context: ErrorContext


def invalid(context: ErrorContext) -> Iterator[FunctionRule]:
    """What is wrong with the class, the class, and the line of it."""
    message = context.raised.message
    rules = [one for one in _RULES if re.search(one[1], message)]
    if not rules:
        return
    part, _, what, why = rules[0]
    if part == "static" and _is_static(_method(_class_of(context), "forward")):
        part, what = "instance", "an instance of it is called"
    owner = _class_of(context)
    name = _name(owner) or "the Function"
    line = _line_of(part, owner)
    at = None if line is None else line.at
    yield FunctionRule(
        history=context.history,
        step=context.step,
        words={"function": name, "wrong": what, "why": why},
        variables=(_name(owner),),
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=(Cause("other", say("{}: {}", name, what), at or context.noticed),),
        part=part,
        owner=owner,
        context=context,
    )


def classes_of(context: ErrorContext) -> list[Statement]:
    """The custom Functions in the text of the recorded code."""
    return [
        one
        for code in context.recording.codes
        for one in statements_of(code)
        if isinstance(one.node, ast.ClassDef)
        and any(last_name(base) == "Function" for base in one.node.bases)
    ]


def _class_of(context: ErrorContext) -> Statement | None:
    """The class that the line applies, or whose backward ran; the only one, if there is one."""
    found = classes_of(context)
    if context.node is not None:
        own = [one for one in found if context.node.name == f"{_name(one)}Backward"]
        if len(own) == 1:
            return own[0]
    line = context.statement
    if line is not None:
        read = {node.id for node in line.parts if isinstance(node, ast.Name)}
        own = [one for one in found if _name(one) in read or one.node in line.around]
        if len(own) == 1:
            return own[0]
    return found[0] if len(found) == 1 else None


def _name(owner: Statement | None) -> str | None:
    return owner.node.name if owner is not None and isinstance(owner.node, ast.ClassDef) else None


def _lines(owner: Statement | None, method: str | None = None) -> list[Statement]:
    """Statements of a class, or of one of its methods."""
    if owner is None:
        return []
    inside = [one for one in statements_of(owner.code) if owner.node in one.around]
    if method is None:
        return inside
    return [
        one
        for one in inside
        if any(isinstance(s, ast.FunctionDef) and s.name == method for s in one.around)
    ]


def _method(owner: Statement | None, name: str) -> Statement | None:
    """The ``def`` of a method."""
    found = [
        one
        for one in _lines(owner)
        if isinstance(one.node, ast.FunctionDef) and one.node.name == name
    ]
    return found[0] if len(found) == 1 else None


def _line_of(part: str, owner: Statement | None) -> Statement | None:
    if part in ("save_for_backward", "dirty"):
        name = "mark_dirty" if part == "dirty" else "save_for_backward"
        found = [one for one in _lines(owner) if calls_in(one, name)]
        return found[0] if len(found) == 1 else None
    return _method(owner, "forward") if part == "static" else owner


def fixes(found: FunctionRule) -> Iterator[Fix]:
    """What is known to make the class usable."""
    if found.part == "save_for_backward":
        yield from _as_attribute(found)
    elif found.part in ("static", "instance"):
        yield from _static(found)


def _as_attribute(found: FunctionRule) -> Iterator[Fix]:
    """A value that is no tensor becomes an attribute of ctx, in forward and in backward."""
    place = re.search(r"argument (\d+) is of type", found.context.raised.message)
    saving = _line_of("save_for_backward", found.owner)
    reading = [one for one in _lines(found.owner, "backward") if _is_unpacked(one)]
    if place is None or saving is None or len(reading) != 1:
        return
    call, at = calls_in(saving, "save_for_backward")[0], int(place[1])
    node = reading[0].node
    if at >= len(call.args) or not isinstance(call.args[at], ast.Name):
        return
    if not isinstance(saving.node, ast.Expr) or saving.node.value is not call:
        return
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Tuple):
        return
    names = node.targets[0].elts
    if len(names) != len(call.args) or len(names) < 2 or not isinstance(call.func, ast.Attribute):
        return
    if not all(isinstance(one, ast.Name) for one in names):
        return
    value, ctx = saving.segment(call.args[at]), saving.segment(call.func.value)
    kept = [saving.segment(one) for n, one in enumerate(call.args) if n != at]
    left = [reading[0].segment(one) for n, one in enumerate(names) if n != at]
    own = reading[0].segment(names[at])
    source = node.value
    other = reading[0].segment(source.value) if isinstance(source, ast.Attribute) else ctx
    does = say("keeps {} as an attribute of {}, since it is no tensor", value, ctx)
    comma = "," if len(left) == 1 else ""
    first = f"{saving.segment(call.func)}({', '.join(kept)})\n{ctx}.{value} = {value}"
    second = f"({', '.join(left)}{comma}) = {reading[0].segment(source)}\n{own} = {other}.{value}"
    also = Fix(Sentence(), second, "instead", reading[0].at)
    yield Fix(does, first, "instead", saving.at, (also,))


def _is_unpacked(one: Statement) -> bool:
    value = one.node.value if isinstance(one.node, ast.Assign) else None
    return isinstance(value, ast.Attribute) and value.attr in ("saved_tensors", "saved_variables")


def _static(found: FunctionRule) -> Iterator[Fix]:
    """Static methods, and a call of ``apply``."""
    owner, line = found.owner, found.context.statement
    forward, backward = _method(owner, "forward"), _method(owner, "backward")
    if owner is None or line is None or forward is None or backward is None:
        return
    calls = [part.func for part in line.parts if isinstance(part, ast.Call)]
    made = [one for one in calls if _is_instance(one, owner, line)]
    if len(made) != 1 or _method(owner, "__init__") is not None:
        return
    new = line.edited([(made[0], f"{_name(owner)}.apply")])
    both = [one for one in (forward, backward) if not _is_static(one)]
    also = tuple(Fix(Sentence(), "@staticmethod", "before", one.at) for one in both)
    does = say("makes the methods static and calls apply") if both else say("calls apply")
    yield Fix(does, new, "instead", line.at, also)


def _is_static(method: Statement | None) -> bool:
    decorators = [] if method is None else getattr(method.node, "decorator_list", [])
    return any(last_name(one) == "staticmethod" for one in decorators)


def _is_instance(called: ast.expr, owner: Statement, line: Statement) -> bool:
    """Whether an expression makes an instance of a class, or is a variable that is one."""
    if isinstance(called, ast.Name):
        bound = [
            getattr(one.node, "value", None)
            for one in statements_of(line.code)
            if one.line < line.line and called.id in names_bound(one)
        ]
        return len(bound) == 1 and bound[0] is not None and _is_instance(bound[0], owner, line)
    is_call = isinstance(called, ast.Call) and last_name(called.func) == _name(owner)
    return is_call and not called.args and not called.keywords  # type: ignore[attr-defined]


# --- on another device -----------------------------------------------------------------------


def other_device(context: ErrorContext) -> Iterator[Finding]:
    """backward returned a gradient on another device than its input."""
    wanted, given = device_in(context.raised.message) or ("", "")
    name = class_of(context.node, context.raised.message)
    returned = [
        one for one in _lines(_class_of(context), "backward") if isinstance(one.node, ast.Return)
    ]
    line = returned[0].at if len(returned) == 1 else context.noticed
    yield Finding(
        history=context.history,
        step=context.step,
        case="device" if wanted else "",
        words={"it": f"{name}.backward", "wanted": wanted, "given": given},
        variables=(name,),
        node=context.node,
        causes=(Cause("other", say("{}.backward returns it", name), line),),
        targets={"it": [None if context.node is None else context.node.id]},
    )


# --- called with other arguments ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class WrongArguments(Finding):
    """A function that torch calls with other arguments than it takes."""

    method: Statement | None
    call: ast.Call | None
    statement: Statement | None


def wrong_arguments(context: ErrorContext) -> Iterator[WrongArguments]:
    """A method of a custom Function, or a hook, that does not take what torch calls it with."""
    called = call_of(context.raised.message)
    if called is None:
        return
    path, taken, given = called
    owner_name, _, name = path.rpartition(".")
    owner_name = owner_name.rpartition(".")[2]
    owners = [one for one in classes_of(context) if _name(one) == owner_name]
    direct = _call_in(context.statement, owner_name, name)
    ran = context.node is not None and context.node.name == f"{owner_name}Backward"
    is_applied = _call_in(context.statement, owner_name, "apply") is not None
    method = _method(owners[0], name) if len(owners) == 1 else None
    if name in ("forward", "backward", "setup_context") and (owners or ran or is_applied):
        case = "called directly" if direct is not None and name == "forward" else name
        if name == "forward" and taken is not None and taken < 1 + (given or 0):
            arguments = getattr(getattr(method, "node", None), "args", None)
            first = arguments.args[0].arg if arguments is not None and arguments.args else ""
            case = "no ctx" if method is not None and first not in ("ctx", "self", "_") else name
        function = f"{owner_name}.{name}"
    else:
        found = _registered(name, context)
        if found is None:
            return
        case, function, method = found[0], name, found[1]
    yield WrongArguments(
        history=context.history,
        step=context.step,
        case=case,
        words={
            "function": function,
            "owner": owner_name,
            "given": "" if given is None else given,
            "taken": "" if taken is None else taken,
        },
        variables=(owner_name if owners or ran else name,),
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=()
        if method is None
        else (Cause("other", say("{} takes these", function), method.at),),
        method=method,
        call=direct,
        statement=context.statement,
    )


def _call_in(statement: Statement | None, owner: str, method: str) -> ast.Call | None:
    calls = [] if statement is None else calls_in(statement, method)
    for call in calls:
        if isinstance(call.func, ast.Attribute) and last_name(call.func.value) == owner:
            return call
    return None


def _registered(name: str, context: ErrorContext) -> tuple[str, Statement | None] | None:
    """Whether the code registers a function as a hook, for what, and its ``def``."""
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    for line in lines:
        for call in calls_in(line, *_HOOKS):
            if call.args and last_name(call.args[0]) == name:
                defs = [
                    one
                    for one in lines
                    if isinstance(one.node, ast.FunctionDef) and one.node.name == name
                ]
                return _HOOKS[last_name(call.func)], defs[0] if len(defs) == 1 else None
    return None


_HOOKS: Final = {
    "register_hook": "hook",
    "register_post_accumulate_grad_hook": "leaf hook",
    "register_full_backward_hook": "module hook",
    "register_backward_hook": "module hook",
    "register_full_backward_pre_hook": "module pre hook",
}
"""What a hook is called with, by the method that registers it."""


def other_arguments(found: WrongArguments) -> Iterator[Fix]:
    """``ctx`` first; ``apply`` in place of ``forward``."""
    method, statement, call = found.method, found.statement, found.call
    if found.case == "called directly" and statement is not None and call is not None:
        assert isinstance(call.func, ast.Attribute)
        new = f"{statement.segment(call.func.value)}.apply"
        does = say("apply makes ctx, calls forward and records the node")
        yield Rewriting(statement, ((call.func, new),)).fix(does)
    node = None if method is None else method.node
    if found.case == "no ctx" and method is not None and isinstance(node, ast.FunctionDef):
        does = say("forward takes ctx first")
        if node.args.args:
            place = start_of(node.args.args[0])
            yield Rewriting(method, ((place, "ctx, "),)).fix(does)
