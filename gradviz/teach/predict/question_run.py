"""Runs the function of a question once, under a recording."""

from __future__ import annotations

import inspect
import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from gradviz.capture.recorder import BUDGET, Recorder
from gradviz.model import OptionError, Recording, RecordingError
from gradviz.model.formatting import a_kind

_PAUSES: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True)
class QuestionRun:
    """What one run of a function left."""

    recording: Recording
    returned: Any = None
    error: Exception | None = None
    """What the function raised, if anything."""
    printed: str = ""
    """What it printed and warned of, which may give the answer away."""


def run(function: Callable[[], Any]) -> QuestionRun:
    """Call a function once and record its lines, also when it raises.

    Args:
        function: Takes no arguments.

    Raises:
        OptionError: If it is no function that can be called without arguments.
        RecordingError: If another recording runs.
    """
    checked = _checked(function)
    recorder = Recorder(budget=BUDGET)
    out, returned, error = io.StringIO(), None, None
    with warnings.catch_warnings(record=True) as warned, redirect_stdout(out), redirect_stderr(out):
        try:
            recorder.start(function=checked)
        except RecordingError:
            raise RecordingError(
                "predict() records its function, and another recording runs already: leave "
                "%%gradviz or gradviz.record() around the question out"
            ) from None
        try:
            returned = checked()
        except Exception as raised:
            error = raised
        except BaseException as raised:
            recorder.stop(raised)
            raise
        recording = recorder.stop(error)
    told = [f"{one.category.__name__}: {one.message}\n" for one in warned]
    return QuestionRun(recording, returned, error, "".join((out.getvalue(), *told)))


def _checked(function: object) -> FunctionType:
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        kind = "a lambda" if isinstance(function, FunctionType) else a_kind(function)
        raise OptionError(
            f"predict() decorates a function, whose lines are the program of the question, but "
            f"this is {kind}. Write @gradviz.predict(...) above a def"
        )
    name, flags = function.__name__, function.__code__.co_flags
    if flags & _PAUSES:
        kind = "coroutine" if flags & inspect.CO_COROUTINE else "generator"
        raise OptionError(
            f"{name} is a {kind}, which has no value when it is called: predict() needs a plain "
            "function that returns the answer"
        )
    needed = [
        one.name
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]
    if needed:
        raise OptionError(
            f"{name} needs {', '.join(needed)}, and predict() calls it without arguments: make "
            f"them variables in its body, or give them a default: def {name}({needed[0]}=1.0)"
        )
    return function
