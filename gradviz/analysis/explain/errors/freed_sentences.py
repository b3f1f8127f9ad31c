"""The backward that freed the saved tensors of a node, for explanations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.not_followed import RECORD_EARLIER
from gradviz.model import freed
from gradviz.model.explanation import Cause, Fix
from gradviz.model.freed import EarlierBackward
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, Term, listed, say


def backward_that_freed(node: Node, context: ErrorContext) -> EarlierBackward | None:
    """The backward that freed the saved tensors of a node, before the one that raised."""
    until = context.step if context.backward is None else context.backward[0] - 1
    return freed.freed_by(node.id, context.history, until)


def call_of(earlier: EarlierBackward, context: ErrorContext) -> Site | None:
    """The call of an earlier backward, if that is known."""
    if earlier.at is None:
        return None
    return site_of(context.history, earlier.since, earlier.started)


def was_freed(node: Node, context: ErrorContext) -> bool:
    """Whether a node is known to have been freed before the recording began."""
    history = context.history
    is_known = history.freed_earlier(node.id) is not None
    return is_known or (context.is_recorded and history.was_freed(node.id))


def before_words(context: ErrorContext) -> str:
    """When it was freed, if that was before the recording."""
    return " before this recording" if context.is_recorded else ""


def before_cause(node: Node, context: ErrorContext) -> Cause | None:
    """The backward before the recording that freed it, if an earlier recording saw it."""
    known = context.history.freed_earlier(node.id)
    if known is None:
        return None
    term = Term(node.id, node.name)
    words = "backward {} of an earlier recording ran {} and freed its saved tensors"
    if known.raised:
        words += ", and then raised an error"
    return Cause("backward", say(words, known.number, term), context.history.earlier_line(known))


def run_again(nodes: Iterable[Node], context: ErrorContext) -> Iterator[Fix]:
    """Make the graph again, part of which was freed before the recording, if it is known which
    lines made its nodes.

    Args:
        nodes: Nodes of the graph that were there before the recording.
        context: The error.
    """
    lines = [context.history.made_at(node) for node in nodes]
    places = [None if line is None else context.place_of(line) for line in lines]
    known = [place for place in places if place is not None]
    if known and len(known) == len(places):
        line = min(known)[-1]
        does = "runs the code again from {} on, which makes {}; this backward then has a new graph"
        yield Fix(say(does, context.at(line), _made(context)), line.text, "elsewhere")


def _result(node: Node, context: ErrorContext) -> str:
    """What a node has made, by its name."""
    name = context.name(context.history.output_of(node.id, context.step))
    return name or _made(context)


def _made(context: ErrorContext) -> str:
    roots = [name for info in context.roots if (name := context.name(info.id))]
    return str(listed(roots)) if roots else "the graph"


def unknown_of(
    node: Node, earlier: EarlierBackward | None, context: ErrorContext
) -> Iterator[Sentence]:
    """What is not known if the backward that freed it is not known, and what to run."""
    if earlier is not None:
        return
    if was_freed(node, context):
        if context.history.freed_earlier(node.id) is None:
            yield say("which backward freed it: it ran before this recording. {}", RECORD_EARLIER)
        if context.history.made_at(node) is None:
            words = "which line made {}: run it again together with this backward, both recorded"
            yield say(words, _result(node, context))
    elif not context.is_recorded:
        yield say("which backward freed it{}", context.how_to_know)
    else:
        yield say(
            "which backward freed it: it ran before the recording, or was not recorded. {}",
            RECORD_EARLIER,
        )


def targets_of(node: Node) -> dict[str, list[str | None]]:
    """The node, and its freed saved tensors."""
    lost = [place for place, slot in enumerate(node.saved) if slot.state == "freed"]
    return {"node": [node.id], "slot": [f"{node.id}.saved.{place}" for place in lost]}


def by_words(earlier: EarlierBackward | None, context: ErrorContext) -> str:
    """Which backward freed it."""
    if earlier is None:
        return ""
    return say("backward {} in {} freed it", earlier.number, context.at(earlier.at))
