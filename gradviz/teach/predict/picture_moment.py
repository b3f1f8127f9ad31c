"""Which graph the picture of a question shows: that of the moment before what is asked happens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gradviz.model import OptionError, Recording
from gradviz.model.events import BackwardStarted, Raised
from gradviz.view.documents.recording import check_step

MOST: Final = 40
"""Nodes that a picture may have; graphs with more are folded, and what is folded is not seen."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a recording."""

    step: int
    """The place of the step after which the graph is shown."""
    words: str
    """``"before backward 1"``."""
    backward: int | None = None
    """The first backward that begins then or later."""


def moment_of(recording: Recording, address: int | str | None = None) -> Moment:
    """The moment that a picture shows.

    Args:
        recording: The run.
        address: The step after which, as ``recording[address]`` finds it. If not given: before
            the backward or the line that raised; else before the last backward; else the last
            step at which there is a graph.

    Raises:
        OptionError: If there is no such step, or the graph is too large for a question.
    """
    found = _chosen(recording, address)
    nodes = len(recording.graph_at(found.step))
    if nodes > MOST:
        raise OptionError(
            f"the graph {found.words} has {nodes} nodes, and the picture of a question at most "
            f"{MOST}: larger ones are folded, and nothing inside a fold could be picked. Ask it "
            "of a smaller model: one layer, one time step, a batch of two"
        )
    return found


def _chosen(recording: Recording, address: int | str | None) -> Moment:
    if address is not None:
        step = check_step(recording, address, "picture")
        words = f"after step {recording.all_steps[step].number}"
        return Moment(step, words, _backward_from(recording, step))
    errors = [i for i, one in enumerate(recording.records) if one.kind == "error"]
    # An error that leaves several functions has a step in each, one after the other.
    first = [i for i in errors if i - 1 not in errors]
    if first:
        raised = [e for e in recording.records[first[-1]].events if isinstance(e, Raised)]
        number = raised[0].backward if raised else None
        if number is None:
            before = recording.numbers.starts[first[-1]] - 1
            line = recording.records[first[-1]].line
            return Moment(max(0, before), f"before line {line}")
        return _before(recording, number)
    if started := _started(recording):
        return _before(recording, max(started))
    full = [i for i in range(len(recording.records)) if len(recording.graph_at(i))]
    return Moment(full[-1] if full else len(recording.records) - 1, "at the end")


def _before(recording: Recording, backward: int) -> Moment:
    return Moment(_started(recording)[backward], f"before backward {backward}", backward)


def _backward_from(recording: Recording, step: int) -> int | None:
    later = (number for number, at in _started(recording).items() if at >= step)
    return min(later, default=None)


def _started(recording: Recording) -> dict[int, int]:
    """The step at which each backward began, also one that raised."""
    return {event.number: step for (step, _), event in recording.history.placed(BackwardStarted)}
