"""One run of code under observation."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.error_text import error_text
from gradviz.capture.recorder import source_text
from gradviz.capture.recorder.earlier import EARLIER
from gradviz.capture.recorder.followed_code import FollowedCode
from gradviz.capture.recorder.function_mode import CallMode
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.live_graph import LiveGraph, Origin
from gradviz.capture.recorder.loop_variables import LoopVariables
from gradviz.capture.recorder.namespaces import Namespaces
from gradviz.capture.recorder.observers.backward import BackwardEvents
from gradviz.capture.recorder.observers.buffer_syncs import BufferSyncs
from gradviz.capture.recorder.observers.call_events import CallEvents
from gradviz.capture.recorder.observers.compiled_calls import CompiledCalls
from gradviz.capture.recorder.observers.custom_functions import custom_functions
from gradviz.capture.recorder.observers.grad_mode import GradModes
from gradviz.capture.recorder.observers.graph_reading import GraphReading
from gradviz.capture.recorder.observers.hooks import HookEvents
from gradviz.capture.recorder.observers.known_hooks import KnownHooks
from gradviz.capture.recorder.observers.line_steps import LineSteps
from gradviz.capture.recorder.observers.made_tensors import MadeTensors
from gradviz.capture.recorder.observers.modules import ModuleCalls
from gradviz.capture.recorder.observers.observer import Observer, Observers
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.capture.recorder.observers.optimizers import OptimizerEvents
from gradviz.capture.recorder.observers.other_threads import OtherThreads
from gradviz.capture.recorder.observers.swapped_tensors import SwappedTensors
from gradviz.capture.recorder.observers.tensor_names import TensorNames
from gradviz.capture.recorder.observers.unregistered import UnregisteredTensors
from gradviz.capture.recorder.observers.untracked_writes import UntrackedWrites
from gradviz.capture.recorder.own_nodes import OwnNodes
from gradviz.capture.recorder.positions import Positions
from gradviz.capture.recorder.recording_builder import build_recording
from gradviz.capture.recorder.registry import Registry
from gradviz.capture.recorder.resting_mode import RestingMode
from gradviz.capture.recorder.step_writer import StepWriter
from gradviz.capture.recorder.tracers.tracer import make_tracer
from gradviz.model import Recording, RecordingError
from gradviz.model.events import Note
from gradviz.model.progress import Work, working


@dataclass(frozen=True)
class RunOptions:
    """How code is recorded; see :class:`~gradviz.capture.recorder.Recorder`."""

    followed: FollowedCode
    values: bool
    anomaly: bool
    label: str
    budget: int


class Run:
    """Observes code from :meth:`start` to :meth:`stop`, once.

    Args:
        options: How it is recorded.
        frame: Frame whose following lines are recorded, or ``None`` for a cell.
        file: File name of the cell.
        text: Text of the cell; ``None`` if it is that of the file.
        left_open: Is called if the frame is left and nobody has stopped the observation.
        function: In place of frame and file: the function whose lines are recorded.
        space: Variables of the cell, if it does not run yet.
    """

    def __init__(
        self,
        options: RunOptions,
        frame: FrameType | None,
        file: str,
        text: str | None,
        left_open: Callable[[BaseException | None], object],
        function: FunctionType | None = None,
        space: dict[str, Any] | None = None,
    ) -> None:
        self._options = options
        self._exit = ExitStack()
        self._work = Work("record", is_alone=False)
        self._observers = observers = Observers()
        self._source = _source(options, frame, file, text, function)
        self._frame = frame
        self._lines = lines = LineEvents(self._source, file, options.followed, observers)
        self._tracer = tracer = make_tracer(lines, observers, frame)
        tracer.left_open = left_open
        positions = Positions(lines)
        self._namespaces = namespaces = Namespaces(frame, file, lines, function, space)
        registry = Registry(namespaces.names())
        threads = OtherThreads()
        own_nodes = OwnNodes(registry, threads)
        self._mode = mode = CallMode(observers, positions, tracer, own_nodes)
        resting = RestingMode(mode)
        compiled = CompiledCalls(resting, observers)
        self._modules = modules = ModuleCalls(namespaces, compiled)
        self._live_graph = live_graph = LiveGraph(
            registry, options.values, _Origins(lines, modules, own_nodes)
        )
        self._writer = writer = StepWriter(live_graph, options.budget)
        lines.happened = lambda: writer.happened
        lines.has_events = lambda: bool(writer.events) or self._untracked_writes.compares
        known = KnownHooks(registry, tracer.role_changed)
        self._graph_reading = graph_reading = GraphReading(live_graph, writer, known, threads)
        modules.unregistered = UnregisteredTensors(registry, writer, lines, graph_reading)
        functions = custom_functions(own_nodes)
        self._operations = operations = Operations(registry, modules, functions, options.values)
        optimizers = OptimizerEvents(registry, writer, graph_reading, positions, resting)
        self._backward_events = backward_events = BackwardEvents(
            live_graph,
            writer,
            lines,
            positions,
            graph_reading,
            mode,
            tracer,
            observers,
            own_nodes,
            options.values,
        )
        loop_variables = LoopVariables(lines, namespaces, operations)
        self._line_steps = LineSteps(
            observers, writer, lines, loop_variables, backward_events, operations, self._work
        )
        self._untracked_writes = UntrackedWrites(
            registry, options.values, writer, graph_reading, modules, lines, threads
        )
        self._tensor_names = TensorNames(namespaces, registry, graph_reading)
        self._problems = _Problems(writer)
        self._grad_modes = GradModes(writer, functions)
        # The order matters: nodes of custom Functions are noted before they are read; a step gets
        # names, calls, writes that torch does not see, the graph; of the observers that watch a
        # function, only the first is called.
        observers.add(
            self._problems,
            functions,
            self._line_steps,
            self._tensor_names,
            CallEvents(operations, writer, lines, modules, optimizers, graph_reading),
            self._untracked_writes,
            graph_reading,
            threads,
            compiled,
            modules,
            BufferSyncs(registry, options.values, writer, graph_reading),
            MadeTensors(operations.tensor_keys, writer),
            SwappedTensors(registry, operations, graph_reading, writer),
            self._grad_modes,
            optimizers,
            HookEvents(known, live_graph, writer, backward_events, graph_reading),
            backward_events,
        )

    @property
    def problem(self) -> BaseException | None:
        """The first error in the recorder itself, ``None`` if there was none."""
        return self._problems.first

    def start(self) -> None:
        """Begin to observe this thread.

        Raises:
            RecordingError: If it cannot be observed.
        """
        try:
            self._start()
        except BaseException:
            self._exit.close()
            raise

    def _start(self) -> None:
        self._tensor_names.step_ends()  # rows of the beginning have all names, too
        with autograd.unseen():
            self._graph_reading.read_first(self._namespaces, self._source.used)
        self._untracked_writes.compare()
        if self._tracer.note is not None:
            self._writer.add(self._tracer.note)
        if not self._options.followed.has_users:
            self._writer.add(Note("only", "only= restricts whose lines are steps"))
        self._grad_modes.begin()
        self._writer.step("start", 0, None, 0)
        if self._frame is not None:
            self._lines.begin(self._frame)
            self._frame = None
        enter = self._exit.enter_context
        if self._options.anomaly:
            enter(torch.autograd.set_detect_anomaly(True, check_nan=False))
        enter(
            autograd.backwards_observed(
                self._backward_events.run, self._graph_reading.other_thread_ran
            )
        )
        enter(autograd.mode_on(self._mode))
        self._tracer.start()
        self._exit.callback(self._tracer.stop)

    def stop(self, error: BaseException | None) -> Recording:
        """End the observation, take everything away again, and give the recording.

        Raises:
            RecordingError: If an observer failed and the code did not.
        """
        try:
            self._exit.close()
        except BaseException as failure:
            self._observers.failed(failure)
        try:
            self._work.end()
            with working("record"):
                self._line_steps.end(error, self._graph_reading)
                recording = self._recording()
                EARLIER.add(recording, self._live_graph, self._line_steps.errors)
        finally:
            self._observers.stopped()
        problem = self.problem
        if problem is not None and error is None:
            text = f"{type(problem).__name__}: {error_text(problem)}".rstrip(": ")
            raise RecordingError(
                f"the recording failed ({text}). The code itself ran as it would have without it"
            ) from problem
        return recording

    def _recording(self) -> Recording:
        made = self._writer.made(self._operations.tensor_keys)
        codes = [piece.code for piece in self._lines.sources]
        label, types = self._options.label, self._modules.types
        recording = build_recording(made, self._live_graph, codes, label, types=types)
        storages = self._live_graph.registry.storage_keys()
        return EARLIER.join(recording, self._live_graph, storages)


def _source(
    options: RunOptions,
    frame: FrameType | None,
    file: str,
    text: str | None,
    function: FunctionType | None,
) -> source_text.Source:
    if function is not None:
        return source_text.of_body(function.__code__)
    if frame is not None:
        return source_text.of_block(frame)
    if text is None:
        text = "".join(linecache.getlines(file))
    return source_text.of_cell(text, options.label or "cell")


class _Origins:
    """Where a node comes from, by its sequence number (F6.03, F7.01)."""

    def __init__(self, lines: LineEvents, modules: ModuleCalls, own_nodes: OwnNodes) -> None:
        self._lines = lines
        self._modules = modules
        self._own_nodes = own_nodes
        self._first = autograd.sequence_number()
        self._thread = threading.get_ident()

    def __call__(self, node: Any) -> Origin:
        number = autograd.sequence_nr(node)
        is_own = self._own_nodes.is_needed and self._own_nodes.has(node)
        if not is_own and self._lines.is_made_elsewhere(number):
            return Origin(self._lines.text_at(number), is_seen=True)
        is_here = threading.get_ident() == self._thread
        is_none_of_here = is_here and number >= autograd.sequence_number()
        if is_none_of_here or number == autograd.NO_SEQUENCE_NR or not self._own_nodes.has(node):
            return Origin()
        if number < self._first:
            return Origin(number=number)
        return Origin(self._lines.text_at(number), self._modules.at(number), True, number)


class _Problems(Observer):
    """Remembers the first error in the recorder itself."""

    def __init__(self, writer: StepWriter) -> None:
        self._writer = writer
        self.first: BaseException | None = None

    def failed(self, error: BaseException) -> None:
        """Note an error; the user's own code gets the same one if the stack is used up."""
        if isinstance(error, RecursionError):
            self._writer.add(
                Note(
                    "stack used up",
                    "the stack overflowed (RecursionError): the deepest lines are not recorded",
                )
            )
        elif self.first is None:
            self.first = error
