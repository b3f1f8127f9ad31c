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
    """What :func:`unseen` gives: it is entered for every line, so it is no generator."""

    __slots__ = ("_dispatch", "_functions", "_profiled", "_traced")

    def __enter__(self) -> None:
        self._functions = _C.DisableTorchFunction()
        self._dispatch = _C._DisableTorchDispatch()
        self._traced, self._profiled = None, False
        self._functions.__enter__()
        try:
            self._dispatch.__enter__()
            traced = _C._get_tracing_state()
            profiled = _C._autograd._profiler_enabled() and not _is_suspended()
            if traced or profiled:
                self._traced, self._profiled = traced, profiled
                _suspend(bool(traced), profiled)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            if self._traced or self._profiled:
                _resume(self._traced, self._profiled)
        finally:
            self._dispatch.__exit__(None, None, None)
            self._functions.__exit__(None, None, None)


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

    def __enter__(self) -> None:
        self._is_on = torch.is_grad_enabled()
        self._modes, self._waited = None, wait_anew()
        super().__enter__()
        try:
            if _C._len_torch_dispatch_stack() or _len_torch_dispatch_stack_pre_dispatch():
                self._modes = _disable_current_modes()
                self._modes.__enter__()
            _C._set_grad_enabled(False)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            _C._set_grad_enabled(self._is_on)
            wait_as_before(self._waited)
            if self._modes is not None:
                self._modes.__exit__(None, None, None)
        finally:
            super().__exit__()


def arithmetic() -> _Arithmetic:
    """Compute on the user's tensors unseen by their modes and unrecorded by autograd.

    Each GPU is waited for at most once, when a tensor on it is first read.
    """
    return _Arithmetic()
