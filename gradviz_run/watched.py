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
    process = os.getpid()
    recording = None
    try:
        program.prepare()
        recording = _recording(program, asked)
        _explain_in_threads(recording, process)
        program.start()
    except SystemExit as error:
        has_failed = error.code not in (None, 0)
        if has_failed or recording is not None:
            with _Unterminated():
                _ended(recording, process, error)
                _explain(error if has_failed else None, recording, process)
        raise
    except BaseException as error:
        with _Unterminated():
            _ended(recording, process, error)
        _leave_to_python(error, recording, process)
        raise
    else:
        if recording is not None:
            with _Unterminated():
                _ended(recording, process, None)
                _explain(None, recording, process)


def _recording(program: Program, asked: Asked) -> ProgramRecording | None:
    if not asked.records:
        return None
    from gradviz.programs import ProgramRecording
    from gradviz_run.ranks import words

    label = ", ".join(filter(None, (os.path.basename(program.name), words())))
    recording = ProgramRecording(program.file, vars(program.main), label, asked.files)
    recording.start()
    return recording


def _ended(recording: ProgramRecording | None, process: int, error: BaseException | None) -> None:
    # A process that the program has forked off leaves here too.
    if recording is not None and os.getpid() == process:
        recording.stop(error)


def _leave_to_python(
    error: BaseException, recording: ProgramRecording | None, process: int
) -> None:
    """Let Python show the error with the hook in use, and go on after it has."""
    traceback, hook = _without_own(error.__traceback__), sys.excepthook

    def shown(kind: type[BaseException], value: BaseException, _: TracebackType | None) -> None:
        sys.excepthook = hook
        if value is error:
            value.__traceback__ = sys.last_traceback = traceback
        try:
            hook(kind, value, value.__traceback__)
        finally:
            if isinstance(value, (Exception, BaseExceptionGroup)):
                with _Unterminated():
                    _explain(value, recording, process)

    sys.excepthook = shown


def _explain_in_threads(recording: ProgramRecording | None, process: int) -> None:
    """Explain the errors that end threads, too, unless the program has a hook of its own for them.

    Python's is in a module that is always there; ``threading`` takes it when it is imported. Of a
    thread that is not one of ``threading``, Python hands the error to ``sys.unraisablehook``.
    """
    import _thread

    def explained(hook: Callable[[Any], object]) -> Callable[[Any], None]:
        def shown(raised: Any) -> None:
            error = raised.exc_value
            if recording is not None and error is not None:
                from gradviz.programs import clean

                clean(error)
            hook(raised)
            if isinstance(error, Exception) and not sys.is_finalizing():
                _explain(error, recording, process)

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


def _explain(error: BaseException | None, recording: ProgramRecording | None, process: int) -> None:
    """Write what is known of an error; of a recorded program also its faults without an error."""
    if os.getpid() != process and recording is not None:
        recording = None
    if recording is None and (error is None or "torch" not in sys.modules):
        return
    from gradviz_run.ranks import words

    try:
        from gradviz.programs import text_about

        text = text_about(error, recording)
    except Exception as problem:  # torch is too old, or the script's folder has another gradviz
        text = f"nothing is explained: {problem}"
    if text:
        title = ", ".join(filter(None, ("gradviz", words())))
        # In one piece: several ranks may write at once.
        sys.stderr.write(f"\n{title}:\n{text}\n")
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
