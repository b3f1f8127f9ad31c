"""The backward that freed the saved tensors of a node, for explanations."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.model import freed
from gradviz.model.freed import EarlierBackward
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, say


def backward_that_freed(node: Node, context: ErrorContext) -> EarlierBackward | None:
    """The backward that freed the saved tensors of a node, before the one that raised."""
    until = context.step if context.backward is None else context.backward[0] - 1
    return freed.freed_by(node.id, context.history, until)


def call_of(earlier: EarlierBackward, context: ErrorContext) -> Site | None:
    """The call of an earlier backward, if that is known."""
    if earlier.at is None:
        return None
    return site_of(context.history, earlier.since, earlier.started)


def unknown_of(earlier: EarlierBackward | None, context: ErrorContext) -> Iterator[Sentence]:
    """What is not known if the backward that freed it is not known."""
    if earlier is not None:
        return
    if not context.is_recorded:
        yield say("which backward freed it; gradviz.record() around the code shows it")
    else:
        yield say("which backward freed it: it ran before the recording, or was not recorded")


def targets_of(node: Node) -> dict[str, list[str | None]]:
    """The node, and its freed saved tensors."""
    lost = [place for place, slot in enumerate(node.saved) if slot.state == "freed"]
    return {"node": [node.id], "slot": [f"{node.id}.saved.{place}" for place in lost]}


def by_words(earlier: EarlierBackward | None, context: ErrorContext) -> str:
    """Which backward freed it."""
    if earlier is None:
        return ""
    return say("backward {} in {} freed it", earlier.number, context.at(earlier.at))
