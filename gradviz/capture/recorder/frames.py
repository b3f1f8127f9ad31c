"""Keeps the recorder out of warnings and tracebacks.

Operations run one frame deeper while they are recorded. A warning of torch names the innermost
Python frame, and is shown once per place, so that frame looks like the caller's: same file, same
line, same globals. Under ``torch.jit.trace``, which names values by the variables of that frame,
it has the same variables too. Entries of recorder frames are taken out of tracebacks.
"""

from __future__ import annotations

import dis
import os
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.installed_files import folder_of
from gradviz.capture.stacks import traceback_entries
from gradviz.capture.user_code import runs_user_code

NAME: Final = "__gradviz_call__"
"""Name of the frame that looks like the caller's."""
_OWN: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_OVERRIDES: Final = torch.overrides.__file__
_TORCH: Final = folder_of(torch.__file__)
_BEGINNING: Final = dis.opmap["RESUME"]


def _template() -> CodeType:
    code = compile(f"def {NAME}(f, a, k): return f(*a, **k)", "<gradviz>", "exec")
    return next(c for c in code.co_consts if isinstance(c, CodeType))


_TEMPLATE: Final = _template()


_IN_TRACE: Final = compile(
    "__gradviz_result__ = __gradviz_f__(*__gradviz_a__, **__gradviz_k__)", "<gradviz>", "exec"
).replace(co_name=NAME, co_qualname=NAME)


_exchanged: Final[dict[CodeType, FunctionType]] = {}
"""Functions of torch's that programs have put others in the place of, by their code."""


def caller_of(function: Any) -> tuple[FrameType | None, Any]:
    """The frame that called a function of torch, seen in ``__torch_function__``, and the function.

    Torch finds its own function by name, as ``Tensor.backward``. If a program has put one of its
    own there, which calls torch's, it has been called already: it is torch's that is to run.

    Returns:
        No frame if no Python did, as for ``torch.abs`` as a hook on a thread of the engine.
    """
    frame: FrameType | None = sys._getframe(1).f_back
    passed = False
    while frame is not None and frame.f_code.co_filename == _OVERRIDES:
        frame, passed = frame.f_back, True
    if passed and frame is not None:
        if type(function) is FunctionType and _is_exchanged(function.__code__, frame.f_code):
            # It is handed all its arguments, so it needs no defaults.
            torchs = FunctionType(frame.f_code, frame.f_globals)
            function = _exchanged.setdefault(frame.f_code, torchs)
        if frame.f_code is getattr(function, "__code__", None):
            frame = frame.f_back
    return frame, function


def _is_exchanged(code: CodeType, asking: CodeType) -> bool:
    are_torchs = [one.co_filename.startswith(_TORCH) for one in (code, asking)]
    return are_torchs == [False, True] and not asking.co_freevars


class BorrowedFrame:
    """Calls functions as if the caller's own line did."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, int], CodeType] = {}

    @runs_user_code
    def call(
        self, frame: FrameType | None, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """``function(*args, **kwargs)``, from a frame that looks like ``frame`` if there is one."""
        if frame is None:
            return function(*args, **kwargs)
        at = frame.f_code.co_filename, frame.f_lineno or 1
        if autograd.is_traced():
            in_trace = _IN_TRACE.replace(co_filename=at[0], co_firstlineno=at[1])
            names: dict[str, Any] = dict(naming.local_variables(frame))
            names |= {"__gradviz_f__": function, "__gradviz_a__": args, "__gradviz_k__": kwargs}
            exec(in_trace, frame.f_globals, names)
            return names["__gradviz_result__"]
        code = self._codes.get(at)
        if code is None:
            if len(self._codes) > 10_000:
                self._codes.clear()
            code = _TEMPLATE.replace(co_filename=at[0], co_firstlineno=at[1])
            self._codes[at] = code
        return FunctionType(code, frame.f_globals)(function, args, kwargs)


def clean(traceback: TracebackType | None) -> None:
    """Take the recorder's entries out of a traceback, in place.

    With them go the entries of torch's detour through ``handle_torch_function``.
    """
    if traceback is None or traceback.tb_next is None:
        return
    entries = list(traceback_entries(traceback))
    if _is_own(entries[0]) or _OVERRIDES in map(_file, entries[:2]):
        return  # the detour is not over yet; it is removed where the caller's frame comes first
    kept: list[TracebackType] = []
    removed = False
    for entry in entries:
        if _is_own(entry) and kept:
            removed = True
            continue
        if removed and len(kept) > 1 and _file(kept[-1]) == _OVERRIDES:
            while len(kept) > 1 and _file(kept[-1]) == _OVERRIDES:
                kept.pop()
            if len(kept) > 1 and kept[-1].tb_frame.f_code is entry.tb_frame.f_code:
                kept.pop()
        removed = False
        kept.append(entry)
    if removed:
        while len(kept) > 1 and _file(kept[-1]) == _OVERRIDES:
            kept.pop()
    if len(kept) != len(entries):
        for entry, following in zip(kept, [*kept[1:], None], strict=True):
            entry.tb_next = following


_FRAME: Final = re.compile(r'\s*File "(?P<file>.*)", line \d+, in (?P<name>[^\n]*)')


def clean_texts(frames: list[str]) -> list[str]:
    """The formatted frames that anomaly mode keeps in a node, without the recorder's.

    As :func:`clean`, for text.
    """
    kept: list[tuple[str, tuple[str, str]]] = []
    removed = False
    for frame in frames:
        found = _FRAME.match(frame)
        place = (found["file"], found["name"]) if found is not None else ("", "")
        if place[1] == NAME or place[0].startswith(_OWN):
            removed = True
            continue
        if removed and kept and kept[-1][1][0] == _OVERRIDES:
            while kept and kept[-1][1][0] == _OVERRIDES:
                kept.pop()
            if kept and kept[-1][1] == place:
                kept.pop()
        removed = False
        kept.append((frame, place))
    while removed and kept and kept[-1][1][0] == _OVERRIDES:
        kept.pop()
    return [frame for frame, _ in kept]


def _file(entry: TracebackType) -> str:
    return entry.tb_frame.f_code.co_filename


def _is_own(entry: TracebackType) -> bool:
    return is_own(entry.tb_frame.f_code)


def is_at_beginning(code: CodeType, offset: int) -> bool:
    """Whether an instruction is the one with which a function begins, before any of its own."""
    return offset >= 0 and code.co_code[offset] == _BEGINNING


def is_own(code: CodeType) -> bool:
    """Whether code is gradviz's, or looks like its caller."""
    return code.co_name == NAME or code.co_filename.startswith(_OWN)
