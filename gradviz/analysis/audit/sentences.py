"""An audit in sentences, most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.analysis.audit.grad_history import CLOSURE, SUM
from gradviz.analysis.audit.naming import FEW, Naming
from gradviz.model.audit import GraphState, ParameterAudit
from gradviz.model.audit_input import AuditInput
from gradviz.model.explanation import CodeLine
from gradviz.model.formatting import plural, shape
from gradviz.model.sentence import listed

LINES: Final = 5
"""Sentences about a model with many parameters; of more than one more, the rest are counted."""


def title_of(
    facts: AuditInput,
    rows: Sequence[ParameterAudit],
    state: GraphState,
    saw_all: bool,
    refusal: str = "",
) -> str:
    """The answer: how many parameters get a gradient, or why it is not known.

    Args:
        facts: What was read.
        rows: What was found.
        state: What the graph holds.
        saw_all: Whether a recording contains the backward that filled every ``.grad``.
        refusal: Why a backward would raise now.
    """
    loss = listed([loss.name for loss in facts.losses], FEW)
    if not rows:
        return f"The backward of {loss} has nothing to fill: the model has no parameters"
    none = sum(row.gets_gradient is False for row in rows)
    unknown = sum(row.gets_gradient is None for row in rows)
    count = plural(len(rows), "parameter")
    every = "the one parameter" if len(rows) == 1 else f"all {count}"
    if state == "freed" and not saw_all and all(row.reached for row in rows) and not none:
        return f"The graph of {loss} reaches {every}; {_with_grad(rows)}"
    if not none and not unknown:
        is_over = state == "freed" or refusal
        get = "got" if is_over else "gets" if len(rows) == 1 else "get"
        return f"{every[0].upper()}{every[1:]} {get} a gradient from {loss}{_wrong(rows)}"
    if not none and refusal and state == "holds":
        return f"{refusal[0].upper()}{refusal[1:]}"
    if not none:
        get = "gets" if unknown == 1 else "get"
        return f"Not known: whether {unknown:,} of {count} {get} a gradient from {loss}"
    answer = f"{none:,} of {count} {'gets' if none == 1 else 'get'} no gradient from {loss}"
    return f"{answer}; of {unknown:,} it is not known" if unknown else answer


def _wrong(rows: Sequence[ParameterAudit]) -> str:
    """How many gradients are nan or inf, else how many are all zeros."""
    grads = [row.grad for row in rows if row.grad is not None]
    bad = sum(grad.is_finite is False for grad in grads)
    if bad:
        return f", {bad:,} with nan or inf"
    zeros = sum(bool(grad.is_zero) for grad in grads)
    return f", {zeros:,} all zeros" if zeros else ""


def _with_grad(rows: Sequence[ParameterAudit]) -> str:
    there = sum(row.grad is not None for row in rows)
    if len(rows) == 1:
        return "it has a .grad" if there else "it has no .grad"
    if there in (0, len(rows)):
        return "all have a .grad" if there else "none has a .grad"
    return f"{there} of them {'has' if there == 1 else 'have'} a .grad"


def sentences_of(
    facts: AuditInput,
    rows: Sequence[ParameterAudit],
    state: GraphState,
    problem: str,
    refusal: str = "",
    is_recorded: bool = False,
) -> tuple[str, ...]:
    """The findings, most important first."""
    named = Naming([row.name for row in rows])
    said = [
        *_state(facts, rows, state, named, refusal, is_recorded),
        *_others(facts),
        *_groups(rows, state, named),
        *_gradients(rows, named),
        *_optimizer(facts, rows, named),
        *([f"The recording was not used: {problem}."] if problem else ()),
        *_unknown(rows),
    ]
    return tuple(dict.fromkeys(said))


def notes_of(
    rows: Sequence[ParameterAudit], state: GraphState, refusal: str, found: Sequence[str]
) -> tuple[str, ...]:
    """Those of the sentences that say what is as usual, or what the answer says already.

    Args:
        rows: What was found.
        state: What the graph holds.
        refusal: Why a backward would raise now.
        found: The sentences that are shown.
    """
    if refusal and any(row.gets_gradient is False for row in rows):
        return ()
    return tuple(one for one in _usual(rows, state, refusal) if one in found)


def _usual(rows: Sequence[ParameterAudit], state: GraphState, refusal: str) -> Iterator[str]:
    """That the graph is there, or has been used."""
    if state == "holds" and refusal:
        yield f"The graph still has its saved tensors, but {refusal}."
    elif state == "holds" and not _filled(rows):
        yield "The graph still has its saved tensors. No parameter of this graph has a .grad yet."
    elif state == "freed" and not _doubtful(rows):
        yield "The graph is freed: a backward has run over it."


def _filled(rows: Sequence[ParameterAudit]) -> list[str]:
    """Parameters that the next backward accumulates into."""
    return [row.name for row in rows if row.reached and row.requires_grad and row.grad is not None]


def _doubtful(rows: Sequence[ParameterAudit]) -> list[str]:
    """Parameters whose ``.grad`` may not be from this loss alone."""
    reached = [row for row in rows if row.reached and row.grad is not None]
    return [row.name for row in reached if row.stale is None and not {SUM, CLOSURE} & set(row.also)]


def first_of(
    facts: AuditInput, rows: Sequence[ParameterAudit], state: GraphState, found: tuple[str, ...]
) -> tuple[str, ...]:
    """The sentences that are shown: of many about a model with many parameters those about what is
    wrong, and the number of the others.

    Args:
        facts: What was read.
        rows: What was found.
        state: What the graph holds.
        found: All sentences.
    """
    named = Naming([row.name for row in rows])
    if not named.has_blocks or len(found) <= LINES + 1:
        return found
    groups = list(_groups(rows, state, named))
    wrong = [
        *_others(facts),
        *groups[:2],
        *_gradients(rows, named),
        *[*_optimizer(facts, rows, named)][1:],
    ]
    first = tuple(dict.fromkeys((*wrong, *groups, *found)))[:LINES]
    more = len(found) - LINES
    return (*first, f"{more} more findings: all_sentences of the findings has them.")


def _state(
    facts: AuditInput,
    rows: Sequence[ParameterAudit],
    state: GraphState,
    named: Naming,
    refusal: str,
    is_recorded: bool,
) -> Iterator[str]:
    lost = [loss.name for loss in facts.losses if loss.root is None]
    if lost:
        names = listed(lost, FEW)
        yield f"{names} {_have(lost)} no graph: backward() from {_them(lost)} raises an error."
    yield from _usual(rows, state, refusal)
    there = _filled(rows)
    if state == "holds" and there and not refusal:
        yield (
            f"The graph still has its saved tensors. {named(there)} "
            f"{_have(there)} a .grad already: another backward accumulates into it."
        )
    elif state == "freed":
        yield from _freed(_doubtful(rows), named, is_recorded)
    elif state == "partly freed":
        yield (
            "Part of the graph is freed: a backward from another root, with inputs= or with an "
            "error ran part of its nodes. Another backward over that part raises an error."
        )
    elif state == "saves nothing" and len(facts.graph) > 1:
        yield "The nodes of this graph save no tensors, so whether backward has run is not known."


def _others(facts: AuditInput) -> Iterator[str]:
    """Leaves that no parameter of the model is, as those of layers in a list are."""
    own = {one.tensor for one in facts.parameters}
    behind = {node.variable for node in facts.graph.nodes if node.variable is not None}
    rows = [row for row in facts.graph.tensors if row.id in behind and row.id not in own]
    if not facts.is_module or not rows:
        return
    rows.sort(key=lambda row: (row.name is None, row.name or ""))
    names = [row.name or f"one of shape {shape(row.shape)} without a name" for row in rows]
    what = "a leaf that is no parameter" if len(rows) == 1 else "leaves that are no parameters"
    count = "" if len(rows) == 1 else f"{len(rows):,} "
    yield f"The graph ends at {count}{what} of the model: {listed(names, FEW)}."


def _freed(doubtful: Sequence[str], named: Naming, is_recorded: bool) -> Iterator[str]:
    if not doubtful:
        return
    yield "The graph is freed: backward() or autograd.grad() has run over it."
    whether = f"Whether the .grad of {named(doubtful)} is from this loss alone is not known"
    if is_recorded:
        yield f"{whether} from the recording."
        return
    yield (
        f"{whether}: other backwards may have accumulated into it. A recording of the backward may "
        "show it: pass recording=."
    )


def _have(things: Sequence[object]) -> str:
    return "has" if len(things) == 1 else "have"


def _them(things: Sequence[object]) -> str:
    return "it" if len(things) == 1 else "them"


def _groups(rows: Sequence[ParameterAudit], state: GraphState, named: Naming) -> Iterator[str]:
    """Parameters without a gradient, and of which it is not known, by the reason why."""
    for gets in (False, None):
        groups: dict[tuple[str, tuple[str, ...], CodeLine | None, bool], list[str]] = {}
        for row in rows:
            if row.gets_gradient is gets:
                is_missing = gets is None and row.grad is None and "freed" in state
                groups.setdefault((row.why, row.also, row.at, is_missing), []).append(row.name)
        for (why, also, at, is_missing), names in groups.items():
            verb = "gets" if len(names) == 1 else "get"
            words = "may get a gradient" if gets is None else f"{verb} no gradient"
            if is_missing:
                words = f"{_have(names)} no .grad"
            yield f"{named(names)} {words}: {'; '.join((why, *also))}."
            if at is not None and at.text:
                yield f"Line {at.line}: {at.text}" if at.line is not None else at.text


def _gradients(rows: Sequence[ParameterAudit], named: Naming) -> Iterator[str]:
    there = [row for row in rows if row.grad is not None]
    bad = [row.name for row in there if row.grad is not None and row.grad.is_finite is False]
    if bad:
        yield f"{named(bad)}: nan or inf in .grad."
    zero = [row.name for row in there if row.grad is not None and row.grad.is_zero]
    if zero:
        yield f"{named(zero)}: .grad is all zeros."
    unread = [row.name for row in there if row.grad is not None and row.grad.is_unread]
    if unread:
        yield f"{named(unread)}: .grad is not read: values=True reads it."
    noticed: dict[str, list[str]] = {}
    for row in rows:
        for text in row.also if row.gets_gradient else ():
            noticed.setdefault(text, []).append(row.name)
    for text, names in noticed.items():
        yield f"{named(names)}: {text}."
    stale = [row.name for row in there if row.stale]
    if stale:
        yield f"{named(stale)}: .grad is stale: it does not come from this graph."


def _optimizer(facts: AuditInput, rows: Sequence[ParameterAudit], named: Naming) -> Iterator[str]:
    optimizer = facts.optimizer
    if optimizer is None:
        return
    updated = sum(row.updated is True for row in rows)
    unknown = sum(row.updated is None for row in rows)
    more = f"; of {unknown:,} it is not known" if unknown else ""
    yield f"{optimizer.name}.step() updates {updated:,} of {plural(len(rows), 'parameter')}{more}."
    frozen = [row.name for row in rows if not row.requires_grad and row.updated]
    for names in [frozen] if named.has_blocks else [[name] for name in frozen]:
        if names:
            are = "is" if len(names) == 1 else "are"
            them = _them(names)
            yield f"{named(names)} {are} frozen, but {optimizer.name}.step() still updates {them}."
    replaced = [s.stands_for for s in optimizer.strangers if s.stands_for is not None]
    outside = [r.name for r in rows if r.group is None and not set(r.names) & set(replaced)]
    if outside and optimizer.groups:
        verb = "is" if len(outside) == 1 else "are"
        yield f"{named(outside)} {verb} in no group of the optimizer."
    if replaced:
        yield (
            f"{listed(replaced, FEW)}: rebound after the optimizer was created; the optimizer "
            f"still has the old {'tensor' if len(replaced) == 1 else 'tensors'}."
        )
    others = sum(stranger.stands_for is None for stranger in optimizer.strangers)
    if others:
        what = "is no parameter" if others == 1 else "are no parameters"
        yield f"The optimizer has {plural(others, 'more tensor')} that {what} of this model."


def _unknown(rows: Sequence[ParameterAudit]) -> Iterator[str]:
    for row in rows:
        yield from row.unknown
