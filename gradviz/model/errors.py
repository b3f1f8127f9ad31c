"""Every error gradviz raises on purpose.

Each class also derives from the built-in a caller would expect. A message says what is wrong
with which argument, why in autograd's terms, and what to type instead.
"""

from __future__ import annotations


class GradvizError(Exception):
    """Base of all errors raised by gradviz."""


class NotATensorError(GradvizError, TypeError):
    """Something that should have been a tensor is not one."""


class NoGraphError(GradvizError, ValueError):
    """A tensor has no autograd graph behind it."""


class NamesError(GradvizError, TypeError):
    """``names=`` is not a mapping from text to tensors."""


class GraphBusyError(GradvizError, RuntimeError):
    """Another thread runs backward on this graph, so it cannot be read safely now."""


class UnknownNodeError(GradvizError, KeyError):
    """A graph was asked for an id it does not have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class OptionError(GradvizError, TypeError):
    """An option of :func:`gradviz.show` does not exist or has a value it cannot take."""


class RecordingError(GradvizError, RuntimeError):
    """A recording cannot be started here, or what ran inside cannot be recorded."""


class NothingRaisedError(GradvizError, AssertionError):
    """Code that was expected to fail has not."""


class GraphvizNotFoundError(GradvizError, RuntimeError):
    """No Graphviz engine that can do what was asked is installed."""


class UnsupportedTorchError(GradvizError, ImportError):
    """The installed torch cannot be read without changing what is looked at."""
