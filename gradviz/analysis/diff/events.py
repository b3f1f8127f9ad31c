"""What a line did, in words by which two lines are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradviz.model.events import (
    BackwardEnded,
    BackwardStarted,
    Clipped,
    Event,
    FlagChanged,
    HookChanged,
    HookFired,
    Operation,
    OptimizerStepped,
    Raised,
    Refused,
    Write,
    ZeroedGrad,
)
from gradviz.model.facts import hook_fact
from gradviz.model.recording import StepRecord

Namer = Callable[[str | None], str]
"""The name of a tensor or node by its id, the same name in both recordings."""


def event_words(steps: Sequence[StepRecord], name: Namer) -> list[str]:
    """What happened in a line and in what it called, without values and without ids.

    Nodes that ran inside backward are compared as nodes of the graph.
    """
    events = [event for step in steps for event in step.events]
    calls = {event.type for event in events if isinstance(event, Refused)}
    found: dict[str, None] = {}
    for event in events:
        if not isinstance(event, Raised) or event.type not in calls:
            found.update(dict.fromkeys(_words(event, name)))
    return list(found)


def _words(event: Event, name: Namer) -> Iterator[str]:
    if isinstance(event, Operation):
        if not event.recomputed:
            why = f": {event.reason}" if event.reason else ""
            yield f"{event.name} recorded" if event.recorded else f"{event.name} not recorded{why}"
    elif isinstance(event, Write):
        seen = " without a new version" if event.before == event.after else ""
        through = f" through {event.through}" if event.through else ""
        written = name(next(iter(event.tensors), None)) or event.name
        yield f"{event.by} wrote {written}{through}{seen}"
    elif isinstance(event, FlagChanged):
        yield f"{name(event.tensor)}.{event.flag} {event.before} → {event.after}"
    elif isinstance(event, HookChanged):
        done = "registered" if event.registered else "removed"
        yield f"{hook_fact(event.hook).long} {done} on {name(event.tensor or event.node)}"
    elif isinstance(event, HookFired):
        yield f"{hook_fact(event.hook).long} ran at {name(event.tensor or event.node)}"
    elif isinstance(event, (BackwardStarted, BackwardEnded)):
        yield from _backward_words(event, name)
    elif isinstance(event, (OptimizerStepped, ZeroedGrad, Clipped)):
        yield from _training_words(event, name)
    elif isinstance(event, Refused):
        yield f"{event.name} raised {event.type}"
    elif isinstance(event, Raised):
        yield f"raised {event.type}"


def _backward_words(event: BackwardStarted | BackwardEnded, name: Namer) -> Iterator[str]:
    if isinstance(event, BackwardEnded):
        yield f"backward ran {event.nodes} nodes" + (" and raised" if event.raised else "")
        return
    roots = ", ".join(name(node) for node, _ in event.roots)
    options = [o for o in ("retain_graph", "create_graph") if getattr(event, o)]
    options += [] if event.accumulates else ["gradients returned"]
    options += [f"inputs {', '.join(map(name, event.inputs))}"] if event.inputs else []
    yield "; ".join((f"backward from {roots}", *options))


def _training_words(event: OptimizerStepped | ZeroedGrad | Clipped, name: Namer) -> Iterator[str]:
    if isinstance(event, OptimizerStepped):
        if event.updated:
            yield f"{event.name}.step updated {_names(event.updated, name)}"
        if event.skipped:
            yield f"{event.name}.step skipped {_names(event.skipped, name)}"
    elif isinstance(event, ZeroedGrad):
        value = "None" if event.set_to_none else "0"
        names = _names(event.tensors, name)
        what = f"set .grad of {names} to {value}" if names else "found no .grad"
        yield f"{event.name}.zero_grad {what}"
    else:
        yield f"{event.name} clipped .grad of {_names(event.tensors, name) or 'no tensor'}"


def _names(tensors: Sequence[str], name: Namer) -> str:
    return ", ".join(map(name, tensors))
