"""Values that became Python numbers or arrays on a part of the way to the loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.partial_paths import PartialPaths, arrival_of, has_left
from gradviz.analysis.code.python_values import PythonValues
from gradviz.analysis.cuts import Cut, cut_words, tensors_of
from gradviz.analysis.dataflow import Dataflow
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import stay_on_graph
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.model.events import Accumulated, BackwardStarted, OptimizerStepped, Raised
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.sentence import say

_TURNS: Final = 8
"""How many backwards of one line are looked at: turns of a loop do the same."""


@dataclass(frozen=True, kw_only=True)
class PartialGradient(Finding):
    """A cut, and the backward that did not follow the path through it."""

    cut: Cut


def partial_gradients(history: History) -> Iterator[PartialGradient]:
    """Parameters that get a gradient, of which a value left torch and came into the loss as well.

    What a line has cut off on purpose is not listed: ``detach()``, ``.data``, ``no_grad``; nor a
    running mean that has values of earlier steps. Each line is listed once.
    """
    flow = Dataflow(history, PythonValues(history))
    copies = any(call.made and _copies(call.name, call.recorded) for call in flow.calls)
    started = (event for _, event in history.placed(BackwardStarted))
    gradients = any(not event.accumulates and not event.create_graph for event in started)
    if not (flow.arrivals or copies or gradients):
        return
    filled = _filled_by(history)
    stepped = {key for _, event in history.placed(OptimizerStepped) for key in event.parameters}
    told: set[tuple[object, ...]] = set()
    seen: Counter[tuple[object, ...]] = Counter()
    for place, event in history.started.values():
        line = _place(history.line(place))
        seen[line] += 1
        keys = filled.get(event.number, ()) if seen[line] <= _TURNS else ()
        losses = list(_losses(event, place, history, flow)) if keys else []
        if not losses:
            continue
        paths = PartialPaths(flow, losses)
        by_line: dict[tuple[object, ...], tuple[Cut, list[str]]] = {}
        for key in keys:
            for cut in paths.cuts(key):
                has_gone = has_left(cut) and cut.is_known and not cut.is_state
                if has_gone or _is_of_input(cut, stepped.union(keys)):
                    by_line.setdefault(_line(cut), (cut, []))[1].append(key)
        for lines, (cut, names) in by_line.items():
            if lines not in told:
                told.add(lines)
                yield _finding(cut, names, place, flow)


def _copies(name: str, recorded: bool | None) -> bool:
    return name in ("tensor", "as_tensor", "asarray", "new_tensor") and recorded is False


def _is_of_input(cut: Cut, parameters: Set[str]) -> bool:
    """Whether it is the gradient of an input, as of a gradient penalty; that of parameters may be
    meant to be constant, as in first-order meta-learning and for weights of losses."""
    started = cut.started
    if started is None or cut.has_left or cut.arrived is not None:
        return False
    return bool(started.inputs) and parameters.isdisjoint(started.inputs)


def _filled_by(history: History) -> dict[int, list[str]]:
    """The leaves whose ``.grad`` each backward filled, by its number."""
    found: dict[int, list[str]] = {}
    for _, event in history.told(Accumulated):
        if event.tensor is not None and event.gradient is not None and not event.retained:
            found.setdefault(event.backward, []).append(event.tensor)
    return found


def _losses(
    event: BackwardStarted, place: EventPlace, history: History, flow: Dataflow
) -> Iterator[str]:
    """The tensors from which a backward started, those without a name too."""
    if event.inside is not None:
        return
    for node, output_nr in event.roots:
        named = next(history.outputs_of(node, place[0], output_nr), None)
        calls = (call for call in reversed(flow.calls) if call.operation is not None)
        made = (c.made for c in calls if c.operation is not None and c.operation.node == node)
        found = named or next((keys[0] for keys in made if keys), None)
        if found is not None:
            yield found


def _line(cut: Cut) -> tuple[object, ...]:
    return _place(cut.at), _place(cut.wrapped)


def _place(line: CodeLine | None) -> tuple[object, ...]:
    return () if line is None else (line.code, line.line)


def _finding(cut: Cut, keys: list[str], place: EventPlace, flow: Dataflow) -> PartialGradient:
    step, history = place[0], flow.history
    of = None if cut.started is not None else tensors_of(cut, history, step)
    words = cut_words(cut, of)
    call, at = arrival_of(cut)
    used = cut.arrived is not None
    case = "gradient" if cut.started is not None else "" if used else "copied"
    return PartialGradient(
        history=history,
        step=step,
        noticed=history.line(place),
        case=case,
        words={
            "names": few_of(keys, step, history),
            "cut": words,
            "at": history.line_term(cut.at),
            "call": call,
            "line": history.line_term(at),
        },
        variables=tuple(history.name(key, step) for key in keys),
        causes=(
            Cause("cut", words, cut.at),
            *([Cause("other", say("{} used the value", call), at)] if used and at else ()),
        ),
        cut=cut,
    )


def kept_in_torch(found: PartialGradient) -> Iterator[Fix]:
    """Compute with the tensor itself, where one line made a number of it without being asked to.

    ``item()``, ``tolist()`` and ``numpy()`` say that a number is wanted.
    """
    cut = found.cut
    context = ErrorContext(found.history, found.step, Raised("", ""))
    if cut.started is not None:
        yield from stay_on_graph.fixes_of([cut], context)
        return
    is_asked = cut.call in ("item", "tolist", "numpy") or cut.reason != "left torch"
    if is_asked or (cut.arrived is not None and _place(cut.at) != _place(cut.wrapped)):
        return
    calls = (call for call in found.history.calls if call.step == cut.step and not call.made)
    if cut.through or sum(bool(call.operation and call.operation.reason) for call in calls) > 1:
        return
    yield from stay_on_graph.fixes_of([cut], context)
