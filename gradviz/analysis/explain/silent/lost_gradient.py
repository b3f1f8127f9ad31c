"""Gradients that were cleared or clipped at the wrong time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.statements import calls_in, names_read, statement_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.untracked_writes import line_moved
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import (
    TrainingStep,
    is_empty,
    reads_gradients,
    training_steps,
)
from gradviz.model.events import Accumulated, BackwardStarted, Clipped, Write
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import say

_ROUNDS = 2
"""Steps that must show it: one alone may be meant."""
_HUGE: Final = 1e4
"""No gradient is clipped to that."""
_LEAST: Final = 1.9
"""By how much less the norms are, at least, once a scale is divided out."""


@dataclass(frozen=True, kw_only=True)
class LostGradient(Finding):
    """A call at the wrong time, and the optimizer step that it affects."""

    place: EventPlace
    one: TrainingStep


def thrown_away(history: History) -> Iterator[LostGradient]:
    """Optimizer steps before which ``zero_grad()`` cleared all new gradients."""
    steps = [*training_steps(history)]
    for one in steps:
        gone = _thrown_away(one)
        if gone and not _is_exception(one, steps):
            yield _thrown(one, gone, history)
    if not reads_gradients(history):
        yield from _thrown_in_part(steps, history)


def clipped_early(history: History) -> Iterator[LostGradient]:
    """Optimizer steps whose gradients were computed after the clipping."""
    for one in training_steps(history):
        clip = _early_clip(one, history)
        if clip is not None and not _is_after_step(clip, one, history):
            yield _clipped(one, clip, history)


def clipped_late(history: History) -> Iterator[LostGradient]:
    """The same where the clipping came after the step that used the gradients which it clipped.

    Where the line of the call is not known, its limit is not either, and may only measure.
    """
    for one in training_steps(history):
        clip = _early_clip(one, history)
        if clip is None or not _is_after_step(clip, one, history):
            continue
        statement = statement_of(history, clip[0])
        if statement is not None and calls_in(statement, clip[1].name):
            yield _clipped(one, clip, history, first=one.start)


def clipped_while_scaled(history: History) -> Iterator[LostGradient]:
    """Gradients that were clipped before a ``GradScaler`` divided them by its scale."""
    for one in training_steps(history):
        clips = [(p, e) for p, e in one.clipped if {*e.tensors} & {*one.stepped.parameters}]
        scaled = [p for p, e in one.accumulated if not is_empty(e.gradient)]
        if not clips or not scaled or clips[-1][0] < max(scaled):
            continue
        keys = [key for key in clips[-1][1].tensors if key in one.stepped.updated]
        is_later = clips[-1][0][0] < one.place[0]
        if is_later and one.is_given_optimizer and _is_divided(keys, one, history):
            yield _clipped(one, clips[-1], history, is_scaled=True)


def stepped_again(history: History) -> Iterator[LostGradient]:
    """Steps that use the gradients which the step before has used, unchanged."""
    last: dict[tuple[str, ...], TrainingStep] = {}
    found: dict[object, list[TrainingStep]] = {}
    for one in training_steps(history):
        before = last.get(one.stepped.parameters)
        last[one.stepped.parameters] = one
        if before is None or one.accumulated or one.zeroed or one.clipped:
            continue
        used = {*one.stepped.updated} & {*before.stepped.updated}
        if used and _are_same(used, before.place, one, history):
            line = history.line(one.place)
            found.setdefault(line and (line.code, line.line), []).append(one)
    for group in found.values():
        if len(group) >= _ROUNDS:
            yield _again(group[0], history)


def _thrown_in_part(steps: list[TrainingStep], history: History) -> Iterator[LostGradient]:
    """``zero_grad()`` between two backwards of one step, so that the first is computed in vain."""
    found: dict[object, list[tuple[TrainingStep, dict[str, EventPlace]]]] = {}
    for one in steps:
        gone = _gone_in_part(one, history)
        if gone:
            line = history.line(min(gone.values()))
            found.setdefault(line and (line.code, line.line), []).append((one, gone))
    for group in found.values():
        if len(group) >= _ROUNDS:
            yield replace(_thrown(*group[0], history), case="part")


def after_the_step(found: LostGradient) -> Iterator[Fix]:
    """Clear the gradients after the step."""
    if found.case:
        return
    does = say("the gradient has been used by then")
    yield from line_moved(found.place, found.one.place, "after", does, found.history)


def before_the_step(found: LostGradient) -> Iterator[Fix]:
    """Clip the gradients after backward."""
    does = say("backward has run by then")
    yield from line_moved(found.place, found.one.place, "before", does, found.history)


def unscaled_first(found: LostGradient) -> Iterator[Fix]:
    """Divide the scale out before the gradients are clipped."""
    line, optimizer = found.history.line(found.place), found.one.variable
    statement = statement_of(found.history, found.one.place)
    calls = [] if statement is None else calls_in(statement, "step")
    if line is None or len(calls) != 1 or len(calls[0].args) != 1:
        return
    function = calls[0].func
    if isinstance(function, ast.Attribute) and optimizer is not None:
        code = f"{ast.unparse(function.value)}.unscale_({ast.unparse(calls[0].args[0])})"
        yield Fix(say("divides the scale out first"), code, "before", line)


# ----------------------------------------------------------------------- thrown away


def _thrown_away(one: TrainingStep) -> dict[str, EventPlace]:
    """Parameters whose new gradient was cleared, and when; empty if any still has one."""
    came: dict[str, EventPlace] = {}
    for place, event in one.accumulated:
        if event.tensor is not None and not is_empty(event.after):
            came[event.tensor] = place
        elif one.has_closure:  # the step has used what the closure computed before
            came.pop(event.tensor or "", None)
    gone: dict[str, EventPlace] = {}
    for place, zeroed in one.zeroed:
        for key in zeroed.tensors:
            if key in came and came[key] < place:
                gone.setdefault(key, place)
    for key, place in came.items():
        if key not in gone:
            taken = _taken(key, place, one)
            if taken is None:
                return {}
            gone[key] = taken
    return {} if any(_had_gradient(key, gone.get(key), one) for key in came) else gone


def _is_exception(one: TrainingStep, steps: list[TrainingStep]) -> bool:
    """Whether most steps of the same parameters used their gradients: some batches are skipped."""
    same = [other for other in steps if other.stepped.parameters == one.stepped.parameters]
    return sum(1 for other in same if _thrown_away(other)) * 2 < len(same)


def _had_gradient(key: str, gone: EventPlace | None, one: TrainingStep) -> bool:
    """Whether a parameter may have been assigned a new gradient."""
    if gone is not None and gone[0] == one.place[0]:  # all in one line
        return key not in one.stepped.skipped
    info = one.before(key)
    return info is None or not is_empty(info.grad)


def _taken(key: str, since: EventPlace, one: TrainingStep) -> EventPlace | None:
    """When a ``.grad`` was set to ``None`` or 0 by other means."""
    for step in range(since[0] + 1, one.place[0]):
        row = one.history.tensor_at(key, step) if key in one.history.changed(step) else None
        if row is not None and is_empty(row.grad):
            return step, 0
    return None


def _thrown(one: TrainingStep, gone: dict[str, EventPlace], history: History) -> LostGradient:
    step = one.place[0]
    names = few_of(gone, step, history)
    place = min(gone.values())
    came = [p for p, event in one.accumulated if event.tensor in gone and p < place]
    backward = history.line(max(came, default=place))
    is_one = len(gone) == 1
    return LostGradient(
        history=history,
        step=step,
        noticed=history.line(one.place),
        words={
            "gradients": "gradient" if is_one else "gradients",
            "names": names,
            "backward": history.line_term(backward),
            "were": "was" if is_one else "were",
            "label": one.label,
            "them": "it" if is_one else "them",
            "line": history.line_term(history.line(place)),
        },
        variables=tuple(history.name(key, step) for key in gone),
        causes=(
            Cause("other", say("cleared the .grad of {}", names), history.line(place)),
            Cause("backward", say("backward filled it"), backward),
        ),
        targets={"thrown": list(gone)},
        place=place,
        one=one,
    )


# --------------------------------------------------------------------------- clipped


def _early_clip(one: TrainingStep, history: History) -> tuple[EventPlace, Clipped] | None:
    """The last clipping before all gradients of a training step, if none ran after them."""
    came = [(p, e) for p, e in one.accumulated if not is_empty(e.gradient)]
    clips = [(p, e) for p, e in one.clipped if _is_about(p, e, one, history)]
    clips = [(p, e) for p, e in clips if not _only_measures(p, e, history)]
    if not came or not clips or clips[-1][0] > came[0][0]:
        return None
    place, clip = clips[-1]
    if clip.tensors and not {e.tensor for _, e in came} & set(clip.tensors):
        return None
    had = set(clip.tensors) - set(clip.without)
    had -= {key for p, zeroed in one.zeroed if p < came[0][0] for key in zeroed.tensors}
    if one.start is None and any(not _was_empty(key, place, history) for key in had):
        return None  # gradients from before the recording may still have been used
    return place, clip


def _only_measures(place: EventPlace, clip: Clipped, history: History) -> bool:
    """Whether the limit is so large that the call is there for the norm that it returns."""
    statement = statement_of(history, place)
    calls = [] if statement is None else calls_in(statement, clip.name)
    given = [
        value for call in calls for value in (*call.args[1:2], *(k.value for k in call.keywords))
    ]
    limits = (one.value for one in given if isinstance(one, ast.Constant))
    return any(isinstance(limit, (int, float)) and limit >= _HUGE for limit in limits)


def _was_empty(key: str, place: EventPlace, history: History) -> bool:
    info = history.tensor_at(key, place[0] - 1)
    return info is not None and is_empty(info.grad)


def _is_about(place: EventPlace, clip: Clipped, one: TrainingStep, history: History) -> bool:
    """Whether a call clips parameters of a round's optimizer."""
    if clip.tensors:
        return bool(set(clip.tensors) & set(one.stepped.parameters))
    # It found no gradient at all, so the event does not name the parameters.
    statement = statement_of(history, place)
    if statement is None:
        return False
    names = filter(None, (history.name(key, place[0]) for key in one.stepped.parameters))
    mine = {name.split(".")[0].split("[")[0] for name in names}
    return bool(mine & set(names_read(statement.node)))


def _is_after_step(clip: tuple[EventPlace, Clipped], one: TrainingStep, history: History) -> bool:
    """Whether the step before used the gradients that were clipped: they came before it."""
    place, event = clip
    if one.start is None or not {*event.tensors} - {*event.without}:
        return False
    between = [*one.accumulated, *one.zeroed]
    return not any(one.start < p < place for p, _ in between)


def _are_same(keys: set[str], since: EventPlace, one: TrainingStep, history: History) -> bool:
    """Whether the gradients of parameters are before a step what they were at the one before."""
    if since[0] == one.place[0]:
        return False
    if any(since < place < one.place for place, _ in history.told(BackwardStarted)):
        return False  # its results may have been assigned
    writes = history.told(Write)
    if any(since < place < one.place and event.grad_of in keys for place, event in writes):
        return False
    rows = ((history.tensor_at(key, since[0]), one.before(key)) for key in keys)
    return all(a is not None and b is not None and a.grad == b.grad for a, b in rows)


def _gone_in_part(one: TrainingStep, history: History) -> dict[str, EventPlace]:
    """Parameters whose first gradient of a round was cleared, if the step used the next one."""
    came: dict[str, list[EventPlace]] = {}
    if one.has_closure:
        return {}
    for place, event in one.accumulated:
        if event.tensor is not None and not is_empty(event.gradient):
            came.setdefault(event.tensor, []).append(place)
    gone: dict[str, EventPlace] = {}
    for place, zeroed in one.zeroed:
        for key in zeroed.tensors:
            times = came.get(key, [])
            if times and times[0] < place < times[-1] and (one.start is None or place > one.start):
                gone.setdefault(key, place)
    backwards = {e.backward for p, e in one.accumulated if gone and p < min(gone.values())}
    others = [
        e.tensor
        for _, e in history.told(Accumulated)
        if e.backward in backwards and e.tensor not in one.stepped.parameters
    ]
    return {} if others else gone


def _is_divided(keys: list[str], one: TrainingStep, history: History) -> bool:
    """Whether the line that stepped divided all gradients by one number, as ``GradScaler`` does."""
    ratios: list[float] = []
    for key in keys:
        before, after = one.before(key), history.tensor_at(key, one.place[0])
        if before is None or after is None or before.grad is None or after.grad is None:
            return False
        old, new = before.grad.norm, after.grad.norm
        if not isinstance(old, float) or not isinstance(new, float) or new == 0:
            return False
        ratios.append(old / new)
    return bool(ratios) and min(ratios) > _LEAST and max(ratios) < 1.01 * min(ratios)


def _again(one: TrainingStep, history: History) -> LostGradient:
    step, line = one.place[0], history.line(one.place)
    names = few_of(one.stepped.updated, step, history)
    return LostGradient(
        history=history,
        step=step,
        noticed=line,
        words={
            "label": one.label,
            "names": names,
            "gradients": "gradient" if len(one.stepped.updated) == 1 else "gradients",
            "before": history.line_term(history.line(one.start)),
        },
        variables=tuple(history.name(key, step) for key in one.stepped.updated),
        causes=(Cause("other", say("{} ran again without a backward", one.label), line),),
        place=one.place,
        one=one,
    )


def _clipped(
    one: TrainingStep,
    clip: tuple[EventPlace, Clipped],
    history: History,
    first: EventPlace | None = None,
    is_scaled: bool = False,
) -> LostGradient:
    place, event = clip
    step = one.place[0]
    came = [(p, e) for p, e in one.accumulated if p > place or is_scaled]
    keys = list(dict.fromkeys(e.tensor for _, e in came if e.tensor is not None))
    had = "there were no gradients yet"
    if set(event.tensors) != set(event.without):
        had = "there were only old gradients"
    did = say("{} ran before backward", event.name)
    if first is not None:
        did = say("{} ran after {}", event.name, one.label)
    elif is_scaled:
        did = say("{} ran before the gradients were unscaled", event.name)
    return LostGradient(
        history=history,
        step=step,
        noticed=history.line(one.place),
        words={
            "call": event.name,
            "had": had,
            "label": one.label,
            "names": few_of(keys, step, history),
        },
        variables=tuple(history.name(key, step) for key in keys),
        causes=(
            Cause("other", did, history.line(place)),
            Cause(
                "backward", say("backward computed the gradients here"), history.line(came[-1][0])
            ),
        ),
        targets={"stepped": keys},
        place=place,
        one=one,
    )
