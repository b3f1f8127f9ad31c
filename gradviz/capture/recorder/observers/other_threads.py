"""Whether threads besides those of the recording may run: what they do is not seen."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FrameType

from gradviz.capture import autograd
from gradviz.capture.recorder.observers.observer import Observer


class OtherThreads(Observer):
    """Notices that the recorded code starts a thread, or gives work to one.

    When that work is done no thread says. So from then on, what torch and numpy share with others
    may change at any time.
    """

    def __init__(self) -> None:
        self.codes = frozenset(autograd.codes_of_work_for_threads())
        self._count = threading.active_count()
        self._have_work = False
        self.first_work: Callable[[], object] = _nothing
        """Is called before the first of them gets work."""
        self.begin: Callable[[], object] = _nothing
        """Is called as soon as any may run."""

    @property
    def may_run(self) -> bool:
        """Whether any may run, or may have run since the recording began."""
        if not self._have_work and threading.active_count() != self._count:
            self._have_work = True
            self.begin()
        return self._have_work

    def entered(self, frame: FrameType) -> None:
        """A thread is about to get work."""
        if not self._have_work:
            self._have_work = True
            self.begin()
            self.first_work()


def _nothing() -> None:
    pass
