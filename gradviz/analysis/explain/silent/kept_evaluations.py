"""Graphs of the turns of a loop that something keeps, and to which no backward came."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

from gradviz.analysis.code.statements import Statement, statement_of
from gradviz.analysis.explain.silent.kept_graphs import (
    PASSES,
    Keeper,
    KeptGraphs,
    chain_of,
    container_of,
    kept_by,
    kept_graphs,
)
from gradviz.model.events import BackwardStarted, Operation
from gradviz.model.explanation import CodeLine
from gradviz.model.history import History
from gradviz.model.reachability import entries, reachable
from gradviz.model.records import TensorInfo

_NUMBERS = frozenset({"left torch", "not differentiable", "detach", ".data", "no_grad"})
"""Why an operation is not recorded that takes the values of a tensor without its graph."""
_Loop = tuple[str, int]
"""Code and line of the head of a loop."""


@dataclass(frozen=True)
class _Turns:
    """The nodes that the turns of a loop made."""

    head: CodeLine
    kept: dict[int, set[str]]
    """Those that exist at the end and that no backward ran, by turn."""
    numbers: dict[str, int]
    """The turn of every node."""


def kept_evaluations(history: History) -> Iterator[KeptGraphs]:
    """A variable or container that refers to the graphs of all turns of a loop, of which the
    program used the values only."""
    if history.counted:
        return
    for turns in _loops(history):
        found = _kept(turns, history)
        if found is not None:
            if found.keeper.name not in {one.keeper.name for one in kept_graphs(history)}:
                yield found
            return  # a loop in it keeps the same


def _kept(turns: _Turns, history: History) -> KeptGraphs | None:
    kept, end = turns.kept, len(history.recording.records) - 1
    if len(kept) <= PASSES or sorted(kept) != [*range(min(kept), max(kept) + 1)]:
        return None
    used = _used_by_all(turns, end, history)
    if not used:
        return None  # a loop over the layers of a model
    chain = chain_of(kept, turns.numbers, history)
    keeper, case = chain, "unreached"
    if keeper is None:
        keeper, case = container_of(kept, end, history), "unreached list"
    if keeper is None:
        keeper, case = _joined(kept, turns.numbers, end, history), ""
    if keeper is None:
        return None
    if not _was_passed_over(turns, history):
        is_chain = chain is not None or _is_chained(turns, end, history)
        own = {row.variable for key in used if (row := history.node(key, end))}
        places = kept if is_chain else _ends(kept, end, history)
        if not _are_numbers_read(places, own if is_chain else None, history):
            return None
        if _is_loss_waiting(kept, end, history):
            return None
    loop = history.line_term(turns.head)
    return kept_by(keeper, kept, keeper.step, history, case, loop)


# ----------------------------------------------------------------- turns of loops


def _loops(history: History) -> Iterator[_Turns]:
    """The loops in which nodes were made, the outermost first."""
    end = len(history.recording.records) - 1
    nodes = [node for node in history.nodes(end) if node.variable is None]
    alone = {n.id for n in nodes if history.is_alive(n.id, end) and n.id not in history.ran_in}
    if len(alone) <= PASSES:
        return
    heads: dict[_Loop, list[int]] = defaultdict(list)
    for step in history.lines:
        line = history.line(step)
        if line is not None and line.line is not None:
            heads[line.code, line.line].append(step)
    callers = _callers(history)
    around: dict[int, list[_Loop]] = {}
    kept: dict[_Loop, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    numbers: dict[_Loop, dict[str, int]] = defaultdict(dict)
    order: dict[_Loop, int] = {}
    for node in nodes:
        born = history.birth(node.id)[0]
        if born not in around:
            around[born] = _loops_around(born, callers, history)
        for depth, loop in enumerate(around[born]):
            order[loop] = max(order.get(loop, 0), depth)
            turn = bisect_left(heads[loop], born)
            numbers[loop][node.id] = turn
            if node.id in alone:
                kept[loop][turn].add(node.id)
    for loop in sorted(kept, key=lambda one: (order[one], one)):
        head = history.line(heads[loop][0]) if heads[loop] else None
        # The head runs once more than the body.
        order_of = {turn: at for at, turn in enumerate(sorted({*numbers[loop].values()}))}
        if head is not None:
            yield _Turns(
                head,
                {order_of[turn]: keys for turn, keys in kept[loop].items()},
                {key: order_of[turn] for key, turn in numbers[loop].items()},
            )


def _loops_around(step: int, callers: dict[int, int | None], history: History) -> list[_Loop]:
    """The loops that run at a step, the outermost first, without those in the forward of a
    module."""
    found: list[_Loop] = []
    at: int | None = step if step in callers else None
    while at is not None:
        statement = statement_of(history, at)
        at = callers[at]
        if statement is None:
            continue
        if _is_in_forward(statement):
            found.clear()
            continue
        inner: list[_Loop] = []
        for one in statement.around:
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner.clear()
            if isinstance(one, (ast.For, ast.While)):
                inner.append((statement.code.name, one.lineno + statement.code.first_line - 1))
        found[:0] = inner
    return found


def _callers(history: History) -> dict[int, int | None]:
    """The step of the line that called the function of which each line is; it ends after it."""
    found: dict[int, int | None] = {}
    open_ones: list[int] = []
    records = history.recording.records
    for step in reversed(history.lines):
        while open_ones and records[open_ones[-1]].depth >= records[step].depth:
            open_ones.pop()
        found[step] = open_ones[-1] if open_ones else None
        open_ones.append(step)
    return found


def _is_in_forward(statement: Statement) -> bool:
    functions = [
        one.name
        for one in statement.around
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return statement.code.name.endswith(": forward") or "forward" in functions


# ------------------------------------------------------------------ what keeps them


def _used_by_all(turns: _Turns, end: int, history: History) -> set[str]:
    """The nodes from before the loop to which all turns lead."""
    each = [
        {
            other
            for key in keys
            for other in entries(history.node(key, end))
            if other not in turns.numbers
        }
        for keys in turns.kept.values()
    ]
    return set.intersection(*each)


def _is_chained(turns: _Turns, end: int, history: History) -> bool:
    """Whether turns are computed from what the turns before computed."""
    return all(
        any(
            turns.numbers.get(other) == turn - 1
            for key in keys
            for other in entries(history.node(key, end))
        )
        for turn, keys in turns.kept.items()
        if turn - 1 in turns.kept
    )


def _joined(
    kept: dict[int, set[str]], numbers: dict[str, int], end: int, history: History
) -> Keeper | None:
    """A tensor that is computed, after the loop, from a tensor of each turn."""
    for row in history.tensors_at(end):
        if row.node is None or row.name is None or row.node in numbers:
            continue
        behind = set(_behind(row.node, history))
        if all(nodes & behind for nodes in kept.values()):
            step = _taken(kept, history.birth(row.node)[0], history)
            return Keeper(row.name, row.id, step, True) if step is not None else None
    return None


def _taken(kept: dict[int, set[str]], joined: int, history: History) -> int | None:
    """The step at which a container took the tensor of the first turn, else that which made it."""
    for step in (joined, joined - 1):
        keeper = container_of(kept, step, history)
        if keeper is not None:
            return keeper.step
    return max((history.birth(key)[0] for key in kept[min(kept)]), default=None)


def _ends(kept: dict[int, set[str]], end: int, history: History) -> dict[int, set[str]]:
    """The last nodes of each turn: those of the tensors through which it is kept."""
    found: dict[int, set[str]] = {}
    for turn, nodes in kept.items():
        inner = {other for key in nodes for other in entries(history.node(key, end))}
        found[turn] = nodes - inner
    return found


# ------------------------------------------------------------- what they were used for


def _are_numbers_read(
    places: dict[int, set[str]], own: set[str | None] | None, history: History
) -> bool:
    """Whether the values of each turn were used without the graph.

    Args:
        places: The nodes of which they are computed, by turn.
        own: If the turns are a chain, the leaves that all of them use: then other parameters must
            have computed the values, and those of every turn. To look at a state is no evaluation.
        history: The recording.
    """
    steps: set[int] = set()
    turns: set[int] = set()
    for place, event in history.told(Operation):
        if event.recorded or not event.required or event.reason not in _NUMBERS:
            continue
        tensors = _tensors_behind(event.required, history)
        if own is not None and not _leaves(tensors, place[0], history) - own:
            continue
        behind = {*_nodes_behind(tensors, place[0], history)}
        here = {turn for turn, nodes in places.items() if nodes & behind}
        turns |= here
        steps |= {place[0]} if here else set()
    return turns == set(places) and (own is None or len(steps) >= PASSES)


def _tensors_behind(keys: Iterable[str], history: History) -> list[str]:
    """The tensors from which tensors are computed with a graph, these among them."""

    def before(key: str) -> tuple[str, ...]:
        made = history.makers.get(key)
        return () if made is None else made[1].required

    return reachable(keys, before)


def _leaves(tensors: Iterable[str], step: int, history: History) -> set[str]:
    rows = ((key, history.tensor(key, step)) for key in tensors)
    return {key for key, row in rows if row is not None and row.is_leaf}


def _nodes_behind(tensors: Iterable[str], step: int, history: History) -> list[str]:
    """The nodes of tensors and those behind them; of a tensor of one line alone none is recorded,
    but the calls are."""
    nodes: dict[str, None] = {}
    for key in tensors:
        made, row = history.makers.get(key), history.tensor(key, step)
        for node in (None if made is None else made[1].node, None if row is None else row.node):
            if node is not None:
                nodes[node] = None
    end = len(history.recording.records) - 1
    return reachable(nodes, lambda one: entries(history.node(one, end)))


def _behind(node: str, history: History) -> list[str]:
    end = len(history.recording.records) - 1
    return reachable([node], lambda one: entries(history.node(one, end)))


def _is_loss_waiting(kept: dict[int, set[str]], end: int, history: History) -> bool:
    """Whether there is a single number of them from which a backward can begin."""
    every: Set[str] = set().union(*kept.values())
    return any(
        row.node is not None and _is_scalar(row) and every & {*_behind(row.node, history)}
        for row in history.tensors_at(end)
    )


def _is_scalar(row: TensorInfo) -> bool:
    return all(size == 1 for size in row.shape)


def _was_passed_over(turns: _Turns, history: History) -> bool:
    """Whether backwards began after several turns, and none came to what these had made: it is
    kept, or was given up."""
    end = len(history.recording.records) - 1
    nodes: dict[int, set[str]] = defaultdict(set)
    for key, turn in turns.numbers.items():
        nodes[turn].add(key)
    gone = {
        turn: keys
        for turn, keys in nodes.items()
        if not any(history.is_alive(key, end) or key in history.ran_in for key in keys)
    }
    backwards = [place[0] for place, event in history.told(BackwardStarted) if event.accumulates]
    last = max(backwards, default=0)
    unused = {**gone, **turns.kept}.values()
    return sum(max(history.birth(key)[0] for key in keys) < last for keys in unused) >= PASSES
