"""Rounds of training: what happened to gradients between two steps of an optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import loops_around, statement_of, statements_of
from gradviz.model.events import (
    Accumulated,
    Clipped,
    LoopVariable,
    OptimizerStepped,
    Write,
    ZeroedGrad,
)
from gradviz.model.history import EventPlace, History, Kind
from gradviz.model.records import TensorInfo, ValueSummary

UPDATE: Final = "the update"
"""What a line that writes a parameter with its gradient is called."""


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
            if place >= self.place:
                return
            if self.start is None or place > self.start:
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
        call = self._call
        owner = call.func.value if call and isinstance(call.func, ast.Attribute) else None
        return None if owner is None else ast.unparse(owner)

    @property
    def has_closure(self) -> bool:
        """Whether it may have been given a function that runs backward: ``opt.step(closure)``."""
        return self._call is None or bool(self._call.args or self._call.keywords)

    @property
    def is_given_optimizer(self) -> bool:
        """Whether something steps it that is given the optimizer: ``scaler.step(opt)``."""
        return self._call is not None and len(self._call.args) == 1

    @property
    def _call(self) -> ast.Call | None:
        site = site_of(self.history, self.place, self.stepped)
        return None if site is None else site.call_of("step")

    @property
    def label(self) -> str:
        """``"SGD.step"``."""
        return f"{self.stepped.name}.step" if self.stepped.name != UPDATE else UPDATE


def training_steps(history: History) -> Iterator[TrainingStep]:
    """All rounds, the first one first, without that of a step that raised: it has not ended."""
    last: dict[tuple[str, ...], EventPlace] = {}
    for place, event in history.told(OptimizerStepped):
        if event.parameters and history.recording.records[place[0]].kind != "error":
            start = last.get(event.parameters) or _before_it_grew(place, event, last, history)
            yield TrainingStep(history, start, place, event)
            last[event.parameters] = place


def _before_it_grew(
    place: EventPlace,
    event: OptimizerStepped,
    last: dict[tuple[str, ...], EventPlace],
    history: History,
) -> EventPlace | None:
    """The last step of an optimizer on the same line, which has been given more parameters since:
    `add_param_group()`."""
    line = history.line(place)
    found = [
        at
        for parameters, at in last.items()
        if event.parameters[: len(parameters)] == parameters
        and line is not None
        and (before := history.line(at)) is not None
        and (before.code, before.line) == (line.code, line.line)
    ]
    return max(found, default=None)


def updates_by_hand(history: History) -> Iterator[TrainingStep]:
    """Lines that write a parameter with its gradient: ``w -= lr * w.grad``."""
    filled = {event.tensor for _, event in history.told(Accumulated) if event.tensor}
    stepped = {key for _, event in history.told(OptimizerStepped) for key in event.parameters}
    last: dict[str, EventPlace] = {}
    for place, event in history.told(Write):
        statement = statement_of(history, place) if event.agent in ("call", "unseen") else None
        keys = [k for k in event.tensors if k in filled and k not in stepped]
        if statement is None or not keys or not _reads_gradient(statement.node):
            continue
        for key in keys:
            done = OptimizerStepped(UPDATE, (key,), (), (key,))
            yield TrainingStep(history, last.get(key), place, done)
            last[key] = place


def passed_over_by_hand(history: History) -> Iterator[TrainingStep]:
    """Turns of loops over parameters that have such a line, of those that it never writes."""
    written, loops = set[str](), set[tuple[ast.stmt, str]]()
    for one in updates_by_hand(history):
        written.update(one.stepped.parameters)
        statement = statement_of(history, one.place)
        if statement is not None:
            names = {part.id for part in ast.walk(statement.node) if isinstance(part, ast.Name)}
            loops.update((loop, name) for loop in loops_around(statement) for name in names)
    filled = {event.tensor for _, event in history.told(Accumulated)} - written
    last: dict[str, EventPlace] = {}
    for place, event in history.told(LoopVariable) if loops else ():
        key, head = event.value.tensor, statement_of(history, place)
        if key in filled and key is not None and head and (head.node, event.name) in loops:
            done = OptimizerStepped(UPDATE, (), (key,), (key,))
            yield TrainingStep(history, last.get(key), place, done)
            last[key] = place


def _reads_gradient(node: ast.stmt) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == "grad" for one in ast.walk(node))


def is_empty(grad: ValueSummary | None) -> bool:
    """Whether a gradient is ``None`` or all 0."""
    return grad is None or grad.norm == 0


def reads_gradients(history: History) -> bool:
    """Whether the code reads any ``.grad``: what it does with it is its own affair."""
    return any(
        isinstance(part, ast.Attribute) and part.attr == "grad" and isinstance(part.ctx, ast.Load)
        and not _is_function(part)
        for code in history.recording.codes
        for statement in statements_of(code)
        for part in statement.parts
    )  # fmt: skip


def _is_function(part: ast.Attribute) -> bool:
    """Whether it is ``torch.autograd.grad``."""
    return ast.unparse(part.value) in ("torch.autograd", "autograd")
