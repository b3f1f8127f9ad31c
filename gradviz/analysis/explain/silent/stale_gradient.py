"""Frozen parameters that an optimizer updates with a gradient from before they were frozen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import expression_of, is_expression
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.not_followed import RECORD_EARLIER
from gradviz.analysis.explain.silent.sentences import few_of
from gradviz.analysis.explain.silent.training_steps import TrainingStep, is_empty, training_steps
from gradviz.analysis.explain.torch_names import gradient_words
from gradviz.model.events import Accumulated
from gradviz.model.explanation import Cause, Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import say


@dataclass(frozen=True, kw_only=True)
class StaleGradient(Finding):
    """Frozen parameters, and the step that updated them."""

    one: TrainingStep


def stale_gradients(history: History) -> Iterator[StaleGradient]:
    """Frozen parameters that an optimizer updated with the gradient they still had."""
    for one in training_steps(history):
        groups: dict[object, list[tuple[EventPlace | None, TensorInfo]]] = defaultdict(list)
        for key in one.stepped.updated:
            info = one.before(key)
            if info is None or info.requires_grad or info.is_leaf is False:
                continue
            frozen = history.switched_off(key, one.place[0])
            if _has_moved(info, one) and _is_old(info, frozen, one, history):
                line = None if frozen is None else history.line(frozen)
                groups[line and (line.code, line.line)].append((frozen, info))
        for found in groups.values():
            yield _stale(one, found[0][0], [info for _, info in found], history)


def _has_moved(info: TensorInfo, one: TrainingStep) -> bool:
    after = one.history.values(info.id, one.place[0])
    if info.values is not None and after is not None:
        return info.values != after
    return not is_empty(info.grad)


def _is_old(
    info: TensorInfo, frozen: EventPlace | None, one: TrainingStep, history: History
) -> bool:
    """Whether its ``.grad`` is one that a backward gave before it was frozen."""
    if info.grad is None or info.grad.norm is None:
        return False
    came = [
        place
        for place, event in history.told(Accumulated)
        if event.tensor == info.id and place < one.place
    ]
    if frozen is not None:
        then = history.tensor_at(info.id, frozen[0])
        same = then is not None and then.grad == info.grad
        return bool(came) and came[-1] < frozen and (same or is_empty(info.grad))
    # Frozen before the recording: it is old if it is still as it was, though a backward ran.
    rows = history.tensor_rows(info.id, one.place[0] - 1)
    same = all(row.grad == info.grad and not row.requires_grad for row in rows)
    return same and not came and bool(one.accumulated)


def _stale(
    one: TrainingStep, place: EventPlace | None, infos: list[TensorInfo], history: History
) -> StaleGradient:
    step = one.place[0]
    named = [info.id for info in infos if history.name(info.id, step)]
    names = few_of(named, step, history)
    line = None if place is None else history.line(place)
    first = infos[0]
    its, was = ("its", "was") if len(infos) == 1 else ("their", "were")
    old = f"with {its} old .grad"
    if all(is_empty(info.grad) for info in infos):
        old = f"through momentum or weight decay: {its} .grad is 0, not None"
    elif len(infos) == 1:
        old += f" {gradient_words(first.grad)}"
    frozen = say("requires_grad of {} was set to False; .grad was kept", names)
    causes = [Cause("other", frozen, line)]
    came = [
        p for p, event in history.told(Accumulated) if event.tensor == first.id and p < one.place
    ]
    if came:
        words = say("the old gradient is from this backward")
        causes.append(Cause("backward", words, history.line(came[-1])))
    unknown = say(
        "where {} requires_grad {} set to False: before the recording began. {}",
        its,
        was,
        RECORD_EARLIER,
    )
    return StaleGradient(
        history=history,
        step=step,
        noticed=history.line(one.place),
        words={"label": one.label, "names": names, "old": old},
        variables=tuple(history.name(key, step) for key in named),
        causes=tuple(causes),
        targets={"moved": [info.id for info in infos]},
        unknown=() if line is not None else (unknown,),
        one=one,
    )


def fixes(found: StaleGradient) -> Iterator[Fix]:
    """Clear the old gradient before the step."""
    line = found.one.history.line(found.one.place)
    typed = [expression_of(name) for name in found.variables if name]
    does = say("an optimizer skips parameters whose .grad is None")
    if not typed or not all(map(is_expression, typed)):
        yield Fix(does, "for p in frozen: p.grad = None", "elsewhere")
    elif len(typed) < 3:
        code = " = ".join(f"{name}.grad" for name in typed) + " = None"
        yield Fix(does, code, "before", line)
    else:
        code = f"for p in ({', '.join(typed)}): p.grad = None"
        yield Fix(does, code, "before", line)
