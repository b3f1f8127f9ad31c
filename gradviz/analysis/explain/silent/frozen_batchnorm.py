"""Batch norms with frozen parameters whose running statistics are still updated."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.grad_switches import is_switched_off
from gradviz.analysis.code.statements import (
    expression_of,
    is_expression,
    statement_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.sentences import few
from gradviz.model.events import FlagChanged, Operation, OptimizerStepped
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import Term, say


@dataclass(frozen=True, kw_only=True)
class FrozenBatchNorm(Finding):
    """Batch norms that were updated, by their paths."""

    modules: tuple[str, ...]


def frozen_batch_norms(history: History) -> Iterator[FrozenBatchNorm]:
    """Batch norms whose parameters are frozen and whose statistics a forward wrote."""
    lines: dict[int, list[tuple[EventPlace, Operation]]] = defaultdict(list)
    for place, event in history.told(Operation):
        if _moves(event, place, history):
            lines[place[0]].append((place, event))
    for found in lines.values():
        yield _moving(found, history)


def _moves(event: Operation, place: EventPlace, history: History) -> bool:
    """Whether a call is a batch norm in training mode with frozen parameters."""
    if event.name != "batch_norm" or event.recomputed or len(event.inputs) < 7:
        return False
    mean, training, momentum = event.inputs[1], event.inputs[5], event.inputs[6]
    if mean.shape is None or training.text != "True" or momentum.text in ("0", "0.0"):
        return False
    keys = [o.tensor for o in event.inputs[3:5] if o.shape is not None]
    if not keys or None in keys or history.name(mean.tensor, place[0]) is None:
        return False
    return (
        not set(keys) & set(event.required)
        and _is_recorded(event, place, history)
        and not any(_is_still_trained(key or "", place, history) for key in keys)
        and _has_changed(mean.tensor, place, history)
    )


def _has_changed(mean: str | None, place: EventPlace, history: History) -> bool:
    before, after = history.values(mean, place[0] - 1), history.values(mean, place[0])
    return before is None or after is None or before != after


def _is_still_trained(key: str, place: EventPlace, history: History) -> bool:
    """Whether it is frozen only for a while, as a discriminator is while the generator learns."""
    for later, event in history.told(FlagChanged):
        if later < place:
            continue
        if (event.tensor, event.flag, event.after) == (key, "requires_grad", True):
            return True
    frozen = history.switched_off(key, place[0])
    steps = list(history.told(OptimizerStepped))
    if frozen is None:
        return any(key in e.updated for _, e in steps)
    since = [e for p, e in steps if p > frozen]
    was_trained = any(key in e.updated for p, e in steps if p < frozen)
    return was_trained and bool(since) and not any(key in e.parameters for e in since)


def _is_recorded(event: Operation, place: EventPlace, history: History) -> bool:
    """Whether the forward is known not to be an evaluation under ``no_grad``."""
    if event.recorded:
        return True
    if event.reason != "no input requires grad":
        return False
    root = (event.module or "").split(".")[0]
    events = history.recording.records[place[0]].events
    if any(isinstance(e, Operation) and e.recorded and (e.module or "").split(".")[0] == root
           for e in events if root):  # fmt: skip
        return True
    statement = statement_of(history, place)
    if statement is None or any(map(is_switched_off, statement.around)):
        return False
    calls = [node for node in statement.parts if isinstance(node, ast.Call)]
    return any(isinstance(c.func, ast.Name) and c.func.id == root for c in calls)


def _moving(found: list[tuple[EventPlace, Operation]], history: History) -> FrozenBatchNorm:
    place, event = found[0]
    step = place[0]
    modules = list(dict.fromkeys(e.module or "batch_norm" for _, e in found))
    keys = [o.tensor for _, e in found for o in e.inputs[1:3] if o.tensor is not None]
    statistics = few([Term(key, history.name(key, step) or key) for key in dict.fromkeys(keys)])
    line = history.line(step)
    causes = [Cause("write", say("batch_norm wrote {} in training mode", statistics), line)]
    weight = next((o.tensor for o in event.inputs[3:5] if o.tensor is not None), None)
    frozen = None if weight is None else history.switched_off(weight, place[0])
    if frozen is not None:
        words = say("its parameters were frozen here")
        causes.append(Cause("other", words, history.line(frozen)))
    many = len(modules) > 1
    return FrozenBatchNorm(
        history=history,
        step=step,
        noticed=line,
        words={
            "modules": few(modules),
            "have": "have" if many else "has",
            "their": "their" if many else "its",
            "statistics": statistics,
        },
        variables=tuple(history.name(key, step) or key for key in keys),
        node=history.node(event.node, step),
        causes=tuple(causes),
        targets={"statistics": keys},
        modules=tuple(modules),
    )


def fixes(found: FrozenBatchNorm) -> Iterator[Fix]:
    """Evaluation mode for the modules."""
    modules, line = found.modules, found.noticed
    does = say("keeps the running statistics, and uses them as they are")
    typed = [expression_of(name) for name in modules]
    if line is None or not all(map(is_expression, typed)) or "batch_norm" in typed:
        yield Fix(does, "batch_norm.eval()", "elsewhere")
    elif len(typed) < 4:
        yield Fix(does, "; ".join(f"{name}.eval()" for name in typed), "before", line)
    else:
        yield Fix(does, f"for m in ({', '.join(typed)}): m.eval()", "before", line)
