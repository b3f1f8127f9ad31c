"""Graphs of earlier passes that something keeps, so that they grow with each pass."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import Statement, calls_in, statement_of
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.model.events import BackwardEnded
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import History
from gradviz.model.reachability import entries, reachable
from gradviz.model.sentence import Sentence, Term, say

PASSES = 3
"""Passes before the last one of which nodes must be there still."""
_LINKS = 2
"""Passes that must have computed a variable from what it was in the pass before."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """What keeps the graphs of earlier passes."""

    name: str
    key: str
    step: int
    """When it took the first of them."""
    holds: bool
    """Whether it is a container of tensors; else a tensor computed from the one of the pass
    before."""
    is_flat: bool = True
    """Whether the items of the container are the tensors themselves."""


@dataclass(frozen=True, kw_only=True)
class KeptGraphs(Finding):
    """What keeps them."""

    statement: Statement | None
    keeper: Keeper


def kept_graphs(history: History) -> Iterator[KeptGraphs]:
    """A variable or container that refers to the graphs of all passes, though their backwards
    have run."""
    if history.counted:
        return
    starts = {
        number: place[0]
        for number, (place, event) in history.started.items()
        if event.accumulates and not event.create_graph and event.inside is None
    }
    ends = {e.number: place[0] for place, e in history.told(BackwardEnded) if e.number in starts}
    lines: dict[object, list[int]] = defaultdict(list)
    for number, step in starts.items():
        at = history.line(step)
        lines[at and (at.code, at.line)].append(number)
    for numbers in lines.values():
        if len(numbers) > PASSES:
            yield from _kept([ends.get(one, starts[one]) for one in sorted(numbers)], history)


def _kept(ends: list[int], history: History) -> Iterator[KeptGraphs]:
    last, before = ends[-1], ends[:-1]
    passes: dict[int, set[str]] = defaultdict(set)
    numbers: dict[str, int] = {}
    for node in history.nodes(len(history.recording.records) - 1):
        born = history.birth(node.id)[0]
        if node.variable is not None or not born:
            continue
        numbers[node.id] = number = bisect_left(ends, born)
        if number < len(before) and history.is_alive(node.id, last):
            passes[number].add(node.id)
    if len(passes) < PASSES or sorted(passes) != [*range(len(before) - len(passes), len(before))]:
        return
    end = len(history.recording.records) - 1
    keeper = (
        chain_of(passes, numbers, history)
        or container_of(passes, last, history)
        or container_of(passes, end, history)  # a function may not see what it fills
    )
    if keeper is not None:
        yield kept_by(keeper, passes, last, history, "list" if keeper.holds else "")


def chain_of(
    passes: dict[int, set[str]], numbers: dict[str, int], history: History
) -> Keeper | None:
    """A variable that each pass computes from what it was in the pass before.

    Args:
        passes: The nodes that are kept, by pass.
        numbers: The pass of each node.
        history: The recording.
    """
    found: dict[str, tuple[str, int]] = {}
    count: Counter[str] = Counter()
    chained: set[str] = set()
    last = len(history.recording.records) - 1
    members: dict[int, list[str]] = defaultdict(list)
    for key, number in numbers.items():
        members[number].append(key)
    for number, keys in sorted(members.items()):
        earlier = passes.get(number - 1, set())
        older = passes.get(number - 2, set())
        names = set()
        for key in keys:
            step = history.birth(key)[0]
            for other in entries(history.node(key, step)):
                if other not in earlier:
                    continue
                behind = reachable([other], lambda one: entries(history.node(one, last)))
                for tensor in history.outputs_of(other, step):
                    name = history.name(tensor, step)
                    if name is not None:
                        names.add(name)
                        found.setdefault(name, (tensor, step))
                        if older.intersection(behind):
                            chained.add(name)
        count.update(names)
    often = [name for name, times in count.items() if times >= _LINKS and name in chained]
    if not often:
        return None
    name = min(often, key=lambda one: found[one][1])
    return Keeper(name, *found[name], False)


def container_of(passes: dict[int, set[str]], last: int, history: History) -> Keeper | None:
    """A list or the like that has a tensor of each pass at a step."""
    found: dict[str, tuple[str, int]] = {}
    held: dict[str, set[int]] = defaultdict(set)
    deep: set[str] = set()
    for row in history.tensors_at(last):
        for number, nodes in passes.items():
            if row.node not in nodes:
                continue
            for name in row.names:
                base = re.sub(r"\[.*$", "", name)
                if base != name:
                    held[base].add(number)
                    deep |= set() if re.fullmatch(r"\[[^]]*\]", name[len(base) :]) else {base}
                    found.setdefault(base, (row.id, _named_since(row.id, name, last, history)))
    bases = [base for base, numbers in held.items() if len(numbers) >= len(passes)]
    if not bases:
        return None
    return Keeper(bases[0], *found[bases[0]], True, bases[0] not in deep)


def _named_since(key: str, name: str, last: int, history: History) -> int:
    """The step at which a tensor got one of its names."""
    rows = ((step, history.tensor_at(key, step)) for step in range(history.born(key) or 0, last))
    return next((step for step, row in rows if row is not None and name in row.names), last)


def kept_by(
    keeper: Keeper,
    passes: dict[int, set[str]],
    step: int,
    history: History,
    case: str,
    loop: Sentence | str = "",
) -> KeptGraphs:
    """The finding.

    Args:
        keeper: What keeps the graphs.
        passes: The nodes that are kept, by pass.
        step: When that is noticed.
        history: The recording.
        case: Which sentences say it.
        loop: The loop whose turns the passes are.
    """
    counts = [len(passes[number]) for number in sorted(passes)][1:]
    line = history.line(keeper.step)
    it = Term(keeper.key, keeper.name)
    did = say("keeps the graph of each pass in {}", it)
    return KeptGraphs(
        history=history,
        step=step,
        noticed=history.line(step),
        case=case,
        words={
            "it": it,
            "nodes": Counter(counts).most_common(1)[0][0],
            "line": history.line_term(line),
            "loop": loop,
        },
        variables=(keeper.name,),
        causes=(Cause("other", did, line),),
        statement=None if line is None else statement_of(history, line),
        keeper=keeper,
    )


def detached(found: KeptGraphs) -> Iterator[Fix]:
    """The value without its graph."""
    statement = found.statement
    if statement is None:
        return
    value: ast.expr | None = None
    if found.keeper.holds:
        calls = calls_in(statement, "append") if found.keeper.is_flat else []
        value = calls[0].args[0] if len(calls) == 1 and len(calls[0].args) == 1 else None
    elif isinstance(statement.node, ast.AugAssign) and isinstance(statement.node.op, ast.Add):
        value = statement.node.value
    if isinstance(value, (ast.Name, ast.Attribute, ast.Call)):
        change = Rewriting(statement, tuple(called(value, "detach()")))
        yield change.fix(say("keeps the value without its graph"))
