"""Blocks and decorators that switch recording off, in the text of a line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.statements import last_name

SWITCHES: Final = ("no_grad", "set_grad_enabled", "inference_mode")
"""Functions of torch that switch recording off, or may do so."""


def is_switched_off(outer: ast.stmt) -> bool:
    """Whether a block, or the decorator of a function, may switch recording off."""
    return any(name in SWITCHES for name in names_of_switches(outer))


def names_of_switches(outer: ast.stmt) -> Iterator[str]:
    """The functions that the head of a block calls, or the decorators of a function."""
    calls = [item.context_expr for item in getattr(outer, "items", ())]
    calls += getattr(outer, "decorator_list", [])
    return (last_name(function_of(one)) for one in calls)


def function_of(call: ast.expr) -> ast.expr:
    """What is called, of a decorator that is called or is not."""
    return call.func if isinstance(call, ast.Call) else call
