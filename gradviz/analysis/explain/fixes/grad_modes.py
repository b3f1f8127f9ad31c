"""Modes around a line that switch recording on or off."""

from __future__ import annotations

import ast
from typing import Final

from gradviz.analysis.code.grad_switches import function_of, names_of_switches
from gradviz.analysis.code.statements import Statement, last_name

_ON: Final = {
    "no_grad": "with torch.enable_grad(): ",
    "set_grad_enabled": "with torch.enable_grad(): ",
    "inference_mode": "with torch.inference_mode(False): ",
}
"""What switches recording on again, by what switches it off."""
CHECKPOINTS: Final = ("checkpoint", "checkpoint_sequential")
"""Functions of torch that call other code without recording it, to run it again in backward."""
_OFF_IF: Final = {"set_grad_enabled": False, "inference_mode": True}
"""The argument with which nothing is recorded."""


def mode_around(statement: Statement) -> str:
    """What switches recording on again, in a block or function that has switched it off."""
    blocks = reversed(statement.around)
    found = (_ON.get(name) for outer in blocks for name in names_of_switches(outer))
    return next(filter(None, found), "")


def switch_in(outer: ast.stmt) -> ast.expr | None:
    """What switches recording off in the head of a block."""
    items = (item.context_expr for item in getattr(outer, "items", ()))
    return next((one for one in items if last_name(function_of(one)) in _ON), None)


def condition_of(switch: ast.expr) -> tuple[str, bool] | None:
    """The condition of a switch, and what it was if nothing was recorded; ``None`` without one."""
    if not isinstance(switch, ast.Call):
        return None
    value = next(iter(switch.args), next((one.value for one in switch.keywords), None))
    name = last_name(switch.func)
    if value is None or isinstance(value, ast.Constant) or name not in _OFF_IF:
        return None
    return ast.unparse(value), _OFF_IF[name]


def is_reentrant(call: ast.expr) -> bool:
    """Whether a call of ``checkpoint`` may be a reentrant one, which records only for inputs that
    require grad."""
    if not isinstance(call, ast.Call) or last_name(call.func) not in CHECKPOINTS:
        return False
    given = next((one.value for one in call.keywords if one.arg == "use_reentrant"), None)
    return not (isinstance(given, ast.Constant) and given.value is False)


def without_record(text: str) -> str:
    """Code in a block in which nothing is recorded."""
    inside = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"with torch.no_grad():\n{inside}"
