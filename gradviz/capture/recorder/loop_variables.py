"""What the head of a ``for`` loop has bound its variables to."""

from __future__ import annotations

from typing import Final

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.recorder.line_events import LineEvents
from gradviz.capture.recorder.namespaces import Namespaces
from gradviz.capture.recorder.observers.operations import Operations
from gradviz.model.events import LoopVariable

_PLAIN: Final = (bool, int, float, complex, str, type(None))


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

    def bound(self) -> list[LoopVariable]:
        """The variables of the line that has run, if it is the head of a loop."""
        names = self._lines.loop_variables
        if not names:
            return []
        with autograd.unseen():
            # Variables of a function come after those of the block, which they hide.
            values = {name: value for name, value in self._namespaces.all() if name in names}
            known = {n: v for n, v in values.items() if type(v) in _PLAIN or is_tensor(v)}
            return [
                LoopVariable(name, self._operations.operand(known[name]))
                for name in names
                if name in known
            ]
