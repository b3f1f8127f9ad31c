"""Errors of DistributedDataParallel, which reduces the gradients of all ranks to their mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import replicas
from gradviz.analysis.explain.torch_messages import (
    Unreduced,
    parameter_ready_twice,
    unreduced_in,
)
from gradviz.model.events import BackwardEnded
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import Sentence, listed, say

_MANY: Final = 6
"""Names that a sentence lists before it counts them."""
_REENTRANT: Final = "CheckpointFunctionBackward"


@dataclass(frozen=True, kw_only=True)
class Replicated(Finding):
    """An error of DistributedDataParallel."""

    context: ErrorContext


def unused(context: ErrorContext) -> Iterator[Replicated]:
    """Parameters without a gradient, for which it still waits when the next forward begins."""
    told, history = unreduced_in(context.raised.message), context.history
    names = _named(told, context)
    ended = [*history.events(BackwardEnded, context.step)]
    has_raised = bool(ended) and ended[-1][1].raised
    causes = []
    if ended:
        what = say("backward {} computed no gradient of them", ended[-1][1].number)
        if has_raised:
            what = say("backward {} raised an error", ended[-1][1].number)
        causes.append(Cause("backward", what, history.line(ended[-1][0])))
    case = "raised" if has_raised else "static" if told.is_static else ""
    if not case and told.is_searched:
        case = "searched"
    unknown = [] if names or case == "static" else [_by_name(told)]
    if case in ("", "searched"):
        unknown.append(
            say(
                "why the loss does not depend on them; gradviz.audit(loss, model) shows it before "
                "backward"
            )
        )
    yield Replicated(
        history=history,
        step=context.step,
        case=case,
        words={"names": _listed(names) or _counted(told)},
        variables=tuple(names[:1]) if len(names) == 1 else (),
        causes=tuple(causes),
        unknown=tuple(unknown),
        context=context,
    )


def ready_twice(context: ErrorContext) -> Iterator[Replicated]:
    """A parameter whose gradient came twice in one backward."""
    index, name = parameter_ready_twice(context.raised.message)
    reduced = context.raised.reduced
    if name is None and index is not None and index < len(reduced):
        name = reduced[index]
    is_nested = context.node is not None and context.node.name == _REENTRANT
    yield Replicated(
        history=context.history,
        step=context.step,
        case="checkpoint" if is_nested else "",
        words={"name": name or ("a parameter" if index is None else f"parameter {index}")},
        variables=(name,),
        node=context.node if is_nested else None,
        targets={"node": [context.node.id if is_nested and context.node is not None else None]},
        unknown=()
        if is_nested
        else (
            say(
                "where it is used outside of the forward that DistributedDataParallel calls, or "
                "in two backwards inside one"
            ),
        ),
        context=context,
    )


def nothing(context: ErrorContext) -> Iterator[Replicated]:
    """A module without any parameter that requires grad."""
    yield Replicated(history=context.history, step=context.step, context=context)


def searching(found: Replicated) -> Iterator[Fix]:
    """Look for parameters that are not used."""
    if not found.case:
        yield from replicas.searching(found.context.recording)


def not_reentrant(found: Replicated) -> Iterator[Fix]:
    """Checkpoints that run no backward of their own."""
    if found.case == "checkpoint":
        yield from replicas.not_reentrant(found.context.recording)


def unwrapped(found: Replicated) -> Iterator[Fix]:
    """The module itself in place of the wrapped one."""
    yield from replicas.unwrapped(found.context.recording)


def _named(told: Unreduced, context: ErrorContext) -> list[str]:
    reduced = context.raised.reduced
    if told.names:
        return list(told.names)
    return [reduced[index] for index in told.indices if index < len(reduced)]


def _listed(names: list[str]) -> str:
    return str(listed(names, _MANY))


def _counted(told: Unreduced) -> str:
    count = len(told.indices)
    return "parameters" if not count else f"{count} parameters" if count > 1 else "a parameter"


def _by_name(told: Unreduced) -> Sentence:
    numbers = ", ".join(map(str, told.indices))
    return say(
        "their names; TORCH_DISTRIBUTED_DEBUG=INFO in the environment lets torch add them{}",
        f" to the numbers {numbers}" if numbers else "",
    )
