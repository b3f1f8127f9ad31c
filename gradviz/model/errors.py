"""The errors that gradviz raises.

Each class also derives from the matching built-in error. A message names the wrong argument, the
reason in terms of autograd, and a call that works.
"""

from __future__ import annotations


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


class RecordingError(GradvizError, RuntimeError):
    """A recording cannot be started here, or its code cannot be recorded."""


class NothingRaisedError(GradvizError, AssertionError):
    """Code that was expected to raise an error did not."""


class GraphvizNotFoundError(GradvizError, RuntimeError):
    """No installed Graphviz engine can draw this graph."""


class UnsupportedTorchError(GradvizError, ImportError):
    """The graph of the installed torch release cannot be read without changing it."""
