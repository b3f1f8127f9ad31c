"""What the head of a ``for`` loop has bound its variables to."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.namespaces import Namespaces
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.model.events import LoopVariable

_PLAIN = (bool, int, float, complex, str, type(None))


class LoopVariables:
    """Reads numbers, texts and tensors, nothing else: of other objects user code could run.

    Args:
        lines: Tells which line has run.
        namespaces: The variables in sight.
        operations: Describes values.
    """

    def __init__(self, lines: LineEvents, namespaces: Namespaces, operations: Operations) -> None:
        self._lines = lines
        self._namespaces = namespaces
        self._operations = operations

    def bound(self) -> Iterator[LoopVariable]:
        """The variables of the line that has run, if it is the head of a loop."""
        names = self._lines.loop_variables
        if not names:
            return
        values = dict(self._namespaces.all())
        for name in names:
            value = values.get(name)
            if name in values and (type(value) in _PLAIN or is_tensor(value)):
                yield LoopVariable(name, self._operations.operand(value))
