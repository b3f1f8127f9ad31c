"""The lines of a block without recording that are meant to be recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import Final

from gradviz.analysis.code.frames import frames_of
from gradviz.analysis.code.scopes import stored
from gradviz.analysis.code.statements import (
    Statement,
    last_name,
    loops_around,
    names_bound,
    statement_of,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fixes.frozen_parameters import modules_of_optimizers
from gradviz.model.calls import RecordedCall
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence, say

_TO_A_TARGET: Final = frozenset(
    {"binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "kl_div"}
)
"""Losses of an input and a target that cannot change places."""
_ON: Final = "torch.enable_grad()"


@dataclass
class _Line:
    """A line of the block, and the calls of torch that ran in it, in the function it calls too."""

    statement: Statement
    calls: list[RecordedCall] = field(default_factory=list)

    @property
    def made(self) -> set[str]:
        return {key for call in self.calls for key in call.made}


def recorded_lines(block: ast.With, call: ast.expr, context: ErrorContext) -> Fix | None:
    """Record the lines that compute with what is to be learned, and those that use their results.

    Args:
        block: The block.
        call: What switches recording off in its head.
        context: The error of a backward from what the block computed.

    Returns:
        ``None`` if several lines compute with tensors that require grad, and which of them the
        author means is not known: one may compute a target, which is a constant.
    """
    is_inference = last_name(getattr(call, "func", call)) == "inference_mode"
    lines = _lines(block, context)
    starting = [one for one in lines if _requiring(one, lines)]
    if len(starting) > 1:
        starting = _learned(starting, lines, context)
    if len(starting) != 1 or any(one.statement.is_compound for one in lines):
        return None
    recorded, keys = list[_Line](), set[str]()
    for one in lines:
        if one is starting[0] or any(keys.intersection(call.reads) for call in one.calls):
            recorded.append(one)
            keys |= one.made
    if _is_carried([one.statement for one in recorded]):
        return None  # the graph of one turn would reach into the next
    if _is_another_frozen(lines, keys, context):
        return None  # that may be the mistake
    does = say("lets autograd record these lines")
    if len(recorded) == len(lines):
        head = next(s for s in statements_of(lines[0].statement.code) if s.node is block)
        on = "torch.inference_mode(False)" if is_inference else _ON
        return Fix(does, head.edited([(call, on)]), "instead", head.at)
    if is_inference:
        return None  # what the other lines make in inference mode cannot be saved
    return _switched_on([one.statement for one in recorded], does)


def _lines(block: ast.With, context: ErrorContext) -> list[_Line]:
    history, found = context.history, dict[int, _Line]()
    inside = {id(node): node for node in block.body}
    for call in history.calls:
        for step in frames_of(call.step, history):
            one = statement_of(history, step)
            nodes = () if one is None else (*one.around, one.node)
            top = next((inside[id(node)] for node in nodes if id(node) in inside), None)
            if one is not None and top is not None:
                owner = next(s for s in statements_of(one.code) if s.node is top)
                found.setdefault(id(top), _Line(owner)).calls.append(call)
                break
    return [found[id(node)] for node in block.body if id(node) in found]


def _requiring(line: _Line, lines: Iterable[_Line]) -> set[str]:
    """What a line read that requires grad, as it comes from outside of the block."""
    own = {key for one in lines for key in one.made}
    return {key for call in line.calls for key in call.required} - own


def _learned(starting: list[_Line], lines: list[_Line], context: ErrorContext) -> list[_Line]:
    """Those lines that an optimizer is to update, or of which the result is no target."""
    given = {last_name(one.module) for one in modules_of_optimizers(context)}
    names = {
        id(one): {part for key in _requiring(one, lines) for part in _parts(key, context)}
        for one in starting
    }
    found = [one for one in starting if names[id(one)] & given]
    targets = [one for one in starting if _is_target(one, starting, context)]
    others = [one for one in starting if one not in targets]
    return found if given else others if targets else starting


def _is_another_frozen(lines: list[_Line], keys: set[str], context: ErrorContext) -> bool:
    """Whether later lines compute with frozen attributes of modules, and not with what is recorded
    then."""
    last = max(call.place for one in lines for call in one.calls)
    known = _computed_from(keys, context)
    for call in context.history.calls:
        if call.place <= last or known.intersection(call.reads):
            continue
        rows = (context.history.tensor(key, call.step) for key in call.reads)
        frozen = [one for one in rows if one is not None and one.is_leaf and not one.requires_grad]
        if any("." in name for one in frozen for name in one.names):
            return True
    return False


def _is_carried(lines: Sequence[Statement]) -> bool:
    """Whether a loop around reads what lines bind before it binds it, so from the turn before."""
    made = {name for one in lines for name in names_bound(one)}
    for loop in loops_around(lines[0]):
        bound = stored(loop.target) if isinstance(loop, ast.For) else set()
        for one in statements_of(lines[0].code):
            if loop not in one.around:
                continue
            names = [part for part in one.parts if isinstance(part, ast.Name)]
            read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
            if made & read - bound:
                return True
            bound |= set(names_bound(one))
    return False


def _parts(key: str, context: ErrorContext) -> list[str]:
    """The modules in the name of a parameter."""
    return (context.name(key) or "").split(".")[:-1]


def _is_target(line: _Line, starting: Sequence[_Line], context: ErrorContext) -> bool:
    """Whether a loss takes what is computed from a line as its target, and from another line as
    its input."""
    own = _computed_from(line.made, context)
    others = [_computed_from(one.made, context) for one in starting if one is not line]
    for call in context.history.calls:
        reads = call.reads
        if call.name in _TO_A_TARGET and len(reads) > 1 and reads[1] in own:
            return reads[0] not in own and any(reads[0] in other for other in others)
    return False


def _computed_from(keys: set[str], context: ErrorContext) -> set[str]:
    found = set(keys)
    for call in context.history.calls:
        if found.intersection(call.reads):
            found.update(call.made)
    return found


def _switched_on(lines: Sequence[Statement], does: Sentence) -> Fix | None:
    """Record some lines of a block, as one block where nothing is between them."""
    if not all(one.is_alone for one in lines):
        return None
    body = [s for s in statements_of(lines[0].code) if s.around == lines[0].around]
    groups: list[list[Statement]] = []
    for one in lines:
        if groups and body.index(one) == body.index(groups[-1][-1]) + 1:
            groups[-1].append(one)
        else:
            groups.append([one])
    changes: list[Fix] = []
    for first, *rest in groups:
        code = "\n".join(indent(one.text, "    ") for one in (first, *rest))
        changes.append(Fix(Sentence(), f"with {_ON}:\n{code}", "instead", first.at))
        changes += (Fix(Sentence(), "", "instead", one.at) for one in rest)
    first_one, *others = changes
    return replace(first_one, does=does, also=tuple(others))
