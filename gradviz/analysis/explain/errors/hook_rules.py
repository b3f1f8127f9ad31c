"""Hooks that torch cannot register, or that return what it cannot use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.hook_size import is_in
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.analysis.explain.torch_messages import counts_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import plural
from gradviz.model.sentence import say

_POST: Final = "register_post_accumulate_grad_hook"


@dataclass(frozen=True, kw_only=True)
class HookRefused(Finding):
    """The call that registers a hook."""

    statement: Statement | None
    call: ast.Call | None


def of_a_leaf_only(context: ErrorContext) -> Iterator[HookRefused]:
    """``register_post_accumulate_grad_hook`` of a tensor that is not a leaf."""
    statement = context.statement
    calls = [] if statement is None else calls_in(statement, _POST)
    found = next(iter(given(context)), GivenOperand(None, None, None))
    made = line_of(found.key, context)
    causes = [Cause("other", say("the hook is registered here"), context.noticed)]
    if made is not None:
        causes.append(Cause("other", say("{} was made here", found.words), made))
    yield HookRefused(
        history=context.history,
        step=context.step,
        case="leaf",
        words={"it": found.words},
        variables=(found.name,),
        causes=tuple(causes),
        targets={"it": [None if found.info is None else found.info.id]},
        statement=statement,
        call=calls[0] if len(calls) == 1 else None,
    )


def two_kinds(context: ErrorContext) -> Iterator[HookRefused]:
    """A module has backward hooks of both kinds."""
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    old = [(one, c) for one in lines for c in calls_in(one, "register_backward_hook")]
    where = old[0][0].at if len(old) == 1 else context.noticed
    yield HookRefused(
        history=context.history,
        step=context.step,
        case="two kinds",
        causes=(Cause("other", say("registers a hook of the other kind"), where),),
        statement=old[0][0] if len(old) == 1 else None,
        call=old[0][1] if len(old) == 1 else None,
    )


def on_what_it_gets(found: HookRefused) -> Iterator[Fix]:
    """A hook of the gradient, where the function reads the tensor only for its gradient; the full
    kind of module hooks."""
    statement, call = found.statement, found.call
    if statement is None or call is None or not isinstance(call.func, ast.Attribute):
        return
    if found.case == "two kinds":
        new = f"{statement.segment(call.func.value)}.register_full_backward_hook"
        does = say("registers both hooks as full backward hooks")
        yield Rewriting(statement, ((call.func, new),)).fix(does)
        return
    hook = call.args[0] if len(call.args) == 1 else None
    if not isinstance(hook, ast.Lambda) or len(hook.args.args) != 1:
        return
    name, changes = hook.args.args[0].arg, []
    read = [n for n in ast.walk(hook.body) if isinstance(n, ast.Name) and n.id == name]
    grads = [
        n
        for n in ast.walk(hook.body)
        if isinstance(n, ast.Attribute) and n.attr == "grad" and isinstance(n.value, ast.Name)
        and n.value.id == name
    ]  # fmt: skip
    if len(read) != len(grads) or not isinstance(hook.body, ast.Call):
        return
    changes = [(one, name) for one in grads]
    method = statement.segment(call.func.value)
    does = say("registers a hook that gets the gradient when backward computes it")
    yield Rewriting(statement, ((call.func, f"{method}.register_hook"), *changes)).fix(does)


def of_a_module(context: ErrorContext) -> Iterator[Finding]:
    """A hook of a module returned too few or too many gradients, or some that nobody needs."""
    counts = counts_in(context.raised.message)
    is_pre = re.search(r"grad_output", context.raised.message) is not None
    is_of_node = "number of values" in context.raised.message
    is_needless = counts is None
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    names = ("register_full_backward_pre_hook",) if is_pre else ("register_full_backward_hook",)
    hooks = {ast.unparse(c.args[0]) for one in lines for c in calls_in(one, *names) if c.args}
    name = hooks.pop() if len(hooks) == 1 else ""
    returned = [one for one in lines if isinstance(one.node, ast.Return) and is_in(one, name)]
    at = returned[0].at if len(returned) == 1 else None
    of = "outputs" if is_pre else "inputs"
    yield Finding(
        history=context.history,
        step=context.step,
        case="node" if is_of_node else "module needs none" if is_needless else "module",
        words={
            "it": _called(name, is_of_node),
            "needed": "" if counts is None else counts[0],
            "of": of,
            "gave": "" if counts is None else plural(counts[1], "gradient"),
            "owed": "" if counts is None else plural(counts[0], of[:-1]),
        },
        variables=(name if name.isidentifier() else None,),
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=() if at is None else (Cause("other", say("the hook returns them"), at),),
        unknown=()
        if at is not None
        else (say("which line returns them; write the hook as a def with one return"),),
    )


def _called(name: str, is_of_node: bool) -> str:
    if is_of_node:
        return "a hook of a node"
    return f"the hook {name}" if name.isidentifier() else "a backward hook of a module"


@dataclass(frozen=True, kw_only=True)
class SavedHooks(Finding):
    """The line that gives the hooks of saved tensors, and an unpack hook that gives an array."""

    statement: Statement | None
    unpack: ast.expr | None


def of_saved_tensors(context: ErrorContext) -> Iterator[SavedHooks]:
    """A hook of saved tensors wrote what it was given, or gave back no tensor."""
    is_pack = "pack hook is modifying" in context.raised.message
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    calls = [one for one in lines if calls_in(one, "saved_tensors_hooks")]
    line = calls[0] if len(calls) == 1 else None
    at = context.noticed if line is None else line.at
    given = [] if line is None else calls_in(line, "saved_tensors_hooks")[0].args
    is_array = not is_pack and "numpy.ndarray" in context.raised.message
    yield SavedHooks(
        history=context.history,
        step=context.step,
        case="pack" if is_pack else "unpack",
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=(Cause("other", say("the hooks are given here"), at),),
        statement=line,
        unpack=given[1] if is_array and len(given) == 2 else None,
    )


def unpacked_array(found: SavedHooks) -> Iterator[Fix]:
    """A tensor made of the array that unpack gives back."""
    statement, unpack = found.statement, found.unpack
    if statement is None or not isinstance(unpack, ast.Lambda):
        return
    new = f"torch.from_numpy({statement.segment(unpack.body)})"
    does = say("unpack gives a tensor with the numbers of the array")
    yield Rewriting(statement, ((unpack.body, new),)).fix(does)
