"""How far backward has come at each step: nodes done, now and next, gradients on the edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gradviz.model.events import NodeRan, Raised
from gradviz.model.facts import ValueSummary
from gradviz.model.recording import Recording, StepFacts
from gradviz.view import phrases
from gradviz.view.blocks import Status
from gradviz.view.text import cells, shorten

Edge = tuple[str, int]
"""Node and slot of ``next_functions``."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A gradient on an edge."""

    gradient: ValueSummary | None
    arrived: bool
    """Whether the node that it goes to has run."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where backward is at one step; empty outside of backward."""

    nodes: Mapping[str, Status] = field(default_factory=dict)
    """Nodes that have run, that runs and that will run next."""
    edges: Mapping[Edge, Flow] = field(default_factory=dict)
    """Gradients by edge."""


NOTHING: Final = Progress()


def progress(recording: Recording) -> Iterator[Progress]:
    """Progress of backward at each step.

    What runs next is what the recording saw run next.
    """
    following = _following(recording.facts)
    targets = {
        (node.id, slot): entry[0]
        for node in recording.graph.nodes
        for slot, entry in enumerate(node.next_functions)
        if entry is not None
    }
    ran: dict[int, dict[str, None]] = {}
    edges: dict[int, dict[Edge, ValueSummary | None]] = {}
    for step, upcoming in zip(recording.facts, following, strict=True):
        number, broken = step.backward, _broken(step)
        if broken is not None:
            number = broken.backward or number
        for event in step.events:
            if isinstance(event, NodeRan):
                ran.setdefault(event.backward, {})[event.node] = None
                flowing = edges.setdefault(event.backward, {})
                for slot, gradient in enumerate(event.grad_inputs):
                    if (event.node, slot) in targets:
                        flowing[event.node, slot] = gradient
        if number is None:
            yield NOTHING
            continue
        nodes: dict[str, Status] = dict.fromkeys(ran.get(number, ()), "done")
        if upcoming:
            nodes[upcoming] = "next"
        if now := _now(step):
            nodes[now] = "now" if broken is None else "raised"
        done = ran.get(number, {})
        yield Progress(
            nodes,
            {
                edge: Flow(gradient, targets[edge] in done and targets[edge] != now)
                for edge, gradient in edges.get(number, {}).items()
            },
        )


def gradient_words(gradient: ValueSummary | None, room: int) -> str:
    """A gradient in few cells: its values, else its shape and norm, else less.

    Examples:
        >>> gradient_words(ValueSummary((2,), "float32", (1.0, 0.5)), 20)
        '[1.0, 0.5]'
        >>> gradient_words(ValueSummary((3, 4), "float32", norm=2.0), 20)
        '(3, 4) norm 2.0'
    """
    if gradient is None:
        return shorten("None", room)
    said = [phrases.shape(gradient.shape)]
    if gradient.norm is not None:
        said.insert(0, f"{said[0]} norm {phrases.number(gradient.norm)}")
    if gradient.values is not None:
        said.insert(0, phrases.numbers(gradient.values, gradient.shape, room))
    return next((words for words in said if cells(words) <= room), shorten(said[-1], room))


def _now(step: StepFacts) -> str | None:
    broken = _broken(step)
    return step.node if broken is None else broken.node


def _broken(step: StepFacts) -> Raised | None:
    """The error that a node raised."""
    raised = (event for event in step.events if isinstance(event, Raised))
    return next((event for event in raised if event.node is not None), None)


def _following(steps: tuple[StepFacts, ...]) -> list[str | None]:
    """The node that runs next in the same backward after each step, other than the one now."""
    found: list[str | None] = []
    upcoming: dict[int, list[str]] = {}
    for step in reversed(steps):
        waiting = upcoming.get(step.backward or 0, [])
        now = _now(step)
        found.append(next((node for node in reversed(waiting[-2:]) if node != now), None))
        for event in reversed(step.events):
            if isinstance(event, NodeRan):
                upcoming.setdefault(event.backward, []).append(event.node)
    return found[::-1]
