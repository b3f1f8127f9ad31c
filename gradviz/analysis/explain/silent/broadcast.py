"""``(N, 1)`` against ``(N,)``: every prediction is compared with every target."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.code.statements import last_name
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.model.events import Operand, Operation
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.reachability import entries, reachable
from gradviz.model.sentence import Sentence, Term, listed, say

_LOSS_NAMES: Final = (
    "mse_loss l1_loss smooth_l1_loss huber_loss kl_div poisson_nll_loss gaussian_nll_loss "
    "hinge_embedding_loss"
)
"""Losses that broadcast; others raise an error."""
_LOSSES: Final = frozenset(_LOSS_NAMES.split())
_DIFFERENCES: Final = frozenset({"sub", "subtract", "__sub__"})
_PRODUCTS: Final = frozenset({"mul", "multiply", "__mul__"})
_COLUMNS: Final = frozenset({"unsqueeze", "__getitem__", "view", "reshape", "unflatten", "expand"})
"""Operations that make a column of a vector, for pairs that are wanted."""
_FLAT: Final = frozenset({"squeeze", "flatten", "ravel", "view", "reshape"})
_DISTANCES: Final = frozenset({"PowBackward0", "AbsBackward0"})
_SCALED: Final = frozenset({"MulBackward0", "DivBackward0", "NegBackward0", "ClampBackward1"})
_SUMMED: Final = frozenset({"MeanBackward0", "SumBackward0"})
_NORMS: Final = frozenset({"NormBackward0", "LinalgVectorNormBackward0"})


_Way = tuple[str, bool, int, bool]
"""A node on the way of a difference: whether it is a distance by now, how many nodes it went
through, and whether it has been summed up."""


@dataclass(frozen=True)
class BroadcastPairs:
    """A call that compared every element with every other."""

    place: EventPlace
    event: Operation
    column: int
    """Which of the two operands is ``(N, 1)``."""
    ran: EventPlace
    """When backward ran its node."""

    @property
    def operands(self) -> tuple[Operand, Operand]:
        """What is ``(N, 1)``, and what is ``(N,)``."""
        two = self.event.inputs[:2]
        return two[self.column], two[1 - self.column]


@dataclass(frozen=True, kw_only=True)
class Broadcast(Finding):
    """A loss of all pairs."""

    compared: BroadcastPairs


def broadcasts(history: History) -> Iterator[Broadcast]:
    """Differences and losses of shape ``(N, N)`` that should have been of shape ``(N,)``."""
    ran: dict[str, EventPlace] = {}
    for place, run in history.runs:
        ran.setdefault(run.node, place)
    for place, event in history.told(Operation):
        column = _column(event)
        if column is None or _is_wanted(event, column, place, history):
            continue
        user = (place, event) if event.recorded else _weighted_with(event, history)
        if user is None or user[1].node not in ran or not _is_loss(user[1], user[0], history):
            continue
        yield _finding(BroadcastPairs(place, event, column, ran[user[1].node or ""]), history)


def _weighted_with(event: Operation, history: History) -> tuple[EventPlace, Operation] | None:
    """The product of weights of samples, such as advantages, that were computed without a graph."""
    if event.name not in _DIFFERENCES or not event.made:
        return None
    return next(
        (
            (place, user)
            for place, user in history.told(Operation)
            if user.name in _PRODUCTS and user.recorded and event.made[0] in user.reads
        ),
        None,
    )


def _column(event: Operation) -> int | None:
    """Which of two operands is ``(N, 1)`` while the other is ``(N,)``."""
    if event.name not in _LOSSES | _DIFFERENCES | _PRODUCTS or len(event.inputs) < 2:
        return None
    shapes = [operand.shape for operand in event.inputs[:2]]
    for place in (0, 1):
        one, other = shapes[place], shapes[1 - place]
        if one is not None and other and one == (*other, 1):
            return place if prod(_together(one, other)) > prod(other) else None
    return None


def _together(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which two are broadcast."""
    wide = (1,) * (len(one) - len(other)) + other
    return tuple(map(max, one, wide))


def _is_loss(event: Operation, place: EventPlace, history: History) -> bool:
    """Whether it is a loss, or a difference whose squares or the like are summed up; or a product
    with weights of samples that is.

    The mean of differences alone is the same, whichever are paired.
    """
    if event.name in _LOSSES:
        return True
    if event.name in _PRODUCTS and any(_is_leaf(key, place, history) for key in event.reads):
        return False

    is_product = event.name in _PRODUCTS

    def readers(way: _Way) -> Iterator[_Way]:
        key, is_distance, depth, _ = way
        for reader in history.readers(key):
            is_square = reader.name == "MulBackward0" and set(entries(reader)) == {key}
            distance = is_distance or is_square or reader.name in _DISTANCES
            is_sum = reader.name in _NORMS or (distance and reader.name in _SUMMED)
            between = _SCALED if is_product else _DISTANCES | _SCALED
            if is_sum or (depth < 4 and reader.name in between):
                yield reader.id, distance, depth + 1, is_sum

    ways = reachable([(event.node or "", is_product, 0, False)], readers)
    return any(is_sum for *_, is_sum in ways)


def _is_leaf(key: str, place: EventPlace, history: History) -> bool:
    """Whether a tensor is a parameter."""
    info = history.tensor(key, place[0])
    return info is not None and bool(info.is_leaf) and info.requires_grad


def _is_certain(pairs: BroadcastPairs, history: History) -> bool:
    """Whether a module made the column and the row is given: predictions and their targets."""
    event = pairs.event
    keys = event.reads[:2]
    if event.name in _PRODUCTS or len(keys) < 2:
        return False
    column, row = keys[pairs.column], keys[1 - pairs.column]
    made = history.makers.get(column)
    is_output = column in event.required and made is not None and made[1].module is not None
    return is_output and row not in event.required


def _is_wanted(event: Operation, column: int, place: EventPlace, history: History) -> bool:
    """Whether the column was made on purpose: in this line, or of the vector itself."""
    keys = event.reads[:2]
    if len(keys) < 2:
        return True
    made = history.makers.get(keys[column])
    if made is None or made[1].name not in _COLUMNS:
        return False
    in_line = made[0][0] == place[0]
    own = _origin(keys[column], history) == _origin(keys[1 - column], history)
    plain = event.name in _LOSSES and made[1].name in ("view", "reshape")
    return own or (in_line and not plain)


def _origin(key: str, history: History) -> str:
    """The tensor of which others are aliases."""
    for _, made in history.aliases(key):
        key = next(iter(made.reads), key)
    return key


def _finding(pairs: BroadcastPairs, history: History) -> Broadcast:
    event, step = pairs.event, pairs.ran[0]
    column, row = pairs.operands
    size = prod(row.shape or (0,))
    whole = _together(column.shape or (), row.shape or ())
    line = history.line(pairs.place)
    names = [history.name(operand.tensor, pairs.place[0]) for operand in (column, row)]
    sides = " x ".join(map(str, whole))
    cause = say("{} compares {} pairs", event.name, sides)
    return Broadcast(
        history=history,
        step=step,
        noticed=history.line(pairs.ran),
        case="" if _is_certain(pairs, history) else "pairs",
        words={
            "call": event.name,
            "operands": listed([_shaped(o, pairs.place[0], history) for o in event.inputs[:2]]),
            "whole": whole,
            "sides": sides,
            "size": size,
            "pairs": prod(whole),
            "line": history.line_term(line),
        },
        variables=tuple(names),
        node=history.node(event.node, step),
        causes=(Cause("other", cause, line),),
        targets={"node": [event.node]},
        by=event.name,
        site=site_of(history, pairs.place, pairs.event),
        compared=pairs,
    )


def _shaped(operand: Operand, step: int, history: History) -> Sentence:
    name = history.name(operand.tensor, step)
    thing = "a tensor" if name is None or operand.tensor is None else Term(operand.tensor, name)
    return say("{} of shape {}", thing, operand.shape)


def fixes(found: Broadcast) -> Iterator[Fix]:
    """Give both operands one shape."""
    pairs, history = found.compared, found.history
    site = site_of(history, pairs.place, pairs.event)
    two = None if site is None else _two_sides(site, pairs.event, history, pairs.place[0])
    if site is None or two is None:
        if pairs.event.name not in _PRODUCTS:  # of these the column is the prediction
            does = say("gives both shape (N,)")
            yield Fix(does, "prediction = prediction.squeeze(1)", "elsewhere")
        return
    column, row = two[pairs.column], two[1 - pairs.column]
    shape = pairs.operands[1].shape or (0,)
    at = len(shape)
    flat = Rewriting(site.statement, tuple(called(column, f"squeeze({at})")))
    yield flat.fix(say("gives both shape {}", shape))
    if isinstance(row, ast.Call) and last_name(row.func) in _FLAT:
        return  # the two would be undone
    high = Rewriting(site.statement, tuple(called(row, f"unsqueeze({at})")))
    yield high.fix(say("gives both shape {}", (*shape, 1)))


def _two_sides(
    site: Site, event: Operation, history: History, step: int
) -> tuple[ast.expr, ast.expr] | None:
    """The two operands in the text of a line; ``None`` if they are not typed there."""
    node = site.node
    module = (event.module or "").rpartition(".")[2]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Mult)):
        two = node.left, node.right
    elif isinstance(node, ast.Call) and event.name in _LOSSES and len(node.args) >= 2:
        if not module and last_name(node.func) != event.name:
            return None
        two = node.args[0], node.args[1]
    else:
        return None
    names = [history.name(operand.tensor, step) for operand in event.inputs[:2]]
    fits = all(name is None or ast.unparse(side) == name for name, side in zip(names, two))
    return two if fits else None
