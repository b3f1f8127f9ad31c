"""Where a ``.grad`` comes from, as far as a recording shows that it was filled or cleared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Event,
    OptimizerStepped,
    ZeroedGrad,
)
from gradviz.model.history import History
from gradviz.model.reachability import reachable
from gradviz.model.records import ValueSummary

_Output: TypeAlias = "tuple[str | None, int]"
"""An output of a node."""
SUM: Final = ".grad is the sum of gradients of this loss and of other backwards"

CLOSURE: Final = "step(closure) computed .grad from another loss of the closure"


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
    updated: str = ""
    """The last step that updated it with a recorded gradient: ``"step() in line 7"``."""


class LossBackwards:
    """What the backwards of a recording are computed from.

    Args:
        history: What was recorded.
        roots: Outputs of nodes that the losses are.
    """

    def __init__(self, history: History, roots: frozenset[_Output]) -> None:
        self.history = history
        self.roots = roots
        self._found: dict[int, tuple[frozenset[_Output], bool]] = {}

    def reached(self, event: BackwardStarted, step: int) -> tuple[frozenset[_Output], bool]:
        """The losses that a backward is computed from, and whether it is from nothing else: it may
        start at their mean, or at a sum of them."""
        if event.number not in self._found:
            self._found[event.number] = self._walk(event, step)
        return self._found[event.number]

    def _walk(self, event: BackwardStarted, step: int) -> tuple[frozenset[_Output], bool]:
        places: list[_Output] = reachable(event.roots, lambda place: self._after(place, step))
        losses = self.roots.intersection(places)
        ends = (self.history.node(key, step) for key, _ in set(places) - self.roots)
        is_alone = not any(node is None or node.variable is not None for node in ends)
        return losses, is_alone

    def _after(self, place: _Output, step: int) -> list[_Output]:
        node = None if place in self.roots else self.history.node(place[0], step)
        return [] if node is None else [one for one in node.next_functions if one is not None]


@dataclass(slots=True)
class _GradReader:
    history: History
    key: str
    backwards: LossBackwards
    ours: dict[int, bool | None] = field(default_factory=dict)
    """Backwards, and whether they are from the losses alone; ``None``: from others too, or inside
    another one."""
    asked: int | None = None
    """Number of the last one that filled all leaves from the losses."""
    brought: bool = False
    sources: frozenset[int] | None = None
    """Backwards whose gradients make up ``.grad``, ``None`` if that is not known."""
    after: ValueSummary | None = None
    left_out: str = ""
    taken: str = ""
    updated: str = ""

    def read(self, event: Event, step: int) -> None:
        if isinstance(event, BackwardStarted):
            self._started(event, step)
        elif isinstance(event, Accumulated) and event.tensor == self.key:
            self._accumulated(event)
        elif isinstance(event, BackwardEnded) and event.number == self.asked and event.raised:
            self.asked = None
        elif isinstance(event, ZeroedGrad) and self._takes(event):
            self.taken = f"zero_grad(){_where(self.history, step)} cleared it"
        elif isinstance(event, OptimizerStepped) and self.key in event.updated and self.sources:
            self.updated = f"step(){_where(self.history, step)}"

    def _takes(self, event: ZeroedGrad) -> bool:
        """Whether it clears gradients of the losses."""
        if not event.set_to_none or self.key not in event.tensors:
            return False
        return any(self.ours.get(number) for number in self.sources or ())

    def _started(self, event: BackwardStarted, step: int) -> None:
        reached, is_alone = self.backwards.reached(event, step)
        is_ours = bool(reached) and is_alone
        is_mixed = bool(reached) and not is_alone
        self.ours[event.number] = None if event.inside is not None or is_mixed else is_ours
        if event.inside is not None or not is_ours:
            return
        self.left_out = self.taken = ""
        where = _where(self.history, step)
        if not event.accumulates:
            self.left_out = f"autograd.grad(){where} returns gradients and fills no .grad"
        elif event.inputs and self.key not in event.inputs:
            self.left_out = f"backward(inputs=...){where} left it out"
        elif not event.inputs and reached == self.backwards.roots:
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
            return GradHistory(received, missing=self.taken or self.left_out, updated=self.updated)
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
    backwards: LossBackwards,
    grad: ValueSummary | None,
) -> GradHistory:
    """What a recording shows.

    Args:
        history: What was recorded.
        key: The parameter in the recording.
        backwards: Knows which of them are from the losses.
        grad: What its ``.grad`` is now.
    """
    reader = _GradReader(history, key, backwards)
    for step, event in history.in_order(
        BackwardStarted, Accumulated, BackwardEnded, ZeroedGrad, OptimizerStepped
    ):
        reader.read(event, step)
    return reader.result(grad)


def _where(history: History, step: int) -> str:
    """``" in line 4"``."""
    line, codes = history.line(step), history.recording.codes
    if line is None:
        return ""
    is_other = line.code not in ("", codes[0].name)
    return f" in line {line.line}" + (f" ({line.code})" if is_other else "")
