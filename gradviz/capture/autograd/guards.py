"""Look and compute without the user's modes, subclasses, tracing and profiler noticing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from torch._guards import TracingContext
from torch.utils._python_dispatch import _disable_current_modes

from gradviz.capture.autograd.tensors import waiting_once

_C: Final[Any] = torch._C
_profiled: Final = threading.local()
"""In threads whose profiler is suspended now: ``is_suspended``."""


@contextmanager
def unseen() -> Iterator[None]:
    """Hide reads from the user's modes and tensor subclasses (F2.12), trace (F6.15)
    and profiler (F6.14).

    Reading a saved output of a node runs one ``detach``, which dispatch modes would see. Memory
    that a profiler with ``profile_memory`` counts, and Python functions that one with
    ``with_stack`` sees, torch does not let us hide.
    """
    with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
        traced = _C._get_tracing_state()
        profiled = _C._autograd._profiler_enabled() and not _is_suspended()
        if not traced and not profiled:
            yield
            return
        try:
            _suspend(bool(traced), profiled)
            yield
        finally:
            _resume(traced, profiled)


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


@contextmanager
def arithmetic() -> Iterator[None]:
    """Compute on the user's tensors unseen by their modes and unrecorded by autograd.

    Each GPU is waited for at most once, when a tensor on it is first read.
    """
    is_on = torch.is_grad_enabled()
    try:
        with unseen(), torch.no_grad(), _disable_current_modes(), waiting_once():
            yield
    finally:  # a Ctrl-C while no_grad() begins would leave gradients off for good
        torch._C._set_grad_enabled(is_on)
