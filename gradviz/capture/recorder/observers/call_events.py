"""Writes down what calls of torch did."""

from __future__ import annotations

from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.modules import ModuleCalls
from gradviz.capture.recorder.observers.observer import Observer
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.capture.recorder.observers.optimizers import OptimizerEvents
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.torch_call import (
    TorchCall,
    is_operation,
    tensors_in,
    writes_by_name,
)
from gradviz.model.events import Note, Operation
from gradviz.model.formatting import plural

MOST_EVENTS: Final = 200
"""Operations that one step lists; of further ones, only those that write."""
_HIDDEN: Final = Note("calls hidden", "calls inside a compiled or fused module are not recorded")


class CallEvents(Observer):
    """Makes events of calls, up to so many per step.

    Args:
        operations: Describes calls.
        writer: Where events are written.
        lines: Counts the calls of each expression.
        modules: Tells which module runs.
        optimizers: Records what optimizers call; nothing else does.
        graph_reading: Reads tensors before they are used.
    """

    def __init__(
        self,
        operations: Operations,
        writer: StepWriter,
        lines: LineEvents,
        modules: ModuleCalls,
        optimizers: OptimizerEvents,
        graph_reading: GraphReading,
    ) -> None:
        self._operations = operations
        self._writer = writer
        self._lines = lines
        self._modules = modules
        self._optimizers = optimizers
        self._graph_reading = graph_reading
        self._in_step = self._left_out = 0
        self._note: Note | None = None
        """It says how many were left out of this step."""
        self._note_at = 0
        self._unnamed: list[tuple[int, Operation, list[autograd.TensorRef]]] = []

    @property
    def is_quiet(self) -> bool:
        """Whether an optimizer runs, whose calls are one event."""
        return self._optimizers.is_running

    def before(self, call: TorchCall) -> bool:
        """Whether a call is examined."""
        self._graph_reading.changed()
        if self._in_step > MOST_EVENTS and not writes_by_name(call):  # counted, not examined
            self._in_step += 1
            if is_operation(call):
                self._leave_out()
            self._graph_reading.changed(unlisted=True)
            return False
        if is_operation(call) or not call.is_getter:
            tensors = [*tensors_in(call.args), *tensors_in(call.kwargs)]
            self._graph_reading.touch(tensors)
            if call.is_setter or not is_operation(call):
                self._graph_reading.about_to_change(tensors)
        return True

    def after(self, call: TorchCall) -> None:
        """Write down what a call did."""
        self._graph_reading.used(call)  # lines of the user's that ran inside may have read before
        writes = self._operations.writes(call)
        self._graph_reading.written(writes)
        for write in writes:
            self._writer.add(write)
        self._in_step += 1
        if autograd.anomaly_mode_is_on():
            self._operations.clean_tracebacks(call)
        inside = autograd.backward_is_running()
        event = self._operations.event(call, self._modules.current, inside)
        if event is not None:
            refs = self._operations.references(call)
            self._unnamed.append((len(self._writer.events), event, refs))
            self._writer.add(event)
        if writes or event is not None:
            self._lines.has_called(call.position)

    def _leave_out(self) -> None:
        """Count a call in the note of the step; a backward ends a step in the middle of a line."""
        events, at = self._writer.events, self._note_at
        is_first = not (at < len(events) and events[at] is self._note)
        self._left_out = 1 if is_first else self._left_out + 1
        text = f"and {plural(self._left_out, 'more operation')}, which are counted but not listed"
        self._note = Note("operations left out", text, (self._left_out,))
        if is_first:
            self._note_at = len(events)
            self._writer.add(self._note)
        else:
            events[at] = self._note

    def raised(self, call: TorchCall, error: BaseException) -> None:
        """Write down which call was refused."""
        if not self.is_quiet:
            self._lines.has_called(call.position)
            self._writer.add(self._operations.refused(call, error, self._modules.current))

    def calls_hidden(self) -> None:
        """Say so once per step, unless it is a backward that hides them."""
        if not autograd.backward_is_running() and _HIDDEN not in self._writer.events:
            self._writer.add(_HIDDEN)
        self._graph_reading.changed(unlisted=True)

    def step_ends(self, unnamed: Any = None) -> None:
        """Give results of operations the names that the line has given them."""
        self._operations.tensor_keys.learn()
        events = self._writer.events
        if unnamed is None and self._unnamed and self._lines.returns:
            self._graph_reading.returned(self._unnamed[-1][2])
        for place, event, refs in self._unnamed:
            if place < len(events) and events[place] is event:
                events[place] = self._operations.with_results(event, refs)
        self._unnamed.clear()
        if self._left_out:
            self._in_step = self._left_out = 0

    def line_ended(self, error: Any, value: Any) -> None:
        """The next line counts anew."""
        self._in_step = 0

    def stopped(self) -> None:
        """Drop all references."""
        self._operations.forget()
        self._unnamed.clear()
