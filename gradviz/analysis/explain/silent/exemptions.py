"""Unrecorded writes after which the gradient is still right."""

from __future__ import annotations

import ast
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import last_name, statement_of
from gradviz.model.history import History, WriteEvent
from gradviz.model.reachability import reachable
from gradviz.model.records import Node

_SUMS: Final = ("add_", "sub_", "__iadd__", "__isub__")
_FILLS: Final = frozenset({"fill", "sort", "partition", "put", "copyto", "place", "putmask"})
"""Functions of numpy that write."""
_ENDS: Final = ("detach", ".data", "left torch", "not differentiable")
"""Reasons why a value was meant to be a constant from then on."""
_HUGE: Final = 1e4
"""Filling in a number below minus this is a mask for softmax, whose gradient is 0 there."""


def is_harmless(act: WriteEvent, history: History) -> bool:
    """Whether the gradient is right without a node: a constant was added, or a mask filled in."""
    if not act.is_exact:
        return not _is_seen(act, history)
    if act.event.by in _SUMS:
        return not any(_needs_gradient(key, act, history) for key in act.event.reads[1:])
    if act.event.by == "__setitem__" and _is_sum_of_part(act, history):
        return True
    return _is_mask(act, history)


def is_of_part(act: WriteEvent, history: History) -> bool:
    """Whether only a part of a memory may have been written."""
    made = {call.name for _, call in history.aliases(act.written)}
    return not act.is_exact or act.event.by == "__setitem__" or "__getitem__" in made


def may_be_put_back(acts: list[WriteEvent], history: History) -> bool:
    """Whether the last write may have restored the values before the first.

    It may if it is one of several, or the same as one before them: ``fully_shard`` frees memory
    after the forward, and copies the same tensor there again for backward.
    """
    last = acts[-1].event
    if last.by == "copy_" and any(
        (act.event.by, act.event.reads) == (last.by, last.reads) and act.is_before(acts[0].place)
        for act in history.acts[last.storage]
    ):
        return True
    if len(acts) < 2:
        return False
    if acts[-1].is_exact:
        return acts[-1].is_assignment or acts[-1].event.by in ("copy_", "__setitem__")
    statement = statement_of(history, acts[-1].place)
    return statement is None or not isinstance(statement.node, ast.AugAssign)


def is_scaled_with(node: Node, act: WriteEvent, history: History) -> bool:
    """Whether a node's gradient has the factor by which its result was multiplied.

    That of exp is its saved result, so that it follows each factor that is a constant.
    """
    if node.name != "ExpBackward0" or node.saved[0].storage not in (None, act.event.storage):
        return False
    if act.is_exact:
        constant = not any(_needs_gradient(key, act, history) for key in act.event.reads[1:])
        return act.event.by in ("mul_", "div_") and constant
    statement = statement_of(history, act.place)
    line = None if statement is None else statement.node
    if isinstance(line, ast.AugAssign):
        return isinstance(line.op, (ast.Mult, ast.Div))
    return not isinstance(line, ast.Assign)  # what a call did is not known


def _needs_gradient(key: str, act: WriteEvent, history: History) -> bool:
    """Whether a tensor that was added depends on what requires grad."""
    if act.operation is not None and key in act.operation.required:
        return True

    def before(key: str) -> tuple[str, ...]:
        made = history.makers.get(key)
        return () if made is None or made[1].reason in _ENDS else made[1].reads

    made = (history.makers.get(one) for one in reachable([key], before))
    modes = ("no_grad", "inference mode", "custom Function")
    return any(one is not None and one[1].reason in modes and one[1].required for one in made)


def _is_sum_of_part(act: WriteEvent, history: History) -> bool:
    """Whether it is the second half of ``h[0] += 1``, which assigns what it added to."""
    for other in history.acts[act.event.storage]:
        in_line = other.place[0] == act.place[0] and other.place < act.place
        if in_line and other.event.by in _SUMS and other.written in act.event.reads[1:]:
            return True
    return False


def _is_mask(act: WriteEvent, history: History) -> bool:
    """Whether minus infinity, or nearly so, was filled in."""
    site = site_of(history, act.place, act.event)
    if site is None:
        return False
    if act.event.by == "__setitem__":
        value = getattr(site.statement.node, "value", None)
    else:
        call = site.call_of("masked_fill_")
        value = call.args[1] if call is not None and len(call.args) > 1 else None
    return value is not None and _number(value) < -_HUGE


def _number(node: ast.AST) -> float:
    """A number as it is written; 0 for what is none."""
    text = ast.unparse(node)
    if text in ("-float('inf')", "float('-inf')", "-math.inf", "-torch.inf", "-np.inf", "-inf"):
        return -float("inf")
    try:
        return float(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError):
        return 0.0


def _is_seen(act: WriteEvent, history: History) -> bool:
    """Whether the line itself shows a write of numpy that is no sum."""
    statement = statement_of(history, act.place)
    if statement is None:
        return False
    node = statement.node
    if isinstance(node, ast.AugAssign):
        return not isinstance(node.op, (ast.Add, ast.Sub))
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in node.targets)
    for call in (n for n in statement.parts if isinstance(n, ast.Call)):
        if last_name(call.func) in _FILLS:
            return True
        if any(k.arg == "out" for k in call.keywords):
            return last_name(call.func) not in ("add", "subtract")
    return False
