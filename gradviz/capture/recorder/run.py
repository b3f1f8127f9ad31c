"""One run of code under observation."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.recorder import source
from gradviz.capture.recorder.call_events import CallEvents
from gradviz.capture.recorder.compiled import CompiledCalls
from gradviz.capture.recorder.engine import Engine
from gradviz.capture.recorder.finish import finished
from gradviz.capture.recorder.function_mode import CallMode
from gradviz.capture.recorder.hooks import Hooks
from gradviz.capture.recorder.known_hooks import KnownHooks
from gradviz.capture.recorder.line_steps import LineSteps
from gradviz.capture.recorder.lines import Lines
from gradviz.capture.recorder.listening import Observer, Observers
from gradviz.capture.recorder.modules import Modules
from gradviz.capture.recorder.names import Names
from gradviz.capture.recorder.operations import Operations
from gradviz.capture.recorder.optimizers import Optimizers
from gradviz.capture.recorder.positions import Positions
from gradviz.capture.recorder.reading import Reading
from gradviz.capture.recorder.silent import SilentWrites
from gradviz.capture.recorder.state import State
from gradviz.capture.recorder.steps import Steps
from gradviz.capture.recorder.tracing import make_tracer
from gradviz.capture.recorder.variables import Variables
from gradviz.capture.recorder.world import World
from gradviz.model import Recording, RecordingError
from gradviz.model.events import Note


@dataclass(frozen=True)
class Options:
    """How code is recorded; see :class:`~gradviz.capture.recorder.Recorder`."""

    into: frozenset[CodeType]
    values: bool
    anomaly: bool
    label: str
    progress: Callable[[int], None] | None


class Run:
    """Observes code from :meth:`start` to :meth:`stop`, once.

    Args:
        options: How it is recorded.
        frame: Frame whose following lines are recorded, or ``None`` for a cell.
        file: File name of the cell.
        text: Text of the cell; ``None`` if it is that of the file.
    """

    def __init__(
        self, options: Options, frame: FrameType | None, file: str, text: str | None
    ) -> None:
        self._options = options
        self._exit = ExitStack()
        self._observers = observers = Observers()
        self._source = _source(options, frame, file, text)
        self._lines = lines = Lines(self._source, file, options.into, observers)
        self._tracer = tracer = make_tracer(lines, observers, frame)
        positions = Positions(lines)
        self._mode = mode = CallMode(observers, positions, tracer)
        self._variables = variables = Variables(frame, file, lines)
        world = World(variables.names(mentioned=False))
        compiled = CompiledCalls(mode, observers)
        modules = Modules(variables, compiled)
        self._state = state = State(world, options.values, _Origins(lines, modules))
        self._steps = steps = Steps(state)
        known = KnownHooks(world)
        self._reading = reading = Reading(state, steps, known)
        self._operations = operations = Operations(world)
        optimizers = Optimizers(world, steps, reading, positions)
        self._engine = engine = Engine(
            state, steps, lines, positions, reading, mode, tracer, observers, options.values
        )
        self._line_steps = LineSteps(observers, steps, lines, engine, options.progress)
        self._silent = SilentWrites(world, options.values, steps, reading)
        self._problems = _Problems(steps)
        # In this order: a step is told by names, calls, writes that torch does not see, and the
        # graph; a function is watched by the first that wants to.
        observers.add(
            self._problems,
            self._line_steps,
            Names(variables, world, reading),
            CallEvents(operations, steps, lines, modules, optimizers, reading),
            self._silent,
            reading,
            compiled,
            modules,
            optimizers,
            Hooks(known, state, steps, engine, reading),
            engine,
        )

    @property
    def problem(self) -> BaseException | None:
        """The first bug of the recorder's own, ``None`` if there was none."""
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
        with autograd.unseen():
            self._reading.read_first(self._variables, self._source.used)
        self._silent.compare()
        self._steps.step("start", 0, None, 0)
        enter = self._exit.enter_context
        if self._options.anomaly:
            enter(torch.autograd.set_detect_anomaly(True, check_nan=False))
        enter(autograd.backwards_observed(self._engine.run, self._reading.other_thread_ran))
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
            self._line_steps.end(error, self._reading)
            recording = self._recording()
        finally:
            self._observers.stopped()
        problem = self.problem
        if problem is not None and error is None:
            raise RecordingError(
                f"the recording failed ({type(problem).__name__}: {problem}). The "
                "code itself ran as it would have without it"
            ) from problem
        return recording

    def _recording(self) -> Recording:
        self._steps.settle(self._operations.identities)
        codes = [piece.code for piece in self._lines.sources]
        return finished(self._steps, self._state, codes, self._options.label)


def _source(
    options: Options, frame: FrameType | None, file: str, text: str | None
) -> source.Source:
    if frame is not None:
        return source.of_block(frame)
    if text is None:
        text = "".join(linecache.getlines(file))
    return source.of_cell(text, options.label or "cell")


class _Origins:
    """Source line and module of a node, from its sequence number (F6.03, F7.01)."""

    def __init__(self, lines: Lines, modules: Modules) -> None:
        self._lines = lines
        self._modules = modules
        self._first = autograd.sequence_number()

    def __call__(self, node: Any) -> tuple[str | None, str | None, bool]:
        number = autograd.sequence_nr(node)
        if number == autograd.NO_SEQUENCE_NR or number < self._first:
            return None, None, False
        return self._lines.text_at(number), self._modules.at(number), True


class _Problems(Observer):
    """Remembers the first bug of the recorder's own."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.first: BaseException | None = None

    def failed(self, error: BaseException) -> None:
        """Note an error; the user's own code gets the same one if the stack is used up."""
        if isinstance(error, RecursionError):
            self._steps.add(
                Note("stack used up", "the stack was used up, so lines in its depth were not seen")
            )
        elif self.first is None:
            self.first = error
