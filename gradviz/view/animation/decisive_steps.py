"""Which steps say what happened, where there is no room for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from itertools import islice
from typing import Final

from gradviz.model.events import Accumulated, Event, Write
from gradviz.model.recording import Recording
from gradviz.model.records import Node
from gradviz.view.animation.saved_outside import saving_in
from gradviz.view.explanations.fields import explained
from gradviz.view.graph.step_pictures import StepPictures

MOST: Final = 3
"""Steps that are enough to say what happened."""
CULPRITS: Final = 3
"""Steps of culprits that can take the place of another."""


def candidates(recording: Recording, chosen: int | None, parts: Set[str]) -> list[int]:
    """The steps of which :func:`decisive_steps` takes some, in the order in which they are wanted:
    the decisive step, the end, the end of the forward, those of culprits; where nothing is there at
    any of them the last one at which something is.

    Args:
        recording: What is shown.
        chosen: The decisive step, if somebody has chosen one.
        parts: What is drawn.
    """
    there = existing(recording, parts)
    wanted = _candidates(recording, chosen, _end(recording, parts))
    found = list(dict.fromkeys(islice(wanted, MOST + CULPRITS)))
    if not any(there[at] for at in found):
        found += [at for at, is_there in enumerate(there) if is_there][-1:]
    return found


def decisive_steps(animation: StepPictures, steps: Iterable[int]) -> list[int]:
    """Up to three steps in their order, whose pictures are not empty and not the same.

    Args:
        animation: The pictures of these steps.
        steps: Steps in the order in which they are wanted: :func:`candidates`.

    Returns:
        The steps; none if nothing is drawn at any of them.
    """
    found: dict[int, object] = {}
    for step in steps:
        picture = animation.at(step)
        if animation.extent(step) is not None and picture not in found.values():
            found[step] = picture
    return sorted([*found][:MOST])


def opening_step(recording: Recording, parts: Set[str]) -> int:
    """The step that is shown first.

    That of the error, if there is one; else where the forward is done: the last step before the
    first backward, without a backward the last. Where one line makes the loss and runs backward, it
    is the start of backward. Where nothing is there any more, it is the step before.

    Args:
        recording: What is shown.
        parts: What is drawn.
    """
    if recording.at_error is not None:
        return recording.at_error.index
    start, last = _backward_start(recording), len(recording.records) - 1
    end = last if start is None else max(0, start - 1)
    if start is not None and _first_root(recording, start) > end:
        end = start
    there = existing(recording, parts)
    return next((step for step in range(end, -1, -1) if there[step]), end)


def existing(recording: Recording, parts: Set[str]) -> list[bool]:
    """Whether there is something to draw at each step: a node, or a tensor that no node made.

    Args:
        recording: What is shown.
        parts: What is drawn: with ``"constants"`` tensors that need no gradient, too.
    """
    alone, alive = _drawn_alone(recording, parts), set[str]()
    found = []
    for record in recording.records:
        for key, row in (*record.changes.nodes, *record.changes.tensors):
            is_there = row is not None and (
                isinstance(row, Node) or (key in alone and row.node is None)
            )
            (alive.add if is_there else alive.discard)(key)
        found.append(bool(alive))
    return found


def _drawn_alone(recording: Recording, parts: Set[str]) -> Set[str]:
    """Tensors that have a card without a node that made them, at some step."""
    return saving_in(recording, parts).keys() | recording.graph.leaf_nodes.keys()


def _end(recording: Recording, parts: Set[str]) -> int:
    """The step that says how it has ended: lines that change nothing that is drawn can follow
    it."""
    paths, starts = recording.numbers.paths, recording.numbers.starts
    shown = [at for at, path in enumerate(paths) if len(path) == 1]
    alone = _drawn_alone(recording, parts)

    def is_idle(step: int) -> bool:
        changes = [record.changes for record in recording.records[starts[step] : step + 1]]
        tensors = (pair for one in changes for pair in one.tensors)
        return not any(one.nodes or one.roots is not None for one in changes) and not any(
            key in alone or row is None or row.node for key, row in tensors
        )

    at = len(shown) - 1
    # Such a line takes the marks of what the one before it has made.
    while at and is_idle(shown[at]) and recording.records[shown[at - 1]].backward is None:
        at -= 1
    return shown[at]


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
