"""Changes after which no saved tensor is modified when backward needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradviz.analysis.code.callers import depth_of, is_inside, step_in_frame
from gradviz.analysis.code.rebind_safety import may_leave, may_rebind
from gradviz.analysis.code.sites import Site, site_of
from gradviz.analysis.code.statements import (
    Statement,
    is_expression,
    is_named,
    is_read_later,
    names_bound,
    names_read,
    statement_of,
    statements_at,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.errors.loop_state import carried_by
from gradviz.analysis.explain.errors.modified_slots import ModifiedSlot, all_modified_slots
from gradviz.analysis.explain.errors.operands import named
from gradviz.analysis.explain.fixes import around_backward, copies, replicas
from gradviz.analysis.explain.fixes.detach_state import cut_state
from gradviz.analysis.explain.fixes.grad_modes import mode_around
from gradviz.analysis.explain.fixes.hook_output import returned_instead
from gradviz.analysis.explain.fixes.inplace_modules import is_activation, not_in_place, switched_off
from gradviz.analysis.explain.fixes.move_line import moved
from gradviz.analysis.explain.fixes.out_of_place import (
    copied_before,
    out_of_place,
    spelled,
    target_of,
)
from gradviz.analysis.explain.fixes.rebinding import may_take_place
from gradviz.analysis.explain.fixes.rewriting import Rewriting, before, together
from gradviz.analysis.explain.fixes.rows_in_a_list import rows_in_a_list
from gradviz.analysis.explain.fixes.value_first import value_first
from gradviz.analysis.explain.torch_names import is_result
from gradviz.model.events import BackwardStarted, Operation, OptimizerStepped
from gradviz.model.explanation import Fix
from gradviz.model.history import ALIASES
from gradviz.model.operations import operation_of
from gradviz.model.sentence import Sentence, Term, listed, say
from gradviz.model.writes import Written, writes_since_save


def fixes_of(found: ModifiedSlot, context: ErrorContext) -> Iterator[Fix | None]:
    """Changes at the writes, then at the saves; only those that fix every saved tensor."""
    suspects = all_modified_slots(found, context)
    written = [_first_write(suspect, context) for suspect in suspects]
    known = [write for write in written if write is not None]
    if any(write.is_optimizer for write in known) or any(_is_leaf(s, context) for s in suspects):
        if len(known) == len(suspects):
            yield from _around_step(known[0], suspects, context)
        return
    if known and all(write.by == replicas.BY for write in known):
        yield from replicas.without_broadcast(context.recording)
    if any(_leaves_nothing(*pair, context) for pair in zip(written, suspects)):
        return
    if len(known) == len(suspects):
        yield rows_in_a_list(known, context)
        at_writes = _of_one_line([_at_write(*pair, context) for pair in zip(known, suspects)])
        does = at_writes[0][1] if at_writes[0] is not None else Sentence()
        yield together(does, [pair and pair[0] for pair in at_writes])
    yield from _at_saves(suspects, written, context)


_AtWrite = tuple[Rewriting | Fix, Sentence] | None


def _of_one_line(found: list[_AtWrite]) -> list[_AtWrite]:
    """Where a whole line is written anew for one saved tensor, it is so for the others."""
    whole = {one[0].at: one for one in found if one is not None and isinstance(one[0], Fix)}
    return [
        whole.get(one[0].statement.at, one)
        if one is not None and isinstance(one[0], Rewriting) and one[0].copied
        else one
        for one in found
    ]


def _first_write(suspect: ModifiedSlot, context: ErrorContext) -> Written | None:
    writes = writes_since_save(suspect.slot, suspect.node, context.history, context.step)
    return writes[0] if writes else None


def _leaves_nothing(write: Written | None, suspect: ModifiedSlot, context: ErrorContext) -> bool:
    """Whether all values were replaced by a constant before anything had used them: the gradient
    is zero then, however that is written."""
    if write is None or write.by not in ("zero_", "fill_") or write.event is None:
        return False
    if write.through or not _may_learn(suspect, context) or not is_result(suspect.slot):
        return False
    place, event = write.event
    key = next(iter(event.reads), None)
    calls = context.history.placed(Operation)
    return not any(key in call.reads and key not in call.made for at, call in calls if at < place)


def _is_leaf(suspect: ModifiedSlot, context: ErrorContext) -> bool:
    """Whether a leaf that requires grad was written, as training by hand does."""
    info = context.history.tensor(suspect.tensor, context.step)
    return info is not None and bool(info.is_leaf) and info.requires_grad


def _would_be_missing(suspect: ModifiedSlot, write: Written | None, context: ErrorContext) -> bool:
    """Whether a gradient would lack a write: it ran where nothing is recorded, or through what was
    cut off, and recorded calls have read what it wrote."""
    if write is None or write.through != "detach":
        found = [] if write is None else statements_at(context.history, write.at)
        return any(mode_around(statement) for statement in found)
    shown = {info.id for info in context.history.on_storage(suspect.slot.storage, context.step)}
    later = context.history.events(Operation, context.step, write.step + 1)
    return any(shown.intersection(event.required) for _, event in later)


# --- at the save -----------------------------------------------------------------------------


def _at_saves(
    suspects: Sequence[ModifiedSlot], written: Sequence[Written | None], context: ErrorContext
) -> Iterator[Fix | None]:
    """Operations save copies, or hand copies on."""
    lines = {write.at.line for write in written if write is not None and write.at is not None}
    found = [copies.saved_copy(s.node, s.slot, s.name, context.history) for s in suspects]
    if any(one is not None and one.statement.line in lines for one in found):
        return
    if any(_would_be_missing(s, write, context) for s, write in zip(suspects, written)):
        return  # torch would not refuse then, and the write would be missing in the gradient
    if any(_is_within(s, write, context) for s, write in zip(suspects, written)):
        return  # a copy of what the line gives is made too late
    yield together(_saving(suspects), found)


def _is_within(suspect: ModifiedSlot, write: Written | None, context: ErrorContext) -> bool:
    """Whether a write ran in a function that was called by the line which saved its result."""
    if write is None or not is_result(suspect.slot):
        return False
    saved = context.history.birth(suspect.node.id)[0]
    return is_inside(context.history, write.step, saved)


def _saving(suspects: Sequence[ModifiedSlot]) -> Sentence:
    first = suspects[0]
    name = _term(first.name or "a tensor", first)
    names = list(dict.fromkeys(operation_of(one.node) for one in suspects))
    operations = listed(names)
    if len({one.node.id for one in suspects}) > 1:
        verb = "saves" if len(names) == 1 else "save"
        return say("{} {} copies, so the write modifies another tensor", operations, verb)
    if is_result(first.slot):
        return say("{} is a copy; the saved result of {} is not modified", name, operations)
    return say("{} saves a copy, so {} may be modified", operations, name)


# --- around an update ------------------------------------------------------------------------


def _around_step(
    first: Written, suspects: Iterable[ModifiedSlot], context: ErrorContext
) -> Iterator[Fix | None]:
    """Move the update after the backward, or compute the loss again after it."""
    suspects = list(suspects)
    statement = _in_frame(first, context)
    carried = carried_by(suspects[0].node.id, context)
    if carried is not None:
        yield cut_state(carried, context)
        return
    updated = {suspect.tensor for suspect in suspects}
    for event in context.recording.records[first.step].events:
        if isinstance(event, OptimizerStepped):
            updated |= set(event.updated)
    leaves = [n.id for n in context.history.nodes(context.step) if n.variable in updated]
    stale = [*leaves, *(suspect.node.id for suspect in suspects)]
    is_after_backward = any(context.history.events(BackwardStarted, first.step))
    again = around_backward.compute_again(stale, statement, context, " with the new values")
    if again is not None and (is_after_backward or first.is_optimizer):
        yield again
        if is_after_backward:
            return  # a later update would use the sum of both gradients
    if is_after_backward or _reads_between(first, updated, context):
        return
    if _is_mixed_with_itself(first, context):
        return
    does = say("updates the weights after the backward that needs their old values")
    behind = around_backward.move_behind(statement, context, does)
    if not first.is_optimizer and statement is not None and isinstance(statement.node, ast.Expr):
        behind = moved(statement, context.statement, "after", does)
    yield behind


def _is_mixed_with_itself(written: Written, context: ErrorContext) -> bool:
    """Whether an update reads twice what it writes: where an average is the model itself, say.

    Another place does not make such an update what was meant.
    """
    calls = [e for e in context.recording.records[written.step].events if isinstance(e, Operation)]
    return any(one.name.endswith("_") and one.reads[:1] == one.reads[1:2] for one in calls)


def _in_frame(written: Written, context: ErrorContext) -> Statement | None:
    """The line that wrote, or called what wrote, in the function that raised."""
    step = step_in_frame(context.history, written.step, context.step)
    if step is None or depth_of(context.history, step) == depth_of(context.history, written.step):
        return context.statement_at(written.at)
    return statement_of(context.history, step)


def _reads_between(written: Written, updated: set[str | None], context: ErrorContext) -> bool:
    """Whether lines between an update and the error compute something with the new values."""
    since = step_in_frame(context.history, written.step, context.step) or written.step
    calls = context.history.events(Operation, context.step, since + 1)
    return any(updated & set(event.reads) for _, event in calls)


# --- at the write ----------------------------------------------------------------------------


def _at_write(
    first: Written, suspect: ModifiedSlot, context: ErrorContext
) -> tuple[Rewriting | Fix, Sentence] | None:
    """A change at a write, and what it does."""
    is_other = first.tensor is None or first.tensor != suspect.tensor
    alias = first.name if is_other and first.name != suspect.name else None
    if alias is not None and first.through == "detach":
        return _copy_of_alias(alias, first, context)
    if alias is not None:
        return _view_of_copy(alias, suspect, first, context)
    site = None if first.event is None else site_of(context.history, *first.event)
    if site is None:
        return _in_module(first, context.statement_at(first.at), context)
    hook = returned_instead(site, first, suspect.node, context.history)
    if hook is not None and is_result(suspect.slot):
        return hook
    found = _new_tensor(site, first, suspect, context)
    if found is None:
        return _in_module(first, site.statement, context)
    if isinstance(found, Fix):
        return found, found.does
    if not found.copied:
        return found, say("makes a new tensor; the saved tensor is not modified")
    name = _term(found.copied, suspect)
    return found, say("continues with a copy of {}; the saved tensor is not modified", name)


def _in_module(
    first: Written, statement: Statement | None, context: ErrorContext
) -> tuple[Fix, Sentence] | None:
    """``inplace=False`` for a module that wrote."""
    if first.module is None or statement is None:
        return None
    fix = not_in_place(first.module, statement)
    if fix is None and is_activation(first.by):
        fix = _of_library(first.module, first.step, context)
    return None if fix is None else (fix, fix.does)


def _of_library(module: str, step: int, context: ErrorContext) -> Fix | None:
    """``inplace=False`` where the recorded code begins, for a module that is called in a function
    which is followed: it would be followed too if it were not torch's own."""
    facts, history = context.recording.records, context.history
    root = module.partition(".")[0]
    is_by_class = any(one.path == one.type == root for one in context.recording.modules)
    if facts[step].depth == 0 or is_by_class:  # a name of ours is none that could be typed
        return None
    start = next((at for at in range(step, len(facts)) if depth_of(history, at) == 0), None)
    outer = None if start is None else statement_of(history, start)
    if outer is None or any(isinstance(one, ast.FunctionDef) for one in outer.around):
        return None
    return switched_off(module, outer)


def _new_tensor(
    site: Site, first: Written, suspect: ModifiedSlot, context: ErrorContext
) -> Rewriting | Fix | None:
    """A new tensor is made, or a copy is written, where all that follows sees it."""
    name, statement = suspect.name or first.name, site.statement
    target = target_of(site, first.by)
    typed = spelled(target, name)
    if target is not None and typed is None:
        if _is_made_there(suspect, statement, context) or _is_passed(target, name, site):
            return out_of_place(site, first.by, None, is_read=False)
        typed = _typed(target, first, suspect)
    typed = typed if target is not None else name
    if typed is None or not is_expression(typed) or _has_views(suspect, first, context):
        return None
    if "." in typed and _gets_a_graph(first, context):
        return None  # an object would keep it, and with it the graph of this forward
    if not may_take_place(statement, typed, first.step, context.history):
        return None
    if target is not None:
        is_read = not may_leave(statement, typed)
        mode = mode_around(statement) if _may_learn(suspect, context) else ""
        found = out_of_place(site, first.by, typed, is_read, mode)
        saving = _saving_there(suspect, site, context)
        if found is None or not found.copied or saving is None:
            return found
        is_left = not is_read and _reads_only_in(saving, site, target, typed)
        if is_left:
            return out_of_place(site, first.by, None, is_read=False)
        does = say("writes to a copy of {}; the saved tensor is not modified", name or typed)
        return value_first(site, typed, does)
    is_known = first.module is None and first.name is not None
    return copied_before(site, typed) if is_known else None


def _gets_a_graph(write: Written, context: ErrorContext) -> bool:
    """Whether values that require grad were written into a tensor that did not."""
    facts = context.recording.records[write.step]
    calls = (e for e in facts.events if isinstance(e, Operation) and write.tensor in e.made)
    return any(call.required and write.tensor not in call.required for call in calls)


def _typed(target: ast.expr | None, first: Written, suspect: ModifiedSlot) -> str | None:
    """How a line types the whole tensor that it writes, where that is none of its names."""
    if first.through or (suspect.slot.is_parameter is True):
        return None
    if isinstance(target, ast.Name):
        is_same = first.event is not None and suspect.tensor in first.event[1].reads[:1]
        return target.id if is_same else None
    text = "" if target is None else ast.unparse(target)
    is_attribute = isinstance(target, ast.Attribute) and target.attr not in ALIASES
    return text if is_attribute and is_expression(text) else None


def _may_learn(suspect: ModifiedSlot, context: ErrorContext) -> bool:
    """Whether a tensor that was written could have a gradient."""
    info = context.history.tensor(suspect.tensor, context.step)
    return info is None or info.requires_grad


def _is_made_there(suspect: ModifiedSlot, statement: Statement, context: ErrorContext) -> bool:
    """Whether what a line writes is a result that it has made itself: ``w.exp().add_(1)``."""
    made = copies.made_by(suspect.node, context.history)
    is_result_of_it = made is not None and made.node is statement.node and is_result(suspect.slot)
    return is_result_of_it and not any(isinstance(p, ast.NamedExpr) for p in statement.parts)


def _saving_there(suspect: ModifiedSlot, site: Site, context: ErrorContext) -> Site | None:
    """What saved in the line that writes: a copy made before it would be both."""
    place = context.history.birth(suspect.node.id)
    events = context.recording.records[place[0]].events
    event = events[place[1]] if place[1] < len(events) else None
    saving = site_of(context.history, place, event) if isinstance(event, Operation) else None
    return saving if saving is not None and saving.statement.node is site.statement.node else None


def _reads_only_in(saving: Site, site: Site, target: ast.expr, name: str) -> bool:
    """Whether a line that writes a tensor reads it only in the expression that saved it."""
    rest = [p for p in site.statement.parts if is_named(p, name) and p is not target]
    inside = list(ast.walk(saving.node))
    return site.node not in inside and all(part in inside for part in rest)


def _is_passed(target: ast.expr, name: str | None, site: Site) -> bool:
    """Whether a comprehension takes it from a list that nobody reads any more."""
    statement = site.statement
    for part in statement.parts:
        if isinstance(part, ast.comprehension) and ast.unparse(part.target) == ast.unparse(target):
            names = {*names_read(part.iter), *([] if name is None else [name])}
            dropped = names_bound(statement) if isinstance(statement.node, ast.Assign) else []
            left = [one for one in names if one.partition("[")[0] not in dropped]
            return not any(is_read_later(one, statement) for one in left)
    return False


def _term(name: str, suspect: ModifiedSlot) -> Sentence:
    """A tensor that was saved, in a sentence."""
    return Sentence(name if suspect.tensor is None else Term(suspect.tensor, name))


def _copy_of_alias(
    alias: str, first: Written, context: ErrorContext
) -> tuple[Fix, Sentence] | None:
    """The tensor that was written has memory of its own."""
    keys = () if first.event is None else first.event[1].reads[:1]
    calls = [call for key in keys for call in context.history.aliases(key)]
    made = next((call for call in calls if call[1].name == "detach"), None)
    if made is None:
        return None
    does = say("{} gets its own storage", Term(keys[0], alias))
    fix = copies.copied_alias(made, does, context.history)
    return None if fix is None else (fix, does)


def _view_of_copy(
    alias: str, suspect: ModifiedSlot, first: Written, context: ErrorContext
) -> tuple[Rewriting, Sentence] | None:
    """The view is taken of a copy, if it was taken after the save."""
    statement = _bound_at(alias, first.step, context)
    found = named(alias, context)
    made, saved = (
        context.history.born(found.key) if found.key else None,
        context.history.born(suspect.node.id),
    )
    name = suspect.name
    if statement is None or made is None or saved is None or made <= saved:
        return None
    if name is None or not is_expression(name) or not may_rebind(statement, name):
        return None
    if _has_views(suspect, first, context, until=made):
        return None
    change = before(statement, f"{name} = {name}.clone()")
    does = say("{} is a view of a copy; the saved tensor is not modified", found.words)
    return None if change is None else (Rewriting(statement, (change,), name), does)


def _bound_at(name: str, until: int, context: ErrorContext) -> Statement | None:
    """The statement that bound a variable last."""
    for step in range(until, 0, -1):
        if context.recording.records[step].kind == "line":
            statement = context.statement_at(context.history.line(step))
            if statement is not None and name in names_bound(statement):
                return statement if isinstance(statement.node, ast.Assign) else None
    return None


def _has_views(
    suspect: ModifiedSlot, first: Written, context: ErrorContext, until: int | None = None
) -> bool:
    """Whether other variables see the write too, as they would not if it made a new tensor; only
    those made before a step, if one is given."""
    others = context.history.on_storage(suspect.slot.storage, first.step)
    return any(
        info.id != suspect.tensor
        and info.name
        and context.history.is_alive(info.id, first.step)
        and (until is None or (context.history.born(info.id) or 0) < until)
        for info in others
    )
