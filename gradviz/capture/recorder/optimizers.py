"""``optimizer.step()``, ``zero_grad()`` and clipping: who was updated, who was passed over."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder.listening import Watch
from gradviz.capture.recorder.steps import Steps
from gradviz.capture.recorder.world import World
from gradviz.model.events import Clipped, OptimizerStepped, ZeroedGrad

_Before = list[tuple[str, autograd.TensorRef, "int | None", bool]]


class Optimizers:
    """Follows optimizers; what they do to each parameter is one event.

    Args:
        world: The known tensors.
        steps: Where events are written.
        quieten: Called with 1 when an optimizer begins, and with -1 when it ends.
        touch: Told of tensors that are about to be used.
    """

    def __init__(
        self,
        world: World,
        steps: Steps,
        quieten: Callable[[int], None],
        touch: Callable[[list[torch.Tensor]], None],
    ) -> None:
        self._world = world
        self._steps = steps
        self._quieten = quieten
        self._touch = touch
        self._running: list[tuple[FrameType, str, _Before]] = []
        self._watches: dict[CodeType, Watch] = {}
        for code in autograd.codes_of_optimizer_step():
            self._watches[code] = Watch(self._entered, self._stepped)
        for code in autograd.codes_of_zero_grad():
            self._watches[code] = Watch(self._entered, self._zeroed)
        for code in autograd.codes_of_clipping():
            self._watches[code] = Watch(_nothing, self._clipped)

    def watch(self, code: CodeType) -> Watch | None:
        """What to do when a function runs."""
        return self._watches.get(code)

    def _entered(self, frame: FrameType) -> None:
        variables = frame.f_locals
        owner = variables.get("self") or next(iter(variables.get("args", ())), None)
        with autograd.unseen():
            before = self._before(_parameters(owner))
        self._running.append((frame, type(owner).__name__, before))
        self._quieten(1)

    def _before(self, parameters: list[torch.Tensor]) -> _Before:
        self._touch(parameters)
        before: _Before = []
        for tensor in parameters:
            version = autograd.version_of(tensor)
            entry = self._world.know(tensor)
            before.append((entry.id, entry.ref, version, tensor.grad is not None))
        return before

    def _end(self, frame: FrameType) -> tuple[str, _Before] | None:
        while self._running:
            running, name, before = self._running.pop()
            self._quieten(-1)
            if running is frame:
                return name, before
        return None

    def _stepped(self, frame: FrameType, value: Any, is_known: bool) -> None:
        found = self._end(frame)
        if found is None:
            return
        name, before = found
        updated, skipped = [], []
        for key, ref, version, had_grad in before:
            tensor = ref()
            if tensor is not None and autograd.version_of(tensor) != version:
                updated.append(key)
            elif not had_grad:
                skipped.append(key)
        parameters = tuple(key for key, *_ in before)
        self._steps.add(OptimizerStepped(name, tuple(updated), tuple(skipped), parameters))

    def _zeroed(self, frame: FrameType, value: Any, is_known: bool) -> None:
        found = self._end(frame)
        if found is None:
            return
        name, before = found
        had = [(key, ref()) for key, ref, _, had_grad in before if had_grad]
        to_none = all(tensor is None or tensor.grad is None for _, tensor in had)
        tensors = tuple(key for key, _ in had)
        self._steps.add(ZeroedGrad(name, to_none, tensors))

    def _clipped(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """Gradients were clipped; the list of parameters stands in the frame, once it is made."""
        variables = dict(naming.local_variables(frame))
        given = variables.get("parameters")
        grads = {id(grad) for grad in variables.get("grads") or ()}
        if isinstance(given, (list, tuple)):
            tensors = [p for p in given if naming.is_tensor(p)]
        else:  # an iterator, which has been used up; what it gave is known by its gradients
            alive = [tensor for _, tensor in self._world.alive()]
            tensors = [t for t in alive if t.is_leaf and id(t.grad) in grads]
        with autograd.unseen():
            self._touch(tensors)
            keys = {self._world.know(t).id: t.grad is not None for t in tensors}
        without = tuple(key for key, has_grad in keys.items() if not has_grad)
        limit = variables.get("max_norm", variables.get("clip_value"))
        only_measures = type(limit) is float and math.isinf(limit)
        self._steps.add(Clipped(frame.f_code.co_name, tuple(keys), without, only_measures))


def _nothing(frame: FrameType) -> None:
    """Before clipping there is nothing to note."""


def _parameters(owner: Any) -> list[torch.Tensor]:
    if isinstance(owner, torch.optim.Optimizer):
        return [p for group in owner.param_groups for p in group["params"]]
    if isinstance(owner, torch.nn.Module):
        return list(torch.nn.Module.parameters(owner))
    return []
