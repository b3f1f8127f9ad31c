"""Gradients that were taken away, or clipped, at the wrong time."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explaining.silent.cures import moved
from gradviz.analysis.explaining.silent.rounds import Round, is_empty, rounds
from gradviz.analysis.explaining.silent.words import at, few, marked
from gradviz.analysis.explaining.statements import names_read, statement_of
from gradviz.model.events import Clipped
from gradviz.model.explanation import Cause, Explanation
from gradviz.model.history import History, Place
from gradviz.model.marks import Mark


def lost_gradients(history: History) -> Iterator[Explanation]:
    """Steps of optimizers before which ``zero_grad()`` took all new gradients away, and steps
    whose gradients came after they had been clipped."""
    for one in rounds(history):
        thrown = _thrown_away(one)
        if thrown:
            yield _thrown(one, thrown, history)
        clip = _early_clip(one, history)
        if clip is not None:
            yield _clipped(one, clip, history)


# ----------------------------------------------------------------------- thrown away


def _thrown_away(one: Round) -> dict[str, Place]:
    """Parameters whose new gradient is gone, and when it went; none if any is still there."""
    came: dict[str, Place] = {}
    for place, event in one.accumulated:
        if event.tensor is not None and not is_empty(event.after):
            came[event.tensor] = place
    gone: dict[str, Place] = {}
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


def _had_gradient(key: str, gone: Place | None, one: Round) -> bool:
    """Whether a parameter may have had a gradient again, put there by hand."""
    if gone is not None and gone[0] == one.place[0]:  # all in one line
        return key not in one.stepped.skipped
    info = one.before(key)
    return info is None or not is_empty(info.grad)


def _taken(key: str, since: Place, one: Round) -> Place | None:
    """When a ``.grad`` was set to ``None`` or 0 by other means."""
    for step in range(since[0] + 1, one.place[0]):
        changes = one.history.recording.facts[step].changes.tensors
        for name, row in changes:
            if name == key and row is not None and is_empty(row.grad):
                return step, 0
    return None


def _thrown(one: Round, gone: dict[str, Place], history: History) -> Explanation:
    step = one.place[0]
    names = _names(gone, step, history)
    place = min(gone.values())
    line, noticed = history.line(place), history.line(one.place)
    came = max((p for p, event in one.accumulated if event.tensor in gone and p < place),
               default=place)  # fmt: skip
    backward = history.line(came)
    verb = "gradient" if len(gone) == 1 else "gradients"
    return Explanation(
        kind="gradient thrown away",
        what=(
            f"the {verb} of {few(names)} that backward gave in {at(backward, history)} "
            f"{'was' if len(gone) == 1 else 'were'} taken away before {one.label} used "
            f"{'it' if len(gone) == 1 else 'them'}"
        ),
        why=(
            "a step of an optimizer uses what .grad holds at that moment; taken away after "
            "backward, nothing is left of what backward computed"
        ),
        variables=tuple(names),
        causes=(
            Cause("other", f"it took away what .grad of {few(names)} held", line),
            Cause("backward", "backward had just filled it", backward),
        ),
        noticed=noticed,
        cures=tuple(moved(place, one.place, "after", "it has used the gradient by then", history)),
        marks=marked(
            [Mark(key, "unreached", f"{at(line, history)} took its gradient away") for key in gone],
            history,
            step,
        ),
        step=step,
        recording=history.recording,
    )


# --------------------------------------------------------------------------- clipped


def _early_clip(one: Round, history: History) -> tuple[Place, Clipped] | None:
    """The last clipping that came before all gradients of a round, if none came after."""
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


def _was_empty(key: str, place: Place, history: History) -> bool:
    info = history.tensor_at(key, place[0] - 1)
    return info is not None and is_empty(info.grad)


def _is_about(place: Place, clip: Clipped, one: Round, history: History) -> bool:
    """Whether a call clips parameters of a round's optimizer."""
    if clip.tensors:
        return bool(set(clip.tensors) & set(one.stepped.parameters))
    # It found no gradient at all, and so did not say whose it looked for.
    statement = statement_of(history, place)
    if statement is None:
        return False
    mine = {
        name.split(".")[0].split("[")[0]
        for name in _names(one.stepped.parameters, place[0], history)
    }
    return bool(mine & set(names_read(statement.node)))


def _clipped(one: Round, clip: tuple[Place, Clipped], history: History) -> Explanation:
    place, event = clip
    step = one.place[0]
    came = [(p, e) for p, e in one.accumulated if p > place]
    keys = list(dict.fromkeys(e.tensor for _, e in came if e.tensor is not None))
    names = _names(keys, step, history)
    line, noticed, backward = (
        history.line(place),
        history.line(one.place),
        history.line(came[-1][0]),
    )
    had = "there was no gradient yet" if set(event.tensors) == set(event.without) else (
        "there were only old gradients")  # fmt: skip
    return Explanation(
        kind="clipped before backward",
        what=(
            f"{event.name} ran when {had}; {one.label} used the gradients of {few(names)} that "
            f"backward gave afterwards, not clipped"
        ),
        why=(
            f"{event.name} changes the .grad that are there when it runs, once; it has to run "
            f"between backward and the step"
        ),
        variables=tuple(names),
        causes=(
            Cause("other", f"{event.name} ran before backward", line),
            Cause("backward", "the gradients came here", backward),
        ),
        noticed=noticed,
        cures=tuple(moved(place, one.place, "before", "backward has run by then", history)),
        marks=marked(
            [Mark(key, "written", "stepped with a gradient that was not clipped") for key in keys],
            history,
            step,
        ),
        step=step,
        recording=history.recording,
    )


# ----------------------------------------------------------------------------- common


def _names(keys: object, step: int, history: History) -> list[str]:
    found = (history.name(key, step) for key in keys)  # type: ignore[attr-defined]
    return [name for name in found if name]
