"""What a checkpoint cannot do."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gradviz.analysis.code.statements import Statement, calls_in, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes.grad_modes import CHECKPOINTS, is_reentrant
from gradviz.analysis.explain.fixes.rewriting import with_keyword
from gradviz.model.explanation import Cause, Fix
from gradviz.model.sentence import Sentence, say

_LIMITS: Final = (
    (
        r"incompatible with \.grad\(\)",
        "it runs a backward of its own, which has the leaves of its inputs only: neither "
        "autograd.grad nor backward(inputs=...) can run it",
        "a reentrant checkpoint is in the graph, and backward was asked for the gradients of some "
        "inputs only",
    ),
    (
        r"^Passing `context_fn`",
        "context_fn, debug, determinism_check and, since torch 2.14, respect_saved_tensors_hooks "
        "belong to the kind with use_reentrant=False",
        "a reentrant checkpoint was given an option that only the other kind has",
    ),
    (
        r"Unexpected keyword arguments",
        "it calls the function with the positional arguments only",
        "a reentrant checkpoint was given keyword arguments for its function",
    ),
)
"""torch's words, why, and what happened."""


@dataclass(frozen=True, kw_only=True)
class CheckpointLimit(Finding):
    """The calls of checkpoint in the code."""

    calls: tuple[tuple[Statement, ast.Call], ...]


def reentrant(context: ErrorContext) -> Iterator[CheckpointLimit]:
    """Something that only a checkpoint with ``use_reentrant=False`` can do."""
    limits = [one for one in _LIMITS if re.search(one[0], context.raised.message)]
    calls = tuple(
        (one, call)
        for code in context.recording.codes
        for one in statements_of(code)
        for call in calls_in(one, *CHECKPOINTS)
        if is_reentrant(call)
    )
    if not limits or not (calls or "checkpoint" in context.raised.message):
        return
    _, why, what = limits[0]
    at = calls[0][0].at if len(calls) == 1 else None
    causes = [] if at is None else [Cause("other", say("checkpoint is called here"), at)]
    yield CheckpointLimit(
        history=context.history,
        step=context.step,
        words={"what": what, "why": why},
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=tuple(causes),
        calls=calls,
    )


def not_reentrant(found: CheckpointLimit) -> Iterator[Fix]:
    """``use_reentrant=False``."""
    if len(found.calls) == 1:
        statement, call = found.calls[0]
        changed = with_keyword(statement, call, "use_reentrant", "False")
        if changed is not None:
            yield changed.fix(say("checkpoint without a backward of its own"))


@dataclass(frozen=True, kw_only=True)
class UnpackedTwice(Finding):
    """The places of one backward that read its saved tensors."""

    reads: tuple[tuple[Statement, ast.Attribute], ...]


def unpacked_twice(context: ErrorContext) -> Iterator[UnpackedTwice]:
    """A backward read ``ctx.saved_tensors`` twice in a checkpointed region."""
    lines = [one for code in context.recording.codes for one in statements_of(code)]
    found: dict[int, list[tuple[Statement, ast.Attribute]]] = {}
    for one in lines:
        for part in one.parts:
            if isinstance(part, ast.Attribute) and part.attr == "saved_tensors" and one.around:
                found.setdefault(id(one.around[-1]), []).append((one, part))
    several = [tuple(reads) for reads in found.values() if len(reads) > 1]
    reads = several[0] if len(several) == 1 else ()
    at = reads[-1][0].at if reads else None
    yield UnpackedTwice(
        history=context.history,
        step=context.step,
        case="unpacked",
        node=context.node,
        targets={"node": [None if context.node is None else context.node.id]},
        causes=() if at is None else (Cause("other", say("reads saved_tensors again"), at),),
        reads=reads,
    )


def unpacked_once(found: UnpackedTwice) -> Iterator[Fix]:
    """The saved tensors in a variable, which all lines of the backward read."""
    if not found.reads:
        return
    first, read = found.reads[0]
    function = first.around[-1]
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    if "saved" in used or not first.is_alone:
        return
    lines: dict[int, Statement] = {one.line: one for one, _ in found.reads}
    changes = [
        Fix(
            Sentence(),
            one.edited([(part, "saved") for other, part in found.reads if other is one]),
            "instead",
            one.at,
        )
        for one in lines.values()
    ]
    does = say("reads the saved tensors once and keeps them")
    code = f"saved = {first.segment(read)}\n{changes[0].code}"
    yield Fix(does, code, "instead", first.at, tuple(changes[1:]))
