"""Runs the user's code under observation and writes a recording of it."""

from __future__ import annotations

import linecache
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from types import CodeType, FrameType
from typing import Any, Final

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.recorder import disguise, source
from gradviz.capture.recorder.calls import Call, CallMode, is_operation, tensors_in
from gradviz.capture.recorder.compiled import CompiledCalls
from gradviz.capture.recorder.engine import Engine, memory_of
from gradviz.capture.recorder.finish import finished
from gradviz.capture.recorder.hooks import Hooks
from gradviz.capture.recorder.interrupts import Interrupts
from gradviz.capture.recorder.into import codes_to_follow
from gradviz.capture.recorder.lines import Lines
from gradviz.capture.recorder.listening import NO_ROLE, Listener, Role
from gradviz.capture.recorder.modules import Modules
from gradviz.capture.recorder.operations import Operations
from gradviz.capture.recorder.optimizers import Optimizers
from gradviz.capture.recorder.positions import Positions
from gradviz.capture.recorder.silent import SilentWrites
from gradviz.capture.recorder.state import State
from gradviz.capture.recorder.steps import MOST_EVENTS, Steps
from gradviz.capture.recorder.tracing import Tracer, make_tracer
from gradviz.capture.recorder.variables import Variables, variable_of
from gradviz.capture.recorder.world import World
from gradviz.model import GraphBusyError, Recording, RecordingError
from gradviz.model.events import (
    BackwardEnded,
    Died,
    Note,
    Operation,
    OptimizerStepped,
    Raised,
    Write,
)

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")
_READ_ANYWAY: Final = 20_000
"""Rows of nodes that are read again after lines that can have changed nothing in them."""
_MOST_READ: Final = 300_000
"""Rows of nodes that are read again at all before the recording becomes coarser."""
_COARSE: Final = (
    "the graph is too large to be read whole after every line: from here on states of saved "
    "tensors are those of the last backward, until the code ends"
)
_HIDDEN: Final = Note(
    "calls hidden", "what a compiled or fused module calls inside is not recorded"
)
MOST_READ_FIRST: Final = 500
"""Tensors that are read before the code begins; others when they are first used."""
_active = threading.Lock()


class Recorder:
    """Observes code from :meth:`start` to :meth:`stop`.

    Args:
        into: Functions, classes, modules or ``nn.Module`` objects whose lines are steps too.
        values: Whether numbers of tensors are read; without, a GPU is never waited for.
        anomaly: Whether torch's anomaly mode is on meanwhile.
        label: What is recorded, for titles.
        progress: Called with the number of steps now and then.
    """

    def __init__(
        self,
        into: Iterable[Any] = (),
        values: bool = True,
        anomaly: bool = False,
        label: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._into = codes_to_follow(into)
        self._values = values
        self._anomaly = anomaly
        self._label = label
        self._progress = progress
        self._exit = ExitStack()
        self._interrupts = Interrupts()
        self._problem: BaseException | None = None
        self._operations_in_step = 0
        self._is_dirty = False
        self._quiet = 0
        self._world = World()
        self._file = ""
        self._is_unlisted = False
        self._told_of_strangers = False
        self._threads = threading.active_count()
        self._rows_read = 0
        self._is_coarse = False
        self._unnamed: list[tuple[int, Operation, list[autograd.TensorRef]]] = []

    # ------------------------------------------------------------ start, stop

    def start(
        self, frame: FrameType | None = None, file: str = "", text: str | None = None
    ) -> None:
        """Begin to observe this thread.

        Args:
            frame: Frame whose following lines are recorded, or ``None``.
            file: File name of the cell whose lines are recorded, in whatever frame they run.
            text: Text of the cell.

        Raises:
            RecordingError: If another recording runs, or code of this kind cannot be recorded.
        """
        if not _active.acquire(blocking=False):
            raise RecordingError(
                "another recording runs already. Recordings cannot be nested: two observers of "
                "one autograd graph would see each other. End the outer one first, or leave "
                "the inner gradviz.record() out"
            )
        self._exit.callback(_active.release)
        try:
            self._interrupts.start()
            self._start(frame, file, text)
        except BaseException:
            self._exit.close()
            self._interrupts.stop()
            raise

    def _start(self, frame: FrameType | None, file: str, text: str | None) -> None:
        self._file = file
        if frame is None:
            if text is None:
                text = "".join(linecache.getlines(file))
            first = source.of_cell(text, self._label or "cell")
        else:
            first = source.of_block(frame)
        self._lines = Lines(first, self._line_ended, self._call_begins, file)
        self._positions = Positions(self._lines, self._is_recorded)
        self._variables = Variables(frame, file, self._lines)
        self._world = World(self._variables.names(mentioned=False))
        self._mode = CallMode(self)
        self._compiled = CompiledCalls(self._mode, self._is_hidden)
        self._modules = Modules(self._variables.all, self._compiled)
        self._state = State(self._world, self._values, self._place)
        self._steps = Steps(self._state)
        self._operations = Operations(self._world)
        self._engine = Engine(
            self._state, self._steps, self._lines, self._values, self._refresh, self._failed
        )
        self._hooks = Hooks(self._state, self._steps, self._engine, self._touched)
        self._optimizers = Optimizers(self._world, self._steps, self._quieten, self._touch)
        self._silent = SilentWrites(self._world, self._values)
        self._begin_number = autograd.sequence_number()
        with autograd.unseen():
            self._read_what_is_used(first.used)
        self._silent.find(())
        self._steps.step("start", 0, None, 0)
        listener = Listener(
            self._role_of,
            self._line,
            self._lines.left,
            self._lines.raised,
            disguise.clean,
            self._failed,
        )
        self._tracer: Tracer = make_tracer(listener, frame)
        self._mode.tracer = self._engine.tracer = self._tracer
        if self._anomaly:
            self._exit.enter_context(_anomaly())
        self._exit.enter_context(autograd.backwards_observed(self._backward, self._stranger))
        self._exit.enter_context(autograd.mode_on(self._mode))
        self._tracer.start()
        self._exit.callback(self._tracer.stop)

    def stop(self, error: BaseException | None = None) -> Recording:
        """End the observation, take everything away again, and give the recording.

        Args:
            error: What the code has raised, if anything.

        Raises:
            RecordingError: If the recorder itself failed; the recorded code ran as it would
                have without it.
        """
        try:
            self._exit.close()
        except BaseException as problem:
            self._failed(problem)
        try:
            recording = self._finish(error)
        finally:
            self._unmark()
            self._world.forget()
            self._operations.identities.forget()
            self._variables.forget()
            self._interrupts.stop()
        if self._problem is not None and error is None:
            raise RecordingError(
                f"the recording failed ({type(self._problem).__name__}: {self._problem}). The "
                "code itself ran as it would have without it"
            ) from self._problem
        return recording

    def _finish(self, error: BaseException | None) -> Recording:
        line, code = self._lines.stop(error)
        left_out = self._is_coarse or self._steps.is_full
        if left_out:
            self._rows_read, self._is_dirty = 0, True
        if error is not None:
            disguise.clean(error.__traceback__)
            self._read_state()
            self._steps.add(self._raised(error))
            self._steps.step("error", 0, line, code)
        elif self._steps.events or left_out:
            self._read_state()
            self._steps.step("end", 0, None, 0)
        self._steps.made[:] = self._operations.identities.settled(self._steps.made)
        return finished(
            self._steps,
            self._state,
            [piece.code for piece in self._lines.sources],
            self._label,
        )

    def _raised(self, error: Any) -> Raised:
        """An exception, or its class, as data."""
        kind = error if isinstance(error, type) else type(error)
        text = "" if isinstance(error, type) else _ADDRESS.sub("0x…", str(error))
        return Raised(kind.__name__, text, *self._engine.failure)

    def _unmark(self) -> None:
        """Take the numbers out of all nodes that can be found."""
        try:
            self._state.unmark()
        except Exception as problem:
            self._failed(problem)

    # --------------------------------------------------------------- listeners

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, RecursionError):
            # The user's code has used up the stack; it gets the same error of its own.
            self._steps.add(
                Note("stack used up", "the stack was used up, so lines in its depth were not seen")
            )
        elif self._problem is None:
            self._problem = error

    def _role_of(self, code: CodeType) -> Role:
        if code.co_name == disguise.NAME:
            return NO_ROLE
        is_function = code.co_name == "<module>" or not code.co_name.startswith("<")
        # A comprehension is part of its line.
        has_lines = is_function and self._is_recorded(code)
        watches = (self._compiled, self._modules, self._optimizers, self._hooks)
        watch = next((w for one in watches if (w := one.watch(code)) is not None), None)
        return Role(has_lines, watch) if has_lines or watch is not None else NO_ROLE

    def _is_recorded(self, code: CodeType) -> bool:
        """Whether a function, a lambda or a comprehension stands in the recorded code."""
        is_of_cell = bool(self._file) and code.co_filename == self._file
        return is_of_cell or code in self._into or self._lines.is_inside(code)

    def _line(self, frame: FrameType, line: int) -> None:
        """A line is about to run; those of hooks are part of the backward that runs them."""
        if not self._engine.is_running:
            self._lines.line_event(frame, line)

    def _backward(self, run: Callable[[], Any], call: autograd.BackwardCall) -> Any:
        """Called in place of the engine for every backward of this thread."""
        with autograd.mode_on(self._mode):
            return self._engine.run(run, call)

    def _stranger(self) -> None:
        """Another thread has run a backward."""
        self._is_dirty = True
        if not self._told_of_strangers:
            self._told_of_strangers = True
            self._steps.add(
                Note("other thread", "another thread ran backward(): its steps are not recorded")
            )

    def _is_hidden(self) -> None:
        """Calls are not seen for a while."""
        if not autograd.backward_is_running() and _HIDDEN not in self._steps.events:
            self._steps.add(_HIDDEN)

    def before_call(self, call: Call) -> bool:
        """Whether a call of torch is looked at closer."""
        self._is_dirty = True
        if self._steps.is_full:
            return False
        if self._quiet:  # inside an optimizer, which tells of itself
            return False
        if self._operations_in_step > MOST_EVENTS:  # counted, and not looked at
            self._operations_in_step += 1
            self._is_unlisted = True
            return False
        operation = is_operation(call)
        if operation or not call.is_getter:
            self._touch([*tensors_in(call.args), *tensors_in(call.kwargs)])
        self._hooks.registered(call)
        return operation

    def _touch(self, tensors: Iterable[torch.Tensor]) -> None:
        """Tensors are about to be used; those from before the recording are read first."""
        new = {id(t): t for t in tensors if self._world.existed(t) is not None}
        if new:
            try:
                self._state.read_existing(list(new.values()))
            except GraphBusyError:
                self._wait_for_the_other_thread()
            self._is_dirty = True
            for tensor in new.values():
                self._hooks.learn(tensor)

    def after_call(self, call: Call, frame: FrameType) -> None:
        """Write down what a call of torch did."""
        self._is_dirty = True  # lines of the user's that ran inside may have read the state
        inside = autograd.backward_is_running()
        if not inside:
            call.position = self._positions.of(frame, call.name)
        writes = self._operations.writes(call)
        for write in writes:
            self._steps.add(write)
        self._operations_in_step += 1
        if autograd.anomaly_mode_is_on():
            self._operations.clean_tracebacks(call)
        event = self._operations.event(call, self._modules.current, inside)
        if event is not None:
            refs = self._operations.references(call)
            self._unnamed.append((len(self._steps.events), event, refs))
            self._steps.add(event)
        if call.position is not None and (writes or event is not None):
            self._lines.has_called(call.position)

    def call_raised(self, call: Call, frame: FrameType, error: BaseException) -> None:
        """Write down which call of torch raised."""
        if not (self._steps.is_full or self._quiet):
            if not autograd.backward_is_running():
                call.position = self._positions.of(frame, call.name)
            if call.position is not None:
                self._lines.has_called(call.position)
            self._steps.add(self._operations.refused(call, error, self._modules.current))

    def _name_results(self) -> None:
        """Results of operations get the names that the line has given them."""
        events = self._steps.events
        for place, event, refs in self._unnamed:
            if place < len(events) and events[place] is event:
                events[place] = self._operations.with_results(event, refs)
        self._unnamed.clear()

    def _touched(self) -> None:
        self._is_dirty = True

    def _quieten(self, change: int) -> None:
        self._quiet += change
        self._is_dirty = True

    def failed(self, error: BaseException) -> None:
        """A bug while a call was looked at."""
        self._failed(error)

    def _read_what_is_used(self, used: dict[str, int]) -> None:
        """Read the tensors that the code is going to use as they are before it runs."""
        named = dict(self._variables.names())
        found = [name for name in named if variable_of(name) in used]
        found.sort(key=lambda name: used[variable_of(name)])
        tensors = [named[name] for name in found[:MOST_READ_FIRST]]
        with suppress(GraphBusyError):
            self._state.read_existing(tensors)
        for tensor in tensors:
            self._hooks.learn(tensor)

    # ------------------------------------------------------------------- lines

    def _call_begins(self, frame: FrameType) -> None:
        """A function whose lines are followed begins to run in the middle of a line.

        What the line has done so far, for the arguments, is told as its own.
        """
        events = self._steps.events
        if self._steps.is_full or not any(isinstance(e, (Operation, Write)) for e in events):
            return
        values = [value for _, value in naming.local_variables(frame)]
        self._read_state(values)
        self._steps.add(Note("calls a function", f"and now it calls {frame.f_code.co_name}"))
        self._steps.step("line", 0, self._lines.line, self._lines.code)

    def _line_ended(self, error: Any, value: Any) -> None:
        """A line has run; an exception that it raised has been caught by the recorded code."""
        if self._steps.is_full:
            self._steps.step("line", 0, self._lines.line, self._lines.code)
            return
        self._read_state(value)
        if error is not None:
            self._steps.add(self._raised(error))
        lines = self._lines
        self._steps.step("line", 0, lines.line, lines.code)
        self._operations_in_step = 0
        self._engine.failure = (None, None)  # an error of a later line is not this backward's
        if self._progress is not None and len(self._steps.made) % 100 == 0:
            self._progress(len(self._steps.made))

    def _read_state(self, unnamed: Any = None) -> None:
        """Read what is alive, and what tensors without a name lead to."""
        with autograd.unseen():
            renamed = self._world.name(self._variables.names())
        self._operations.identities.learn()
        self._name_results()
        left = self._operations_in_step - MOST_EVENTS
        if left > 0:
            self._steps.add(Note("operations left out", f"and {left} more operations", (left,)))
            self._operations_in_step = 0
        with autograd.unseen():
            silent = self._silent.find(self._steps.events)
        for write in silent:
            self._steps.add(write)
        if threading.active_count() != self._threads:
            self._is_dirty = True
        dead = self._world.dead_nodes or self._world.dead_tensors
        if self._is_dirty or renamed or dead or silent:
            self._is_dirty = False
            tensors, nodes = self._state.bury()
            try:
                everything = self._reads_everything()
                for event in self._state.read(everything=everything, also=tensors_in(unnamed)):
                    self._steps.add(event)
            except GraphBusyError:
                self._wait_for_the_other_thread()
            more_tensors, more_nodes = self._state.bury()
            if tensors or nodes or more_tensors or more_nodes:
                self._steps.add(Died(tensors + more_tensors, nodes + more_nodes))
        self._steps.memory = memory_of(self._state)

    def _wait_for_the_other_thread(self) -> None:
        """Another thread runs backward on what is to be read: it is read after the next line."""
        self._is_dirty = True
        self._steps.add(
            Note("other thread", "another thread runs backward() now, so the graph is read later")
        )

    def _refresh(self) -> None:
        """A hook has run: what it did to tensors belongs to its own step."""
        if self._is_dirty:
            self._is_dirty = False
            try:
                for event in self._state.read(keep_roots=True):
                    self._steps.add(event)
            except GraphBusyError:
                self._wait_for_the_other_thread()

    def _reads_everything(self) -> bool:
        """Whether rows of nodes that were read before are read again after this line.

        They can have changed by a write in place or by a backward; small graphs are read again
        anyway, since names of saved tensors may be new.
        """
        count = len(self._state.nodes)
        changed = any(
            isinstance(event, (Write, BackwardEnded, OptimizerStepped))
            for event in self._steps.events
        )
        changed = changed or self._is_unlisted
        self._is_unlisted = False
        if not changed and self._rows_read + count > _READ_ANYWAY:
            return False
        if self._rows_read + count > _MOST_READ:
            if not self._is_coarse:
                self._is_coarse = True
                self._steps.add(Note("states not read", _COARSE))
            return False
        self._rows_read += count
        return True

    def _place(self, node: Any) -> tuple[str | None, str | None, bool]:
        """Source line and module of a node, from its sequence number (F6.03, F7.01)."""
        number = autograd.sequence_nr(node)
        if number == autograd.NO_SEQUENCE_NR or number < self._begin_number:
            return None, None, False
        return self._lines.text_at(number), self._modules.at(number), True


def _anomaly() -> Any:
    return torch.autograd.set_detect_anomaly(True, check_nan=False)
