"""Hooks of the user's: registered, removed, fired."""

from __future__ import annotations

import inspect
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.calls import Call
from gradviz.capture.recorder.engine import Engine
from gradviz.capture.recorder.known_hooks import KnownHooks
from gradviz.capture.recorder.listening import Observer
from gradviz.capture.recorder.reading import Reading
from gradviz.capture.recorder.state import State
from gradviz.capture.recorder.steps import Steps
from gradviz.model import Hook
from gradviz.model.events import HookChanged
from gradviz.model.facts import HookKind


class Hooks(Observer):
    """Follows the hooks of the user's.

    Args:
        known: Which functions are hooks.
        state: Rows of the graph.
        steps: Where events are written.
        engine: Runs hooks.
        reading: Is told that a hook was removed, which calls no function of torch.
    """

    def __init__(
        self, known: KnownHooks, state: State, steps: Steps, engine: Engine, reading: Reading
    ) -> None:
        self._known = known
        self._state = state
        self._steps = steps
        self._engine = engine
        self._reading = reading
        self._registration = autograd.code_of_node_hook_registration()
        self._removal = autograd.code_of_hook_removal()

    def before(self, call: Call) -> bool:
        """``Tensor.register_hook`` may be about to be called."""
        self._known.registered(call)
        return True

    def watches(self, code: CodeType) -> bool:
        """Whether a function registers hooks, removes one, or may be one."""
        # Asked once per code object, and a hook may be registered later: so by name of its kind.
        return code in (self._registration, self._removal) or _may_be_hook(code)

    def entered(self, frame: FrameType) -> None:
        """A hook is about to be registered, or to run."""
        if frame.f_code is self._registration:
            self._node_hook(frame)
            return
        known = self._running(frame)
        if known:
            with autograd.unseen():
                self._engine.hook_entered(*self._engine.which(known))

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """A hook was removed, or has run."""
        if frame.f_code is self._removal:
            self._reading.changed()
            return
        known = self._running(frame)
        if known:
            with autograd.unseen():
                self._engine.hook_left(*self._engine.which(known), value, is_known)

    def _running(self, frame: FrameType) -> list[tuple[Hook, str | None]]:
        """What hooks the function of a frame is, if a backward runs it."""
        known = self._known.of(frame.f_code)
        is_run = known and self._engine.is_running and autograd.backward_is_running()
        return known if is_run else []

    def _node_hook(self, frame: FrameType) -> None:
        function = frame.f_locals.get("hook")
        if function is None or getattr(function, "__module__", "").startswith("gradviz."):
            return
        self._state.lose_sight_of_hooks()
        # A module's hook hangs on a node inside a function of torch's own.
        for one in autograd.module_hooks_in(function) or [function]:
            kind = _kind_of_node_hook(one)
            self._known.remember(kind, one, None)
            self._steps.add(HookChanged(Hook(kind, autograd.describe_hook(one)), True))


def _kind_of_node_hook(function: Any) -> HookKind:
    """A hook before a node gets one argument, a hook after it two."""
    code = autograd.code_of(function)
    count = 2 if code is None else code.co_argcount - inspect.ismethod(function)
    return "node_pre" if count == 1 else "node_post"


def _may_be_hook(code: CodeType) -> bool:
    """Functions of torch and of Python itself are passed over; a hook takes an argument."""
    return not code.co_filename.startswith(_NOT_THE_USERS) and code.co_argcount >= 1


_NOT_THE_USERS = (str(torch.__path__[0]), "<frozen")
