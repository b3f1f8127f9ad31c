"""Fixes for a leaf that would be written where autograd records: an update by hand, or a value
that is used further."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gradviz.analysis.code.scopes import all_arguments
from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import (
    Statement,
    calls_in,
    end_of,
    is_expression,
    is_named,
    last_name,
    names_bound,
    names_read,
    same_block,
    statements_of,
)
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fixes.grad_modes import mode_around, without_record
from gradviz.analysis.explain.fixes.out_of_place import out_of_place, spelled, target_of, way_to
from gradviz.analysis.explain.fixes.rewriting import Rewriting, called
from gradviz.model.events import Operation, OptimizerStepped, Refused, ZeroedGrad
from gradviz.model.explanation import Fix
from gradviz.model.history import History
from gradviz.model.recording import Recording
from gradviz.model.records import TensorInfo
from gradviz.model.sentence import Sentence, Term, say

_METHODS: Final = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}


@dataclass(frozen=True)
class LeafWrite:
    """A leaf that a line would write, where autograd records.

    Args:
        context: The error.
        base: The leaf; the line may write a part of it.
        statement: The line.
        site: The call that raised.
        refused: The same, as the recording has it.
        target: What the line writes to.
        typed: How the leaf is typed there.
    """

    context: ErrorContext
    base: TensorInfo | None
    statement: Statement
    site: Site
    refused: Refused
    target: ast.expr
    typed: str


def fixes_of_leaf(base: TensorInfo | None, context: ErrorContext) -> Iterator[Fix]:
    """Changes after which the leaf stays as it is, or is written without recording.

    Which of them is meant follows from what the line writes: a value that is computed from
    tensors which learn, and used further, belongs to the graph; a gradient, a bound or a constant
    is an update of the leaf itself.
    """
    found = _leaf_write(base, context)
    if found is None:
        statement = context.statement
        if statement is not None and _only_writes(statement, context):
            yield from _unrecorded(statement, None, base, context)
    elif _is_used_further(found):
        yield from _new_tensor(found)
    elif not _learns_from_others(found) or _is_loop_variable(found):
        yield from _unrecorded(found.statement, found, base, context)


def _only_writes(statement: Statement, context: ErrorContext) -> bool:
    """Whether a call that is not followed gives no value and has recorded nothing so far.

    Else what it computes may need its graph, which ``no_grad`` around it would cut.
    """
    events = context.history.recording.records[context.step].events
    has_recorded = any(isinstance(one, Operation) and one.recorded for one in events)
    return isinstance(statement.node, ast.Expr) and not has_recorded


def _leaf_write(base: TensorInfo | None, context: ErrorContext) -> LeafWrite | None:
    statement, site, refused = context.statement, context.site, context.refused
    if statement is None or statement.is_compound or site is None or refused is None:
        return None
    target = target_of(site, refused.name)
    typed = None if target is None else _base_text(target, base, context)
    if target is None or typed is None:
        return None
    return LeafWrite(context, base, statement, site, refused, target, typed)


def _base_text(target: ast.expr, base: TensorInfo | None, context: ErrorContext) -> str | None:
    """How a leaf is typed in what a line writes to: ``w`` in ``w[0]``."""
    name = None if base is None else context.name(base.id)
    told = spelled(target, name)
    if told is not None:
        return told
    node: ast.expr = target
    while True:
        text = ast.unparse(node)
        if isinstance(node, (ast.Name, ast.Attribute)) and is_expression(text):
            return text if way_to(target, text) is not None else None
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            return None


# --- what is meant ---------------------------------------------------------------------------


def _is_used_further(found: LeafWrite) -> bool:
    """Whether the function goes on with what a line writes, under a variable of its own."""
    if not found.typed.isidentifier() or _reads_gradient(found.statement):
        return False
    inside = found.statement.function
    is_alias = inside is not None and _alias_line(found) is not None
    is_argument = inside is not None and found.typed in all_arguments(inside)
    if not (is_alias or is_argument or _is_bound_plainly(found)):
        return False
    if is_argument and _is_result_of_helper(found):
        return True
    if not _is_handed_on(found.typed, found.statement):
        return False
    return is_alias or _value_learns(found)


def _is_result_of_helper(found: LeafWrite) -> bool:
    """Whether a function is given a leaf whose gradient is asked for, and its caller computes
    with what it returns: the leaf itself is not to be updated."""
    statement, function = found.statement, found.statement.function
    is_returned = isinstance(statement.node, ast.Return) or _is_handed_on(found.typed, statement)
    if function is None or not is_returned or _is_updated(found):
        return False
    calls = [one.node for one in _elsewhere(found) if calls_in(one, function.name)]
    if not calls and not function.name.startswith("__") and function.name != "forward":
        return False
    return not any(isinstance(one, ast.Expr) and _is_call_of(one, function.name) for one in calls)


def _is_call_of(node: ast.Expr, name: str) -> bool:
    """Whether a line is a call of a function, whose result nothing takes."""
    return isinstance(node.value, ast.Call) and last_name(node.value.func) == name


def _elsewhere(found: LeafWrite) -> Iterator[Statement]:
    """Lines of recorded code outside of the function that would write."""
    function = found.statement.function
    for code in found.context.recording.codes:
        for one in statements_of(code):
            if code != found.statement.code or function not in one.around:
                yield one


def _is_updated(found: LeafWrite) -> bool:
    """Whether a leaf is one that training updates: a parameter, or a tensor that has a gradient
    already or that an optimizer has."""
    history, base, until = found.context.history, found.base, found.context.step
    if base is None or base.grad is not None:
        return True
    given = {key for _, e in history.events(OptimizerStepped, until) for key in e.parameters}
    given |= {key for _, e in history.events(ZeroedGrad, until) for key in e.tensors}
    names = {name for row in history.tensor_rows(base.id, until) for name in row.names}
    return base.id in given or any("." in name for name in names if not name.startswith("self."))


def _is_handed_on(name: str, statement: Statement) -> bool:
    """Whether a later line computes something from a variable, or returns it."""
    later = [s for s in statements_of(statement.code) if s.place > statement.place]
    around = {id(s) for s in statement.around if isinstance(s, (ast.For, ast.While))}
    turns = [
        s
        for s in statements_of(statement.code)
        if s.place < statement.place and around & {id(outer) for outer in s.around}
    ]
    return any(
        isinstance(one.node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return))
        and name in names_read(one.node)
        for one in (*later, *turns)
    )


def _reads_gradient(statement: Statement) -> bool:
    return any(isinstance(p, ast.Attribute) and p.attr == "grad" for p in statement.parts)


def _alias_line(found: LeafWrite) -> Statement | None:
    """The one line of a function that gives an attribute a short name: ``out = self.canvas``."""
    bound = [s for s in statements_of(found.statement.code) if found.typed in names_bound(s)]
    plain = [s for s in bound if not isinstance(s.node, ast.AugAssign)]
    if len(plain) != 1 or not isinstance(plain[0].node, ast.Assign):
        return None
    node = plain[0].node
    is_path = isinstance(node.value, (ast.Attribute, ast.Subscript))
    is_path = is_path and is_expression(ast.unparse(node.value))
    return plain[0] if is_path and is_named(node.targets[0], found.typed) else None


def _is_bound_plainly(found: LeafWrite) -> bool:
    bound = [s for s in statements_of(found.statement.code) if found.typed in names_bound(s)]
    return any(isinstance(s.node, ast.Assign) and s is not found.statement for s in bound)


def _is_loop_variable(found: LeafWrite) -> bool:
    bound = [s for s in statements_of(found.statement.code) if found.typed in names_bound(s)]
    return any(isinstance(s.node, (ast.For, ast.AsyncFor)) for s in bound)


def _value_learns(found: LeafWrite) -> bool:
    """Whether anything but the written tensor that goes in requires grad."""
    return any(requires_grad(key, found.context) for key in found.refused.reads[1:])


def _learns_from_others(found: LeafWrite) -> bool:
    """Whether what goes in is computed from another leaf than the written one."""
    keys = [key for key in found.refused.reads[1:] if requires_grad(key, found.context)]
    base = None if found.base is None else found.base.id
    history, seen = found.context.history, set[str]()
    while keys:
        key = keys.pop()
        if key in seen or key == base:
            continue
        seen.add(key)
        made = history.makers.get(key)
        if made is None:
            return True
        keys += [one for one in made[1].reads if one in made[1].required]
    return False


def requires_grad(key: str, context: ErrorContext) -> bool:
    """Whether a tensor that went into a call requires grad."""
    info = context.history.tensor(key, context.step)
    if info is not None:
        return info.requires_grad
    made = context.history.makers.get(key)
    return made is not None and made[1].recorded


# --- a new tensor ----------------------------------------------------------------------------


def _new_tensor(found: LeafWrite) -> Iterator[Fix]:
    """The line makes a new tensor, or writes a copy that is made where the variable is bound."""
    way = way_to(found.target, found.typed)
    if _hides_leaf(found):
        return
    name = Sentence(found.typed)
    if found.base is not None:
        name = Sentence(Term(found.base.id, found.context.name(found.base.id) or found.typed))
    new = out_of_place(found.site, found.refused.name, found.typed)
    if way == "itself" and new is not None and not new.copied:
        yield new.fix(say("makes a new tensor; {} is not modified", name))
        return
    bound = _alias_line(found)
    if bound is not None and isinstance(bound.node, ast.Assign):
        does = say("continues with a copy of {}, which may be modified", name)
        yield Rewriting(bound, tuple(called(bound.node.value, "clone()"))).fix(does)
    elif new is not None and not any(isinstance(s, _LOOPS) for s in found.statement.around):
        yield new.fix(say("continues with a copy of {}, which may be modified", name))


def _hides_leaf(found: LeafWrite) -> bool:
    """Whether other code binds the variable of the leaf to what is computed from it, and reads its
    gradient."""
    name = None if found.base is None else found.context.name(found.base.id)
    if name is None or found.statement.function is None:
        return False
    beside = [*_elsewhere(found)]
    is_bound = any(name in names_bound(s) and name in names_read(s.node) for s in beside)
    return is_bound and any(_is_gradient(part) for s in beside for part in s.parts)


_LOOPS: Final = (ast.For, ast.While, ast.AsyncFor)


# --- without recording -----------------------------------------------------------------------


def _unrecorded(
    statement: Statement, found: LeafWrite | None, base: TensorInfo | None, context: ErrorContext
) -> Iterator[Fix]:
    """The line, and those beside it that update leaves too, under ``no_grad``."""
    if not statement.is_alone:
        return
    keeper = keeper_of(base, context)
    groups = _updates(statement, found)
    if keeper is not None:
        code = without_record("\n".join(s.text for s in groups[0]))
        does = say("writes it after backward has run {}, which needs the old values", keeper)
        yield Fix(does, code, "elsewhere", statement.at)
        return
    does = say("changes the values without recording; the tensor stays a leaf")
    if found is not None and not _has_torch(statement, context.recording):
        changes = _all_detached(found, groups)
    else:
        changes = [one for group in groups for one in _in_block(group)]
    if changes:
        yield replace(changes[0], does=does, also=tuple(changes[1:]))


def _all_detached(found: LeafWrite, groups: Sequence[Sequence[Statement]]) -> list[Fix]:
    changes = [_detached(found.statement, found.target, found.typed)]
    for one in (s for group in groups for s in group if s is not found.statement):
        target = None if _clears(one) else _written_by(one.node)[0]
        typed = None if target is None else _base_text(target, None, found.context)
        if target is not None:
            changes.append(None if typed is None else _detached(one, target, typed))
    return [one for one in changes if one is not None] if None not in changes else []


def _in_block(group: Sequence[Statement]) -> list[Fix]:
    code = without_record("\n".join(s.text for s in group))
    gone = (Fix(Sentence(), "", "instead", s.at) for s in group[1:])
    return [Fix(Sentence(), code, "instead", group[0].at), *gone]


def _updates(statement: Statement, found: LeafWrite | None) -> list[list[Statement]]:
    """Lines of a function that update leaves, in groups without other lines between them.

    The first group begins with the line that raised.
    """
    groups: list[list[Statement]] = []
    every = [s for s in statements_of(statement.code) if s.line >= statement.line]
    for one in (s for s in every if s.is_alone and not s.is_compound):
        is_first = one.node is statement.node
        if not is_first and not _is_update(one, statement, found):
            continue
        if groups and _is_beside(groups[-1][-1], one, every):
            between = [s for s in every if groups[-1][-1].line < s.line < one.line]
            groups[-1] += [*between, one]
        elif is_first or (_reads_gradient(one) and not mode_around(one)):
            groups.append([one])
    return groups


def _is_update(one: Statement, first: Statement, found: LeafWrite | None) -> bool:
    """Whether a line writes the same leaf, a constant, or a leaf whose gradient it reads."""
    target, values = _written_by(one.node)
    if target is None or _is_gradient(target):
        return False
    if found is not None and way_to(target, found.typed) is not None:
        return same_block(one, first)
    if any(_is_gradient_of(part, target) for v in values for part in ast.walk(v)):
        return True
    if found is None or isinstance(one.node, ast.AugAssign):
        return False
    is_plain = all(isinstance(v, (ast.Constant, ast.UnaryOp)) for v in values)
    owner = ast.unparse(target.value) if isinstance(target, ast.Attribute) else ""
    is_near = owner != "" and owner == found.typed.rpartition(".")[0]
    return is_plain and is_near and same_block(one, first)


def _written_by(node: ast.stmt) -> tuple[ast.expr | None, list[ast.expr]]:
    """What a line writes in place, and the values that go in."""
    if isinstance(node, ast.AugAssign):
        return node.target, [node.value]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0], [node.value]
    call = node.value if isinstance(node, ast.Expr) else None
    func = call.func if isinstance(call, ast.Call) else None
    if isinstance(call, ast.Call) and isinstance(func, ast.Attribute) and func.attr.endswith("_"):
        return func.value, list(call.args)
    return None, []


def _is_beside(last: Statement, one: Statement, every: Sequence[Statement]) -> bool:
    """Whether only lines that clear gradients are between two lines of a block."""
    between = [s for s in every if last.line < s.line < one.line]
    return same_block(last, one) and all(_clears(s) and same_block(s, one) for s in between)


def _clears(statement: Statement) -> bool:
    """``w.grad = None``, ``w.grad.zero_()``."""
    node = statement.node
    if isinstance(node, ast.Assign):
        return all(_is_gradient(t) for t in node.targets) and isinstance(node.value, ast.Constant)
    calls = calls_in(statement, "zero_")
    return (
        isinstance(node, ast.Expr)
        and node.value in calls
        and isinstance(calls[0].func, ast.Attribute)
        and _is_gradient(calls[0].func.value)
    )


def _is_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "grad"


def _is_gradient_of(node: ast.AST, target: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and ast.unparse(node.value) == ast.unparse(target)
    )


def _has_torch(statement: Statement, recording: Recording) -> bool:
    """Whether the file is seen to use the name ``torch``; a cell is taken to have it."""
    file = statement.code.name.partition(":")[0]
    beside = [code for code in recording.codes if code.name.partition(":")[0] == file]
    return file == "cell" or any(
        "torch" in code.imports or "torch" in names_read(s.node)
        for code in beside
        for s in statements_of(code)
    )


def _detached(statement: Statement, target: ast.expr, typed: str) -> Fix | None:
    """The line, writing through ``detach()``: for files that do not have the name ``torch``."""
    node = statement.node
    bases = [part for part in ast.walk(target) if is_named(part, typed)]
    if len(bases) != 1 or any(
        bases[0] is part
        for value in [getattr(node, "value", None)]
        if value is not None and isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return))
        for part in ast.walk(value)
    ):
        return None  # what a line binds or returns would be cut off too
    code = statement.edited([(end_of(bases[0]), ".detach()")])
    if isinstance(node, ast.AugAssign) and bases[0] is node.target:
        method = _METHODS.get(type(node.op))
        if method is None:
            return None
        code = f"{typed}.detach().{method}({statement.segment(node.value)})"
    return Fix(Sentence(), code, "instead", statement.at)


def keeper_of(base: TensorInfo | None, context: ErrorContext) -> Term | None:
    """A node that has saved a leaf, or a view of it, and may still be run."""
    history: History = context.history
    for node in history.nodes(context.step) if base is not None else ():
        for slot in node.saved if history.is_alive(node.id, context.step) else ():
            is_it = base is not None and base.id in (slot.tensor, slot.view_of)
            same = base is not None and slot.storage is not None and slot.storage == base.storage
            if slot.state == "held" and (is_it or same):
                return Term(node.id, node.name)
    return None
