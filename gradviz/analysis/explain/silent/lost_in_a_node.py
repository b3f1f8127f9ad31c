"""Parameters whose gradient is always None or 0 because a node hands on none, whatever it gets."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.cuts import has_no_gradient
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.returned_gradients import entries_of, is_backward_of, returns_of
from gradviz.analysis.explain.fixes.rewriting import Rewriting
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import (
    UPDATE,
    TrainingStep,
    is_empty,
    passed_over_by_hand,
    training_steps,
    updates_by_hand,
)
from gradviz.model.calls import calls_of
from gradviz.model.derivatives.zero import is_zero_everywhere
from gradviz.model.events import Accumulated, BackwardStarted, NodeRan, Operation
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.history import ALIASES, EventPlace, History
from gradviz.model.operations import operation_of
from gradviz.model.records import Node, ValueSummary
from gradviz.model.sentence import Sentence, Term, say

_ROUNDS = 2
"""Steps that must have had no gradient: another loss may come between."""
_ROUNDED: Final = frozenset({"round", "floor", "ceil", "trunc", "fix"})
"""Operations whose results are near the values that they get."""
_STEPWISE: Final = _ROUNDED | {"sign", "sgn", "floor_divide", "__floordiv__", "heaviside"}
"""Those, and others whose derivative is 0 wherever there is one."""
_DRAWN: Final = frozenset({"bernoulli", "normal", "poisson"})
"""Operations that draw random numbers."""
_SAME: Final = ALIASES | {"clone", "contiguous", "to", "type_as"}
"""Operations whose results have the values that they get."""
_Place: TypeAlias = "tuple[str, int]"
"""A node, and a place in its ``next_functions``."""


@dataclass(frozen=True, kw_only=True)
class LostInANode(Finding):
    """The call that made the node which hands on nothing."""

    maker: tuple[EventPlace, Operation] | None = None


@dataclass(frozen=True)
class _Lost:
    """A parameter without a gradient, and where that was lost in its first backward."""

    key: str
    label: str
    """What updates it."""
    rounds: int
    """Backwards with a step that had no gradient for it."""
    place: EventPlace
    """When the first backward began."""
    ends: tuple[tuple[Node, NodeRan], ...]
    """Nodes that got a gradient and handed on none towards it."""
    is_alone: bool
    """Whether the steps train nothing else: a part of a model may be meant to stay as it is."""


def withheld(history: History) -> Iterator[LostInANode]:
    """Custom Functions whose backward returns None for what depends on a parameter."""
    groups: dict[tuple[str, str], list[_Lost]] = defaultdict(list)
    for one in _lost(history):
        for name in dict.fromkeys(node.name for node, _ in one.ends if _is_function(node)):
            groups[name, one.label].append(one)
    for (name, _), group in groups.items():
        yield _withheld(name, group, history)


def zero_everywhere(history: History) -> Iterator[LostInANode]:
    """Operations whose derivative is 0 everywhere, on all ways from a parameter to the loss."""
    groups: dict[object, list[tuple[_Lost, Node]]] = defaultdict(list)
    for one in _lost(history):
        found: dict[object, Node] = {}
        for node, _ in one.ends:
            line = history.made_at(node)
            if not _is_function(node):
                found.setdefault((node.name, line and (line.code, line.line)), node)
        for at, node in found.items():
            groups[at, one.label].append((one, node))
    for group in groups.values():
        yield _zero(group, history)


def without_rounding(found: LostInANode) -> Iterator[Fix]:
    """The loss gets the values that are not rounded."""
    if found.maker is None or found.maker[1].name not in _ROUNDED:
        return
    place, event = found.maker
    site = site_of(found.history, place, event)
    call = None if site is None else site.call_of(event.name)
    if site is None or call is None or call.keywords:
        return
    is_function = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "torch"
    value = call.args[0] if is_function and len(call.args) == 1 else None
    if isinstance(call.func, ast.Attribute) and not is_function and not call.args:
        value = call.func.value
    if value is None:
        return
    text = site.statement.segment(value)
    is_whole = getattr(site.statement.node, "value", None) is call
    is_one = is_whole or not isinstance(value, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare))
    change = Rewriting(site.statement, ((call, text if is_one else f"({text})"),))
    yield change.fix(say("the loss gets the values before they are rounded"))


# ------------------------------------------------------------- where gradients are lost


def _lost(history: History) -> list[_Lost]:
    """Parameters that never got a gradient which is not 0, if each end is known to hand on none
    whatever the values are."""
    if history.counted:
        return []
    steps: dict[str, list[TrainingStep]] = defaultdict(list)
    by_hand = (*updates_by_hand(history), *passed_over_by_hand(history))
    for step in (*training_steps(history), *by_hand):
        for key in step.stepped.parameters:
            steps[key].append(step)
    given: dict[str, dict[int, ValueSummary | None]] = defaultdict(dict)
    for _, event in history.told(Accumulated):
        if event.tensor in steps and not event.retained:
            given[event.tensor][event.backward] = event.gradient
    for _, start in history.told(BackwardStarted):
        for key in start.inputs if not start.accumulates else ():
            if key in steps:
                given[key].setdefault(start.number, None)
    known = {key: given[key] for key in steps if key in given}
    empty = {key: [*of] for key, of in known.items() if all(map(is_empty, of.values()))}
    ends = _Ends(history) if empty else None
    trained = {*known} - {*empty}
    return [
        found
        for key, numbers in empty.items()
        if ends is not None and not _has_other_source(key, min(numbers), steps[key], history)
        for found in [ends.of(key, numbers, tuple(steps[key]), trained)]
        if found is not None
    ]


def _has_other_source(
    key: str, first: int, steps: Sequence[TrainingStep], history: History
) -> bool:
    """Whether something else gives it a gradient, or a value since the first of its backwards."""
    rows = [one.before(key) for one in steps]
    if any(row is None or not is_empty(row.grad) for row in rows):
        return True
    own = {one.place[0] for one in steps if one.stepped.name == UPDATE}
    since = history.started[first][0] if first in history.started else (0, 0)
    acts = history.acts[rows[0].storage] if rows[0] is not None else ()
    return any(
        act.event.agent != "optimizer" and act.place[0] not in own and not act.is_before(since)
        for act in acts
    )


class _Ends:
    """For each backward, the nodes at which gradients were lost, by the nodes behind them.

    Args:
        history: The recording.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._by_number: dict[int, dict[str, dict[_Place, None] | None]] = {}

    def of(
        self, key: str, numbers: Sequence[int], steps: tuple[TrainingStep, ...], trained: Set[str]
    ) -> _Lost | None:
        """Where the gradients of a parameter were lost in backwards with these numbers.

        Args:
            key: The parameter.
            numbers: The backwards.
            steps: What updates it.
            trained: Parameters that got a gradient.
        """
        history, first = self._history, None
        for number in numbers:
            if number not in history.started:
                return None
            places = self._places(key, number)
            if not places or not all(self._is_known(place, number) for place in places):
                return None
            first = first or (number, places)
        if first is None:
            return None
        number, places = first
        place, _ = history.started[number]
        found = ((self._row(node), history.node_runs[number, node][1]) for node, _ in places)
        ends = tuple((node, run) for node, run in found if node is not None)
        is_alone = all(trained.isdisjoint(one.stepped.parameters) for one in steps)
        return _Lost(key, steps[0].label, min(len(steps), len(numbers)), place, ends, is_alone)

    def _row(self, node: str) -> Node | None:
        return self._history.node(node, len(self._history.recording.records))

    def _is_known(self, place: _Place, number: int) -> bool:
        """Whether a node hands on nothing there whatever the values are."""
        node, run = self._row(place[0]), self._history.node_runs[number, place[0]][1]
        if node is None:
            return False
        if _is_function(node):
            return run.grad_inputs[place[1]] is None and _is_shown(node, self._history)
        dtype = next((one.dtype for one in run.grad_outputs if one is not None), "")
        return is_zero_everywhere(node, place[1], dtype)

    def _places(self, key: str, number: int) -> tuple[_Place, ...]:
        """The entries at which gradients on their way to a leaf were lost; none if any is not."""
        found: dict[_Place, None] = {}
        for node in self._history.nodes_of(key):
            row = self._row(node)
            if row is not None and row.variable == key:
                places = self._in_backward(number).get(node, {})
                if places is None:
                    return ()
                found.update(places)
        return tuple(found)

    def _in_backward(self, number: int) -> dict[str, dict[_Place, None] | None]:
        """The same for each node that got nothing; ``None`` if something else came to it."""
        if number not in self._by_number:
            self._by_number[number] = self._followed(number)
        return self._by_number[number]

    def _followed(self, number: int) -> dict[str, dict[_Place, None] | None]:
        found: dict[str, dict[_Place, None] | None] = {}
        _, runs = self._history.ran(number, -1)
        for run in runs:
            row = self._row(run.node)
            got = [one for one in run.grad_outputs if not is_empty(one)]
            is_known = all(one.norm is not None for one in got if one is not None)
            mine = found.get(run.node)
            for slot, entry in enumerate(() if row is None else row.next_functions):
                if entry is None:
                    continue
                has_none = slot < len(run.grad_inputs) and is_empty(run.grad_inputs[slot])
                behind: dict[_Place, None] | None = mine
                if got:
                    behind = {(run.node, slot): None} if is_known else None
                before = found.setdefault(entry[0], {})
                if not has_none or behind is None or before is None:
                    found[entry[0]] = None
                else:
                    before.update(behind)
        return found


# ------------------------------------------------------------------- custom Functions


def _is_function(node: Node) -> bool:
    """Whether a node is of a custom Function."""
    return node.formula is None and node.name.endswith("Backward")


def _is_shown(node: Node, history: History) -> bool:
    """Whether its backward is no part of torch; a recording shows those that withhold."""
    name = node.name.removesuffix("Backward")
    codes = history.recording.codes
    return any(is_backward_of(one, name) for one in codes) or bool(returns_of(codes, name))


def _withheld(name: str, group: list[_Lost], history: History) -> LostInANode:
    one = group[0]
    node, run = next(end for end in one.ends if end[0].name == name)
    step, keys = one.place[0], [each.key for each in group]
    names, function = few_of(keys, step, history), name.removesuffix("Backward")
    returned = returns_of(history.recording.codes, function)
    with_none = [line for line in returned if any(map(_is_none, entries_of(line)))]
    lines = with_none if len(with_none) == 1 else returned
    statement = lines[0] if len(lines) == 1 else None
    at = None
    if statement is not None:
        at = CodeLine(statement.line, statement.text, statement.code.name)
    is_direct = any(_leads_to(node, each.key, history) for each in group)
    gives = any(gradient is not None for gradient in run.grad_inputs)
    is_sure = gives and one.rounds >= _ROUNDS and _is_smooth(node, run, history)
    what = say("{}.backward returned None for it", function)
    calls = history.made_at(node)
    more = () if at is not None else (_which_line(function),)
    return LostInANode(
        history=history,
        step=step,
        noticed=history.line(one.place),
        case="" if is_sure else "look",
        words={
            "function": Term(node.id, function),
            "what": names if is_direct else say("what is computed from {}", names),
            "names": names,
            "label": one.label,
            "steps": _times(one.rounds),
        },
        variables=tuple(history.name(key, step) for key in keys),
        node=node,
        causes=(
            Cause("other", what, at),
            Cause("save", say("{}.apply made the node", function), calls),
        ),
        targets={"node": [node.id], "parameters": keys},
        unknown=more,
    )


def _times(rounds: int) -> str:
    return "the one backward" if rounds == 1 else f"each of {rounds} backwards"


def _which_line(function: str) -> Sentence:
    return say(
        "which line of {}.backward returns it; write one return in it, in a file or cell", function
    )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _leads_to(node: Node, key: str, history: History) -> bool:
    """Whether a parameter is an input of a node itself."""
    targets = (history.node(entry[0], len(history.recording.records))
               for entry in node.next_functions if entry is not None)  # fmt: skip
    return any(row is not None and row.variable == key for row in targets)


def _is_smooth(node: Node, run: NodeRan, history: History) -> bool:
    """Whether the forward computes its result from each input for which there is no gradient, by
    calls that have a derivative. What rounds or compares has none, and may be approximated; so
    may what gives the values of one input with the gradient of another. A parameter of one number
    may be a setting."""
    end = len(history.recording.records)
    for slot, entry in enumerate(node.next_functions):
        if entry is not None and run.grad_inputs[slot] is None:
            row = history.node(entry[0], end)
            keys = {row.variable} if row is not None and row.variable else set()
            leaves = (history.tensor(key, end) for key in keys)
            if any(leaf is not None and math.prod(leaf.shape) == 1 for leaf in leaves):
                return False
            made = (e.made for _, e in history.told(Operation) if e.node == entry[0])
            keys.update(*made)
            inside = _inside({key for key in keys if key}, history)
            if any(map(_is_stepwise, inside)) or all(one.name in _SAME for one in inside):
                return False
    return True


def _inside(keys: set[str], history: History) -> list[Operation]:
    """Calls in forwards of custom Functions that compute something from tensors."""
    found: list[Operation] = []
    for call in calls_of(history):
        event = call.operation
        # Results of the first of them do not require grad, inside.
        is_inside = event is not None and event.reason in (
            "custom Function", "no input requires grad",
        )  # fmt: skip
        if event is None or not is_inside or call.is_recomputed:
            continue
        if not keys.isdisjoint(call.reads):
            found.append(event)
            keys.update(call.made)
    return found


def _is_stepwise(event: Operation) -> bool:
    dtypes = [one.dtype for one in event.outputs if one.dtype is not None]
    name = event.name.removesuffix("_") if not event.name.endswith("__") else event.name
    return name in _STEPWISE | _DRAWN or any(map(has_no_gradient, dtypes)) or not event.made


# -------------------------------------------------------------- derivatives that are 0


def _zero(group: list[tuple[_Lost, Node]], history: History) -> LostInANode:
    one, node = group[0]
    step, keys = one.place[0], [each.key for each, _ in group]
    names, line = few_of(keys, step, history), history.made_at(node)
    made = [(p, e) for p, e in history.told(Operation) if e.node == node.id and not e.recomputed]
    maker = made[0] if len(made) == 1 else None
    name = operation_of(node) if maker is None else maker[1].name
    it = Term(node.id, node.name)
    is_drawn = name.removesuffix("_") in _DRAWN
    case = "drawn" if is_drawn else ""
    if one.rounds < _ROUNDS or not one.is_alone:
        case = "drawn look" if is_drawn else "look"
    return LostInANode(
        history=history,
        step=step,
        noticed=history.line(one.place),
        case=case,
        words={
            "names": names,
            "operation": Term(node.id, name),
            "line": history.line_term(line),
            "label": one.label,
            "steps": _times(one.rounds),
            "has": "has" if len(keys) == 1 else "have",
        },
        variables=tuple(history.name(key, step) for key in keys),
        node=node,
        causes=(Cause("other", say("{} hands on 0 for each gradient", it), line),),
        targets={"node": [node.id], "parameters": keys},
        maker=maker,
    )
