"""Gradients that were cleared or clipped at the wrong time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import names_read, statement_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.untracked_writes import line_moved
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import TrainingStep, is_empty, training_steps
from gradviz.model.events import Clipped
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import say


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


def clipped_early(history: History) -> Iterator[LostGradient]:
    """Optimizer steps whose gradients were computed after the clipping."""
    for one in training_steps(history):
        clip = _early_clip(one, history)
        if clip is not None:
            yield _clipped(one, clip, history)


def after_the_step(found: LostGradient) -> Iterator[Fix]:
    """Clear the gradients after the step."""
    does = say("the gradient has been used by then")
    yield from line_moved(found.place, found.one.place, "after", does, found.history)


def before_the_step(found: LostGradient) -> Iterator[Fix]:
    """Clip the gradients after backward."""
    does = say("backward has run by then")
    yield from line_moved(found.place, found.one.place, "before", does, found.history)


# ----------------------------------------------------------------------- thrown away


def _thrown_away(one: TrainingStep) -> dict[str, EventPlace]:
    """Parameters whose new gradient was cleared, and when; empty if any still has one."""
    came: dict[str, EventPlace] = {}
    for place, event in one.accumulated:
        if event.tensor is not None and not is_empty(event.after):
            came[event.tensor] = place
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


def _clipped(one: TrainingStep, clip: tuple[EventPlace, Clipped], history: History) -> LostGradient:
    place, event = clip
    step = one.place[0]
    came = [(p, e) for p, e in one.accumulated if p > place]
    keys = list(dict.fromkeys(e.tensor for _, e in came if e.tensor is not None))
    had = "there were no gradients yet"
    if set(event.tensors) != set(event.without):
        had = "there were only old gradients"
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
            Cause("other", say("{} ran before backward", event.name), history.line(place)),
            Cause(
                "backward", say("backward computed the gradients here"), history.line(came[-1][0])
            ),
        ),
        targets={"stepped": keys},
        place=place,
        one=one,
    )
