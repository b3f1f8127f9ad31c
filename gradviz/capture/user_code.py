"""Functions of ours that run the user's code: while they do, what happens is the user's."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Final, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
RUNS_USER_CODE: Final[set[CodeType]] = set()
"""Code of functions under whose frames the user's code runs."""


def runs_user_code(function: Function) -> Function:
    """Tell that a function calls the user's code, so that a Ctrl-C there is not kept waiting."""
    RUNS_USER_CODE.add(function.__code__)
    return function
