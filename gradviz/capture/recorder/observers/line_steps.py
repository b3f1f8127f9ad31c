"""Writes a step for every line that has run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any, Final

from gradviz.capture import naming
from gradviz.capture.error_text import error_text
from gradviz.capture.raising import (
    Errors,
    innermost,
    is_raised_again,
    statement_of,
)
from gradviz.capture.recorder import frames
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.loop_variables import LoopVariables
from gradviz.capture.recorder.observers.backward import BackwardEvents
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.replicas import reduced_by
from gradviz.capture.stacks import traceback_entries
from gradviz.model.events import Note, Operation, Raised, Refused, Write
from gradviz.model.progress import Work

_LEFT_OUT: Final = "lines before this one that do nothing in torch are no steps"


class LineSteps(Observer):
    """Lets the other observers write their events, then writes the step.

    Args:
        observers: Write their events when a step ends.
        writer: Where steps are written.
        lines: Knows which line has run.
        loop_variables: Knows what the head of a loop has bound.
        backward_events: Knows which node was running when a backward raised.
        operations: Knows what a function of torch has refused.
        work: Is told how many steps there are.
    """

    def __init__(
        self,
        observers: Observer,
        writer: StepWriter,
        lines: LineEvents,
        loop_variables: LoopVariables,
        backward_events: BackwardEvents,
        operations: Operations,
        work: Work,
    ) -> None:
        self._observers = observers
        self._writer = writer
        self._lines = lines
        self._loop_variables = loop_variables
        self._backward_events = backward_events
        self._operations = operations
        self._work = work
        self.errors = Errors()
        """The exceptions that were seen."""

    def function_begins(self, frame: FrameType) -> None:
        """What the line has done so far, for the arguments, becomes a step of its own."""
        events = self._writer.events
        if not any(isinstance(e, (Operation, Write)) for e in events):
            return
        self._observers.step_ends([value for _, value in naming.local_variables(frame)])
        self._writer.add(Note("calls a function", f"the line calls {_name_of(frame.f_code)}"))
        self._step()

    def call_begins(self) -> None:
        """Lines of a call are steps of their own if something happens in it."""
        self._writer.call_begins()

    def call_ended(self, failed: bool) -> None:
        """The call has ended."""
        self._writer.call_ended(failed)

    def lines_left_out(self, depths: Sequence[int]) -> None:
        """Say so in the step of the line that runs: NOTE [Cold code]."""
        self._writer.add(Note("lines without torch", _LEFT_OUT, tuple(depths)))

    def line_ended(self, error: Any, value: Any) -> None:
        """A line has run; an exception that it raised has been caught by the recorded code."""
        self._observers.step_ends(value)
        place = None
        if error is not None:
            place = self._add_raised(error)
        else:
            self._writer.events += self._loop_variables.bound()
        self._step(place)
        self._work.at("steps recorded", self._writer.steps)

    def end(self, error: BaseException | None, graph_reading: GraphReading) -> None:
        """Write down the last step: the error that has left the code, or its end."""
        if self._lines.is_block_cold:
            self.lines_left_out([0])
        place = self._lines.stop(error)
        left_out = graph_reading.is_coarse
        if left_out:
            graph_reading.read_all()
        if error is not None:
            frames.clean(error.__traceback__)
            self._observers.step_ends()
            self._writer.step("error", 0, *(self._add_raised(error) or place))
        elif self._writer.events or left_out:
            self._observers.step_ends()
            self._writer.step("end", 0, None, 0)

    def _step(self, place: tuple[int | None, int] | None = None) -> None:
        line, code = place or self._lines.ended
        self._writer.step("line", 0, line, code, depth=self._lines.depth)

    def _add_raised(self, error: Any) -> tuple[int | None, int] | None:
        """Write down an exception, or its class; returns where it arose if that is not recorded."""
        if isinstance(error, BaseException) and not any(
            isinstance(event, Refused) for event in self._writer.events
        ):
            refused = self._operations.refused_inside(error)
            if refused is not None:
                self._writer.add(refused)
        kind = error if isinstance(error, type) else type(error)
        reduced = () if isinstance(error, type) else reduced_by(error)
        failure = self._backward_events.failure
        number = place = None
        if isinstance(error, BaseException):
            entries = list(traceback_entries(error.__traceback__))
            is_new = self.errors.number(error) is None
            number = self.errors.add(error)
            if is_new and is_raised_again(entries):
                place = self._lines.place_of(entries[statement_of(entries, innermost(entries))])
        raised = Raised(kind.__name__, error_text(error), *failure, reduced=reduced)
        self._writer.add(replace(raised, number=number, is_from_elsewhere=place is not None))
        return place


def _name_of(code: CodeType) -> str:
    """A function with its class: ``Block.forward``."""
    return code.co_qualname.rpartition("<locals>.")[2]
