"""Gradients that are added to those that an optimizer has used already."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import (
    UPDATE,
    TrainingStep,
    training_steps,
    updates_by_hand,
)
from gradviz.model.events import Accumulated
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import say

_ROUNDS = 2
"""Steps of one line that must have used such sums: one alone may be meant."""


@dataclass(frozen=True, kw_only=True)
class UsedGradient(Finding):
    """The step that used a sum, and the parameters."""

    one: TrainingStep


def added_to_used(history: History) -> Iterator[UsedGradient]:
    """Optimizers whose gradients are not cleared between steps, or not between all.

    Each gradient that a step used is still there, unchanged, when the next is added to it. Of
    several backwards before one step nothing is said.
    """
    if history.counted:
        return
    groups: dict[tuple[str, ...], list[TrainingStep]] = {}
    for one in [*training_steps(history), *updates_by_hand(history)]:
        groups.setdefault(one.stepped.parameters, []).append(one)
    for rounds in groups.values():
        lines: dict[object, list[tuple[TrainingStep, dict[str, EventPlace]]]] = defaultdict(list)
        for before, one in pairwise(rounds):
            added = _added(before, one)
            if added:
                lines[_lines(before, one, added, history)].append((one, added))
        often = [found for found in lines.values() if len(found) >= _ROUNDS]
        if often:
            yield _finding(*often[0][0], history)


def _lines(
    before: TrainingStep, one: TrainingStep, added: dict[str, EventPlace], history: History
) -> object:
    """The lines of two steps and of the backward between them."""
    lines = [history.line(at) for at in (before.place, min(added.values()), one.place)]
    return tuple(line and (line.code, line.line) for line in lines)


def _added(before: TrainingStep, one: TrainingStep) -> dict[str, EventPlace]:
    """Parameters whose gradient a step had used when the next was added; empty if not all were."""
    last: dict[str, Accumulated] = {e.tensor: e for _, e in before.accumulated if e.tensor}
    first: dict[str, tuple[EventPlace, Accumulated]] = {}
    for place, event in one.accumulated:
        if event.tensor is not None:
            first.setdefault(event.tensor, (place, event))
    cleared = {
        key
        for place, e in one.zeroed
        for key in e.tensors
        if key in first and place > first[key][0]
    }
    first = {key: found for key, found in first.items() if key not in cleared}
    used = {key for key in last if key in before.stepped.updated}
    for key in used & set(first):
        left = before.history.tensor_at(key, before.place[0])  # clipped, or unscaled, by then
        was, now = last[key].after if left is None else left.grad, first[key][1].before
        if was is None or now != was or not isinstance(was.norm, float) or was.norm == 0:
            return {}
    return {key: first[key][0] for key in first if key in used}


def _finding(one: TrainingStep, added: dict[str, EventPlace], history: History) -> UsedGradient:
    place = min(added.values())
    line = history.line(place)
    names = few_of(added, one.place[0], history)
    stepped = history.line(one.place)
    return UsedGradient(
        history=history,
        step=one.place[0],
        noticed=stepped,
        words={
            "backward": history.line_term(line),
            "gradients": "gradients" if len(added) > 1 else "gradient",
            "names": names,
            "label": one.label,
        },
        variables=tuple(history.name(key, one.place[0]) for key in added),
        causes=(
            Cause("other", say("adds to gradients that {} had used", one.label), line),
            Cause("other", say("{} leaves .grad as it is", one.label), stepped),
        ),
        targets={"added": list(added)},
        one=one,
    )


def cleared_after_the_step(found: UsedGradient) -> Iterator[Fix]:
    """``zero_grad()`` after the step, which also suits several backwards before one step."""
    line, optimizer = found.one.history.line(found.one.place[0]), found.one.variable
    if found.one.stepped.name == UPDATE:
        return
    if line is not None and optimizer is not None:
        does = say("clears the gradients once they are used")
        yield Fix(does, f"{optimizer}.zero_grad()", "after", line)
