"""Gives tensors the names that they have when a step ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from types import FrameType
from typing import Any

from gradviz.capture import autograd
from gradviz.capture.recorder.line_events import LineEvents
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
        lines: Knows which line has run, in which calls.
    """

    def __init__(
        self,
        namespaces: Namespaces,
        registry: Registry,
        graph_reading: GraphReading,
        lines: LineEvents,
    ) -> None:
        self._namespaces = namespaces
        self._names = NamesInSight(registry)
        self.codes = autograd.codes_of_module_changes()
        self._graph_reading = graph_reading
        self._lines = lines
        self._calls: tuple[int, ...] | None = None
        """Numbers of the calls whose variables are known, from the block to the innermost."""
        self._words: frozenset[str] | None = None

    def entered(self, frame: FrameType) -> None:
        """A module is about to change."""
        self._changes()

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """A module has changed."""
        self._changes()

    def _changes(self) -> None:
        self._names.modules_changed()
        self._calls = None

    def lines_left_out(self, depths: Sequence[int]) -> None:
        """Variables may be others."""
        self._calls = None

    def step_ends(self, unnamed: Any = None) -> None:
        """Look at the variables."""
        with autograd.unseen():
            has_changed = self._look_at_last()
            if has_changed is None:
                is_exact = not self._namespaces.is_inside
                self._calls, self._words = self._lines.calls, self._namespaces.words
                mentioned = self._namespaces.mentioned()
                has_changed = self._names.look(mentioned, is_exact, self._words)
            if has_changed:
                self._graph_reading.changed()

    def _look_at_last(self) -> bool | None:
        """Look at those of the innermost calls only, if that is enough: NOTE [Names from line to
        line]."""
        calls, known, words = self._lines.calls, self._calls or (), self._lines.words
        count = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(calls, known)))
        if len(calls) < 2 or not count or words is not self._words:
            return None
        spaces = self._namespaces.mentioned_from(count - 1)
        if not spaces:
            return None
        self._calls = calls
        spoken = {count - 1: self._lines.spoken(count - 1)}
        return self._names.look_at_last(spaces, words, spoken)

    def stopped(self) -> None:
        """Hold no variables any more."""
        self._namespaces.forget()
