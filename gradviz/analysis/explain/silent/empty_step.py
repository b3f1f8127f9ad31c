"""Optimizers that never get a gradient, and parameters that are left out in each step."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.code.statements import statements_of
from gradviz.analysis.cuts import Cut, cut_words
from gradviz.analysis.dataflow import Dataflow
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.replaced_parameter import replaced_parameters
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import TrainingStep, training_steps
from gradviz.model.events import Accumulated, Operation
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import Sentence, say

_ROUNDS = 2
"""Steps that must have left a parameter out."""
_MOST = 3
"""Parameters whose way to the loss is followed."""


@dataclass(frozen=True)
class _Optimizer:
    """The steps of an optimizer."""

    steps: tuple[TrainingStep, ...]
    parameters: tuple[str, ...]
    without: tuple[str, ...]
    """Parameters that had no gradient at any step and that no backward filled."""
    used: dict[str, EventPlace]
    """Those of them that the forward used, and when."""


def steps_without_gradients(history: History) -> Iterator[Finding]:
    """Optimizers all of whose steps change nothing, though the forward used their parameters."""
    for one in _optimizers(history):
        if one.without != one.parameters or _are_written(one, history):
            continue
        first = one.steps[0]
        starts = [
            (place, event)
            for place, event in history.started.values()
            if place < one.steps[-1].place and event.accumulates and event.inside is None
        ]
        if not starts:
            if one.used:
                yield _empty(one, "", history.line(first.place), None, history)
            continue
        place, event = max([s for s in starts if s[0] < first.place] or starts[:1])
        line = history.line(place)
        leaf = next((_leaf(node, place, history) for node, _ in event.roots), None)
        if leaf is not None and one.used:
            made = history.makers.get(leaf)
            at = history.line(history.born(leaf) if made is None else made[0])
            yield _empty(one, "leaf", at, leaf, history)
            continue
        twins = _twins(one, history)
        if twins:
            yield _empty(one, "others", line, twins[0], history, twins)
        elif one.used:
            cut = _cut(one.without, place, history)
            yield _empty(one, "cut", line if cut is None else cut.at, None, history, (), cut)


def left_out(history: History) -> Iterator[Finding]:
    """Parameters that each step of their optimizer passes over, while others are updated."""
    for one in _optimizers(history):
        keys = [key for key in one.without if key in one.used]
        is_part = len(one.without) < len(one.parameters)
        if not keys or not is_part or len(one.steps) < _ROUNDS:
            continue
        starts = [p for p, e in history.started.values() if e.accumulates and e.inside is None]
        if starts:
            yield from _passed_over(one, keys, max(starts), history)


def _optimizers(history: History) -> Iterator[_Optimizer]:
    if history.counted:
        return
    groups: dict[tuple[str, ...], list[TrainingStep]] = defaultdict(list)
    for one in training_steps(history):
        groups[one.stepped.parameters].append(one)
    filled = {event.tensor for _, event in history.told(Accumulated)}
    claimed = {swap.old for one in replaced_parameters(history) for swap in one.swaps}
    for parameters, steps in groups.items():
        skipped = set.intersection(*({*one.stepped.skipped} for one in steps))
        if skipped & claimed:
            continue
        without = tuple(key for key in parameters if key in skipped and key not in filled)
        used: dict[str, EventPlace] = {}
        for place, event in history.told(Operation):
            if event.made and not {*event.reads} & {*event.made}:
                for key in {*event.reads} & {*without}:
                    used.setdefault(key, place)
        yield _Optimizer(tuple(steps), parameters, without, used)


def _are_written(one: _Optimizer, history: History) -> bool:
    """Whether something else may write the parameters, as an optimizer of the user's does that
    needs no gradients."""
    since = min(one.used.values(), default=one.steps[0].place)
    if one.used and since[0] == one.steps[0].place[0]:
        return True  # all in one line: what else it did is not known
    rows = (history.tensor(key, one.steps[-1].place[0]) for key in one.parameters)
    acts = (act for row in rows if row is not None for act in history.acts[row.storage])
    return any(not act.is_before(since) for act in acts)


def _leaf(node: str, place: EventPlace, history: History) -> str | None:
    """The leaf at which a backward started."""
    row = history.node(node, place[0])
    return None if row is None else row.variable


def _twins(one: _Optimizer, history: History) -> tuple[str, ...]:
    """Leaves of the same sizes that get gradients instead: those of a copy, or of another model."""
    last = len(history.recording.records)
    filled = dict.fromkeys(e.tensor for _, e in history.told(Accumulated) if e.tensor)
    everywhere = {key for step in training_steps(history) for key in step.stepped.parameters}
    rows = [history.tensor(key, last) for key in filled if key not in everywhere]
    mine = [history.tensor(key, last) for key in one.parameters]
    sizes = sorted(row.shape for row in rows if row is not None)
    is_same = sizes == sorted(row.shape for row in mine if row is not None)
    return tuple(row.id for row in rows if row is not None) if is_same else ()


def _cut(keys: tuple[str, ...], place: EventPlace, history: History) -> Cut | None:
    """The call at which the graph ends between parameters and the root of a backward."""
    flow = Dataflow(history, PythonValues(history))
    event = next(e for p, e in history.started.values() if p == place)
    made = {op.node: key for _, op in history.told(Operation) for key in op.made[:1] if op.node}
    roots = [made[node] for node, _ in event.roots if node in made]
    for key in keys[:_MOST]:
        frozen = history.switched_off(key, place[0])
        if frozen is not None:
            return flow.frozen(key)
        uses = flow.on(key, roots) if roots else None
        if uses is not None and uses.is_sure and uses.cuts:
            # With create_graph=True a gradient would have a graph; past another cut none goes on.
            return next((one for one in uses.cuts if one.reason != "create_graph"), uses.cuts[0])
    return None


def _empty(
    one: _Optimizer,
    case: str,
    at: CodeLine | None,
    leaf: str | None,
    history: History,
    twins: tuple[str, ...] = (),
    cut: Cut | None = None,
) -> Finding:
    first = one.steps[0]
    step = first.place[0]
    names = few_of(one.parameters, step, history)
    did = {
        "": say("{} ran, and no backward before it", first.label),
        "leaf": say("makes {}, a leaf: it has no graph", history.tensor_term(leaf, step)),
        "others": say("backward fills the .grad of other tensors"),
        "cut": say("backward comes to none of its parameters"),
    }[case]
    if cut is not None:
        did = cut_words(cut, history.tensor_term(next(iter(cut.tensors), None), cut.step))
    return Finding(
        history=history,
        step=step,
        noticed=history.line(first.place),
        case=case,
        words={
            "label": first.label,
            "as": "as it is" if len(one.parameters) == 1 else "as they are",
            "their": "its" if len(one.parameters) == 1 else "their",
            "names": names,
            "it": history.tensor_term(leaf, step),
            "others": few_of(twins, step, history),
            "line": history.line_term(at),
            "cut": Sentence() if cut is None else say(": {}", did),
        },
        variables=(
            *((history.name(leaf, step),) if case == "leaf" else ()),
            *(history.name(key, step) for key in one.parameters),
        ),
        causes=(Cause("other" if cut is None else "cut", did, at),),
        targets={"parameters": list(one.parameters)},
    )


def _passed_over(
    one: _Optimizer, keys: list[str], place: EventPlace, history: History
) -> Iterator[Finding]:
    groups: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        groups[(history.name(key, place[0]) or key).rpartition(".")[0]].append(key)
    found: dict[object, tuple[Cut | None, list[str]]] = {}
    for members in groups.values():
        cut = _cut((members[0],), place, history)
        same = None if cut is None else (cut.call, cut.at and (cut.at.code, cut.at.line))
        found.setdefault(same, (cut, []))[1].extend(members)
    for cut, members in found.values():
        step = one.steps[0].place[0]
        names = few_of(members, step, history)
        info = history.tensor_at(members[0], place[0])
        is_frozen = info is not None and not info.requires_grad
        case = "frozen" if is_frozen else "" if cut is None else "cut"
        at = history.line(one.used[members[0]]) if cut is None else cut.at
        did = say("uses {}", names)
        if cut is not None:
            did = cut_words(cut, history.tensor_term(next(iter(cut.tensors), None), cut.step))
        yield Finding(
            history=history,
            step=step,
            noticed=history.line(step),
            case=case,
            words={
                "names": names,
                "label": one.steps[0].label,
                "steps": len(one.steps),
                "get": "gets" if len(members) == 1 else "get",
                "do": "does" if len(members) == 1 else "do",
                "them": "it" if len(members) == 1 else "them",
                "cut": did,
            },
            variables=tuple(history.name(key, step) for key in members),
            causes=(Cause("other" if cut is None else "cut", did, at),),
        )


def with_backward(found: Finding) -> Iterator[Fix]:
    """A call of ``backward`` that was only named."""
    statement = next(
        (
            one
            for code in found.history.recording.codes
            for one in statements_of(code)
            if isinstance(one.node, ast.Expr)
            and isinstance(one.node.value, ast.Attribute)
            and one.node.value.attr == "backward"
        ),
        None,
    )
    if found.case == "" and statement is not None:
        code = f"{statement.segment(statement.node)}()"
        yield Fix(say("calls backward"), code, "instead", statement.at)
