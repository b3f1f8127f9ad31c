"""Rounds of training: what happened to gradients between two steps of an optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.sites import site_of
from gradviz.model.events import (
    Accumulated,
    Clipped,
    OptimizerStepped,
    ZeroedGrad,
)
from gradviz.model.history import EventPlace, History, Kind
from gradviz.model.records import TensorInfo, ValueSummary


@dataclass(frozen=True)
class TrainingStep:
    """A step of an optimizer, and the events between it and the step before."""

    history: History
    start: EventPlace | None
    """The step before; ``None`` if none was recorded."""
    place: EventPlace
    stepped: OptimizerStepped

    def _between(self, kind: type[Kind]) -> Iterator[tuple[EventPlace, Kind]]:
        for place, event in self.history.told(kind):
            if (self.start is None or place > self.start) and place < self.place:
                yield place, event

    @property
    def accumulated(self) -> list[tuple[EventPlace, Accumulated]]:
        """Gradients that were accumulated into its parameters."""
        mine = set(self.stepped.parameters)
        return [
            (place, event)
            for place, event in self._between(Accumulated)
            if event.tensor in mine and not event.retained
        ]

    @property
    def zeroed(self) -> list[tuple[EventPlace, ZeroedGrad]]:
        """Calls of ``zero_grad()`` that cleared gradients of its parameters."""
        mine = set(self.stepped.parameters)
        return [
            (place, event)
            for place, event in self._between(ZeroedGrad)
            if mine & set(event.tensors)
        ]

    @property
    def clipped(self) -> list[tuple[EventPlace, Clipped]]:
        """Calls that clipped gradients, of whichever parameters."""
        return [
            (place, event) for place, event in self._between(Clipped) if not event.only_measures
        ]

    def before(self, tensor: str) -> TensorInfo | None:
        """A parameter as it was before the line that stepped."""
        return self.history.tensor_at(tensor, self.place[0] - 1)

    @property
    def variable(self) -> str | None:
        """How to type the optimizer: ``opt`` of ``opt.step()``."""
        site = site_of(self.history, self.place, self.stepped)
        call = None if site is None else site.call_of("step")
        owner = call.func.value if call and isinstance(call.func, ast.Attribute) else None
        return None if owner is None else ast.unparse(owner)

    @property
    def label(self) -> str:
        """``"SGD.step"``."""
        return f"{self.stepped.name}.step"


def training_steps(history: History) -> Iterator[TrainingStep]:
    """All rounds, the first one first."""
    last: dict[tuple[str, ...], EventPlace] = {}
    for place, event in history.told(OptimizerStepped):
        if event.parameters:
            yield TrainingStep(history, last.get(event.parameters), place, event)
            last[event.parameters] = place


def is_empty(grad: ValueSummary | None) -> bool:
    """Whether a gradient is ``None`` or all 0."""
    return grad is None or grad.norm == 0
