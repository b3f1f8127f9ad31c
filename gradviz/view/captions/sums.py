"""Gradients that meet: where each came from, and that torch added them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gradviz.model.arrivals import Arrival, arrivals
from gradviz.model.events import Accumulated, NodeRan, NodeReady
from gradviz.model.records import Number, ValueSummary
from gradviz.model.sentence import Sentence, joined, listed, say
from gradviz.view import formatting
from gradviz.view.captions.precision import SHOWN, Value, precision, value_of
from gradviz.view.captions.state import MOST, CaptionState, gradient
from gradviz.view.text import cells

ROOM: Final = 200
"""Cells of a sum; a longer one is said without its numbers."""


def arrived(event: NodeRan | NodeReady, state: CaptionState, hooked: bool = False) -> Sentence:
    """Which gradients came to a node, without a verb: ``gradient 6.0``, or the sum of those that
    met, with the nodes that they came from.

    Args:
        event: The node and what it got.
        state: The step.
        hooked: Whether hooks ran before the node, which may have changed the sum.
    """
    several = [
        arrivals(state.history, event.backward, event.node, place)
        for place in range(len(event.grad_outputs))
    ]
    if hooked:
        found = [sum_of(one, None, state) for one in several if one]
        return joined(found, ", ")
    if len(several) == 1 and len(several[0]) > 1:
        return sum_of(several[0], event.grad_outputs[0], state)
    sums = [
        say("output {}: {}", place, sum_of(one, event.grad_outputs[place], state))
        for place, one in enumerate(several)
        if len(one) > 1
    ]
    return say("{}{}", got(event), say(" ({})", joined(sums)) if sums else "")


def got(event: NodeRan | NodeReady) -> Sentence:
    """What a node got for each of its outputs: ``gradient 2.0``."""
    kind = "gradient" if len(event.grad_outputs) == 1 else "gradients"
    return say("{} {}", kind, listed([gradient(one) for one in event.grad_outputs], MOST))


def accumulated_sum(event: Accumulated) -> str:
    """Old ``.grad``, gradient and new ``.grad`` as a sum; empty if the numbers do not show it."""
    if event.before is None or event.gradient is None or event.after is None:
        return ""
    return added([event.before, event.gradient], event.after)


def added(parts: Sequence[ValueSummary | None], total: ValueSummary | None) -> str:
    """Gradients as a sum, ``3.0 + 3.0 = 6.0``; empty if the numbers do not show it.

    Args:
        parts: The gradients.
        total: What torch made of them.
    """
    written = _written(parts, total)
    return "" if written is None else " + ".join(written[0]) + written[1]


def sum_of(several: Sequence[Arrival], total: ValueSummary | None, state: CaptionState) -> Sentence:
    """Gradients that met: ``1.0 from AddBackward0 + 5.0 from MulBackward0 = 6.0``.

    Without their numbers where these are not known, too many or do not agree.

    Args:
        several: The gradients.
        total: What torch made of them; ``None`` if that is not known.
        state: The step.
    """
    gradients = [one.gradient for one in several]
    if len(several) <= MOST + 1 and (written := _written(gradients, total)):
        parts, ends = written
        found = Sentence(_by_source(parts, several, state), ends)
        if cells(found) <= ROOM:
            return found
    names = _sources(several, state)
    if len(several) == 1:
        return say("gradient {} from {}", gradient(gradients[0]), names)
    if total is not None:
        return say("gradient {} ({} were added, from {})", gradient(total), len(several), names)
    shapes = dict.fromkeys(formatting.shape(one.shape) for one in gradients if one is not None)
    shape = f" {next(iter(shapes))}" if len(shapes) == 1 else ""
    return say("the sum of {} gradients{}, from {}", len(several), shape, names)


def _by_source(parts: Sequence[str], several: Sequence[Arrival], state: CaptionState) -> Sentence:
    """``1.0 from AddBackward0 + (2.0 + 2.0) from MulBackward0``, a source once."""
    groups: dict[str | None, list[str]] = {}
    for part, one in zip(parts, several, strict=True):
        groups.setdefault(one.source, []).append(part)
    each: list[Sentence] = []
    for source, same in groups.items():
        words = " + ".join(same)
        if len(same) > 1 and len(groups) > 1:
            words = f"({words})"
        each.append(say("{} from {}", words, _source(source, state)))
    return joined(each, " + ")


def _sources(several: Sequence[Arrival], state: CaptionState) -> Sentence:
    counts: dict[Sentence, int] = {}
    for one in several:
        words = _source(one.source, state)
        counts[words] = counts.get(words, 0) + 1
    return listed([Sentence(w, times(n)) for w, n in counts.items()], MOST, "node")


def times(count: int) -> str:
    """`` twice``, `` 3 times``; empty for once."""
    return "" if count == 1 else " twice" if count == 2 else f" {count} times"


def _source(node: str | None, state: CaptionState) -> Sentence:
    return Sentence("the start of backward") if node is None else state.node(node)


def _written(
    parts: Sequence[ValueSummary | None], total: ValueSummary | None
) -> tuple[list[str], str] | None:
    """The numbers of a sum and its end, ``= 6.0``; ``None`` where these do not agree."""
    like = total or next(filter(None, parts), None)
    values = [_values(one, like) for one in parts]
    known = [one for one in values if one is not None]
    if like is None or len(known) < len(values):
        return None
    digits, ends = SHOWN, ""
    if total is not None:
        fits = precision(lambda digits: _sum(known, digits), total.values or ())
        if fits is None:
            return None
        digits, ends = fits.digits, f" {fits.sign} {gradient(total)}"
    return [formatting.nested(one, like.shape, digits) for one in known], ends


def _values(one: ValueSummary | None, like: ValueSummary | None) -> Sequence[Number] | None:
    if one is None:  # torch starts with it itself, at a root with a single number
        return (1.0,) if like is not None and len(like.values or ()) == 1 else None
    return one.values if like is not None and one.shape == like.shape else None


def _sum(parts: Iterable[Sequence[Number]], digits: int) -> list[Value] | None:
    columns = [[value_of(n, digits) for n in column] for column in zip(*parts, strict=True)]
    known = [[value for value in column if value is not None] for column in columns]
    if any(len(some) < len(all_of) for some, all_of in zip(known, columns, strict=True)):
        return None
    return [sum(column) for column in known]
