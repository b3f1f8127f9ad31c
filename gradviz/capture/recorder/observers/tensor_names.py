"""Gives tensors the names that they have when a step ends."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType
from typing import Any

from gradviz.capture import autograd
from gradviz.capture.recorder.names_in_sight import NamesInSight
from gradviz.capture.recorder.namespaces import Namespaces
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.registry import Registry


class TensorNames(Observer):
    """Names the tensors of the recording after variables.

    Args:
        namespaces: Those in sight.
        registry: The known tensors.
        graph_reading: Notified when a name has changed.
    """

    def __init__(
        self,
        namespaces: Namespaces,
        registry: Registry,
        graph_reading: GraphReading,
    ) -> None:
        self._namespaces = namespaces
        self._names = NamesInSight(registry)
        self.codes = autograd.codes_of_module_changes()
        self._graph_reading = graph_reading

    def entered(self, frame: FrameType) -> None:
        """A module is about to change."""
        self._names.modules_changed()

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """A module has changed."""
        self._names.modules_changed()

    def lines_left_out(self, depths: Sequence[int]) -> None:
        """Tensors may have got other names, and are about to be named."""
        self.step_ends()

    def step_ends(self, unnamed: Any = None) -> None:
        """Look at the variables."""
        with autograd.unseen():
            is_exact = not self._namespaces.is_inside
            mentioned = self._namespaces.mentioned()
            if self._names.look(mentioned, is_exact, self._namespaces.words):
                self._graph_reading.changed()

    def stopped(self) -> None:
        """Hold no variables any more."""
        self._namespaces.forget()
