"""Whose lines are steps: the user's functions, and others that are asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.installed_files import folder_of, is_users
from gradviz.model import RecordingError
from gradviz.model.formatting import a_kind


class FollowedCode:
    """Code whose lines are steps when the recorded code calls it.

    Args:
        into: What is followed besides the user's own code.
        only: What is followed in place of it; ``None``: the user's own code is.

    Raises:
        RecordingError: If something has no lines.
    """

    def __init__(self, into: Any = (), only: Any = None) -> None:
        self._codes: set[CodeType] = set()
        self._files: set[str] = set()
        self._folders: tuple[str, ...] = ()
        self._has_users = only is None
        for option, given in (("into", into), ("only", () if only is None else only)):
            for one in _listed(given):
                self._add(one, option)

    @property
    def has_users(self) -> bool:
        """Whether the user's own code is followed, which it is without ``only``."""
        return self._has_users

    def has(self, code: CodeType) -> bool:
        """Whether the lines of a function are steps."""
        file = code.co_filename
        return (
            code in self._codes
            or (self._has_users and is_users(file))
            or file in self._files
            or (bool(self._folders) and file.startswith(self._folders))
        )

    def _add(self, one: Any, option: str) -> None:
        if isinstance(one, ModuleType) and getattr(one, "__file__", None):
            assert one.__file__ is not None
            self._files.add(one.__file__)
            if hasattr(one, "__path__"):
                self._folders += (folder_of(one.__file__),)
            return
        codes = list(_codes_of(one))
        if not codes:
            raise RecordingError(
                f"{option}= has {a_kind(one)} without lines of Python. Lines can be "
                f"followed in functions, classes, modules and nn.Module objects: "
                f"{option}=[my_function]"
            )
        for code in codes:
            self._codes.add(code)
            self._codes.update(_parts_of_lines(code))


def _listed(given: Any) -> Iterable[Any]:
    alone = (str, bytes, torch.nn.Module, torch.Tensor)
    is_one = isinstance(given, alone) or not isinstance(given, Iterable)
    return (given,) if is_one else given


def _parts_of_lines(code: CodeType) -> Iterator[CodeType]:
    """Code objects without lines of their own: lambdas, generator expressions, comprehensions."""
    for one in code.co_consts:
        if isinstance(one, CodeType) and one.co_name.startswith("<"):
            yield one
            yield from _parts_of_lines(one)


def _codes_of(one: Any) -> Iterator[CodeType]:
    if isinstance(one, torch.nn.Module):
        # A layer of torch is one line of its block, unless it is asked for itself.
        kinds = {type(m): None for m in one.modules() if m is one or not _is_torchs(type(m))}
        for kind in kinds:
            yield from _codes_of(kind)
    elif isinstance(one, type):
        for base in one.__mro__:
            if base is one or not (base is object or _is_torchs(base)):
                yield from _codes_of_class(base)
    else:
        code = autograd.code_of(one)
        if code is not None:
            yield code


def _codes_of_class(kind: type) -> Iterator[CodeType]:
    for value in list(vars(kind).values()):
        functions = (value.fget, value.fset) if isinstance(value, property) else (value,)
        for one in functions:
            function = getattr(one, "__func__", one)
            code = autograd.code_of(function) if callable(function) else None
            # From Python 3.13 on, all dataclasses have one function for copy.replace().
            is_shared = code is not None and code.co_filename == dataclasses.__file__
            if code is not None and not is_shared and not isinstance(one, type):
                yield code


def _is_torchs(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "torch"
