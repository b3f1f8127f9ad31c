"""Writes a step for every line that has run."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from gradviz.capture import naming
from gradviz.capture.recorder import disguise
from gradviz.capture.recorder.engine import Engine
from gradviz.capture.recorder.lines import Lines
from gradviz.capture.recorder.listening import Observer
from gradviz.capture.recorder.reading import Reading
from gradviz.capture.recorder.steps import Steps
from gradviz.model.events import Note, Operation, Raised, Write

_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")


class LineSteps(Observer):
    """Has the others tell what has happened, then writes the step.

    Args:
        observers: Are asked to tell.
        steps: Where steps are written.
        lines: Tells which line has run.
        engine: Tells which node was running when a backward raised.
        progress: Called with the number of steps now and then.
    """

    def __init__(
        self,
        observers: Observer,
        steps: Steps,
        lines: Lines,
        engine: Engine,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._observers = observers
        self._steps = steps
        self._lines = lines
        self._engine = engine
        self._progress = progress

    def function_begins(self, frame: FrameType) -> None:
        """What the line has done so far, for the arguments, is told as its own."""
        events = self._steps.events
        if self._steps.is_full or not any(isinstance(e, (Operation, Write)) for e in events):
            return
        self._observers.step_ends([value for _, value in naming.local_variables(frame)])
        self._steps.add(Note("calls a function", f"and now it calls {frame.f_code.co_name}"))
        self._step()

    def line_ended(self, error: Any, value: Any) -> None:
        """A line has run; an exception that it raised has been caught by the recorded code."""
        if self._steps.is_full:
            self._step()
            return
        self._observers.step_ends(value)
        if error is not None:
            self._steps.add(self._raised(error))
        self._step()
        if self._progress is not None and len(self._steps.made) % 100 == 0:
            self._progress(len(self._steps.made))

    def end(self, error: BaseException | None, reading: Reading) -> None:
        """Write down the last step: the error that has left the code, or its end."""
        line, code = self._lines.stop(error)
        left_out = reading.is_coarse or self._steps.is_full
        if left_out:
            reading.read_all()
        if error is not None:
            disguise.clean(error.__traceback__)
            self._observers.step_ends()
            self._steps.add(self._raised(error))
            self._steps.step("error", 0, line, code)
        elif self._steps.events or left_out:
            self._observers.step_ends()
            self._steps.step("end", 0, None, 0)

    def _step(self) -> None:
        self._steps.step("line", 0, self._lines.line, self._lines.code)

    def _raised(self, error: Any) -> Raised:
        """An exception, or its class, as data."""
        kind = error if isinstance(error, type) else type(error)
        text = "" if isinstance(error, type) else _ADDRESS.sub("0x…", str(error))
        return Raised(kind.__name__, text, *self._engine.failure)
