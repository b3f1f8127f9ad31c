"""The ``with`` block whose lines are recorded."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Final

from gradviz.capture.recorder.recorder import Recorder
from gradviz.model import Recording, RecordingError

_PAUSES: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class RecordingBlock:
    """Records from ``__enter__`` to ``__exit__``; the recording is complete afterwards."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._recording: Recording | None = None
        self._complete: Callable[[Recording], None] | None = None
        recorder.left_open = lambda error: self.__exit__(None, error, None)

    def __enter__(self) -> Recording:
        frame = sys._getframe(1)
        while _enters_for_another(frame) and frame.f_back is not None:
            frame = frame.f_back
        _refuse_if_it_pauses(frame)
        self._recorder.start(frame)
        self._recording, self._complete = Recording.pending()
        return self._recording

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        recording = self._recorder.stop(error)
        if self._complete is not None:
            self._complete(recording)


def _enters_for_another(frame: FrameType) -> bool:
    """Whether a block is entered here for somebody: by an ExitStack, or a block around it."""
    name = str(frame.f_globals.get("__name__"))
    return name == "contextlib" or name.partition(".")[0] == "gradviz"


def _refuse_if_it_pauses(frame: FrameType) -> None:
    code = frame.f_code
    # A cell with a top-level await is a coroutine too, but nothing else runs in its thread.
    if code.co_flags & _PAUSES and code.co_name != "<module>":
        kind = "coroutine" if code.co_flags & inspect.CO_COROUTINE else "generator"
        raise RecordingError(
            f"{code.co_name} is a {kind}: while it pauses, code that has nothing to do with it "
            "runs in the same thread and would be recorded. Put the with block around the code "
            "that consumes it, or into a plain function that it calls"
        )
