"""Which backward freed what a node had saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.paths import reachable
from gradviz.analysis.explaining.sites import Site, site_of
from gradviz.model.events import BackwardEnded, BackwardStarted, Freed, NodeRan
from gradviz.model.explanation import CodeLine
from gradviz.model.facts import Node
from gradviz.model.sentence import Sentence, say


@dataclass(frozen=True, slots=True)
class Earlier:
    """The backward that freed it."""

    number: int
    step: int
    """Step at which it had ended."""
    started: BackwardStarted
    at: CodeLine | None
    site: Site | None
    """The call of it, if that is known."""


def freed_by(node: Node, evidence: Evidence) -> Earlier | None:
    """The backward that freed what a node had saved."""
    history = evidence.history
    before = evidence.step if evidence.backward is None else evidence.backward[0] - 1
    freed = [step for step, e in history.events(Freed, before) if e.node == node.id]
    number = None if not freed else evidence.recording.facts[freed[-1]].backward
    if number is None:
        number = _would_have_freed(node, before, evidence)
    started = [(s, e) for s, e in history.events(BackwardStarted, before) if e.number == number]
    if not started:
        return None
    ended = [s for s, e in history.events(BackwardEnded, before) if e.number == number]
    line = None if history.is_summed_up(started[0][0]) else history.line(started[0][0])
    since, event = started[0]
    step = ended[0] if ended else since
    site = None if line is None else site_of(history, since, event)
    return Earlier(event.number, step, event, line and replace(line, step=step), site)


def _would_have_freed(node: Node, before: int, evidence: Evidence) -> int | None:
    """The one backward that was not followed node by node and came to the node."""
    followed = {event.backward for _, event in evidence.history.events(NodeRan, before)}
    found = [
        event.number
        for _, event in evidence.history.events(BackwardStarted, before)
        if not event.retain_graph
        and not event.inputs
        and event.number not in followed
        and node.id in reachable([key for key, _ in event.roots], evidence)
    ]
    return found[0] if len(found) == 1 else None


def unknown_of(earlier: Earlier | None, evidence: Evidence) -> Iterator[Sentence]:
    """What is not known if the backward that freed it is not."""
    if earlier is not None:
        return
    if not evidence.is_recorded:
        yield say("which backward freed it; gradviz.record() around the code would tell")
    else:
        yield say("which backward freed it: it ran before the recording, or was not followed")


def targets_of(node: Node) -> dict[str, list[str | None]]:
    """The node, and what it has lost."""
    lost = [place for place, slot in enumerate(node.saved) if slot.state == "freed"]
    return {"node": [node.id], "slot": [f"{node.id}.saved.{place}" for place in lost]}


def by_words(earlier: Earlier | None, evidence: Evidence) -> str:
    """Which backward freed it."""
    if earlier is None:
        return ""
    return say("backward {} in {} freed it", earlier.number, evidence.at(earlier.at))
