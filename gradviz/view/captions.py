"""The caption of a step: what happened, and why."""

from __future__ import annotations

from collections import deque
from typing import Final

from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Clipped,
    Event,
    Freed,
    HookFired,
    OptimizerStepped,
    Raised,
    ZeroedGrad,
)
from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording, Step
from gradviz.view import captions_backward as backward
from gradviz.view import captions_events as lines
from gradviz.view.explanation_fields import WRONG, explained
from gradviz.view.explanation_links import Links
from gradviz.view.story import Story, Words, listed, said, source_of
from gradviz.view.text import shorten

MOST = 5
"""Things that happened which one caption tells."""
_IN_HOOKS: Final = (OptimizerStepped, ZeroedGrad, Clipped)
"""What hooks may do besides."""


def caption(recording: Recording, index: int) -> str:
    """The caption of a step as a plain sentence."""
    return said(captions(recording)[index])


_told: Final[deque[tuple[object, tuple[Words, ...]]]] = deque(maxlen=4)
"""Captions of the last recordings. They are found by identity: comparing recordings is slow."""


def captions(recording: Recording) -> tuple[Words, ...]:
    """The captions of all steps, in words that point at nodes, tensors and lines."""
    for facts, words in _told:
        if facts is recording.facts:
            return words
    _told.append((recording.facts, made := _captions(recording)))
    return made


def _captions(recording: Recording) -> tuple[Words, ...]:
    story = Story(recording)
    why = explained(recording)
    found = []
    since: list[Event] = []
    """What happened since the line before, inside the backward that the line called."""
    parts: list[Event] = []
    """What happened since the node before."""
    for step in recording.steps:
        story.go_on(step)
        since += step.events
        parts += step.events
        told = why.get(step.index, ())
        found.append(_caption(step, parts, since, story, told) + _silent(told))
        if step.level < 2:
            parts = []
        if step.level < 1 and step.facts.backward is None:
            since = []
    return tuple(found)


def _caption(
    step: Step,
    parts: list[Event],
    since: list[Event],
    story: Story,
    told: tuple[Explanation, ...],
) -> Words:
    if step.kind == "start":
        return _start(story)
    if step.kind == "node":
        return backward.node_ran(step, parts, story) + _inside(parts, story)
    if step.kind == "saved":
        return backward.about_to_run(step, story)
    words = _of_kind(step, story)
    if words:
        return words
    return _line(step, since, story, next((one for one in told if not one.is_silent), None))


def _silent(told: tuple[Explanation, ...]) -> Words:
    """What goes wrong at a step although torch raised nothing."""
    wrong = (one for one in told if one.is_silent)
    return tuple(word for one in wrong for word in (f"; {WRONG}: ", *_what(one)))


def _what(explanation: Explanation) -> Words:
    *words, last = Links(explanation).prose(explanation.what) or (explanation.kind,)
    return (*words, last.removesuffix(".") if isinstance(last, str) else last)


def _of_kind(step: Step, story: Story) -> Words:
    """The caption of a step that is about one event."""
    for event in step.events:
        if step.kind == "backward" and isinstance(event, BackwardStarted):
            return backward.started(event, story)
        if step.kind == "accumulate" and isinstance(event, Accumulated):
            return backward.accumulated(event, story)
        if step.kind == "hook" and isinstance(event, HookFired):
            return backward.fired(event, story) + _inside(list(step.events), story)
        if step.kind == "freed" and isinstance(event, Freed):
            return backward.freed(event, story)
    return ()


def _inside(events: list[Event], story: Story) -> Words:
    """What hooks did besides: they may step an optimizer, clip and take gradients away."""
    did: list[Event] = [e for e in events if isinstance(e, _IN_HOOKS)]
    return tuple(word for thing in lines.told(did, story) for word in ("; ", *thing))


def _start(story: Story) -> Words:
    known = [story.tensor(key) for key in story.tensors]
    if not known:
        return ("before the first line",)
    verb = "is" if len(known) == 1 else "are"
    return ("before the first line: ", *listed(known, 6, "other tensor"), f" {verb} there")


def _line(step: Step, events: list[Event], story: Story, why: Explanation | None) -> Words:
    """What a line did, or which error left it."""
    error = next((event for event in reversed(events) if isinstance(event, Raised)), None)
    source = shorten(source_of(step), 60, end=True)
    if step.kind == "end":
        lead: Words = ("the code has ended",)
    elif error is not None:
        lead = (*story.line(step), " raised ", *_reason(error, story, why))
    else:
        lead = (*story.line(step), " ran", f": {source}" if source else "")
    if step.level:
        events = list(step.events)
    things = [*lines.made(story), *lines.ran_backward(events, story), *lines.told(events, story)]
    if error is not None:
        things = [] if error.node else [*lines.made(story)]
    words = list(lead)
    for place, thing in enumerate(things[:MOST]):
        makes = thing[0] == "made " and error is None
        first = ": " if not source else " " if makes else " · "
        first = "; " if error is not None and why is not None else first
        words += ["; " if place else first, *thing]
    if len(things) > MOST:
        words.append(f"; and {len(things) - MOST} more")
    return tuple(words)


def _reason(error: Raised, story: Story, why: Explanation | None) -> Words:
    """Which error, and why: as the graph shows it, else as it was explained."""
    words = lines.raised(error, story)
    if why is None or why.kind == "other" or ": " in said(words):
        return words
    return (*words, ": ", *_what(why))
