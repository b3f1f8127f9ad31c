"""Where an exception arose, and by what it is known again."""

from __future__ import annotations

import inspect
from itertools import pairwise
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

from gradviz.capture.error_text import error_text, is_plain
from gradviz.capture.installed_files import is_users
from gradviz.capture.stacks import stack_of

_ENGINE: Final = "_engine_run_backward"
"""Function of torch's that runs the engine."""
_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
"""Names of code that has a frame and is no statement; those but the last up to Python 3.11."""
_WITHOUT_CALLER: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Flags of code whose frames do not know, when they have ended, who had called them."""


class Errors:
    """Exceptions by number, in the order in which they were first seen; none is kept alive.

    An exception is known by its place in memory and by its arguments. These are kept if they are
    texts and numbers: then no other exception can have them. One without any may be taken for one
    that is gone, had none either, and was in the same place.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[object, ...], tuple[int, object]] = {}

    def number(self, error: BaseException) -> int | None:
        """Its number, ``None`` if it was not seen."""
        return self._seen.get(_key(error), (None,))[0]

    def add(self, error: BaseException) -> int:
        """Its number, a new one if it was not seen."""
        arguments = _arguments(error)
        kept = arguments if all(map(is_plain, arguments)) else None
        return self._seen.setdefault(_key(error), (len(self._seen), kept))[0]


def _key(error: BaseException) -> tuple[object, ...]:
    return id(error), id(_arguments(error)), type(error).__name__, error_text(error)


def _arguments(error: BaseException) -> tuple[Any, ...]:
    return tuple(vars(BaseException)["args"].__get__(error))  # the same object: it is a tuple


def innermost(entries: list[TracebackType]) -> int:
    """Place of the innermost frame that runs the user's code, outside any backward."""
    for place in range(len(before_backward(entries)) - 1, -1, -1):
        if is_users(entries[place].tb_frame.f_code.co_filename):
            return place
    return 0


def statement_of(entries: list[TracebackType], place: int) -> int:
    """Place of the frame that runs the statement: a comprehension is part of that of its own."""
    codes = [entry.tb_frame.f_code for entry in entries[: place + 1]]
    while place and codes[place].co_name in _COMPREHENSIONS:
        before = next(
            (at for at in range(place - 1, -1, -1) if _has(codes[at], codes[place])), None
        )
        if before is None:
            break
        place = before
    return place


def is_raised_again(entries: list[TracebackType]) -> bool:
    """Whether the exception arose in code that the outermost frame did not call: in another
    thread, or before. Entries in front are those of the code that has raised it again."""
    called = pairwise(before_backward(entries))
    return not all(_has_called(before.tb_frame, entry.tb_frame) for before, entry in called)


def _has_called(caller: FrameType, frame: FrameType) -> bool:
    is_unknown = frame.f_back is None and frame.f_code.co_flags & _WITHOUT_CALLER
    return bool(is_unknown) or any(one is caller for one in stack_of(frame.f_back))


def before_backward(entries: list[TracebackType]) -> list[TracebackType]:
    """Entries outside any backward: what runs inside is part of the line that called it."""
    names = [entry.tb_frame.f_code.co_name for entry in entries]
    return entries[: names.index(_ENGINE)] if _ENGINE in names else entries


def _has(code: CodeType, inner: CodeType) -> bool:
    return any(one is inner for one in code.co_consts)
