"""Functions of gradviz that run the user's code; what happens below them is the user's."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any, Final, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
RUNS_USER_CODE: Final[set[CodeType]] = set()
"""Code of functions under whose frames the user's code runs."""


def runs_user_code(function: Function) -> Function:
    """Mark a function that calls the user's code, so that Ctrl-C in it is handled at once."""
    RUNS_USER_CODE.add(function.__code__)
    return function
