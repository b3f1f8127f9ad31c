"""Tensors that are made by what is no operation of torch, as parameters are."""

from __future__ import annotations

from types import FrameType
from typing import Any

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.tensor_keys import TensorKeys
from gradviz.capture.recorder.torch_call import tensors_in
from gradviz.model.events import Made


class MadeTensors(Observer):
    """Writes down which tensors such code has made.

    Args:
        tensor_keys: Gives tensors their keys.
        writer: Where events are written.
    """

    def __init__(self, tensor_keys: TensorKeys, writer: StepWriter) -> None:
        self._tensor_keys = tensor_keys
        self._writer = writer
        self.codes = autograd.codes_of_makers()

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """Such a function has ended: those made one after the other are one event."""
        events = self._writer.events
        with autograd.unseen():
            keys = self._tensor_keys.keys(tensors_in(value))
        if not keys:
            return
        if events and isinstance(last := events[-1], Made):
            keys = (*last.tensors, *(key for key in keys if key not in last.tensors))
            events.pop()
        self._writer.add(Made(keys))
