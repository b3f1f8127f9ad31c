"""Advantages that get a gradient from the log-probabilities that they weigh."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.model.events import Operation
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import ALIASES, EventPlace, History
from gradviz.model.sentence import Term, say

_PRODUCTS: Final = frozenset({"mul", "__mul__", "__rmul__", "multiply"})
_DIFFERENCES: Final = frozenset({"sub", "__sub__", "__rsub__", "subtract", "rsub"})
_REGRESSIONS: Final = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
_SQUARES: Final = frozenset({"pow", "__pow__", "square", "abs"})
_MADE_OF: Final = (
    _PRODUCTS
    | _DIFFERENCES
    | ALIASES
    | {"add", "__add__", "__radd__", "div", "__truediv__", "neg", "stack", "cat", "clamp"}
)
"""Calls that compute an advantage from values."""
_OF_PROBABILITIES: Final = (
    _DIFFERENCES | ALIASES | {"neg", "sum", "gather", "exp", "clamp", "add", "__add__"}
)
"""Calls that compute a ratio, or a sum over actions, from log-probabilities."""
_LOGARITHMS: Final = frozenset({"log_softmax", "logsigmoid", "cross_entropy", "nll_loss"})
_MOST: Final = 100
"""Tensors after which a value is computed from too much: a state that a loop has added to."""


@dataclass(frozen=True, kw_only=True)
class Weight(Finding):
    """The product, and which of its factors is the advantage."""

    side: int


def advantages(history: History) -> Iterator[Weight]:
    """Products of a log-probability and a difference of values that a regression fits, too."""
    ran = {run.node for _, run in history.runs}
    told: set[object] = set()
    for place, event in history.told(Operation):
        two = event.reads
        if event.name not in _PRODUCTS or event.node not in ran or event.recomputed:
            continue
        if len({*two}) != 2 or not {*two} <= {*event.required} or len(event.inputs) < 2:
            continue
        for side in (1, 0):
            line = history.line(place)
            at = line and (line.code, line.line)
            if at in told or not _is_of_probability(two[1 - side], history):
                continue
            if _is_regressed(two[side], history):
                told.add(at)
                yield _finding(place, event, side, history)
                break


def _behind(key: str, through: frozenset[str], history: History) -> list[str]:
    """The tensors from which one is computed by nothing but some calls, the nearest first; not
    more than an advantage or a probability has."""
    found = {key: None}
    todo = deque([key])
    while todo and len(found) < _MOST:
        made = history.makers.get(todo.popleft())
        for one in () if made is None or made[1].name not in through else made[1].required:
            if one not in found:
                found[one] = None
                todo.append(one)
    return list(found)


def _is_of_probability(key: str, history: History) -> bool:
    for one in _behind(key, _OF_PROBABILITIES, history):
        made = history.makers.get(one)
        if made is None:
            continue
        site = site_of(history, *made)
        if made[1].name in _LOGARITHMS or (site and site.call_of("log_prob")):
            return True
    return False


def _is_regressed(key: str, history: History) -> bool:
    """Whether values of which a tensor has a difference are also one side of a regression."""
    values = {
        part
        for one in _behind(key, _MADE_OF, history)
        for side in _sides(one, history)
        for part in _behind(side, _MADE_OF, history)
    }
    if not values:
        return False
    ran = {run.node for _, run in history.runs}
    for _, event in history.told(Operation):
        if event.node not in ran or not event.reads:
            continue
        compared: list[str] = []
        if event.name in _REGRESSIONS:
            compared = [one for one in event.reads[:2] if one in event.required]
        elif event.name in _SQUARES or (event.name in _PRODUCTS and len({*event.reads}) == 1):
            compared = _sides(event.reads[0], history)
        if any(values.intersection(_behind(one, _MADE_OF, history)) for one in compared):
            return True
    return False


def _sides(key: str, history: History) -> list[str]:
    """The sides that require grad of a difference of two tensors."""
    made = history.makers.get(key)
    if made is None or made[1].name not in _DIFFERENCES or len({*made[1].reads}) != 2:
        return []
    return [one for one in made[1].reads if one in made[1].required]


def _finding(place: EventPlace, event: Operation, side: int, history: History) -> Weight:
    step, line = place[0], history.line(place)
    weight, key = event.inputs[side], event.reads[side]
    name = history.name(weight.tensor, step)
    it = "the advantage" if name is None or weight.tensor is None else Term(weight.tensor, name)
    made = history.makers.get(key)
    at = None if made is None else history.line(made[0])
    return Weight(
        history=history,
        step=step,
        noticed=line,
        words={"it": it, "line": history.line_term(at), "product": history.line_term(line)},
        variables=(name,),
        node=history.node(event.node, step),
        causes=(Cause("other", say("multiplies {} with a log-probability", it), line),),
        by=event.name,
        site=site_of(history, place, event),
        side=side,
    )


def constant_weight(found: Weight) -> Iterator[Fix]:
    """The advantage without its graph."""
    factor = _factor(found.site, found.side)
    if found.site is not None and factor is not None:
        change = Rewriting(found.site.statement, tuple(called(factor, "detach()")))
        yield change.fix(say("makes the advantage a constant of the policy's loss"))


def _factor(site: Site | None, side: int) -> ast.expr | None:
    node = None if site is None else site.node
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    return (node.left, node.right)[side]
