"""Schedulers that step before their optimizer does."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explain.fault import Finding
from gradviz.model.events import OptimizerStepped, SchedulerStepped
from gradviz.model.explanation import Cause
from gradviz.model.history import History
from gradviz.model.sentence import say


def early_schedulers(history: History) -> Iterator[Finding]:
    """The first step of a scheduler, if its optimizer had not stepped by then and does later."""
    seen: set[tuple[str, ...]] = set()
    for place, event in history.told(SchedulerStepped):
        if event.parameters in seen:
            continue
        seen.add(event.parameters)
        steps = [p for p, e in history.told(OptimizerStepped) if e.parameters == event.parameters]
        later = [one for one in steps if one > place]
        if event.has_stepped or not later or steps[0] < place:
            continue
        line = history.line(place)
        stepped = next(e for p, e in history.told(OptimizerStepped) if p == later[0])
        did = say("{}.step ran first", event.name)
        yield Finding(
            history=history,
            step=later[0][0],
            noticed=history.line(later[0]),
            words={
                "scheduler": f"{event.name}.step",
                "label": f"{stepped.name}.step",
                "line": history.line_term(line),
            },
            variables=(),
            causes=(Cause("other", did, line),),
        )
