"""Notes when a line has switched grad mode or inference mode."""

from __future__ import annotations

from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.custom_functions import CustomFunctions
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.model.events import GradMode, GradModeChanged


class GradModes(Observer):
    """Compares the mode from step to step.

    Inside backward and inside the forward of a custom Function torch switches it itself.

    Args:
        writer: Where events are written.
        functions: Tells whether a custom Function runs.
    """

    def __init__(self, writer: StepWriter, functions: CustomFunctions) -> None:
        self._writer = writer
        self._functions = functions
        self._before = _mode()

    def begin(self) -> None:
        """Write down that recording is switched off already, from before the first step."""
        self._before = _mode()
        if self._before != "on":
            self._writer.add(GradModeChanged(self._before, self._before))

    def step_ends(self, unnamed: Any = None) -> None:
        """Write down a change since the last step."""
        if autograd.backward_is_running() or self._functions.hides_calls:
            return
        before, self._before = self._before, _mode()
        if before != self._before:
            self._writer.add(GradModeChanged(before, self._before))


def _mode() -> GradMode:
    if torch.is_inference_mode_enabled():
        return "inference"
    return "on" if torch.is_grad_enabled() else "off"
