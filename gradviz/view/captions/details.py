"""All that is known of a step, in one sentence: what happened, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from gradviz.model import progress
from gradviz.model.events import (
    Accumulated,
    BackwardStarted,
    Clipped,
    Event,
    Freed,
    HookFired,
    Note,
    OptimizerStepped,
    Raised,
    ZeroedGrad,
)
from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording, Step, StepRecord
from gradviz.model.sentence import Sentence, joined, listed, say
from gradviz.view.captions import backward, blocks, counted, lines
from gradviz.view.captions.state import CaptionState, line, source_of
from gradviz.view.explanations.fields import WRONG, explained
from gradviz.view.text import cleaned, shorten

MOST = 5
"""Parts of a sentence; a count stands for more."""
_IN_HOOKS: Final = (OptimizerStepped, ZeroedGrad, Clipped)
"""Events that a hook may cause."""


def details(recording: Recording, index: int) -> Sentence:
    """What happened at a step, with terms that name nodes, tensors and lines."""
    step = recording.all_steps[index]
    return _details(recording, step, explained(recording).get(step.index, ()))


def all_details(recording: Recording) -> tuple[Sentence, ...]:
    """The same of all steps."""
    why = explained(recording)
    steps = progress.counted(recording.all_steps, "captions written", len(recording.records), 1)
    return tuple(_details(recording, step, why.get(step.index, ())) for step in steps)


def _details(recording: Recording, step: Step, explanations: Sequence[Explanation]) -> Sentence:
    state = CaptionState(recording.history, step)
    why = next((one for one in explanations if not one.is_silent), None)
    return Sentence(_happened(state, why), _silent(explanations))


def _happened(state: CaptionState, why: Explanation | None) -> Sentence:
    step = state.step
    if step.kind == "start":
        return _start(state)
    if step.times is not None:
        return counted.of_step(state)
    if step.kind == "node":
        parts = events_at_node(state)
        return Sentence(backward.node_ran(parts, state), _inside(parts, state))
    if step.kind == "saved":
        return backward.about_to_run(events_at_node(state), state)
    return _of_kind(state) or _line(state, why)


def reason(explanations: Sequence[Explanation]) -> Sentence:
    """What follows a sentence that says no reason: why an error was raised, what is wrong though
    torch raised none."""
    raised = next((one for one in explanations if not one.is_silent), None)
    why = Sentence() if raised is None or raised.kind == "other" else say(": {}", _what(raised))
    return Sentence(why, _silent(explanations))


def _silent(explanations: Sequence[Explanation]) -> Sentence:
    """What is wrong at a step although torch raised no error."""
    found = (one for one in explanations if one.is_silent)
    return Sentence(*(say("; {}: {}", WRONG, _what(one)) for one in found))


def _what(explanation: Explanation) -> Sentence:
    """What happened, without a full stop."""
    *words, last = (cleaned(explanation.what) or Sentence(explanation.kind)).parts
    return Sentence(*words, last.removesuffix(".") if isinstance(last, str) else last)


def _events(state: CaptionState, is_before: Callable[[StepRecord], bool]) -> list[Event]:
    """The events up to a step, since the last earlier step for which ``is_before`` is true."""
    steps, index = state.history.recording.records, state.step.index
    first = index
    while first and not is_before(steps[first - 1]):
        first -= 1
    return [event for facts in steps[first : index + 1] for event in facts.events]


def events_at_node(state: CaptionState) -> list[Event]:
    """What happened at the node of a step, in its sub-steps too."""
    return _events(state, lambda facts: facts.level < 2)


def events_of_line(state: CaptionState) -> list[Event]:
    """What happened in a line, with the backward and the functions that it called."""
    step = state.step
    if step.level:
        return list(step.events)
    depth = step.record.depth
    events = _events(
        state, lambda facts: facts.depth <= depth and facts.level < 1 and facts.backward is None
    )
    return [event for event in events if event in step.events or not _is_own(event)]


def _of_kind(state: CaptionState) -> Sentence:
    """The caption of a step that is about one event."""
    step = state.step
    for event in step.events:
        if step.kind == "backward" and isinstance(event, BackwardStarted):
            return backward.started(event, state)
        if step.kind == "accumulate" and isinstance(event, Accumulated):
            return backward.accumulated(event, state)
        if step.kind == "hook" and isinstance(event, HookFired):
            return Sentence(backward.fired(event, state), _inside(step.events, state))
        if step.kind == "freed" and isinstance(event, Freed):
            return backward.freed(event, state)
    return Sentence()


def _inside(events: Iterable[Event], state: CaptionState) -> Sentence:
    """What hooks did: they may step an optimizer, clip gradients and set them to None."""
    did = [event for event in events if isinstance(event, _IN_HOOKS)]
    return Sentence(*(say("; {}", part) for part in lines.of_events(did, state)))


def _start(state: CaptionState) -> Sentence:
    known = [state.tensor(key) for key in state.fresh if key[0] == "t"]
    if not known:
        return Sentence("before the first line")
    verb = "exists" if len(known) == 1 else "exist"
    return say("before the first line: {} {}", listed(known, 6, "tensor"), verb)


def _line(state: CaptionState, why: Explanation | None) -> Sentence:
    """What a line did, or which error it raised."""
    step = state.step
    events, head = events_of_line(state), list[Sentence]()
    error = next((event for event in reversed(events) if isinstance(event, Raised)), None)
    source = shorten(source_of(step), 60, end=True)
    if error is not None:
        lead = say("{} raised {}", line(step), _reason(error, state, why))
        parts = [] if error.node else [*lines.made(state)]
    else:
        lead = say("{} ran{}", line(step), f": {source}" if source else "")
        head += blocks.of_head(events, state)
        parts = [*head, *lines.made(state), *lines.ran_backward(events, state)]
        parts += [*lines.assigned(events, state), *lines.of_events(events, state)]
    if step.kind == "end":
        lead = Sentence("the code has ended")
    if not parts:
        return lead
    if len(parts) > MOST:
        parts[MOST:] = [Sentence(f"and {len(parts) - MOST} more")]
    if error is not None and why is not None:
        joint = "; "
    elif source:
        is_made = error is None and not head and lines.names_new_nodes(state)
        joint = " " if is_made else " · "
    else:
        joint = ": "
    return Sentence(lead, joint, joined(parts, "; "))


def _is_own(event: Event) -> bool:
    """Whether an event says something of its own line alone, not of the one that called it."""
    calls = isinstance(event, Note) and event.about == "calls a function"
    return calls or isinstance(event, Raised)


def _reason(error: Raised, state: CaptionState, why: Explanation | None) -> Sentence:
    """Which error, and why: from the graph, else from its explanation."""
    words, reason = lines.raised(error, state), lines.why_raised(error, state)
    if not reason and why is not None and why.kind != "other":
        reason = _what(why)
    return say("{}: {}", words, reason) if reason else words
