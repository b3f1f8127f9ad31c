"""The progress of backward at each step: nodes done, now and next, gradients on the edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gradviz.model.events import Raised
from gradviz.model.recording import Recording, StepRecord
from gradviz.model.records import ValueSummary
from gradviz.view.graph.card_parts import Status

Edge = tuple[str, int]
"""Node and slot of ``next_functions``."""


@dataclass(frozen=True, slots=True)
class EdgeGradient:
    """A gradient on an edge."""

    gradient: ValueSummary | None
    arrived: bool
    """Whether the node that receives it has run."""


@dataclass(frozen=True, slots=True)
class BackwardProgress:
    """Where backward is at one step; empty outside of backward."""

    nodes: Mapping[str, Status] = field(default_factory=dict)
    """Nodes that have run, that runs and that will run next."""
    edges: Mapping[Edge, EdgeGradient] = field(default_factory=dict)
    """Gradients by edge."""


NOTHING: Final = BackwardProgress()


def backward_progress(recording: Recording, index: int) -> BackwardProgress:
    """Progress of backward at a step.

    What runs next is what the recording saw run next.
    """
    step = recording.records[index]
    broken = _broken(step)
    number = step.backward if broken is None else broken.backward or step.backward
    if number is None:
        return NOTHING
    ran, upcoming = recording.history.ran(number, index)
    done = {event.node: None for event in ran}
    nodes: dict[str, Status] = dict.fromkeys(done, "done")
    now = step.node if broken is None else broken.node
    following = next((event.node for event in upcoming[:2] if event.node != now), None)
    if following and step.backward is not None:
        nodes[following] = "next"
    if now:
        nodes[now] = "now" if broken is None else "raised"
    last = len(recording.records)
    edges: dict[Edge, EdgeGradient] = {}
    for event in ran:
        node = recording.history.node(event.node, last)
        entries = () if node is None else node.next_functions
        for slot, (entry, gradient) in enumerate(zip(entries, event.grad_inputs)):
            if entry is not None:
                has_arrived = entry[0] in done and entry[0] != now
                edges[event.node, slot] = EdgeGradient(gradient, has_arrived)
    return BackwardProgress(nodes, edges)


def _broken(step: StepRecord) -> Raised | None:
    """The error that a node raised."""
    raised = (event for event in step.events if isinstance(event, Raised))
    return next((event for event in raised if event.node is not None), None)
