"""The protocol of observers: what is called when something happens in the recorded code."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import CodeType, FrameType
from typing import Any, ClassVar

from gradviz.capture.recorder.torch_call import TorchCall


class Observer:
    """Its methods are called when something happens; a class overrides those that it needs."""

    rests: ClassVar[bool] = False
    """Whether tracing pauses while a function runs that it watches."""

    codes: Collection[CodeType | None] = ()
    """Code of the functions that it watches."""

    def watches(self, code: CodeType) -> bool:
        """Whether ``entered`` and ``left`` are called for a function; decided once per code."""
        return code in self.codes

    def entered(self, frame: FrameType) -> None:
        """A function that it watches begins to run."""

    def left(self, frame: FrameType, value: Any, is_known: bool) -> None:
        """A function that it watches has ended, with a value if that is known."""

    @property
    def is_quiet(self) -> bool:
        """Whether calls of torch are part of something that is recorded as a whole."""
        return False

    def before(self, call: TorchCall) -> bool:
        """torch is about to be called; returns whether the call is of interest.

        If not, no observer gets ``after`` or ``raised``, and later observers are not called.
        """
        return True

    def after(self, call: TorchCall) -> None:
        """A call of torch has returned; nothing of it may be kept."""

    def raised(self, call: TorchCall, error: BaseException) -> None:
        """A call of torch has raised; nothing of it may be kept."""

    def calls_hidden(self) -> None:
        """Calls of torch are not observed for a while."""

    def function_begins(self, frame: FrameType) -> None:
        """A function whose lines are followed begins to run in the middle of a line."""

    def call_begins(self) -> None:
        """A function whose lines are followed begins, or a generator goes on."""

    def call_ended(self, failed: bool) -> None:
        """The last one that began has ended, or is left by an exception."""

    def lines_left_out(self, depths: Sequence[int]) -> None:
        """Lines before the one that runs were not told: nothing happened in them.

        Args:
            depths: How deep the calls are, of those that run, that may have run such lines.
        """

    def line_ended(self, error: Any, value: Any) -> None:
        """A line has run.

        Args:
            error: What it has raised and the recorded code has caught, else ``None``.
            value: What it has returned, if it returned.
        """

    def step_ends(self, unnamed: Any = None) -> None:
        """All that happened since the last step is about to be written down.

        Args:
            unnamed: Values without a name that are alive.
        """

    def failed(self, error: BaseException) -> None:
        """One of the observers has raised; the recorded code runs on."""

    def stopped(self) -> None:
        """The recording has ended: nothing of the recorded code may be kept."""


class Observers(Observer):
    """All observers of a recording, called in the order in which they were added."""

    def __init__(self) -> None:
        self._all: tuple[Observer, ...] = ()
        self.add()

    def add(self, *observers: Observer) -> None:
        """Call these too from now on, after the ones added earlier."""
        self._all += observers
        # What is asked at every line and call of torch goes to those only that answer.
        self._told = {name: self._having(name) for name in vars(Observer) if name[0] != "_"}

    def _having(self, name: str) -> tuple[Observer, ...]:
        """The observers whose classes override a method."""
        own = getattr(Observer, name)
        return tuple([one for one in self._all if getattr(type(one), name) is not own])

    def watcher(self, code: CodeType) -> Observer | None:
        """The first observer that watches a function."""
        return next((one for one in self._all if one.watches(code)), None)

    @property
    def is_quiet(self) -> bool:
        """Whether one of them says so."""
        return any(one.is_quiet for one in self._told["is_quiet"])

    def before(self, call: TorchCall) -> bool:
        """Whether all observers need the call; the first that does not ends the search."""
        return all(one.before(call) for one in self._told["before"])

    def after(self, call: TorchCall) -> None:
        """Call all."""
        for one in self._told["after"]:
            one.after(call)

    def raised(self, call: TorchCall, error: BaseException) -> None:
        """Call all."""
        for one in self._told["raised"]:
            one.raised(call, error)

    def calls_hidden(self) -> None:
        """Call all."""
        for one in self._told["calls_hidden"]:
            one.calls_hidden()

    def function_begins(self, frame: FrameType) -> None:
        """Call all."""
        for one in self._told["function_begins"]:
            one.function_begins(frame)

    def call_begins(self) -> None:
        """Call all."""
        for one in self._told["call_begins"]:
            one.call_begins()

    def call_ended(self, failed: bool) -> None:
        """Call all."""
        for one in self._told["call_ended"]:
            one.call_ended(failed)

    def lines_left_out(self, depths: Sequence[int]) -> None:
        """Call all."""
        for one in self._told["lines_left_out"]:
            one.lines_left_out(depths)

    def line_ended(self, error: Any, value: Any) -> None:
        """Call all; the first writes the step."""
        for one in self._told["line_ended"]:
            one.line_ended(error, value)

    def step_ends(self, unnamed: Any = None) -> None:
        """Let all write their events."""
        for one in self._told["step_ends"]:
            one.step_ends(unnamed)

    def failed(self, error: BaseException) -> None:
        """Call all."""
        for one in self._told["failed"]:
            one.failed(error)

    def stopped(self) -> None:
        """Let all drop what they keep, also if one of them raises."""
        for one in self._told["stopped"]:
            try:
                one.stopped()
            except Exception as error:
                self.failed(error)
