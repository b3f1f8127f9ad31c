"""Runs user code under observation and writes a :class:`~gradviz.model.Recording`.

Observers are chosen for being neutral: lines by the interpreter's own events, operations by a
mode of torch, backward by hooks on nodes that hold nothing but a number. All of them are taken
away when the code ends, however it ends.
"""

from gradviz.capture.recorder.context_manager import RecordingBlock
from gradviz.capture.recorder.kept_steps import BUDGET
from gradviz.capture.recorder.recorder import Recorder

__all__ = ["BUDGET", "Recorder", "RecordingBlock"]
