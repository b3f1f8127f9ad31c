"""What ``gradviz run`` and ``pytest --gradviz`` ask for when a program or a test has failed."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gradviz.capture.recorder import Recorder, frames
from gradviz.explaining import autograds
from gradviz.model import GradvizError, Recording
from gradviz.model.explanations import Explanations
from gradviz.model.joining import PROGRAM, RECORDED
from gradviz.view.export.writing import write_file


class ProgramRecording:
    """The recording of a program, from its first line to its end.

    It gives way to recordings that the program makes itself, and goes on when these have ended.

    Args:
        file: File of the program's code.
        space: Its variables.
        label: Title of the recording.
        files: Where it is saved, by the kind of file.
    """

    def __init__(
        self, file: str, space: dict[str, Any], label: str, files: Mapping[str, str]
    ) -> None:
        self.last: Recording | None = None
        """The last part that has ended; the whole, if the program has recorded nothing itself."""
        self.problems: list[str] = []
        """Why it is not there, or not saved."""
        self._place = file, space
        self._label = label
        self._files = files
        self._recorder: Recorder | None = None
        self._process = os.getpid()
        self.has_ended = False
        """Whether the program has."""

    def start(self) -> None:
        """Begin."""
        file, space = self._place
        recorder = Recorder(label=self._label)
        recorder.gives_way = self._give_way
        try:
            recorder.start(file=file, space=space)
        except GradvizError as problem:
            self.problems.append(f"the program is not recorded: {problem}")
        else:
            self._recorder = recorder

    def _give_way(self) -> Callable[[], None]:
        self._stop(None)
        return lambda: None if self.has_ended else self.start()

    def stop(self, error: BaseException | None) -> None:
        """The program has ended; save what was asked for, but not in a process that it forked off.

        Args:
            error: What it has raised, if anything.
        """
        if os.getpid() != self._process:
            return
        self.has_ended = True
        self._stop(error)
        self._place = "", {}  # hooks of Python's keep this object longer than the variables live
        if self.last is None:
            return
        for kind, file in self._files.items():
            try:
                _save(self.last, kind, file)
            except GradvizError as problem:
                self.problems.append(f"{file} is not saved: {problem}")

    def _stop(self, error: BaseException | None) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            self.last = recorder.stop(error)
        except GradvizError as problem:
            self.problems.append(f"the program is not recorded: {problem}")


def _save(recording: Recording, kind: str, file: str) -> None:
    if kind == "json":
        write_file(file, recording.to_json())
        return
    from gradviz.api import show

    show(recording).save(file)


def clean(error: BaseException) -> None:
    """Take the entries of a recorder out of the traceback of an error, in place."""
    frames.clean(error.__traceback__)


def text_about(
    error: BaseException | None,
    recording: ProgramRecording | None = None,
    is_program: bool = True,
) -> str:
    """What is known of the error that has ended a program or a test; empty if it is not autograd's.

    Nothing is raised: the error itself is what has to be seen.

    Args:
        error: What was raised; ``None`` if nothing was.
        recording: The recording of the program: faults for which torch raises no error are added.
        is_program: Whether ``gradviz run`` has started it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the program may have made errors of them
        try:
            return "\n".join(_parts(error, recording, is_program))
        except Exception as problem:
            return f"this error is not explained: {type(problem).__name__}: {problem}"


def _parts(
    error: BaseException | None, recording: ProgramRecording | None, is_program: bool
) -> Iterator[str]:
    # A recording would not have the lines of another thread.
    may_be_recorded = recording is None and threading.current_thread() is threading.main_thread()
    said = "" if not is_program else PROGRAM if may_be_recorded else RECORDED
    about = [] if error is None else [*autograds(error, said)]
    ended = recording if recording is not None and recording.has_ended else None
    if ended is not None and ended.last is not None:
        about += (one for one in ended.last.explanations if one.is_silent)
    if about:
        yield str(Explanations(about))
    if ended is not None:
        yield from ended.problems
