"""The caption of a step: what happened, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
from gradviz.model.recording import Recording, Step, StepFacts
from gradviz.model.sentence import Sentence, joined, listed, say
from gradviz.view import captions_backward as backward
from gradviz.view import captions_events as lines
from gradviz.view.explanation_fields import WRONG, explained
from gradviz.view.story import Story, line, source_of
from gradviz.view.text import cleaned, shorten

MOST = 5
"""Things that happened which one caption tells."""
_IN_HOOKS: Final = (OptimizerStepped, ZeroedGrad, Clipped)
"""What hooks may do besides."""


def caption(recording: Recording, index: int) -> Sentence:
    """The caption of a step, in words that point at nodes, tensors and lines."""
    step = recording.steps[index]
    return _caption(recording, step, explained(recording).get(step.index, ()))


def captions(recording: Recording) -> tuple[Sentence, ...]:
    """The captions of all steps."""
    why = explained(recording)
    return tuple(_caption(recording, step, why.get(step.index, ())) for step in recording.steps)


def _caption(recording: Recording, step: Step, told: Sequence[Explanation]) -> Sentence:
    story = Story(recording.history, step)
    why = next((one for one in told if not one.is_silent), None)
    return Sentence(_happened(story, why), *map(_silent, told))


def _happened(story: Story, why: Explanation | None) -> Sentence:
    step = story.step
    if step.kind == "start":
        return _start(story)
    if step.kind == "node":
        parts = _events(story, lambda facts: facts.level < 2)
        return Sentence(backward.node_ran(parts, story), _inside(parts, story))
    if step.kind == "saved":
        return backward.about_to_run(story)
    return _of_kind(story) or _line(story, why)


def _silent(told: Explanation) -> Sentence:
    """What goes wrong at a step although torch raised nothing."""
    return say("; {}: {}", WRONG, _what(told)) if told.is_silent else Sentence()


def _what(explanation: Explanation) -> Sentence:
    """What happened, without a full stop."""
    *words, last = (cleaned(explanation.what) or Sentence(explanation.kind)).parts
    return Sentence(*words, last.removesuffix(".") if isinstance(last, str) else last)


def _events(story: Story, is_before: Callable[[StepFacts], bool]) -> list[Event]:
    """What happened up to a step, since the last one before it that fits."""
    steps, index = story.history.recording.facts, story.step.index
    first = index
    while first and not is_before(steps[first - 1]):
        first -= 1
    return [event for facts in steps[first : index + 1] for event in facts.events]


def _of_kind(story: Story) -> Sentence:
    """The caption of a step that is about one event."""
    step = story.step
    for event in step.events:
        if step.kind == "backward" and isinstance(event, BackwardStarted):
            return backward.started(event, story)
        if step.kind == "accumulate" and isinstance(event, Accumulated):
            return backward.accumulated(event, story)
        if step.kind == "hook" and isinstance(event, HookFired):
            return Sentence(backward.fired(event, story), _inside(step.events, story))
        if step.kind == "freed" and isinstance(event, Freed):
            return backward.freed(event, story)
    return Sentence()


def _inside(events: Iterable[Event], story: Story) -> Sentence:
    """What hooks did besides: they may step an optimizer, clip and take gradients away."""
    did = [event for event in events if isinstance(event, _IN_HOOKS)]
    return Sentence(*(say("; {}", thing) for thing in lines.told(did, story)))


def _start(story: Story) -> Sentence:
    known = [story.tensor(key) for key in story.fresh if key[0] == "t"]
    if not known:
        return Sentence("before the first line")
    verb = "is" if len(known) == 1 else "are"
    return say("before the first line: {} {} there", listed(known, 6, "other tensor"), verb)


def _line(story: Story, why: Explanation | None) -> Sentence:
    """What a line did, or which error left it."""
    step = story.step
    # What happened inside the backward that the line called is told with it.
    events = _events(story, lambda facts: facts.level < 1 and facts.backward is None)
    error = next((event for event in reversed(events) if isinstance(event, Raised)), None)
    source = shorten(source_of(step), 60, end=True)
    if step.level:
        events = list(step.events)
    if error is not None:
        lead = say("{} raised {}", line(step), _reason(error, story, why))
        things = [] if error.node else [*lines.made(story)]
    else:
        lead = say("{} ran{}", line(step), f": {source}" if source else "")
        things = [*lines.made(story), *lines.ran_backward(events, story)]
        things += lines.told(events, story)
    if step.kind == "end":
        lead = Sentence("the code has ended")
    if not things:
        return lead
    if len(things) > MOST:
        things[MOST:] = [Sentence(f"and {len(things) - MOST} more")]
    if error is not None and why is not None:
        joint = "; "
    elif source:
        joint = " " if error is None and lines.names_new_nodes(story) else " · "
    else:
        joint = ": "
    return Sentence(lead, joint, joined(things, "; "))


def _reason(error: Raised, story: Story, why: Explanation | None) -> Sentence:
    """Which error, and why: as the graph shows it, else as it was explained."""
    words, reason = lines.raised(error, story), lines.why_raised(error, story)
    if not reason and why is not None and why.kind != "other":
        reason = _what(why)
    return say("{}: {}", words, reason) if reason else words
