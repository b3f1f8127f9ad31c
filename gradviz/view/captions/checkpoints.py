"""What a checkpoint ran again in backward, because it had not kept what its nodes saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gradviz.model.events import Event, HookFired, NodeReady, Operation
from gradviz.model.records import SavedTensor
from gradviz.model.sentence import Sentence, listed
from gradviz.view.captions.state import CaptionState, is_of_checkpoint
from gradviz.view.text import clean

_FEW: Final = 4
_FUNCTION: Final = "CheckpointFunctionBackward"
"""The node of a checkpoint with ``use_reentrant=True``."""


def computed_again(events: Sequence[Event], used: Sequence[SavedTensor]) -> Sentence:
    """What a checkpoint computed to get back what a node had saved; empty if nothing.

    Args:
        events: The events at the node.
        used: The saved tensors of the node.
    """
    if not any(map(is_of_checkpoint, used)):
        return Sentence()
    since = next((at for at, e in enumerate(events) if isinstance(e, NodeReady)), 0)
    if any(isinstance(event, HookFired) for event in events[since:]):
        return Sentence()  # the hook may have run what ran
    ran = _ran(events[since:])
    if not ran:
        return Sentence()
    why = "checkpoint had not kept the saved tensors of this part of the code, so it ran "
    return Sentence(why, ran, " again to compute them")


def recomputed(node: str | None, events: Iterable[Event], state: CaptionState) -> Sentence:
    """The same for a checkpoint that starts a backward of its own inside its node."""
    row = state.node_row(node)
    ran = _ran(events) if row is not None and row.name == _FUNCTION else Sentence()
    if not ran:
        return ran
    return Sentence(
        "checkpoint had kept only its inputs, so it ran ", ran, " again, now with a graph; "
    )


def _ran(events: Iterable[Event]) -> Sentence:
    """The calls that are recorded in a graph, each name once with its count."""
    counts: dict[str, int] = {}
    for event in events:
        if isinstance(event, Operation) and event.recomputed and event.recorded:
            counts[clean(event.name)] = counts.get(clean(event.name), 0) + 1
    words = [name if n == 1 else f"{name} ({n} times)" for name, n in counts.items()]
    return listed(words, _FEW, "operation")
