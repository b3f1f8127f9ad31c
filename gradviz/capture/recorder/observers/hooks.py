"""Hooks of the user's: registered, removed, fired."""

from __future__ import annotations

import inspect
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.live_graph import LiveGraph
from gradviz.capture.recorder.observers.backward import BackwardEvents
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.known_hooks import KnownHooks
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.torch_call import TorchCall
from gradviz.model import Hook
from gradviz.model.events import HookChanged
from gradviz.model.records import HookKind


class HookEvents(Observer):
    """Follows the hooks of the user's.

    Args:
        known: Which functions are hooks.
        live_graph: Rows of the graph.
        writer: Where events are written.
        backward_events: Runs hooks.
        graph_reading: Notified when a hook was removed, which calls no function of torch.
    """

    def __init__(
        self,
        known: KnownHooks,
        live_graph: LiveGraph,
        writer: StepWriter,
        backward_events: BackwardEvents,
        graph_reading: GraphReading,
    ) -> None:
        self._known = known
        self._live_graph = live_graph
        self._writer = writer
        self._backward_events = backward_events
        self._graph_reading = graph_reading
        self._registration = autograd.code_of_node_hook_registration()
        self._removal = autograd.code_of_hook_removal()

    def before(self, call: TorchCall) -> bool:
        """``Tensor.register_hook`` may be about to be called."""
        self._known.registered(call)
        return True

    def watches(self, code: CodeType) -> bool:
        """Whether a function registers hooks, removes one, or is one by now."""
        if code in (self._registration, self._removal):
            return True
        return bool(self._known.of(code)) and not code.co_filename.startswith(_NOT_THE_USERS)

    def entered(self, frame: FrameType) -> None:
        """A hook is about to be registered, or to run."""
        if frame.f_code is self._registration:
            self._node_hook(frame)
            return
        known = self._running(frame)
        if known:
            with autograd.unseen():
                self._backward_events.hook_entered(*self._backward_events.which(known))

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """A hook was removed, or has run."""
        if frame.f_code is self._removal:
            self._live_graph.hooks_changed()
            self._graph_reading.changed()
            return
        known = self._running(frame)
        if known:
            with autograd.unseen():
                self._backward_events.hook_left(
                    *self._backward_events.which(known), value, is_known
                )

    def _running(self, frame: FrameType) -> list[tuple[Hook, str | None]]:
        """What hooks the function of a frame is, if a backward runs it."""
        known = self._known.of(frame.f_code)
        is_run = known and self._backward_events.is_running and autograd.backward_is_running()
        return known if is_run else []

    def _node_hook(self, frame: FrameType) -> None:
        function = frame.f_locals.get("hook")
        # Methods of Python's own classes, such as a list's append, are of no module.
        module = getattr(function, "__module__", None) or ""
        if function is None or module.startswith("gradviz."):
            return
        self._live_graph.lose_sight_of_hooks()
        self._graph_reading.changed()
        # A module's hook hangs on a node inside a function of torch's own.
        for one in autograd.module_hooks_in(function) or [function]:
            kind = _kind_of_node_hook(one)
            self._known.remember(kind, one, None)
            self._writer.add(HookChanged(Hook(kind, autograd.describe_hook(one)), True))


def _kind_of_node_hook(function: Any) -> HookKind:
    """A hook before a node gets one argument, a hook after it two."""
    code = autograd.code_of(function)
    count = 2 if code is None else code.co_argcount - inspect.ismethod(function)
    return "node_pre" if count == 1 else "node_post"


_NOT_THE_USERS = (str(torch.__path__[0]), "<frozen")
"""Where functions of torch and of Python itself are."""
