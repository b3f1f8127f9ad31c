"""Hooks of the user's: registered, removed, fired."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.calls import Call
from gradviz.capture.recorder.engine import Engine
from gradviz.capture.recorder.listening import Watch
from gradviz.capture.recorder.state import State
from gradviz.capture.recorder.steps import Steps
from gradviz.model import Hook
from gradviz.model.events import HookChanged
from gradviz.model.facts import HookKind

_KINDS = {
    "register_hook": "tensor",
    "register_post_accumulate_grad_hook": "post_accumulate_grad",
}


class Hooks:
    """Follows hooks by their code; nothing of them is replaced or wrapped."""

    def __init__(
        self, state: State, steps: Steps, engine: Engine, changed: Callable[[], None]
    ) -> None:
        self._state = state
        self._world = state.world
        self._steps = steps
        self._engine = engine
        self._known: dict[CodeType, list[tuple[Hook, str | None]]] = {}
        self._registration = autograd.code_of_node_hook_registration()
        self._registering = Watch(self._node_hook, lambda frame, value, is_known: None)
        self._running = Watch(self._entered, self._left)
        self._removal = autograd.code_of_hook_removal()
        self._removing = Watch(lambda frame: None, lambda frame, value, is_known: changed())

    def learn(self, tensor: torch.Tensor) -> None:
        """Remember the hooks that a tensor has."""
        for kind, function in autograd.tensor_hooks(tensor):
            self._remember(kind, function, tensor)

    def _remember(self, kind: str, function: Any, tensor: torch.Tensor | None) -> None:
        code = autograd.code_of(function)
        if code is not None:
            hook = Hook(kind, autograd.describe_hook(function))  # type: ignore[arg-type]
            key = None if tensor is None else self._world.know(tensor).id
            known = self._known.setdefault(code, [])
            if (hook, key) not in known:
                known.append((hook, key))

    def registered(self, call: Call) -> None:
        """``Tensor.register_hook`` is about to be called; the state will show the rest."""
        kind = _KINDS.get(call.name)
        arguments = [*call.args, *call.kwargs.values()]
        if kind is None:
            if call.name == "retain_grad" and arguments and is_tensor(arguments[0]):
                self._world.know(arguments[0])
            return
        if len(arguments) == 2 and is_tensor(arguments[0]):
            self._remember(kind, arguments[1], arguments[0])

    def watch(self, code: CodeType) -> Watch | None:
        """What to do when a function runs."""
        if code is self._registration:
            return self._registering
        if code is self._removal:
            return self._removing
        # Asked once per code object, and a hook may be registered later: so by name of its kind.
        return self._running if _may_be_hook(code) else None

    def _node_hook(self, frame: FrameType) -> None:
        function = frame.f_locals.get("hook")
        if function is None or getattr(function, "__module__", "").startswith("gradviz."):
            return
        self._state.sees_hooks = False
        # A module's hook hangs on a node inside a function of torch's own.
        for one in autograd.module_hooks_in(function) or [function]:
            kind = _kind_of_node_hook(one)
            self._remember(kind, one, None)
            self._steps.add(HookChanged(Hook(kind, autograd.describe_hook(one)), True))

    def _entered(self, frame: FrameType) -> None:
        known = self._known.get(frame.f_code)
        if known and self._engine.is_running and autograd.backward_is_running():
            with autograd.unseen():
                self._engine.hook_entered(*self._engine.which(known))

    def _left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        known = self._known.get(frame.f_code)
        if known and self._engine.is_running and autograd.backward_is_running():
            with autograd.unseen():
                self._engine.hook_left(*self._engine.which(known), value, is_known)


def _kind_of_node_hook(function: Any) -> HookKind:
    """A hook before a node gets one argument, a hook after it two."""
    code = autograd.code_of(function)
    count = 2 if code is None else code.co_argcount - inspect.ismethod(function)
    return "node_pre" if count == 1 else "node_post"


def _may_be_hook(code: CodeType) -> bool:
    """Functions of torch and of Python itself are passed over; a hook takes an argument."""
    return not code.co_filename.startswith(_NOT_THE_USERS) and code.co_argcount >= 1


_NOT_THE_USERS = (str(torch.__path__[0]), "<frozen")
