"""Losses that get other values than they are made for: probabilities, scores, or one class."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import ALIASES, EventPlace, History
from gradviz.model.sentence import Term, say

_APPLIES: Final = {
    "cross_entropy": "log_softmax",
    "binary_cross_entropy_with_logits": "sigmoid",
}
"""Losses of scores, with what they apply themselves."""
_OF_LOGARITHMS: Final = frozenset({"nll_loss", "kl_div"})
_PROBABILITIES: Final = frozenset({"softmax", "sigmoid"})
_SCORES: Final = frozenset(
    {"linear", "addmm", "matmul", "__matmul__", "mm", "bmm", "conv1d", "conv2d", "relu", "tanh"}
)
_SAME: Final = ALIASES | {"contiguous", "clone", "float", "double", "to", "type", "clamp", "stack"}
"""Operations whose results are the values that went in."""
_TAKES_ONE: Final = frozenset({*_APPLIES, *_OF_LOGARITHMS, "binary_cross_entropy", "mse_loss"})


@dataclass(frozen=True, kw_only=True)
class LossInput(Finding):
    """The call that made what the loss got."""

    maker: tuple[EventPlace, Operation] | None


def applied_twice(history: History) -> Iterator[LossInput]:
    """Losses that apply softmax or sigmoid to what is their result already."""
    for place, event in _trained_losses(history):
        made = _maker(event, history)
        applies = _APPLIES.get(event.name)
        if made is None or applies is None:
            continue
        act = made[1].name
        if act in _PROBABILITIES or (act == "log_softmax" and applies == act):
            case = act if act == applies == "log_softmax" else ""
            yield _finding(place, event, made, case, history, applies=applies)


def without_logarithm(history: History) -> Iterator[LossInput]:
    """Losses of log-probabilities that get probabilities, or scores."""
    for place, event in _trained_losses(history):
        made = _maker(event, history)
        if event.name not in _OF_LOGARITHMS or made is None:
            continue
        if made[1].name in _PROBABILITIES or made[1].name in _SCORES:
            case = "" if made[1].name in _PROBABILITIES else "scores"
            yield _finding(place, event, made, case, history)


def of_one_class(history: History) -> Iterator[LossInput]:
    """Losses that are constant: softmax over one class is 1 for each sample."""
    for place, event in _trained_losses(history):
        made = _maker(event, history)
        shape = event.inputs[0].shape or ()
        if event.name == "cross_entropy" and (shape[1:2] or shape[:1]) == (1,):
            node, case = None if made is None else made[1].node, ""
        elif event.name in _TAKES_ONE and made is not None and _is_over_one(made[1]):
            node, case = made[1].node, "softmax"
        else:
            continue
        runs = [e for _, e in history.runs if e.node == node]
        given = [g for run in runs for g in (run.grad_inputs if case else run.grad_outputs)]
        if runs and all(gradient is None or gradient.norm == 0 for gradient in given):
            yield _finding(place, event, made, case, history)


def _trained_losses(history: History) -> Iterator[tuple[EventPlace, Operation]]:
    """Calls of losses whose nodes a backward ran."""
    ran = {run.node for _, run in history.runs}
    for place, event in history.told(Operation):
        is_loss = event.name in _TAKES_ONE and event.recorded and not event.recomputed
        if is_loss and event.node in ran and event.inputs and event.inputs[0].shape is not None:
            yield place, event


def _maker(event: Operation, history: History) -> tuple[EventPlace, Operation] | None:
    """The call that computed the values which a loss got first."""
    key = next(iter(event.reads), None)
    while key is not None and key in history.makers:
        place, made = history.makers[key]
        if made.name not in _SAME:
            return place, made
        key = next(iter(made.reads), None)
    return None


def _is_over_one(event: Operation) -> bool:
    """Whether it is a softmax over a dimension of size 1."""
    if event.name not in ("softmax", "log_softmax") or len(event.inputs) < 2:
        return False
    shape, text = event.inputs[0].shape, event.inputs[1].text
    if shape is None or not text.lstrip("-").isdigit() or not -len(shape) <= int(text) < len(shape):
        return False
    return shape[int(text)] == 1


def _finding(
    place: EventPlace,
    event: Operation,
    made: tuple[EventPlace, Operation] | None,
    case: str,
    history: History,
    applies: str = "",
) -> LossInput:
    step, line = place[0], history.line(place)
    operand = event.inputs[0]
    name = history.name(operand.tensor, step)
    it = "a tensor" if name is None or operand.tensor is None else Term(operand.tensor, name)
    at = line if made is None else history.line(made[0])
    act = event.name if made is None else made[1].name
    where = say("{} in {}", act, history.line_term(at))
    did = say("{} gave what {} got", act, event.name) if made is not None else say("{} got it", act)
    return LossInput(
        history=history,
        step=step,
        noticed=line,
        case=case,
        words={
            "call": event.name,
            "it": it,
            "shape": operand.shape or (),
            "act": act,
            "where": where,
            "applies": applies,
        },
        variables=(name,),
        node=history.node(event.node, step),
        causes=(Cause("other", did, at),),
        targets={"node": [event.node]},
        by=act,
        maker=made,
    )


def without_it(found: LossInput) -> Iterator[Fix]:
    """The loss gets what the activation got."""
    if found.maker is None:
        return
    place, event = found.maker
    site = site_of(found.history, place, event)
    call = None if site is None else site.call_of(event.name)
    if site is None or call is None:
        return
    is_method = isinstance(call.func, ast.Attribute) and not _is_module(call.func.value)
    value = call.func.value if is_method and isinstance(call.func, ast.Attribute) else None
    value = value or next(iter(call.args), None)
    if value is not None:
        change = Rewriting(site.statement, ((call, site.statement.segment(value)),))
        yield change.fix(say("{} gets the scores", found.words["call"]))


def _is_module(node: ast.expr) -> bool:
    """Whether it is ``torch``, ``F`` or the like, on which functions are called."""
    return ast.unparse(node) in (
        "torch",
        "F",
        "nn.functional",
        "torch.nn.functional",
        "torch.special",
    )
