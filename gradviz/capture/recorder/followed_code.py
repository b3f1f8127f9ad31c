"""Which functions are stepped into."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.model import RecordingError


def codes_to_follow(into: Iterable[Any]) -> frozenset[CodeType]:
    """Code of functions whose lines are steps too, and of lambdas and comprehensions in them.

    Raises:
        RecordingError: If something has no lines.
    """
    if isinstance(into, (str, bytes)) or not isinstance(into, Iterable):
        into = (into,)
    found: set[CodeType] = set()
    for one in into:
        codes = list(_codes_of(one))
        if not codes:
            raise RecordingError(
                f"into= has a {type(one).__name__} without lines of Python. Lines can be "
                "followed in functions, classes, modules and nn.Module objects: into=[my_function]"
            )
        for code in codes:
            found.add(code)
            found.update(_parts_of_lines(code))
    return frozenset(found)


def _parts_of_lines(code: CodeType) -> Iterator[CodeType]:
    """Code objects without lines of their own: lambdas, generator expressions, comprehensions."""
    for one in code.co_consts:
        if isinstance(one, CodeType) and one.co_name.startswith("<"):
            yield one
            yield from _parts_of_lines(one)


def _codes_of(one: Any) -> Iterable[CodeType]:
    if isinstance(one, ModuleType):
        file = getattr(one, "__file__", None)
        for value in list(vars(one).values()):
            if getattr(value, "__module__", None) == one.__name__ and file:
                yield from _codes_of(value)
    elif isinstance(one, torch.nn.Module):
        yield from _codes_of(type(one))
    elif isinstance(one, type):
        for value in list(vars(one).values()):
            code = (
                autograd.code_of(getattr(value, "__func__", value))
                if callable(getattr(value, "__func__", value))
                else None
            )
            # From Python 3.13 on, all dataclasses have one function for copy.replace().
            is_shared = code is not None and code.co_filename == dataclasses.__file__
            if code is not None and not is_shared and not isinstance(value, type):
                yield code
    else:
        code = autograd.code_of(one)
        if code is not None:
            yield code
