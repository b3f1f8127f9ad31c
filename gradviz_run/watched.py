"""Runs a program, and explains the error that ends it after Python has shown it."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from gradviz.programs import ProgramRecording
    from gradviz_run.arguments import Asked
    from gradviz_run.programs import Program

_OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


def watch(program: Program, asked: Asked) -> None:
    """Run a program in this process; whatever it raises is raised.

    What Python does with an error that nothing has caught is left to Python: it prints, waits for
    threads, and exits as it does without us. Only the frames below those of the program are taken
    out of the traceback before it is shown, and the explanation is written after it.

    Args:
        program: The program.
        asked: What is wanted of it.
    """
    limit = sys.getrecursionlimit()
    deeper = limit + _added()
    sys.setrecursionlimit(deeper)
    recording = None
    try:
        try:
            program.prepare()
            recording = _recording(program, asked)
            _explain_in_threads(recording)
            program.start()
        finally:
            if sys.getrecursionlimit() == deeper:
                sys.setrecursionlimit(limit)
    except BaseException as error:
        with _Unterminated():
            if recording is not None:
                recording.stop(error)
            if isinstance(error, SystemExit):
                _explain(error if error.code not in (None, 0) else None, recording)
        if not isinstance(error, SystemExit):
            _leave_to_python(error, recording)
        raise
    if recording is not None:
        with _Unterminated():
            recording.stop(None)
            _explain(None, recording)


def _added() -> int:
    """How many calls deep a function is that the caller calls: as many more the program may make,
    for what is below it is ours. Python refuses a limit that is reached already."""
    limit = sys.getrecursionlimit()
    depth = 0
    while sys.getrecursionlimit() == limit:
        try:
            sys.setrecursionlimit(depth + 1)
        except RecursionError:
            depth += 1
    return depth


def _recording(program: Program, asked: Asked) -> ProgramRecording | None:
    if not asked.records:
        return None
    from gradviz.programs import ProgramRecording
    from gradviz_run.ranks import labelled

    recording = ProgramRecording(
        program.file,
        vars(program.main),
        labelled(os.path.basename(program.name)),
        asked.files,
    )
    recording.start()
    return recording


def _leave_to_python(error: BaseException, recording: ProgramRecording | None) -> None:
    """Let Python show the error with the hook in use, and go on after it has."""
    traceback, hook = _without_own(error.__traceback__), sys.excepthook

    def shown(kind: type[BaseException], value: BaseException, _: TracebackType | None) -> None:
        sys.excepthook = hook
        if value is error:
            value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, value.__traceback__)
        except Exception as broken:  # as Python says it, which would be after the explanation
            sys.stderr.write("Error in sys.excepthook:\n")
            broken.__traceback__ = _without_own(broken.__traceback__)
            sys.__excepthook__(type(broken), broken, broken.__traceback__)
            sys.stderr.write("\nOriginal exception was:\n")
            sys.__excepthook__(kind, value, value.__traceback__)
        finally:
            if isinstance(value, (Exception, BaseExceptionGroup)):
                with _Unterminated():
                    _explain(value, recording)

    sys.excepthook = shown


def _explain_in_threads(recording: ProgramRecording | None) -> None:
    """Explain the errors that end threads, too, unless the program has a hook of its own for them.

    Python's is in a module that is always there; ``threading`` takes it when it is imported. Of a
    thread that is not one of ``threading``, Python hands the error to ``sys.unraisablehook``.
    """
    import _thread

    is_finalizing = sys.is_finalizing  # at the end of Python nothing else is left

    def explained(hook: Callable[[Any], object]) -> Callable[[Any], None]:
        def shown(raised: Any) -> None:
            error, is_ending = raised.exc_value, is_finalizing()
            if recording is not None and error is not None and not is_ending:
                from gradviz.programs import clean

                clean(error)
            hook(raised)
            if isinstance(error, Exception) and not is_ending:
                _explain(error, recording)

        return shown

    hook: Any = _thread._excepthook
    _thread._excepthook = shown = explained(hook)
    sys.unraisablehook = sys.__unraisablehook__ = explained(sys.unraisablehook)
    threads: Any = sys.modules.get("threading")
    if threads is not None and threads.excepthook is hook:
        threads.excepthook = threads.__excepthook__ = shown


def _without_own(traceback: TracebackType | None) -> TracebackType | None:
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_OWN):
        traceback = traceback.tb_next
    return traceback


def _explain(error: BaseException | None, recording: ProgramRecording | None) -> None:
    """Write what is known of an error; of a recorded program also its faults without an error."""
    if recording is None and (error is None or "torch" not in sys.modules):
        return
    from gradviz_run.ranks import labelled

    try:
        from gradviz.programs import text_about

        text = text_about(error, recording)
    except Exception as problem:  # torch is too old, or the script's folder has another gradviz
        text = f"nothing is explained: {problem}"
    if text:
        # In one piece: several ranks may write at once.
        sys.stderr.write(f"\n{labelled('gradviz')}:\n{text}\n")
        sys.stderr.flush()


class _Unterminated:
    """A request to terminate waits until the block ends.

    When a rank has failed, torchrun terminates the others, which mostly have failed too and are
    about to say why.
    """

    def __init__(self) -> None:
        self._has_arrived = False
        self._is_on = False

    def __enter__(self) -> None:
        import signal

        is_default = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        try:
            if is_default:
                signal.signal(signal.SIGTERM, self._arrived)
                self._is_on = True
        except ValueError:  # not in the main thread
            pass

    def _arrived(self, *_: object) -> None:
        self._has_arrived = True

    def __exit__(self, *_: object) -> None:
        if not self._is_on:
            return
        import signal

        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if self._has_arrived:
            os.kill(os.getpid(), signal.SIGTERM)
