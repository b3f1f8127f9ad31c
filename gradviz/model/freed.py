"""Which backward freed what a node had saved."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gradviz.model.events import BackwardEnded, BackwardStarted, Freed
from gradviz.model.explanation import CodeLine
from gradviz.model.history import History
from gradviz.model.reachability import entries, reachable


@dataclass(frozen=True, slots=True)
class EarlierBackward:
    """The backward that freed it."""

    number: int
    since: int
    """Step at which it started."""
    step: int
    """Step at which it had ended."""
    started: BackwardStarted
    at: CodeLine | None


def freed_by(node: str, history: History, until: int) -> EarlierBackward | None:
    """The backward that freed what a node had saved, if that is known.

    Args:
        node: Id of the node.
        history: The recording.
        until: The last step that counts.
    """
    freed = [(step, one) for step, one in history.events(Freed, until) if one.node == node]
    number = None
    if freed:
        last, one = freed[-1]
        number = one.backward or history.recording.records[last].backward
    if number is None:
        number = _would_have_freed(node, history, until)
    started = [(s, e) for s, e in history.events(BackwardStarted, until) if e.number == number]
    if not started:
        return None
    since, event = started[0]
    ended = [s for s, e in history.events(BackwardEnded, until) if e.number == number]
    step = ended[0] if ended else since
    line = history.line(since)
    return EarlierBackward(event.number, since, step, event, line and replace(line, step=step))


def _would_have_freed(node: str, history: History, until: int) -> int | None:
    """The last backward that ran the node and did not retain the graph, where it is not recorded
    what each node freed; else the one of which it is not known which nodes it ran, and that came
    to the node."""
    starts = {e.number: e for _, e in history.events(BackwardStarted, until)}
    ran = [number for number, step in history.ran_in.get(node, ()) if step <= until]
    freeing = [n for n in ran if n in starts and not starts[n].retain_graph]
    if freeing:
        return freeing[-1]
    followed = {number for runs in history.ran_in.values() for number, _ in runs}
    found = [
        event.number
        for event in starts.values()
        if not event.retain_graph
        and not event.inputs
        and event.number not in followed
        and node in behind(event, history, until)
    ]
    return found[0] if len(found) == 1 else None


def behind(started: BackwardStarted, history: History, until: int) -> list[str]:
    """Nodes that a backward comes to."""
    roots = (key for key, _ in started.roots)
    return reachable(roots, lambda key: entries(history.node(key, until)))
