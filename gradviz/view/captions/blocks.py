"""Captions of heads: turns and ends of loops and ``with`` blocks, and the grad mode they set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gradviz.model.events import Event, GradModeChanged, LoopVariable
from gradviz.model.sentence import Sentence, listed, say
from gradviz.view import formatting
from gradviz.view.captions.state import MOST, CaptionState
from gradviz.view.text import clean

ROOM = 30
"""Cells of a loop variable inside a sentence."""


def of_head(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """What it meant that the head of a loop or of a ``with`` block ran."""
    head = state.history.recording.heads.get(state.step.index)
    if head is None:
        return
    if head.role == "turn":
        found = [event for event in events if isinstance(event, LoopVariable)]
        bound = [_bound(event, state) for event in found if event.name.strip("_")]
        begins = say(" begins with {}", listed(bound, MOST)) if bound else " begins"
        of = f" of {head.count}" if head.count else ""
        turn = "a turn" if head.number is None else f"turn {head.number}"
        yield Sentence(f"{turn}{of}", begins)
    elif head.role == "loop ended":
        if head.number is None:
            yield Sentence("the loop ended")
        elif head.number:
            yield Sentence(f"the loop ended after {formatting.plural(head.number, 'turn')}")
        else:
            yield Sentence("the loop had no turn")
    elif head.role == "block ended":
        yield Sentence("the with block ended")


def of_grad_mode(events: Sequence[Event]) -> Iterator[Sentence]:
    """Whether operations are recorded from here on, if that has changed."""
    found = [event for event in events if isinstance(event, GradModeChanged)]
    is_from_before = len(found) == 1
    if not found or (found[0].before == found[-1].after and not is_from_before):
        return
    mode = found[-1].after
    if mode == "on":
        yield Sentence("grad mode is on again: operations are recorded")
    elif mode == "off":
        yield Sentence("grad mode is off: operations are not recorded")
    else:
        yield Sentence("inference mode is on: operations are not recorded")


def _bound(event: LoopVariable, state: CaptionState) -> Sentence:
    name, value = clean(event.name), event.value
    if value.shape is None:
        return Sentence(f"{name} = {clean(value.text)}")
    row = state.row(value.tensor)
    if row is None:
        return Sentence(f"{name}: {value.dtype} {formatting.shape(value.shape)}")
    if row.values is not None:
        words = formatting.numbers(row.values, row.shape, ROOM)
    else:
        words = f"{row.dtype} {formatting.shape(row.shape)}"
    known = state.tensor(row.id)
    is_named = row.name == event.name
    return say("{} = {}", known, words) if is_named else say("{} = {} {}", name, known, words)
