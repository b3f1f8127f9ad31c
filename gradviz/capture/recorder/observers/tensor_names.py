"""Gives tensors the names that they have when a step ends."""

from __future__ import annotations

from typing import Any

from gradviz.capture import autograd
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
        self, namespaces: Namespaces, registry: Registry, graph_reading: GraphReading
    ) -> None:
        self._namespaces = namespaces
        self._registry = registry
        self._graph_reading = graph_reading

    def step_ends(self, unnamed: Any = None) -> None:
        """Look at the variables."""
        with autograd.unseen():
            if self._registry.name(self._namespaces.names()):
                self._graph_reading.changed()

    def stopped(self) -> None:
        """Hold no variables any more."""
        self._namespaces.forget()
