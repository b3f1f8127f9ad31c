"""Which steps say what happened, where there is no room for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.model.events import Accumulated, Event, Write
from gradviz.model.recording import Recording, RowChanges
from gradviz.view.explanations.fields import explained
from gradviz.view.graph.step_pictures import StepPictures

MOST: Final = 3
"""Steps that are enough to say what happened."""


def decisive_steps(
    recording: Recording, animation: StepPictures, chosen: int | None = None
) -> list[int]:
    """Up to three steps in their order, whose pictures are not empty and not the same.

    They are the decisive step, the end and the end of the forward; where two of them have the same
    picture, the step of the culprit takes the place.

    Args:
        recording: What is shown.
        animation: Its pictures.
        chosen: The decisive step, if somebody has chosen one.

    Returns:
        The steps; none if nothing is drawn at any step.
    """
    shown = [at for at, path in enumerate(recording.numbers.paths) if len(path) == 1]
    found: dict[int, object] = {}
    for step in _candidates(recording, chosen, _end(recording, animation, shown)):
        picture = animation.at(step)
        if animation.extent(step) is not None and picture not in found.values():
            found[step] = picture
    if not found:
        last = reversed(range(len(recording.records)))
        return [*(i for i in last if animation.extent(i) is not None)][:1]
    return sorted([*found][:MOST])


def opening_step(recording: Recording, animation: StepPictures) -> int:
    """The step that is shown first.

    That of the error, if there is one; else where the forward is done: the last step before the
    first backward, without a backward the last. Where one line makes the loss and runs backward, it
    is the start of backward. Where nothing is there any more, it is the step before.

    Args:
        recording: What is shown.
        animation: Its pictures.
    """
    if recording.at_error is not None:
        return recording.at_error.index
    start, last = _backward_start(recording), len(recording.records) - 1
    end = last if start is None else max(0, start - 1)
    if start is not None and _first_root(recording, start) > end:
        end = start
    earlier = range(end, -1, -1) if animation.elements else ()
    return next((step for step in earlier if animation.extent(step) is not None), end)


def _end(recording: Recording, animation: StepPictures, shown: Sequence[int]) -> int:
    """The step that says how it has ended: lines that change nothing can follow it."""
    records = recording.records
    at = _first_same(animation, shown)

    def is_idle(step: int) -> bool:
        inside = records[recording.numbers.starts[step] : step + 1]
        return all(facts.changes == RowChanges() for facts in inside)

    # Such a line takes the marks of what the one before it has made.
    while at and is_idle(shown[at]) and records[shown[at - 1]].backward is None:
        at -= 1
    return shown[at]


def _first_same(animation: StepPictures, shown: Sequence[int]) -> int:
    """Place of the first of these steps that has the same picture as the last."""
    last = animation.at(shown[-1])
    other, since = set(last), 0
    for place, step in enumerate(shown):
        for change in animation.changes[since : step + 1]:
            for key, variant in change.items():
                if last[key] == variant:
                    other.discard(key)
                else:
                    other.add(key)
        since = step + 1
        if not other:
            return place
    return len(shown) - 1


def _candidates(recording: Recording, chosen: int | None, end: int) -> Iterator[int]:
    """Steps in the order in which they are wanted; a step can come twice."""
    decisive = _decisive(recording) if chosen is None else chosen
    if decisive is not None:
        yield decisive
    yield end
    if (start := _backward_start(recording)) is not None:
        yield max(0, start - 1)
    for one in recording.explanations:
        yield from (c.at.step for c in one.causes[:1] if c.at and c.at.step is not None)


def _decisive(recording: Recording) -> int | None:
    """The error, else the first silent fault, else where the first ``.grad`` is filled, else the
    first write in place."""
    if recording.at_error is not None:
        return recording.at_error.index
    if faults := explained(recording):
        return min(faults)
    filled = _first(recording, Accumulated, _backward_start(recording) or 0)
    return _first(recording, Write, 0) if filled is None else filled


def _backward_start(recording: Recording) -> int | None:
    """The first step inside a backward."""
    steps = enumerate(recording.records)
    return next((i for i, facts in steps if facts.backward is not None), None)


def _first_root(recording: Recording, start: int) -> int:
    """The step that has made what a backward starts at, as far as that is known."""
    started = recording.history.backward_starts.get(recording.records[start].backward or 0)
    roots = () if started is None else started.roots
    return max((recording.history.born(key) or 0 for key, _ in roots), default=0)


def _first(recording: Recording, kind: type[Event], start: int) -> int | None:
    """The first step with such an event, also in a sub-step."""
    steps = enumerate(recording.records[start:], start)
    at = next((i for i, facts in steps if any(isinstance(e, kind) for e in facts.events)), None)
    return None if at is None else recording.numbers.step_of(at)
