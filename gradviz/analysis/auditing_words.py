"""An audit in sentences, most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.model.auditing import GraphState, ParameterAudit
from gradviz.model.auditing_facts import AuditFacts
from gradviz.model.explanation import CodeLine
from gradviz.model.words import plural

_FEW: Final = 3


def title_of(facts: AuditFacts, rows: Sequence[ParameterAudit], state: GraphState) -> str:
    """A headline."""
    names = [loss.name for loss in facts.losses]
    shown = listed(names)
    if not rows:
        return f"audit of {shown}: the model has no parameters"
    get = "got" if state == "freed" else "get"
    none = sum(row.gets_gradient is False for row in rows)
    unknown = sum(row.gets_gradient is None for row in rows)
    count = plural(len(rows), "parameter")
    if not none and not unknown:
        every = "the one parameter" if len(rows) == 1 else f"all {count}"
        return f"audit of {shown}: {every} {_form(get, len(rows))} a gradient"
    parts = []
    if none or not unknown:
        parts.append(f"{none} of {count} {_form(get, none)} no gradient")
    if unknown:
        parts.append(f"{unknown}{'' if none else f' of {count}'} not known")
    return f"audit of {shown}: {', '.join(parts)}"


def _form(get: str, count: int) -> str:
    return "gets" if get == "get" and count == 1 else get


def listed(names: Sequence[str], few: int = _FEW) -> str:
    """``a, b and c``; of many the first ones and how many more.

    Examples:
        >>> listed(["a"]), listed(["a", "b"]), listed(list("abcdef"))
        ('a', 'a and b', 'a, b, c and 3 more')
    """
    shown = list(names)
    if len(shown) > few + 1:
        shown = [*shown[:few], f"{len(shown) - few} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def sentences_of(
    facts: AuditFacts, rows: Sequence[ParameterAudit], state: GraphState, problem: str
) -> tuple[str, ...]:
    """What it comes to."""
    found = [
        *_state(facts, rows, state),
        *_groups(rows),
        *_gradients(rows),
        *_optimizer(facts, rows),
        *([f"The recording was not used: {problem}."] if problem else ()),
        *_unknown(rows),
    ]
    return tuple(dict.fromkeys(found))


def _state(facts: AuditFacts, rows: Sequence[ParameterAudit], state: GraphState) -> Iterator[str]:
    lost = [loss.name for loss in facts.losses if loss.root is None]
    if lost:
        yield f"{listed(lost)} {_have(lost)} no graph: backward() from {_them(lost)} raises."
    if state == "holds":
        there = [r for r in rows if r.grad is not None and r.gets_gradient]
        if there:
            yield (
                f"The graph holds what backward needs. {listed([r.name for r in there])} "
                f"{_have(there)} a .grad already: another backward adds to it."
            )
        else:
            yield (
                "The graph holds what backward needs. "
                "No parameter that it leads to has a .grad yet."
            )
    elif state == "freed":
        yield "The graph is freed: a backward has run over it."
    elif state == "partly freed":
        yield (
            "Part of the graph is freed: a backward of something else shared it, or one raised "
            "on its way. Another backward over that part raises."
        )
    elif state == "saves nothing" and len(facts.graph) > 1:
        yield "The nodes of this graph save nothing, so whether backward has run is not known."


def _have(things: Sequence[object]) -> str:
    return "has" if len(things) == 1 else "have"


def _them(things: Sequence[object]) -> str:
    return "it" if len(things) == 1 else "them"


def _groups(rows: Sequence[ParameterAudit]) -> Iterator[str]:
    """Parameters without a gradient, and of which it is not known, by the reason why."""
    for gets in (False, None):
        groups: dict[tuple[str, tuple[str, ...], CodeLine | None], list[str]] = {}
        for row in rows:
            if row.gets_gradient is gets:
                groups.setdefault((row.why, row.also, row.at), []).append(row.name)
        for (why, also, at), names in groups.items():
            verb = "gets" if len(names) == 1 else "get"
            words = f"perhaps {verb} a gradient" if gets is None else f"{verb} no gradient"
            yield f"{listed(names)} {words}: {'; '.join((why, *also))}."
            if at is not None and at.text:
                yield f"Line {at.line}: {at.text}" if at.line is not None else at.text


def _gradients(rows: Sequence[ParameterAudit]) -> Iterator[str]:
    there = [row for row in rows if row.grad is not None]
    bad = [row.name for row in there if row.grad is not None and row.grad.is_finite is False]
    if bad:
        yield f"{listed(bad)}: nan or inf in .grad."
    zero = [row.name for row in there if row.grad is not None and row.grad.is_zero]
    if zero:
        yield f"{listed(zero)}: .grad is all zeros."
    stale = [row.name for row in there if row.stale]
    if stale:
        yield f"{listed(stale)}: .grad is stale: it does not come from this graph."


def _optimizer(facts: AuditFacts, rows: Sequence[ParameterAudit]) -> Iterator[str]:
    optimizer = facts.optimizer
    if optimizer is None:
        return
    updated = sum(row.updated is True for row in rows)
    unknown = sum(row.updated is None for row in rows)
    more = f", of {unknown} it is not known" if unknown else ""
    yield f"{optimizer.name}.step() changes {updated} of {plural(len(rows), 'parameter')}{more}."
    for row in rows:
        if not row.requires_grad and row.updated:
            yield f"{row.name} is frozen, and {optimizer.name}.step() changes it all the same."
    replaced = [s.stands_for for s in optimizer.strangers if s.stands_for is not None]
    outside = [r.name for r in rows if r.group is None and not set(r.names) & set(replaced)]
    if outside and optimizer.groups:
        yield f"{listed(outside)} {'is' if len(outside) == 1 else 'are'} in no group of it."
    if replaced:
        yield (
            f"{listed(replaced)}: rebound after the optimizer was made; it still has the tensor "
            "that was there before."
        )
    others = sum(stranger.stands_for is None for stranger in optimizer.strangers)
    if others:
        tensors = plural(others, "tensor")
        yield f"The optimizer has {tensors} more that {'is' if others == 1 else 'are'} no " + (
            "parameter of this model."
        )


def _unknown(rows: Sequence[ParameterAudit]) -> Iterator[str]:
    for row in rows:
        yield from row.unknown
