"""Gives tensors the names that they have when a step ends."""

from __future__ import annotations

from typing import Any

from gradviz.capture import autograd
from gradviz.capture.recorder.listening import Observer
from gradviz.capture.recorder.reading import Reading
from gradviz.capture.recorder.variables import Variables
from gradviz.capture.recorder.world import World


class Names(Observer):
    """Names the tensors of the recording after variables.

    Args:
        variables: Those in sight.
        world: The known tensors.
        reading: Is told that a name has changed.
    """

    def __init__(self, variables: Variables, world: World, reading: Reading) -> None:
        self._variables = variables
        self._world = world
        self._reading = reading

    def step_ends(self, unnamed: Any = None) -> None:
        """Look at the variables."""
        with autograd.unseen():
            if self._world.name(self._variables.names()):
                self._reading.changed()

    def stopped(self) -> None:
        """Hold no variables any more."""
        self._variables.forget()
