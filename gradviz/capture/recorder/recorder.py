"""Runs the user's code under observation and writes a recording of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any, Final

from gradviz.capture.recorder.followed_code import FollowedCode
from gradviz.capture.recorder.kept_steps import BUDGET
from gradviz.capture.recorder.run import Run, RunOptions
from gradviz.capture.recorder.signals import DeferredSignals, at_work
from gradviz.model import OptionError, Recording, RecordingError
from gradviz.model.arguments import checked, flag

_active: Final = threading.Lock()
_giving_way: Final[dict[int, Recorder]] = {}
"""Recorders that run and end when another one begins in their thread, by the thread."""
LEAST_BUDGET: Final = 100
"""The smallest budget: with less there is no room for one turn of a loop."""
_NESTED: Final = (
    "another recording runs already. Recordings cannot be nested: two observers of one autograd "
    "graph would see each other. End the outer one first, or leave the inner gradviz.record() out"
)


class Recorder:
    """Observes code from :meth:`start` to :meth:`stop`.

    Args:
        into: What is followed besides the user's own code; see
            :class:`~gradviz.capture.recorder.followed_code.FollowedCode`.
        only: What is followed in place of it.
        values: Whether numbers of tensors are read; without, a GPU is never waited for.
        anomaly: Whether torch's anomaly mode is on meanwhile.
        label: What is recorded, for titles.
        budget: How many steps, events and rows are kept as they were; see
            :mod:`gradviz.capture.recorder.kept_steps`.

    Raises:
        OptionError: If the budget is no number, or too small.
    """

    def __init__(
        self,
        into: Any = (),
        only: Any = None,
        values: bool = True,
        anomaly: bool = False,
        label: str = "",
        budget: int = BUDGET,
    ) -> None:
        flag("values", values)
        flag("anomaly", anomaly)
        checked("label", label, str, "text: label='the first epoch'")
        followed = FollowedCode(into, only)
        self._options = RunOptions(followed, values, anomaly, label, _checked(budget))
        self._signals = DeferredSignals()
        self._run: Run | None = None
        self._problem: BaseException | None = None
        self.left_open: Callable[[BaseException | None], object] = self.stop
        """What is done if the frame of a block is left without its ``__exit__``."""
        self.gives_way: Callable[[], Callable[[], None]] | None = None
        """Called when another recorder begins in this thread: it has to stop this one, and returns
        what is done when the other one has ended. ``None``: another one cannot begin."""
        self._ended: Callable[[], None] | None = None

    @property
    def problem(self) -> BaseException | None:
        """The first error in the recorder, in the last recording, ``None`` if there was none."""
        return self._problem

    def start(
        self,
        frame: FrameType | None = None,
        file: str = "",
        text: str | None = None,
        function: FunctionType | None = None,
        space: dict[str, Any] | None = None,
    ) -> None:
        """Begin to observe this thread.

        Args:
            frame: Frame whose following lines are recorded, or ``None``.
            file: File name of the cell whose lines are recorded, in whatever frame they run.
            text: Text of the cell.
            function: In place of both: the function whose lines are recorded when it is called.
            space: Variables of the cell, if it does not run yet: it has some.

        Raises:
            RecordingError: If another recording runs, or code of this kind cannot be recorded.
        """
        other = _giving_way.pop(threading.get_ident(), None)
        if other is not None and other.gives_way is not None:
            self._ended = other.gives_way()
        try:
            with at_work:
                self._start(frame, file, text, function, space)
        except BaseException:
            self._others_go_on()
            raise
        if self.gives_way is not None:
            _giving_way[threading.get_ident()] = self

    def _start(
        self,
        frame: FrameType | None,
        file: str,
        text: str | None,
        function: FunctionType | None,
        space: dict[str, Any] | None,
    ) -> None:
        self._signals.start()
        try:
            if not _active.acquire(blocking=False):
                raise RecordingError(_NESTED)
            try:
                run = Run(self._options, frame, file, text, self.left_open, function, space)
                run.start()
                self._run = run
            except BaseException:
                _active.release()
                raise
        except BaseException:
            self._signals.stop()
            raise

    def stop(self, error: BaseException | None = None) -> Recording:
        """End the observation, take everything away again, and give the recording.

        Args:
            error: What the code has raised, if anything.

        Raises:
            RecordingError: If the recorder itself failed; the recorded code ran as it would
                have without it. Or if it was not started.
        """
        if _giving_way.get(threading.get_ident()) is self:
            del _giving_way[threading.get_ident()]
        try:
            with at_work:
                return self._stop(error)
        finally:
            self._others_go_on()

    def _others_go_on(self) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended()

    def _stop(self, error: BaseException | None) -> Recording:
        if self._run is None:
            raise RecordingError("the recorder was not started, or was stopped before")
        run, self._run = self._run, None
        try:
            return run.stop(error)
        finally:
            self._problem = run.problem
            _active.release()
            self._signals.stop()


def _checked(budget: object) -> int:
    if type(budget) is int and budget >= LEAST_BUDGET:
        return budget
    raise OptionError(
        f"budget={budget!r}: it is how many steps, events and rows a recording keeps, a whole "
        f"number from {LEAST_BUDGET} on; without it {BUDGET:,}"
    )
