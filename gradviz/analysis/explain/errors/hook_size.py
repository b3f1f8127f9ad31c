"""A hook returned a gradient of another shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.torch_messages import hook_in
from gradviz.model.events import HookChanged
from gradviz.model.explanation import Cause
from gradviz.model.sentence import say


def hook_size(context: ErrorContext) -> Iterator[Finding]:
    """The hook, the line that returns the gradient, and the tensor it is of."""
    name, history = hook_in(context.raised.message), context.history
    placed = [
        (step, event)
        for step, event in history.events(HookChanged, context.step)
        if event.registered and event.tensor is not None and (event.hook.name or "") == name
    ]
    keys = {event.tensor for _, event in placed}
    key = next(iter(keys)) if len(keys) == 1 else None
    returned = _return_of(name or "", context)
    causes = []
    if returned is not None:
        what = say("the hook {} returns a gradient of another shape", name or "")
        causes.append(Cause("other", what, returned.at))
    lines = {history.line(step): None for step, _ in placed}
    causes += [Cause("other", say("the hook was registered here"), at) for at in [*lines][:1]]
    read = context.values_read(None if returned is None else returned.node)
    yield Finding(
        history=history,
        step=context.step,
        words={
            "hook": name or "a function",
            "it": context.term(key) if key is not None else "its tensor",
        },
        variables=(context.name(key), *read[:1]),
        node=context.node,
        causes=tuple(causes),
        targets={"it": [key]},
        unknown=()
        if causes
        else (say("which line returns it; register it in the recorded code, as a def of its own"),),
    )


def _return_of(name: str, context: ErrorContext) -> Statement | None:
    """The only ``return`` of the function, or the line with the lambda that is registered."""
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    found = [one for one in lines if isinstance(one.node, ast.Return) and is_in(one, name)]
    if name == "<lambda>":
        calls = [(one, c) for one in lines for c in calls_in(one, "register_hook")]
        found = [one for one, c in calls if c.args and isinstance(c.args[0], ast.Lambda)]
    return found[0] if len(found) == 1 else None


def returned_by(
    name: str | None, context: ErrorContext
) -> tuple[Statement | None, ast.expr | None]:
    """The line of a hook that returns a gradient, and the expression.

    Args:
        name: The hook; ``None`` if it is not known, so that it is the only one that the code
            registers.
        context: The error.
    """
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    calls = [(one, c) for one in lines for c in calls_in(one, "register_hook") if c.args]
    if name is None:
        given = {ast.unparse(call.args[0]) for _, call in calls}
        if len(given) != 1:
            return None, None
        text = given.pop()
        name = "<lambda>" if text.startswith("lambda") else text
    short = name.rpartition(".")[2]
    statement = _return_of(short, context)
    if statement is None:
        return None, None
    if isinstance(statement.node, ast.Return):
        return statement, statement.node.value
    value = next((c.args[0] for one, c in calls if one is statement), None)
    return statement, value.body if isinstance(value, ast.Lambda) else None


def is_in(statement: Statement, name: str) -> bool:
    """Whether a line is one of a function with this name."""
    function = statement.function
    return function is not None and function.name == name.rpartition(".")[2]
