"""Writes to views that raise an error because of how the view was made, and calls that a view or a
tensor of the graph does not allow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.grad_switches import is_switched_off
from gradviz.analysis.code.statements import Statement, is_expression
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.inplace_refused import (
    WriteRefused,
    called_name,
    out_of_place,
    written_by_call,
)
from gradviz.analysis.explain.errors.operands import GivenOperand, given, named
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.fixes import refused_methods, view_again
from gradviz.analysis.explain.fixes.grad_modes import without_record
from gradviz.analysis.explain.fixes.inplace_modules import not_in_place
from gradviz.analysis.explain.fixes.leaf_writes import keeper_of, requires_grad
from gradviz.analysis.explain.fixes.out_of_place import target_of
from gradviz.analysis.explain.torch_messages import is_of_inference_mode
from gradviz.model.events import Write
from gradviz.model.explanation import Cause, CodeLine, Fix
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import say

_OFF: Final = {True: "in inference mode", False: "under no_grad"}


@dataclass(frozen=True, kw_only=True)
class ViewRefused(Finding):
    """A view for which a call raised, and the line that made it."""

    context: ErrorContext
    view: GivenOperand
    made: Statement | None
    """The line that gave the view its name, if the text shows it."""
    base: TensorInfo | None = None
    """The leaf that it is a part of."""


def made_unrecorded(context: ErrorContext) -> Iterator[ViewRefused]:
    """A view that was made where nothing is recorded would be written where autograd records."""
    mode = _OFF[is_of_inference_mode(context.raised.message)]
    for found in _views(context):
        made = "{} was made " + mode
        causes = _would_write(found, made, context)
        yield _finding(found, causes, {"mode": mode}, context)


def of_function(context: ErrorContext) -> Iterator[ViewRefused]:
    """A view that a custom Function returned would be written."""
    for found in _views(context):
        causes = _would_write(found, "a custom Function returned {}", context)
        yield _finding(found, causes, {}, context)


def expanded(context: ErrorContext) -> Iterator[ViewRefused]:
    """A tensor of which several elements have one place in memory would be written, or a gradient
    of its form in the backward of a write to it."""
    refused = context.refused
    if context.node is not None or (refused is not None and refused.name in ("backward", "grad")):
        yield _written_earlier(context)
        return
    for found in _views(context):
        causes = _would_write(found, "{} was expanded", context)
        yield _finding(found, causes, {}, context)


def base_written(context: ErrorContext) -> Iterator[ViewRefused]:
    """A view is used after its base was written, though autograd cannot follow that write."""
    tensors = given(context) or [named(one, context) for one in context.names_read]
    views = [one for one in tensors if one.info is not None and one.info.is_view]
    found = views[0] if len(views) == 1 or (views and context.refused is not None) else None
    view = found or GivenOperand(None, None, None)
    wrote = _writes_to(view.info, context)
    causes = [
        Cause("write", say("{} wrote the memory of {}", by, view.words), at) for by, at in wrote
    ]
    yield _finding(view, causes, {"use": called_name(context)}, context, is_known=found is not None)


def resized(context: ErrorContext) -> Iterator[ViewRefused]:
    """The size of a tensor that requires grad would be changed in place."""
    for found in _views(context):
        what = say("{} would change the size of {}", called_name(context), found.words)
        yield _finding(found, [Cause("write", what, context.noticed)], {}, context)


def detached_in_place(context: ErrorContext) -> Iterator[ViewRefused]:
    """A view would be detached in place."""
    for found in _views(context):
        what = say("detach_ would detach {}", found.words)
        yield _finding(found, [Cause("other", what, context.noticed)], {}, context)


def _written_earlier(context: ErrorContext) -> ViewRefused:
    at = None if context.node is None else context.history.made_at(context.node)
    written = context.statement_at(at)
    name = None if written is None else view_again.target_of_write(written)
    view = named(name, context) if name is not None else GivenOperand(None, None, None)
    causes = [Cause("write", say("a write to {} that was expanded", view.words), at)] if at else []
    found = _finding(view, causes, {"at": context.at(at)}, context)
    return replace(found, case="in backward", node=context.node, made=written)


# --- which -----------------------------------------------------------------------------------


def _views(context: ErrorContext) -> Iterator[GivenOperand]:
    yield written_by_call(context)


def _would_write(found: GivenOperand, made: str, context: ErrorContext) -> list[Cause]:
    what = say("{} would write {}", called_name(context), found.words)
    causes = [Cause("write", what, context.noticed)]
    line = view_again.line_that_made(found, context)
    if line is not None:
        causes.append(Cause("other", say(made, found.words), line.at))
    return causes


def _finding(
    view: GivenOperand,
    causes: list[Cause],
    words: dict[str, object],
    context: ErrorContext,
    is_known: bool = True,
) -> ViewRefused:
    unknown = () if is_known else (say("which view it is. Use one view per line to see which"),)
    return ViewRefused(
        history=context.history,
        step=context.step,
        words={"by": called_name(context), "it": view.words if is_known else "a view", **words},
        variables=(view.name, _typed(context)),
        node=context.node_of(view.info),
        causes=tuple(causes),
        targets={"it": [None if view.info is None else view.info.id]},
        unknown=unknown,
        context=context,
        view=view,
        made=view_again.line_that_made(view, context),
        base=_leaf_viewed(view.info, context),
    )


def _typed(context: ErrorContext) -> str | None:
    """How the line types what it would write: the variable of a loop, an argument."""
    site, refused = context.site, context.refused
    target = None if site is None or refused is None else target_of(site, refused.name)
    return target.id if isinstance(target, ast.Name) else None


def _leaf_viewed(view: TensorInfo | None, context: ErrorContext) -> TensorInfo | None:
    """The leaf whose memory a view shows; a view that was made under ``no_grad`` is no such leaf,
    though torch says so."""
    if view is None:
        return None
    on_it = context.history.on_storage(view.storage, context.step)
    leaves = [one for one in on_it if one.is_leaf and one.requires_grad and not one.is_view]
    return leaves[0] if len(leaves) == 1 else None


def _writes_to(
    info: TensorInfo | None, context: ErrorContext
) -> Iterator[tuple[str, CodeLine | None]]:
    """The first recorded write to the memory of a view after it was made."""
    born = None if info is None else context.history.born(info.id)
    for step, event in context.history.events(Write, context.step, born or 0):
        if info is not None and event.storage == info.storage and event.storage is not None:
            yield event.by, context.history.line(step)
            return


# --- fixes -----------------------------------------------------------------------------------


def where_recorded(found: ViewRefused) -> Iterator[Fix]:
    """The write of a leaf's view without recording; else the view made again where autograd
    records."""
    statement, base = found.context.statement, found.base
    if statement is None or statement.is_compound or not statement.is_alone:
        return
    if base is None:
        yield from view_again.before(found.view, statement, found.context)
    elif _is_plain_update(base, found.context) and keeper_of(base, found.context) is None:
        does = say("changes the values without recording; the tensor stays a leaf")
        yield Fix(does, without_record(statement.text), "instead", statement.at)


def _is_plain_update(leaf: TensorInfo | None, context: ErrorContext) -> bool:
    """Whether what is written has no graph of its own."""
    if context.refused is not None:
        others = [key for key in context.refused.reads[1:] if leaf is None or key != leaf.id]
        return not any(requires_grad(key, context) for key in others)
    return isinstance(
        getattr(getattr(context.statement, "node", None), "value", None), ast.Constant
    )


def own_memory(found: ViewRefused) -> Iterator[Fix | None]:
    """A new tensor, or a copy, if nothing else shows the memory of the view later."""
    made, context = found.made, found.context
    module = None if context.refused is None else context.refused.module
    if found.view.name is None and module is not None and context.statement is not None:
        yield not_in_place(module, context.statement)
    if found.case == "in backward":
        yield from view_again.copied(found.view, made)
        return
    if made is None or found.view.name is None or view_again.is_seen_later(made, context):
        return
    yield from out_of_place(
        WriteRefused(
            history=found.history,
            step=found.step,
            context=context,
            written=found.view,
        )
    )


def again_after_write(found: ViewRefused) -> Iterator[Fix]:
    """The view made again, after its base was written."""
    statement = found.context.statement
    if statement is None or statement.is_compound or not statement.is_alone:
        return
    if not any(map(is_switched_off, statement.around)):
        yield from view_again.before(found.view, statement, found.context)


def another_shape(found: ViewRefused) -> Iterator[Fix]:
    """``reshape`` in place of ``resize_`` where the number of elements stays."""
    yield from refused_methods.reshaped(found.view, found.context)


def new_detached(found: ViewRefused) -> Iterator[Fix]:
    """``detach()`` in place of ``detach_()``."""
    name = found.view.name
    if name is None or is_expression(name):
        yield from refused_methods.detached(found.view, found.context)
