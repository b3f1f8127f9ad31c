"""Captions of the parts of a long backward: what all nodes of a fold did together."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.model.events import Accumulated, Event, Freed, HookFired
from gradviz.model.fold_runs import FoldRun
from gradviz.model.recording import Recording
from gradviz.model.sentence import Sentence, joined, say
from gradviz.view import formatting
from gradviz.view.fold_words import title_alone


def run_caption(recording: Recording, run: FoldRun) -> Sentence:
    """What the steps of a run did: nodes, saved tensors freed, gradients accumulated, hooks."""
    records = recording.records[run.first : run.last + 1]
    events = [event for record in records for event in record.events]
    lead = say("backward ran {}: ", title_alone(run.tree, run.fold))
    return Sentence(lead, joined([*_did(run, events)], "; "))


def _did(run: FoldRun, events: list[Event]) -> Iterator[Sentence]:
    yield Sentence(formatting.plural(run.nodes, "node"))
    freed = [event for event in events if isinstance(event, Freed)]
    if count := sum(len(event.slots) for event in freed):
        size = formatting.size(sum(event.nbytes for event in freed))
        yield Sentence(f"{formatting.plural(count, 'saved tensor')} freed, {size}")
    if count := sum(isinstance(e, Accumulated) and not e.retained for e in events):
        yield Sentence(f"{formatting.plural(count, 'gradient')} accumulated")
    if count := sum(isinstance(event, HookFired) for event in events):
        yield Sentence(f"{formatting.plural(count, 'hook')} ran")
