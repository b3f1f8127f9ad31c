"""Targets of a loss that get a gradient too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.explain.fault import Finding
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause
from gradviz.model.history import ALIASES, EventPlace, History
from gradviz.model.reachability import entries, reachable
from gradviz.model.sentence import Term, say

_LOSSES: Final = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "cross_entropy"}
    | {"binary_cross_entropy", "binary_cross_entropy_with_logits", "poisson_nll_loss"}
    | {"gaussian_nll_loss"}
)
"""Losses of an input and a target, in this order."""
_SUMS: Final = frozenset({"add", "__add__", "__radd__", "sub", "__sub__", "__rsub__", "rsub"})
_DIFFERENCES: Final = frozenset({"sub", "__sub__", "subtract"})
_SCALED: Final = frozenset({"mul", "__mul__", "__rmul__", "multiply"}) | ALIASES
_DISTANCES: Final = frozenset({"PowBackward0", "AbsBackward0", "SmoothL1LossBackward0"})


def targets_with_gradient(history: History) -> Iterator[Finding]:
    """Targets of losses, and estimates from a reward and a later value, that backward reaches."""
    for place, event, side, case in _found(history):
        yield target_finding(place, event, side, history, case)


def leaves_of_targets(history: History) -> set[str]:
    """The leaves from which these targets are computed."""
    found = (leaves_of(event.reads[side], history) for _, event, side, _ in _found(history))
    return {key for leaves in found for key in leaves}


def _found(history: History) -> Iterator[tuple[EventPlace, Operation, int, str]]:
    """The calls, and which of their two operands it is."""
    ran = {run.node for _, run in history.runs}
    for place, event in history.told(Operation):
        if event.node not in ran or event.recomputed or len(event.inputs) < 2:
            continue
        two = event.inputs[:2]
        if any(operand.shape is None for operand in two) or len(event.reads) < 2:
            continue
        if not set(event.reads[:2]) <= set(event.required) or event.reads[0] == event.reads[1]:
            continue
        if event.name in _LOSSES:
            if not is_leaf(event.reads[1], place[0], history):
                yield place, event, 1, ""
        elif event.name in _DIFFERENCES and _is_distance(event.node, history):
            side = _estimate(event.reads[:2], history)
            if side is not None:
                yield place, event, side, "estimate"


def is_leaf(key: str, step: int, history: History) -> bool:
    """Whether a tensor is a leaf."""
    info = history.tensor(key, step)
    return info is not None and bool(info.is_leaf)


def _is_distance(node: str | None, history: History) -> bool:
    """Whether a difference is squared, or its absolute value taken."""
    for reader in history.readers(node or ""):
        is_square = reader.name == "MulBackward0" and set(entries(reader)) == {node}
        if is_square or reader.name in _DISTANCES:
            return True
    return False


def _estimate(keys: tuple[str, ...], history: History) -> int | None:
    """Which side is something given plus a scaled value of what the other side is, too.

    It is none if it is computed from the other side: what a mean is subtracted from has no target.
    """
    sides = [side for side, key in enumerate(keys) if _is_given_plus(key, history)]
    if len(sides) != 1:
        return None
    one, other = (leaves_of(key, history) for key in keys)
    is_from_other = node_of(keys[1 - sides[0]], history) in nodes_of(keys[sides[0]], history)
    return sides[0] if one & other and not is_from_other else None


def _is_given_plus(key: str, history: History) -> bool:
    made = history.makers.get(key)
    while made is not None and made[1].name in ALIASES:
        made = history.makers.get(next(iter(made[1].reads), ""))
    if made is None or made[1].name not in _SUMS or len(made[1].reads) != 2:
        return False
    return len({*made[1].reads} & {*made[1].required}) == 1


def node_of(key: str, history: History) -> str | None:
    """The node of the call that made a tensor."""
    made = history.makers.get(key)
    return None if made is None else made[1].node


def nodes_of(key: str, history: History) -> set[str]:
    """The nodes through which a gradient of a tensor goes, its own too."""
    step = len(history.recording.records) - 1
    return {*reachable([node_of(key, history) or ""], lambda one: entries(history.node(one, step)))}


def leaves_of(key: str, history: History) -> set[str]:
    """The leaves from which a tensor was computed."""
    step = len(history.recording.records) - 1
    rows = (history.node(one, step) for one in nodes_of(key, history))
    return {row.variable for row in rows if row is not None and row.variable is not None}


def target_finding(
    place: EventPlace, event: Operation, side: int, history: History, case: str
) -> Finding:
    """The finding.

    Args:
        place: When the call ran.
        event: The call.
        side: Which of its operands is the target.
        history: The recording.
        case: Which sentences say it.
    """
    target, key = event.inputs[side], event.reads[side]
    step, line = place[0], history.line(place)
    name = history.name(target.tensor, step)
    it = "the target" if name is None or target.tensor is None else Term(target.tensor, name)
    made = history.makers.get(key)
    at = line if made is None else history.line(made[0])
    did = say("computes {} with a graph", it)
    return Finding(
        history=history,
        step=step,
        noticed=line,
        case=case,
        words={"call": event.name, "it": it, "line": history.line_term(at)},
        variables=(name,),
        node=history.node(event.node, step),
        causes=(Cause("other", did, at),),
        by=event.name,
        site=site_of(history, place, event),
    )
