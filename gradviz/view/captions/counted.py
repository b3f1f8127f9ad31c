"""Captions of steps that stand for many: how often each thing happened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from gradviz.model.events import (
    Accumulated,
    BackwardEnded,
    BackwardStarted,
    Clipped,
    Event,
    FlagChanged,
    Freed,
    HookChanged,
    HookFired,
    NodesRan,
    Note,
    OptimizerStepped,
    Raised,
    Write,
    ZeroedGrad,
)
from gradviz.model.sentence import Sentence, joined, listed, say
from gradviz.model.turns import Turn
from gradviz.view import formatting
from gradviz.view.captions.state import MOST, CaptionState, line, source_of
from gradviz.view.text import clean, shorten

PARTS: Final = 5
"""Parts of a caption; a count stands for more."""
Kind = TypeVar("Kind", bound=Event)


def of_step(state: CaptionState) -> Sentence:
    """The caption of a step that stands for many."""
    step = state.step
    parts = list(_parts(step.events, state))
    if step.kind == "counted":
        more = [str(note.text) for note in _of(Note, step.events) if note.about == "steps counted"]
        lead = Sentence(f"{turns}, " if (turns := turns_of(state)) else "", *more)
        parts = [*parts, Sentence("the graph is shown as it was after all of them")]
        if state.history.counted[0][0] == step.index:
            parts.append(Sentence("faults without an error are looked for only before them"))
    else:
        source = shorten(source_of(step), 60, end=True)
        often = formatting.plural(step.times or 1, "time")
        lead = Sentence(line(step), f" ran {often}", f": {source}" if source else "")
    if len(parts) > PARTS:
        parts[PARTS:] = [Sentence(f"and {len(parts) - PARTS} more")]
    return say("{}; {}", lead, joined(parts, "; ")) if parts else lead


def turns_of(state: CaptionState) -> str:
    """``turns 10 to 192 of 200 of the loop in line 3``, of a loop of which turns are counted; empty
    if there is none, or several beside each other."""
    recording, at = state.history.recording, state.step.index
    span = state.history.span(at)
    last = at if span is None else span[1]
    found = [turn for turn in recording.turns if turn.times > 1 and at <= turn.first <= last]
    least = min((turn.level for turn in found), default=0)
    outer = [turn for turn in found if turn.level == least]
    return _of_loop(outer[0]) if len(outer) == 1 else ""


def _of_loop(turn: Turn) -> str:
    return f"{turn.words} of the loop in line {turn.line}"


def _of(kind: type[Kind], events: Iterable[Event]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def _parts(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    """What happened, and how often."""
    for name, times in _counted(Raised, events, lambda e: e.type):
        yield Sentence(f"{clean(name)} was raised and caught {_often(times)}")
    started = sum(event.times for event in _of(BackwardStarted, events))
    ended = sum(event.nodes for event in _of(BackwardEnded, events))
    listed_nodes = sum(len(event.nodes) for event in _of(NodesRan, events))
    if started or ended or listed_nodes:
        ran = formatting.plural(max(ended, listed_nodes), "node")
        lead = formatting.plural(started, "backward") if started else "backward"
        yield Sentence(f"{lead} ran {ran}")
    yield from _accumulated(events, state)
    freed = _of(Freed, events)
    if freed:
        nbytes = sum(event.nbytes for event in freed)
        size = f", {formatting.size(nbytes)}" if nbytes else ""
        count = formatting.plural(sum(event.times for event in freed), "node")
        yield Sentence(f"{count} freed saved tensors{size}")
    for name, times in _counted(OptimizerStepped, events, lambda e: f"{e.name}.step()"):
        yield Sentence(f"{clean(name)} ran {_often(times)}")
    for name, times in _counted(ZeroedGrad, events, lambda e: f"{e.name}.zero_grad()"):
        yield Sentence(f"{clean(name)} ran {_often(times)}")
    for name, times in _counted(Clipped, events, lambda e: e.name):
        yield Sentence(f"{clean(name)} ran {_often(times)}")
    for words, times in _counted(Write, events, lambda e: f"{e.by} wrote {e.name} in place"):
        yield Sentence(f"{clean(words)} {_often(times)}")
    for name, times in _counted(HookFired, events, lambda e: formatting.hook(e.hook, 60)):
        yield Sentence(f"{name} ran {_often(times)}")
    for hook in _of(HookChanged, events):
        done = "registered" if hook.registered else "removed"
        yield Sentence(f"{formatting.hook(hook.hook, 60)} was {done} {_often(hook.times)}")
    for flag in _of(FlagChanged, events):
        name, now = state.tensor(flag.tensor), str(flag.after)
        yield say("{}.{} became {} {}", name, flag.flag, now, _often(flag.times))
    for note in _of(Note, events):
        if note.about not in ("steps counted", "calls a function"):
            yield Sentence(f"{clean(note.text)} ({_often(note.times)})")


def _accumulated(events: Sequence[Event], state: CaptionState) -> Iterator[Sentence]:
    found = _of(Accumulated, events)
    times = {event.times for event in found}
    alive = [event.tensor for event in found if event.tensor and state.is_alive(event.tensor)]
    names = listed([say("{}.grad", state.tensor(key)) for key in dict.fromkeys(alive)], MOST)
    if not found:
        return
    if len(times) == 1 and len(alive) == len(found):
        each = " each" if len(found) > 1 else ""
        yield say("{} got {}{}", names, formatting.plural(times.pop(), "gradient"), each)
    else:
        count = formatting.plural(sum(event.times for event in found), "gradient")
        yield say("{} got {} in total", names, count) if alive else Sentence(f"{count} arrived")


def _counted(
    kind: type[Kind], events: Iterable[Event], what: Callable[[Kind], str]
) -> list[tuple[str, int]]:
    """How often each thing happened, the first one first."""
    found: dict[str, int] = {}
    for event in _of(kind, events):
        found[what(event)] = found.get(what(event), 0) + event.times
    return list(found.items())


def _often(times: int) -> str:
    return {1: "once", 2: "twice"}.get(times, formatting.plural(times, "time"))
