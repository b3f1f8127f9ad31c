"""Look and compute without the user's modes, subclasses, tracing and profiler noticing."""

from __future__ import annotations

import threading
from typing import Any, Final

import torch
from torch._guards import TracingContext
from torch._ops import _len_torch_dispatch_stack_pre_dispatch
from torch.utils._python_dispatch import _disable_current_modes

from gradviz.capture.autograd.tensors import wait_anew, wait_as_before

_C: Final[Any] = torch._C
_profiled: Final = threading.local()
"""In threads whose profiler is suspended now: ``is_suspended``."""


class _Unseen:
    """What :func:`unseen` gives: it is entered for every line, so it is no generator.

    As a generator does, it undoes what it has done when it is dropped: a Ctrl-C may come while it
    is entered or left.
    """

    __slots__ = ("_dispatch", "_functions", "_has_begun", "_profiled", "_traced")

    def __init__(self) -> None:
        self._has_begun = False
        self._traced, self._profiled = None, False

    def __enter__(self) -> None:
        self._functions = _C.DisableTorchFunction()
        self._dispatch = _C._DisableTorchDispatch()
        self._has_begun = True
        try:
            self._begin()
        except BaseException:
            self.__exit__()
            raise

    def _begin(self) -> None:
        self._functions.__enter__()
        self._dispatch.__enter__()
        traced = _C._get_tracing_state()
        profiled = _C._autograd._profiler_enabled() and not _is_suspended()
        if traced or profiled:
            self._traced, self._profiled = traced, profiled
            _suspend(bool(traced), profiled)

    def __exit__(self, *_: object) -> None:
        try:
            self._end()
        finally:
            self._dispatch.__exit__(None, None, None)
            self._functions.__exit__(None, None, None)
            self._has_begun = False

    def _end(self) -> None:
        if self._traced or self._profiled:
            _resume(self._traced, self._profiled)

    def __del__(self) -> None:
        if self._has_begun:
            self.__exit__()


def unseen() -> _Unseen:
    """Hide reads from the user's modes and tensor subclasses (F2.12), trace (F6.15)
    and profiler (F6.14).

    Reading a saved output of a node runs one ``detach``, which dispatch modes would see. Memory
    that a profiler with ``profile_memory`` counts, and Python functions that one with
    ``with_stack`` sees, torch does not let us hide.
    """
    return _Unseen()


def is_exporting() -> bool:
    """Whether ``torch.export`` runs code with tensors whose sizes are symbols."""
    return torch.compiler.is_exporting()


def is_compiled_now() -> bool:
    """Whether ``torch.compile`` makes code in this thread; what it runs is none of the user's.

    It runs a whole backward with tensors that hold no values, to see what there is to do.
    """
    return TracingContext.try_get() is not None


def is_traced() -> bool:
    """Whether ``torch.jit.trace`` writes down what this thread runs (F6.15)."""
    return _C._get_tracing_state() is not None


def _is_suspended() -> bool:
    return getattr(_profiled, "is_suspended", False)


def _suspend(traced: bool, profiled: bool) -> None:
    if traced:
        _C._set_tracing_state(None)
    if profiled:
        _profiled.is_suspended = True
        _C._autograd._enable_record_function(False)


def _resume(traced: Any, profiled: bool) -> None:
    if traced:
        _C._set_tracing_state(traced)
    if profiled:
        _C._autograd._enable_record_function(True)
        _profiled.is_suspended = False


class _Arithmetic(_Unseen):
    """What :func:`arithmetic` gives."""

    __slots__ = ("_is_on", "_modes", "_waited")

    def __init__(self) -> None:
        super().__init__()
        self._is_on = torch.is_grad_enabled()
        self._modes: Any = None
        self._waited: Any = None

    def _begin(self) -> None:
        super()._begin()
        self._waited = wait_anew()
        if _C._len_torch_dispatch_stack() or _len_torch_dispatch_stack_pre_dispatch():
            self._modes = _disable_current_modes()
            self._modes.__enter__()
        _C._set_grad_enabled(False)

    def _end(self) -> None:
        try:
            _C._set_grad_enabled(self._is_on)
            waited, self._waited = self._waited, None
            if waited is not None:
                wait_as_before(waited)
            modes, self._modes = self._modes, None
            if modes is not None:
                modes.__exit__(None, None, None)
        finally:
            super()._end()


def arithmetic() -> _Arithmetic:
    """Compute on the user's tensors unseen by their modes and unrecorded by autograd.

    Each GPU is waited for at most once, when a tensor on it is first read.
    """
    return _Arithmetic()
