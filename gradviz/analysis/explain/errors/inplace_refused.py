"""Writes in place that raise an error at once: to leaves, some views, and outputs with hooks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.rebind_safety import may_leave
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    is_expression,
    is_read_later,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.operands import GivenOperand, given, line_of, made_by, named
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import inference_mode, view_again
from gradviz.analysis.explain.fixes import several_views as several_views_fixes
from gradviz.analysis.explain.fixes.inplace_modules import not_in_place
from gradviz.analysis.explain.fixes.leaf_writes import fixes_of_leaf
from gradviz.analysis.explain.fixes.out_of_place import out_of_place as new_tensor
from gradviz.analysis.explain.fixes.out_of_place import spelled, target_of
from gradviz.analysis.explain.fixes.rewriting import Rewriting, before
from gradviz.analysis.explain.not_followed import RECORD_EARLIER
from gradviz.analysis.explain.written_as import through_other_name
from gradviz.model.explanation import Cause, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, say

_OWN_STORAGE: Final = "{} gets its own storage, which may be modified"


@dataclass(frozen=True, kw_only=True)
class WriteRefused(Finding):
    """A tensor that would be written, and the leaf, source or module it belongs to."""

    context: ErrorContext
    written: GivenOperand
    base: TensorInfo | None = None
    """The leaf that it is, or is a part of."""
    source: str | None = None
    """Variable of which it is one of several views."""
    module: str | None = None
    """The module whose output it is."""


def leaf(context: ErrorContext) -> Iterator[WriteRefused]:
    """A leaf that requires grad would be written."""
    written = written_by_call(context)
    return _leaf_written(written, leaf_behind(written, context), "a leaf", context)


def view_of_leaf(context: ErrorContext) -> Iterator[WriteRefused]:
    """A view of a leaf that requires grad would be written; an index makes one, too."""
    written = written_by_call(context)
    base = leaf_behind(written, context) or _leaf_viewed(written, context)
    return _leaf_written(written, base, "a leaf" if base else "a view of a leaf", context)


def _leaf_written(
    written: GivenOperand, base: TensorInfo | None, what: str, context: ErrorContext
) -> Iterator[WriteRefused]:
    name = context.name(base.id) if base is not None else None
    whole = written.words if base is None or name is None else context.term(base.id)
    is_view = name not in (None, written.name)
    by = called_name(context)
    yield WriteRefused(
        history=context.history,
        step=context.step,
        words={
            "by": by,
            "it": say("{}, a view of {}", written.words, whole) if is_view else whole,
            "leaf": what,
        },
        variables=(name, written.name),
        node=context.node_of(base),
        versions=(None, None if base is None else base.version),
        causes=(_was_to_write(by, "", written, context),),
        targets={"it": [None if base is None else base.id]},
        context=context,
        written=written,
        base=base,
    )


def several_views(context: ErrorContext) -> Iterator[WriteRefused]:
    """One of several views that one call returned would be written."""
    written = written_by_call(context)
    made = made_by(written.key, context)
    key = None if made is None else next(filter(context.name, made[1].reads), None)
    by = called_name(context)
    causes = [_was_to_write(by, "", written, context)]
    if made is not None:
        of = say(" of {}", context.term(key)) if key is not None else ""
        words = say("{} returned {} as one of several views{}", made[1].name, written.words, of)
        causes.append(Cause("other", words, context.history.line(made[0])))
    yield WriteRefused(
        history=context.history,
        step=context.step,
        words={"by": by, "it": written.words},
        variables=(written.name, context.name(key)),
        node=context.node_of(written.info),
        causes=tuple(causes),
        targets=written.targets,
        context=context,
        written=written,
        source=context.name(key),
    )


def behind_hook(context: ErrorContext) -> Iterator[WriteRefused]:
    """The output of a module with a full backward hook would be written."""
    written = written_by_call(context)
    by, module = called_name(context), None if context.refused is None else context.refused.module
    where = f" in {module}" if module else ""
    yield WriteRefused(
        history=context.history,
        step=context.step,
        words={"by": by, "where": where},
        variables=(written.name,),
        node_name="BackwardHookFunctionBackward",
        causes=(_was_to_write(by, where, written, context), *_registered(context)),
        targets=written.targets,
        context=context,
        written=written,
        module=module,
    )


@dataclass(frozen=True, kw_only=True)
class InferenceSaved(Finding):
    """The inference tensor that would be saved or written, if it is known."""

    context: ErrorContext
    saved_tensor: GivenOperand | None
    switch: inference_mode.Switch | None
    """What switched inference mode on where it was made."""


def inference(context: ErrorContext) -> Iterator[InferenceSaved]:
    """A recorded operation would save an inference tensor."""
    tensors = given(context) or [named(name, context) for name in context.names_read]
    return _inference([one for one in tensors if _is_inference(one)], context)


def inference_written(context: ErrorContext) -> Iterator[InferenceSaved]:
    """An inference tensor would be written in place."""
    return _inference([one for one in [written_by_call(context)] if one.key is not None], context)


def inference_asked(context: ErrorContext) -> Iterator[InferenceSaved]:
    """An inference tensor would require grad."""
    for found in _inference(given(context)[:1], context):
        which = "" if found.saved_tensor is None else " was made in inference mode"
        yield replace(found, words={**found.words, "which": which})


def _is_inference(one: GivenOperand) -> bool:
    return one.info is not None and one.info.is_inference


def _inference(tensors: list[GivenOperand], context: ErrorContext) -> Iterator[InferenceSaved]:
    found = tensors[0] if tensors else None
    words = say("a tensor that was made in inference mode") if found is None else found.words
    made = None if found is None else line_of(found.key, context)
    causes = [Cause("other", say("{} was made in inference mode", words), made)] if made else []
    switch = inference_mode.switch_around(context.statement_at(made))
    if switch is not None:
        causes.insert(0, Cause("other", say("inference mode is on from here"), switch.at))
    unknown = (
        ()
        if made or not context.is_recorded
        else (say("which line made {}. {}", words, RECORD_EARLIER),)
    )
    yield InferenceSaved(
        history=context.history,
        step=context.step,
        words={
            "by": called_name(context),
            "it": words,
            "which": "" if found is None else ", which was made in inference mode",
        },
        variables=tuple(one.name for one in tensors),
        causes=tuple(causes),
        targets={} if found is None else found.targets,
        unknown=unknown
        if found is not None
        else (say("which tensor it is. Print is_inference() of what the line reads"),),
        context=context,
        saved_tensor=found,
        switch=switch,
    )


# --- which -----------------------------------------------------------------------------------


def written_by_call(context: ErrorContext) -> GivenOperand:
    """The tensor that would be written: the first tensor argument of the call."""
    tensors = given(context)
    if tensors:
        return tensors[0]
    statement = context.statement
    node = None if statement is None else statement.node
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    calls = [] if statement is None or target is not None else _in_place(statement)
    if len(calls) == 1:
        target = calls[0]
    text = "" if statement is None or target is None else statement.segment(target)
    text = text.partition("[")[0]
    return named(text, context) if text and is_expression(text) else GivenOperand(None, None, None)


def _in_place(statement: Statement) -> list[ast.expr]:
    """What the methods in place of a line are called on."""
    funcs = [part.func for part in statement.parts if isinstance(part, ast.Call)]
    return [
        one.value
        for one in funcs
        if isinstance(one, ast.Attribute) and one.attr.endswith("_") and one.attr[:1] != "_"
    ]


def leaf_behind(written: GivenOperand, context: ErrorContext) -> TensorInfo | None:
    """The leaf that a tensor is, or is a view of."""
    info = written.info
    if info is None or (info.is_leaf and info.requires_grad):
        return info
    on_it = context.history.on_storage(info.storage, context.step)
    leaves = [other for other in on_it if other.is_leaf and other.requires_grad]
    return leaves[0] if len(leaves) == 1 else None


def _leaf_viewed(written: GivenOperand, context: ErrorContext) -> TensorInfo | None:
    """The leaf of which a call has made a view that has no name yet."""
    made = made_by(written.key, context)
    read = () if made is None else dict.fromkeys(made[1].reads)
    infos = [context.history.tensor(key, context.step) for key in read if key.startswith("t")]
    leaves = [info for info in infos if info and info.is_leaf and info.requires_grad]
    return leaves[0] if len(leaves) == 1 else None


def _was_to_write(by: str, where: str, written: GivenOperand, context: ErrorContext) -> Cause:
    refused, key = context.refused, written.key
    other = Sentence()
    if refused is not None:
        other = through_other_name(context.history, (context.step, 0), refused, key)
    words = say("{}{} would write {}{}", by, where, written.words, other)
    return Cause("write", words, context.noticed)


def called_name(context: ErrorContext) -> str:
    """Name of the call that raised, as the subject of a sentence."""
    name = "the line" if context.refused is None else context.refused.name
    return "the assignment" if name == "__setitem__" else name


def _registered(context: ErrorContext) -> Iterator[Cause]:
    """The line that registered a full backward hook, if there is one only."""
    lines = {}
    for step, facts in enumerate(context.recording.records[: context.step]):
        statement = (
            context.statement_at(context.history.line(step)) if facts.kind == "line" else None
        )
        if statement is not None and calls_in(statement, "register_full_backward_hook"):
            lines[statement.line] = context.history.line(step)
    if len(lines) == 1:
        words = say("the full backward hook was registered")
        yield Cause("other", words, next(iter(lines.values())))


# --- fixes -----------------------------------------------------------------------------------


def of_leaf(found: WriteRefused) -> Iterator[Fix]:
    """The write as an operation of its own, or under ``no_grad``, as the value that is written
    says."""
    yield from fixes_of_leaf(found.base, found.context)


def out_of_place(found: WriteRefused) -> Iterator[Fix]:
    """A new tensor, or a copy that may be written."""
    written, context, module = found.written, found.context, found.module
    statement = context.statement
    if statement is None or statement.is_compound:
        return
    new = _new_tensor(written, context)
    if new is not None and not new.copied:
        yield new.fix(say("makes a new tensor"))
    elif module is not None:
        off = not_in_place(module, statement)
        yield from () if off is None else (off,)
    yield from _copy(written, statement, _OWN_STORAGE)


def _new_tensor(written: GivenOperand, context: ErrorContext) -> Rewriting | None:
    """The line that raised, rewritten to make a new tensor."""
    refused = context.refused
    site = context.site
    target = None if site is None or refused is None else target_of(site, refused.name)
    if site is None or refused is None or target is None:
        return None
    typed = spelled(target, written.name)
    if written.name is None and is_expression(text := site.statement.segment(target)):
        typed = text
    if typed is None:
        return None
    is_read = not may_leave(site.statement, typed)
    return new_tensor(site, refused.name, typed, is_read)


def _copy(written: GivenOperand, statement: Statement, template: str) -> Iterator[Fix]:
    """The line continues with a copy of its input."""
    if written.name is None or not is_expression(written.name):
        return
    change = before(statement, f"{written.name} = {written.name}.clone()")
    if change is not None:
        yield Rewriting(statement, (change,)).fix(say(template, written.words))


def one_by_one(found: WriteRefused) -> Iterator[Fix]:
    """Views made one by one may be written; otherwise new tensors, if the source is not read
    later."""
    written, source, statement = found.written.name, found.source, found.context.statement
    if statement is None or (source is None and _may_be_seen(found)):
        return
    looped = several_views_fixes.one_at_a_time(written, source, statement, found.context)
    fix = looped or several_views_fixes.all_out_of_place(written, source, statement)
    if fix is not None:
        yield fix
        is_new = looped is None and fix.how == "instead" and not fix.also
        is_new = is_new and fix.at == statement.at
        if is_new and not statement.is_compound:
            yield from _copy(found.written, statement, _OWN_STORAGE)
    elif source is not None and not any(isinstance(s, ast.For) for s in statement.around):
        yield from () if is_read_later(source, statement) else out_of_place(found)


def _may_be_seen(found: WriteRefused) -> bool:
    """Whether what the views are of may be read later, where no recording says what that is."""
    made = view_again.line_that_made(found.written, found.context)
    is_seen = made is None or view_again.is_seen_later(made, found.context)
    return is_seen and not found.context.is_recorded


def ordinary_written(finding: InferenceSaved) -> Iterator[Fix]:
    """The same, if nothing that requires grad is written: the tensor would get a graph."""
    others = given(finding.context)
    if not any(one.info is not None and one.info.requires_grad for one in others):
        yield from ordinary_tensor(finding)


def ordinary_tensor(finding: InferenceSaved) -> Iterator[Fix]:
    """A copy, or ``no_grad`` in place of inference mode."""
    found, context = finding.saved_tensor, finding.context
    statement = context.statement
    if found is None or statement is None:
        return
    yield from inference_mode.not_in_inference(finding.switch)
    if found.name is not None and found.name.isidentifier():
        yield from _copy(found, statement, "makes an ordinary tensor with the values of {}")
