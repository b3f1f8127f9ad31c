"""The errors that gradviz raises.

Each class also derives from the matching built-in error. A message names the wrong argument, the
reason in terms of autograd, and a call that works.
"""

from __future__ import annotations

import sys
import traceback
from types import TracebackType
from typing import Any


class GradvizError(Exception):
    """Base class of all errors that gradviz raises."""


class NotATensorError(GradvizError, TypeError):
    """An argument that must be a tensor, or contain tensors, is something else."""


class NoGraphError(GradvizError, ValueError):
    """A tensor has no autograd graph: it does not require grad, or its graph was freed."""


class NamesError(GradvizError, TypeError):
    """``names=`` is not a mapping from text to tensors."""


class GraphBusyError(GradvizError, RuntimeError):
    """Another thread is running backward on this graph, so it cannot be read safely."""


class UnknownNodeError(GradvizError, KeyError):
    """A graph, recording or report has no entry with this id or name."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OptionError(GradvizError, TypeError):
    """An option does not exist, has a wrong value, or does not apply to the other arguments."""


class FileError(GradvizError, OSError):
    """A file cannot be written."""


class DocumentError(GradvizError, ValueError):
    """A text is no document that gradviz wrote, or it is damaged."""


class RecordingError(GradvizError, RuntimeError):
    """A recording cannot be started here, or its code cannot be recorded."""


class NothingRaisedError(GradvizError, AssertionError):
    """Code that was expected to raise an error did not."""


class CheckFailed(GradvizError, AssertionError):  # noqa: N818  # what an assertion does
    """What a function of :mod:`gradviz.check` asks does not hold, or is not known to hold.

    Args:
        found: What was found.
        expected: What was expected; a noun after "expected".
        why: The reason in autograd's terms.
        fix: What to type next.
    """

    def __init__(self, found: str, expected: str, why: str = "", fix: str = "") -> None:
        super().__init__(found, expected, why, fix)
        self.found = found
        self.expected = expected
        self.why = why
        self.fix = fix

    def __str__(self) -> str:
        lines = [f"{self.found}; expected {self.expected}"]
        lines += [f"Why: {self.why}"] if self.why else []
        lines += [f"Type: {self.fix}"] if self.fix else []
        return "\n".join(lines)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: its own traceback, which ends at the line that asked."""
        ipython: Any = sys.modules.get("IPython")
        shell = None if ipython is None else ipython.get_ipython()
        asked = _without_ours(self.__traceback__)
        if shell is None:
            return traceback.format_exception(type(self), self, asked)
        shown: list[str] = shell.InteractiveTB.structured_traceback(
            type(self), self, asked, tb_offset=1
        )
        return shown


def _without_ours(raised: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of gradviz at its end."""
    frames = []
    while raised is not None:
        frames.append(raised)
        raised = raised.tb_next
    while frames and frames[-1].tb_frame.f_globals.get("__name__", "").startswith("gradviz."):
        frames.pop()
    made = None
    for one in frames[::-1]:
        made = TracebackType(made, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return made


class GraphvizNotFoundError(GradvizError, RuntimeError):
    """No installed Graphviz engine can draw this graph."""


class UnsupportedTorchError(GradvizError, ImportError):
    """The graph of the installed torch release cannot be read without changing it."""
