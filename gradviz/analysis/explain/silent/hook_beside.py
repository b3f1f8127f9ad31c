"""Hooks, and gradients to be retained, of tensors that no backward reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradviz.analysis.explain.beside_the_way import beside_the_way, causes_of, may_be_reached
from gradviz.analysis.explain.fault import Finding
from gradviz.model.events import Raised
from gradviz.model.history import History
from gradviz.model.records import TensorInfo


def hooks_beside(history: History) -> Iterator[Finding]:
    """Named results with a hook or ``retain_grad`` that are off the way to all losses of which a
    backward ran after they were made.

    Not where an error may be why; nor if a backward reaches others that the same line makes, as in
    a loop that also evaluates.
    """
    last = len(history.recording.records) - 1
    asked: dict[object, list[TensorInfo]] = defaultdict(list)
    for info in () if any(True for _ in history.placed(Raised)) else history.tensors(last):
        is_asked = info.is_leaf is False and (info.retains_grad or _has_hook(info))
        if is_asked and (line := history.line(history.born(info.id))) is not None:
            asked[line.code, line.line].append(info)
    for made in asked.values():
        if not any(may_be_reached(info, last, history) for info in made):
            yield from _finding(made[0], last, history)


def _has_hook(info: TensorInfo) -> bool:
    return any(hook.kind == "tensor" for hook in info.hooks)


def _finding(info: TensorInfo, last: int, history: History) -> Iterator[Finding]:
    later = [p for p, _ in history.started.values() if p[0] > (history.born(info.id) or last)]
    uses = beside_the_way(info, last, history)
    if later and uses is not None:
        yield Finding(
            history=history,
            step=later[0][0],
            noticed=history.line(later[0]),
            case="hook" if _has_hook(info) else "",
            words={"it": history.tensor_term(info.id, last)},
            variables=(history.name(info.id, last),),
            node=history.node(info.node, last),
            causes=tuple(causes_of(info, uses, last, history)),
        )
