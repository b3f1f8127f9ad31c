"""The caption of a step: where, one sentence, a small table; all else behind "more"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gradviz.model import progress
from gradviz.model.events import BackwardStarted
from gradviz.model.explanation import Explanation
from gradviz.model.freed import behind
from gradviz.model.recording import Recording
from gradviz.model.sentence import Sentence
from gradviz.view import formatting
from gradviz.view.captions.catalogue import sentence
from gradviz.view.captions.details import all_details, details, events_of_line, reason
from gradviz.view.captions.rows import Row, row
from gradviz.view.captions.state import CaptionState
from gradviz.view.captions.told import Said, output_rows
from gradviz.view.captions.told_in_backward import ToldInBackward
from gradviz.view.captions.told_of_lines import ToldOfLine
from gradviz.view.explanations.fields import explained

ROWS: Final = 6
"""Rows of a table; a count stands for more."""


@dataclass(frozen=True, slots=True)
class Caption:
    """What a step says."""

    place: Sentence
    """Where it happened: a line, a box with the path of its module."""
    words: Sentence
    """What happened, in one sentence."""
    rows: tuple[Row, ...] = ()
    """The numbers."""
    details: Sentence = field(default_factory=Sentence)
    """All that is known: versions, names of arguments, hooks, what happened inside."""
    reason: Sentence = field(default_factory=Sentence)
    """Why torch raised an error, or what is wrong although it raised none, if that is known."""

    def __str__(self) -> str:
        return f"{self.place}: {self.words}" if self.place else str(self.words)

    def alone(self, has_code: bool) -> str:
        """What is said where no explanation follows.

        Args:
            has_code: Whether the line of code stands beside it.
        """
        is_line = any(term.id.startswith("line:") for term in self.place.terms)
        words = str(self.words) if is_line and has_code else str(self)
        return f"{words.removesuffix('.')}{self.reason}." if self.reason else words


def caption(recording: Recording, index: int) -> Caption:
    """The caption of a step, with terms that name nodes, tensors and lines."""
    why = explained(recording).get(index, ())
    return _caption(recording, index, details(recording, index), why)


def captions(recording: Recording) -> tuple[Caption, ...]:
    """The captions of all steps."""
    known, why = all_details(recording), explained(recording)
    steps = progress.counted(range(len(known)), "captions written", len(known), 1)
    return tuple(_caption(recording, at, known[at], why.get(at, ())) for at in steps)


def ready(recording: Recording, index: int, before: Caption) -> Caption:
    """What the player says where the forward is done; at any other step the caption that it has.

    Args:
        recording: What is shown.
        index: The place of the step.
        before: Its caption.
    """
    history, following = recording.history, index + 1
    steps = recording.records
    started = (
        next((e for e in steps[following].events if isinstance(e, BackwardStarted)), None)
        if following < len(steps) and steps[index].level == 0
        else None
    )
    if started is None or not started.roots:
        return before
    state = CaptionState(history, recording.all_steps[index])
    nodes = [state.node_row(key) for key in behind(started, history, index)]
    there = [node for node in nodes if node is not None]
    waiting = [node.variable for node in there if node.variable is not None]
    slots = {id(slot): slot for node in there for slot in node.saved if slot.state == "held"}
    if not there:
        return before
    rows = [*output_rows(started, state)]
    if slots:
        size = formatting.size(recording.all_steps[index].saved_bytes)
        rows.append(row("keeps", formatting.plural(len(slots), "tensor"), size))
    if waiting:
        rows.append(row("waits", f"{len(waiting)} .grad"))
    words = sentence("ready", count=len(there))
    return Caption(Sentence("forward done"), words, tuple(rows), before.details)


def _caption(
    recording: Recording, index: int, known: Sentence, explanations: Sequence[Explanation]
) -> Caption:
    step = recording.all_steps[index]
    state = CaptionState(recording.history, step)
    told = ToldInBackward(state)
    words, rows = _said(told)
    many = len(rows) - ROWS
    if many > 1:
        rows[ROWS:] = [row("", f"and {many} more")]
    return Caption(told.place(), words, tuple(rows), known, reason(explanations))


def _said(told: ToldInBackward) -> Said:
    """What happened at a step, and its numbers."""
    step, state = told.step, told.state
    if step.kind == "start":
        return sentence("start"), [*ToldOfLine(state).tensors(state.fresh)]
    if step.times is not None:
        return sentence("stands for", count=step.times), []
    return told.said() or ToldOfLine(state).said(events_of_line(state))
