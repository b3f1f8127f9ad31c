"""Modes around a line that switch recording on or off."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.statements import Statement, last_name

_ON: Final = {
    "no_grad": "with torch.enable_grad(): ",
    "set_grad_enabled": "with torch.enable_grad(): ",
    "inference_mode": "with torch.inference_mode(False): ",
}
"""What switches recording on again, by what switches it off."""
SWITCHES: Final = tuple(_ON)
"""Functions of torch that switch recording off, or may do so."""


def mode_around(statement: Statement) -> str:
    """What switches recording on again, in a block or function that has switched it off."""
    found = (_ON.get(name) for outer in reversed(statement.around) for name in _names(outer))
    return next(filter(None, found), "")


def is_switched_off(outer: ast.stmt) -> bool:
    """Whether a block, or the decorator of a function, may switch recording off."""
    return any(name in _ON for name in _names(outer))


def without_record(text: str) -> str:
    """Code in a block in which nothing is recorded."""
    inside = "\n".join(f"    {line}" for line in text.split("\n"))
    return f"with torch.no_grad():\n{inside}"


def _names(outer: ast.stmt) -> Iterator[str]:
    calls = [item.context_expr for item in getattr(outer, "items", ())]
    calls += getattr(outer, "decorator_list", [])
    return (last_name(c.func if isinstance(c, ast.Call) else c) for c in calls)
