"""``optimizer.step()``, ``zero_grad()`` and clipping: which tensors were updated or skipped.

Steps of schedulers are noted beside them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from inspect import getattr_static
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any, Final, NamedTuple

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.positions import Positions
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.resting_mode import RestingMode
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.model.events import (
    Clipped,
    OptimizerStepped,
    Position,
    SchedulerStepped,
    ZeroedGrad,
)

_MOST_WRAPPERS: Final = 20
"""Around a closure."""
_Before = list[tuple[str, autograd.TensorRef, "int | None", bool]]


class _Running(NamedTuple):
    """An optimizer that runs."""

    frame: FrameType
    name: str
    before: _Before
    position: Position | None
    closures: frozenset[CodeType]
    """Code of the user's that it was given to call."""


class OptimizerEvents(Observer):
    """Follows optimizers; what they do to each parameter is one event.

    Args:
        registry: The known tensors.
        writer: Where events are written.
        graph_reading: Reads tensors before they are used.
        positions: Which expression calls an optimizer.
        resting: The mode that sees calls, which is off where none of them is the user's.
    """

    def __init__(
        self,
        registry: Registry,
        writer: StepWriter,
        graph_reading: GraphReading,
        positions: Positions,
        resting: RestingMode,
    ) -> None:
        self._registry = registry
        self._writer = writer
        self._graph_reading = graph_reading
        self._positions = positions
        self._resting = resting
        self._running: list[_Running] = []
        self._may_change_anything = False
        """Whether one runs whose calls need not be about its parameters."""
        self._clipping = frozenset(autograd.codes_of_clipping())
        self._scheduling = frozenset(autograd.codes_of_scheduler_step())
        self._first_scheduling = autograd.code_of_first_scheduler_step()
        self.codes: dict[CodeType, Callable[[FrameType], None]] = {
            **dict.fromkeys(autograd.codes_of_optimizer_step(), self._stepped),
            **dict.fromkeys(autograd.codes_of_zero_grad(), self._zeroed),
            **dict.fromkeys(self._clipping, self._clipped),
            **dict.fromkeys(self._scheduling, self._scheduled),
        }

    @property
    def is_running(self) -> bool:
        """Whether an optimizer runs, and no closure that it calls: what it does is one event."""
        if not self._running:
            return False
        running = self._running[-1]
        frame: FrameType | None = sys._getframe() if running.closures else None
        while frame is not None and frame is not running.frame:
            if frame.f_code in running.closures:
                return False
            frame = frame.f_back
        return True

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """Tell what has become of the parameters."""
        self._resting.ends(frame)
        with autograd.unseen():
            self.codes[frame.f_code](frame)

    def entered(self, frame: FrameType) -> None:
        """Note how the parameters are before; clipping makes its list of them itself, and a
        scheduler changes none."""
        if frame.f_code in self._clipping or frame.f_code in self._scheduling:
            return
        variables = dict(naming.local_variables(frame))
        owner = variables.get("self") or next(iter(variables.get("args", ())), None)
        with autograd.unseen():
            parameters = _parameters(owner)
            before = self._before(parameters)
            if _is_fused(owner):
                self._graph_reading.unseen_writes(parameters)
        position = self._positions.of(frame, "step")
        closures = frozenset(code for one in _given(variables) if (code := _code_of(one)))
        self._running.append(_Running(frame, type(owner).__name__, before, position, closures))
        self._may_change_anything = self._may_change_anything or _is_of_others(owner)
        self._graph_reading.changed(unlisted=self._may_change_anything)
        if not _runs_code_of_others(owner, variables):
            self._resting.begins(frame)

    def step_ends(self, unnamed: Any = None) -> None:
        """What the next line of an optimizer does is not seen either."""
        self._may_change_anything = self._may_change_anything and bool(self._running)
        if self._may_change_anything:
            self._graph_reading.changed(unlisted=True)

    def _before(self, parameters: list[torch.Tensor]) -> _Before:
        self._graph_reading.touch(parameters)
        self._graph_reading.about_to_change(parameters)
        before: _Before = []
        for tensor, grad in zip(parameters, autograd.grads_of(parameters), strict=True):
            version = autograd.version_of(tensor)
            entry = self._registry.know(tensor)
            before.append((entry.id, entry.ref, version, grad is not None))
        return before

    def _end(self, frame: FrameType) -> _Running | None:
        while self._running:
            running = self._running.pop()
            refs = [ref for _, ref, _, _ in running.before]
            self._graph_reading.about_to_change(t for ref in refs if (t := ref()) is not None)
            if running.frame is frame:
                return running
        return None

    def _stepped(self, frame: FrameType) -> None:
        found = self._end(frame)
        if found is None:
            return
        before = found.before
        updated, skipped = [], []
        for key, ref, version, had_grad in before:
            tensor = ref()
            if tensor is not None and autograd.version_of(tensor) != version:
                updated.append(key)
            elif not had_grad:
                skipped.append(key)
        parameters = tuple(key for key, *_ in before)
        kinds = tuple(updated), tuple(skipped), parameters
        self._writer.add(OptimizerStepped(found.name, *kinds, found.position))

    def _zeroed(self, frame: FrameType) -> None:
        found = self._end(frame)
        if found is None:
            return
        had = {key: ref() for key, ref, _, had_grad in found.before if had_grad}
        grads = autograd.grads_of([tensor for tensor in had.values() if tensor is not None])
        to_none = all(grad is None for grad in grads)
        self._writer.add(ZeroedGrad(found.name, to_none, tuple(had)))

    def _clipped(self, frame: FrameType) -> None:
        """Gradients were clipped; the frame has the list of parameters once it is made."""
        variables = dict(naming.local_variables(frame))
        given = variables.get("parameters")
        grads = {id(grad) for grad in variables.get("grads") or ()}
        if isinstance(given, (list, tuple)):
            tensors = [p for p in given if naming.is_tensor(p)]
        else:  # an iterator, which has been used up; what it gave is known by its gradients
            alive = [tensor for _, tensor in self._registry.alive()]
            tensors = [t for t in alive if t.is_leaf and id(autograd.grad_of(t)) in grads]
        self._graph_reading.touch(tensors)
        keys = {self._registry.know(t).id: autograd.grad_of(t) is not None for t in tensors}
        without = tuple(key for key, has_grad in keys.items() if not has_grad)
        limit = variables.get("max_norm", variables.get("clip_value"))
        only_measures = type(limit) is float and math.isinf(limit)
        self._writer.add(Clipped(frame.f_code.co_name, tuple(keys), without, only_measures))

    def _scheduled(self, frame: FrameType) -> None:
        """A scheduler stepped; not as part of another, or when it was made."""
        around = None if frame.f_back is None else frame.f_back.f_code
        if around in self._scheduling or around is self._first_scheduling:
            return
        owner = dict(naming.local_variables(frame)).get("self")
        optimizer = getattr_static(owner, "optimizer", None)
        if isinstance(optimizer, torch.optim.Optimizer):
            keys = tuple(self._registry.know(tensor).id for tensor in _parameters(optimizer))
            has_stepped = autograd.has_stepped(optimizer)
            self._writer.add(SchedulerStepped(type(owner).__name__, keys, has_stepped))


def _is_of_others(owner: Any) -> bool:
    """Whether an optimizer is not of torch: it may write whatever it likes, also by ``.data``."""
    is_of_torch = type(owner).__module__.startswith("torch.optim.")
    return isinstance(owner, torch.optim.Optimizer) and not is_of_torch


def _runs_code_of_others(owner: Any, variables: dict[str, Any]) -> bool:
    """Whether anything but torch's own code runs: that of a closure or a hook, or of a module.

    Of these, only calls in a closure are events; the others tell of lines beside a debugger.
    """
    if not isinstance(owner, torch.optim.Optimizer) or _is_of_others(owner):
        return True
    return any(map(callable, _given(variables))) or autograd.has_step_hooks(owner)


def _given(variables: dict[str, Any]) -> tuple[Any, ...]:
    """What a step was given besides its optimizer."""
    return (*variables.get("args", ())[1:], *variables.get("kwargs", {}).values())


def _code_of(closure: Any) -> CodeType | None:
    """The code that a call of a closure runs in the end, without what is wrapped around it."""
    for _ in range(_MOST_WRAPPERS):
        if isinstance(closure, FunctionType):
            inner = vars(closure).get("__wrapped__")
            if inner is None:
                return closure.__code__
        elif isinstance(closure, partial):
            inner = closure.func
        elif isinstance(closure, MethodType):
            inner = closure.__func__
        else:
            inner = getattr_static(type(closure), "__call__", None)
        closure = inner
    return None


def _is_fused(owner: Any) -> bool:
    """Whether an optimizer writes parameters so that their versions do not show it."""
    is_optimizer = isinstance(owner, torch.optim.Optimizer)
    return is_optimizer and any(group.get("fused") for group in owner.param_groups)


def _parameters(owner: Any) -> list[torch.Tensor]:
    if isinstance(owner, torch.optim.Optimizer):
        return [p for group in owner.param_groups for p in group["params"]]
    if isinstance(owner, torch.nn.Module):
        return list(torch.nn.Module.parameters(owner))
    return []
