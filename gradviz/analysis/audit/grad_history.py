"""Where a ``.grad`` comes from, as far as a recording shows that it was filled or cleared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Event,
    ZeroedGrad,
)
from gradviz.model.history import History
from gradviz.model.records import ValueSummary

SUM: Final = ".grad is the sum of gradients of this loss and of other backwards"


@dataclass(frozen=True, slots=True)
class GradHistory:
    """What a recording shows about the ``.grad`` of a parameter."""

    received: bool | None = None
    """Whether the recorded backward from the losses gave it a gradient; ``None`` if none was
    recorded, or it had ``inputs=`` or raised an error."""
    is_stale: bool | None = None
    """Whether nothing of its ``.grad`` is from the losses; ``False`` means that all is, ``None``
    that it is a sum, or not known."""
    is_sum: bool = False
    """Whether it is known to be from the losses and from something else."""
    missing: str = ""
    """Why there is no ``.grad``, ``""`` if the recording does not show it."""


@dataclass(slots=True)
class _GradReader:
    history: History
    key: str
    roots: frozenset[tuple[str | None, int]]
    ours: dict[int, bool | None] = field(default_factory=dict)
    """Backwards, and whether they started from the losses; ``None``: inside another one."""
    asked: int | None = None
    """Number of the last one that filled all leaves from the losses."""
    brought: bool = False
    sources: frozenset[int] | None = None
    """Backwards whose gradients make up ``.grad``, ``None`` if that is not known."""
    after: ValueSummary | None = None
    left_out: str = ""
    taken: str = ""

    def read(self, event: Event, step: int) -> None:
        if isinstance(event, BackwardStarted):
            self._started(event, step)
        elif isinstance(event, Accumulated) and event.tensor == self.key:
            self._accumulated(event)
        elif isinstance(event, BackwardEnded) and event.number == self.asked and event.raised:
            self.asked = None
        elif isinstance(event, ZeroedGrad) and self._takes(event):
            self.taken = f"zero_grad(){_where(self.history, step)} cleared it"

    def _takes(self, event: ZeroedGrad) -> bool:
        """Whether it clears gradients of the losses."""
        if not event.set_to_none or self.key not in event.tensors:
            return False
        return any(self.ours.get(number) for number in self.sources or ())

    def _started(self, event: BackwardStarted, step: int) -> None:
        roots = set(event.roots)
        is_ours = bool(roots) and roots <= self.roots
        self.ours[event.number] = None if event.inside is not None else is_ours
        if event.inside is not None or not is_ours:
            return
        self.left_out = self.taken = ""
        where = _where(self.history, step)
        if not event.accumulates:
            self.left_out = f"autograd.grad(){where} returns gradients and fills no .grad"
        elif event.inputs and self.key not in event.inputs:
            self.left_out = f"backward(inputs=...){where} left it out"
        elif not event.inputs and roots == self.roots:
            self.asked = event.number

    def _accumulated(self, event: Accumulated) -> None:
        if event.gradient is not None and event.backward == self.asked:
            self.brought = True
        before = event.before
        if before is None or before.norm == 0:
            self.sources = frozenset({event.backward})
        elif self.sources is not None and before == self.after:
            self.sources |= {event.backward}
        else:
            self.sources = None
        self.after = event.after

    def result(self, grad: ValueSummary | None) -> GradHistory:
        received = None if self.asked is None else self.brought
        if grad is None:
            return GradHistory(received, missing=self.taken or self.left_out)
        # What has other numbers now was changed where the recording did not see it, or not how.
        if self.sources is None or grad.norm is None or grad != self.after:
            return GradHistory(received)
        found = {self.ours.get(number) for number in self.sources}
        if len(found) == 1 and None not in found:
            return GradHistory(received, not found.pop())
        return GradHistory(received, is_sum=None not in found)


def grad_history(
    history: History,
    key: str,
    roots: frozenset[tuple[str | None, int]],
    grad: ValueSummary | None,
) -> GradHistory:
    """What a recording shows.

    Args:
        history: What was recorded.
        key: The parameter in the recording.
        roots: Outputs of nodes that the losses are.
        grad: What its ``.grad`` is now.
    """
    reader = _GradReader(history, key, roots)
    for step, event in history.in_order(BackwardStarted, Accumulated, BackwardEnded, ZeroedGrad):
        reader.read(event, step)
    return reader.result(grad)


def _where(history: History, step: int) -> str:
    """``" in line 4"``."""
    line, codes = history.line(step), history.recording.codes
    if line is None:
        return ""
    is_other = line.code not in ("", codes[0].name)
    return f" in line {line.line}" + (f" ({line.code})" if is_other else "")
