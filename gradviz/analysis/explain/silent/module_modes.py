"""Dropout and batch norm in the other mode than the pass that they run in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.silent.training_steps import training_steps
from gradviz.model.events import GradModeChanged, Operation
from gradviz.model.explanation import Cause
from gradviz.model.history import EventPlace, History
from gradviz.model.reachability import reachable
from gradviz.model.sentence import listed, say

_FLAGS: Final = {"dropout": 2, "batch_norm": 5}
"""Which argument says whether it is in training mode."""
_ROUNDS = 2
"""Passes that must have run in the other mode."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of dropout or batch norm."""

    place: EventPlace
    event: Operation

    @property
    def module(self) -> str:
        return self.event.module or self.event.name

    @property
    def trains(self) -> bool:
        """Whether it ran in training mode."""
        return self.event.inputs[_FLAGS[self.event.name]].text == "True"


def trained_in_eval(history: History) -> Iterator[Finding]:
    """Dropout that does nothing in passes of training, and batch norm that has stopped to adapt."""
    calls = [o for o in _calls(history) if o.event.required and _is_on(o.place, history)]
    steps = [one.place for one in training_steps(history) if one.accumulated]
    modules: dict[str, list[_Call]] = defaultdict(list)
    for one in calls:
        if steps and one.place < steps[-1]:
            modules[one.module].append(one)
    found: dict[tuple[object, bool], list[tuple[str, list[_Call]]]] = defaultdict(list)
    for module, own in modules.items():
        last = next((at for at in range(len(own), 0, -1) if own[at - 1].trains), 0)
        off = own[last:]
        if len(off) < _ROUNDS or (own[0].event.name == "batch_norm" and not last):
            continue
        line = history.line(off[0].place)
        found[line and (line.code, line.line), bool(last)].append((module, off))
    for (_, was_on), group in found.items():
        yield _finding(group, "stopped" if was_on else "", history)


def evaluated_in_training(history: History) -> Iterator[Finding]:
    """Dropout and batch norm in training mode in passes under ``no_grad`` that lead to no loss."""
    trained = {
        (one.event.module or "").partition(".")[0]
        for one in _calls(history)
        if one.event.required and _is_on(one.place, history)
    }
    used = {key for _, event in history.told(Operation) if event.recorded for key in event.reads}
    after: dict[str, list[str]] = defaultdict(list)
    for _, event in history.told(Operation):
        for key in event.reads:
            after[key].extend(event.made)
    found: dict[object, list[tuple[str, list[_Call]]]] = defaultdict(list)
    for one in _calls(history):
        root = (one.event.module or "").partition(".")[0]
        if not one.trains or _is_on(one.place, history) or root not in trained:
            continue
        behind = reachable(one.event.made, lambda key: after.get(key, ()))
        line = history.line(one.place)
        if not used.intersection(behind) and any(training_steps(history)):
            found[line and (line.code, line.line)].append((one.module, [one]))
    for group in found.values():
        first = {module: (module, own) for module, own in reversed(group)}
        yield _finding([*reversed(first.values())], "evaluation", history)


def _calls(history: History) -> Iterator[_Call]:
    for place, event in history.told(Operation):
        at = _FLAGS.get(event.name)
        if at is None or len(event.inputs) <= at or event.recomputed:
            continue
        if event.inputs[at].text in ("True", "False") and event.inputs[1].text not in ("0", "0.0"):
            yield _Call(place, event)


def _is_on(place: EventPlace, history: History) -> bool:
    """Whether operations are recorded at a place."""
    found = True
    for at, event in history.told(GradModeChanged):
        if at > place:
            break
        found = event.after == "on"
    return found


def _finding(group: list[tuple[str, list[_Call]]], case: str, history: History) -> Finding:
    first = group[0][1][0]
    step, line = first.place[0], history.line(first.place)
    modules = listed([module for module, _ in group], 3)
    does = {
        "evaluation": say("runs {} in training mode", modules),
        "stopped": say("runs {} in eval mode from here on", modules),
    }.get(case, say("runs {} in eval mode", modules))
    names = {own[0].event.name for _, own in group}
    what = "dropout is off" if names == {"dropout"} else "running statistics stay as they are"
    if len(names) > 1:
        what = "dropout is off, and running statistics stay as they are"
    on = "dropout is on" if names == {"dropout"} else "the batch changes running statistics"
    return Finding(
        history=history,
        step=step,
        noticed=line,
        case=case,
        words={
            "modules": modules,
            "times": len(group[0][1]),
            "off": what,
            "on": on,
            "line": history.line_term(line),
        },
        causes=(Cause("other", does, line),),
    )
