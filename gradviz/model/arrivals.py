"""Which gradients met at an output of a node: torch adds them before the node runs."""

from __future__ import annotations

from dataclasses import dataclass

from gradviz.model.events import BackwardStarted
from gradviz.model.history import History
from gradviz.model.records import ValueSummary


@dataclass(frozen=True, slots=True)
class Arrival:
    """A gradient that came to an output of a node."""

    source: str | None
    """Id of the node that computed it; ``None`` if backward started with it."""
    gradient: ValueSummary | None
    """The gradient; ``None`` if it is not recorded: the one that torch starts with itself."""


def arrivals(history: History, backward: int, node: str, output_nr: int = 0) -> tuple[Arrival, ...]:
    """The gradients of one backward that came to an output of a node, in the order of the steps.

    Args:
        history: The recording.
        backward: Number of the backward.
        node: Id of the node.
        output_nr: Which of its outputs.

    Examples:
        >>> import torch, gradviz
        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> with gradviz.record() as recording:
        ...     y = w * w
        ...     y.backward()
        >>> leaf = next(n for n in recording.graph.nodes if n.variable is not None)
        >>> [one.gradient.values for one in arrivals(recording.history, 1, leaf.id)]
        [(3.0,), (3.0,)]
    """
    target, found = (node, output_nr), list(_given(history, backward, (node, output_nr)))
    readers = (history.node_runs.get((backward, reader.id)) for reader in history.readers(node))
    for place, ran in sorted((one for one in readers if one is not None), key=lambda one: one[0]):
        row = history.node(ran.node, place[0])
        entries = () if row is None else row.next_functions
        found += [
            Arrival(ran.node, gradient)
            for entry, gradient in zip(entries, ran.grad_inputs)
            if entry == target and gradient is not None
        ]
    return tuple(found)


def _given(history: History, backward: int, target: tuple[str, int]) -> list[Arrival]:
    """What backward itself starts with at an output of a node."""
    event = history.backward_starts.get(backward)
    if event is None:
        return []
    return [Arrival(None, one) for root, one in _roots(event) if root == target]


def _roots(event: BackwardStarted) -> list[tuple[tuple[str, int], ValueSummary | None]]:
    missing = len(event.roots) - len(event.gradients)
    return list(zip(event.roots, (*event.gradients, *(None for _ in range(missing))), strict=False))
