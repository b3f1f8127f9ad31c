"""Steps that use, beside their own gradients, those of a loss with which another optimizer
stepped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import TrainingStep, is_empty, training_steps
from gradviz.model.explanation import Cause
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import say

_ROUNDS = 2
"""Steps that must have used them: one alone may be meant."""


def mixed_gradients(history: History) -> Iterator[Finding]:
    """Parameters in which the backward of another optimizer's loss leaves gradients that nothing
    clears before their own step."""
    if history.counted:
        return
    found: dict[object, list[tuple[TrainingStep, TrainingStep, list[str], EventPlace]]]
    found = defaultdict(list)
    steps = [*training_steps(history)]
    for one in steps:
        for other in steps:
            is_between = (one.start is None or other.place > one.start) and other.place < one.place
            if not is_between or {*other.stepped.parameters} & {*one.stepped.parameters}:
                continue
            keys, place = _left_by(other, one)
            if place is not None:
                line, back = history.line(one.place), history.line(place)
                at = line and (line.code, line.line), back and (back.code, back.line)
                found[at].append((one, other, keys, place))
    for group in found.values():
        if len(group) >= _ROUNDS:
            yield _finding(*group[0], history)


def _left_by(other: TrainingStep, one: TrainingStep) -> tuple[list[str], EventPlace | None]:
    """Parameters of a step that have gradients of the backward with which another optimizer
    stepped, to which a later backward added, and when the first came."""
    theirs = {event.backward for _, event in other.accumulated}
    came: dict[str, EventPlace] = {}
    added: set[str] = set()
    for place, event in one.accumulated:
        if event.tensor is None or is_empty(event.gradient):
            continue
        if event.backward in theirs and place < other.place:
            came[event.tensor] = place
        elif place > other.place and event.tensor in came and not is_empty(event.before):
            added.add(event.tensor)
    for place, zeroed in one.zeroed:
        for key in zeroed.tensors:
            if key in came and place > came[key]:
                added.discard(key)
    keys = [key for key in came if key in added]
    return keys, min((came[key] for key in keys), default=None)


def _finding(
    one: TrainingStep, other: TrainingStep, keys: list[str], place: EventPlace, history: History
) -> Finding:
    step, line = one.place[0], history.line(place)
    names = few_of(keys, step, history)
    label, its = ((f"{o.variable}.step" if o.variable else o.label) for o in (one, other))
    return Finding(
        history=history,
        step=step,
        noticed=history.line(one.place),
        words={
            "label": label,
            "names": names,
            "backward": history.line_term(line),
            "other": its,
            "gradients": "gradient" if len(keys) == 1 else "gradients",
        },
        variables=tuple(history.name(key, step) for key in keys),
        causes=(Cause("other", say("computes gradients of {}, too", names), line),),
    )
