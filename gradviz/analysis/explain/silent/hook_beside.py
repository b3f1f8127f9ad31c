"""Hooks, and gradients to be retained, of tensors that no backward reaches."""

from __future__ import annotations

from collections.abc import Iterator

from gradviz.analysis.explain.beside_the_way import beside_the_way, causes_of
from gradviz.analysis.explain.fault import Finding
from gradviz.model.events import Raised
from gradviz.model.history import History


def hooks_beside(history: History) -> Iterator[Finding]:
    """Named results with a hook or ``retain_grad`` that are off the way to all losses of which a
    backward ran after they were made; not where an error may be why."""
    last = len(history.recording.records) - 1
    if any(True for _ in history.placed(Raised)):
        return
    for info in history.tensors(last):
        has_hook = any(hook.kind == "tensor" for hook in info.hooks)
        later = [p for p, _ in history.started.values() if p[0] > (history.born(info.id) or last)]
        is_asked = has_hook or (info.retains_grad and info.grad is None)
        if info.is_leaf is not False or not later or not is_asked:
            continue
        uses = beside_the_way(info, last, history)
        if uses is not None:
            yield Finding(
                history=history,
                step=later[0][0],
                noticed=history.line(later[0]),
                case="hook" if has_hook else "",
                words={"it": history.tensor_term(info.id, last)},
                variables=(history.name(info.id, last),),
                node=history.node(info.node, last),
                causes=tuple(causes_of(info, uses, last, history)),
            )
