"""Changes after which a value stays on the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, TypeGuard

from gradviz.analysis.code.frames import frames_of
from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import (
    Span,
    Statement,
    TextChange,
    behind,
    calls_in,
    end_of,
    last_name,
    loops_around,
    names_bound,
    names_read,
    span_of,
    start_of,
    statement_of,
    statements_of,
)
from gradviz.analysis.cuts import FROM_VALUES, Cut
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fixes import keep_leaf
from gradviz.analysis.explain.fixes.frozen_parameters import given_to_optimizer
from gradviz.analysis.explain.fixes.grad_modes import (
    CHECKPOINTS,
    condition_of,
    is_reentrant,
    switch_in,
)
from gradviz.analysis.explain.fixes.recorded_lines import recorded_lines
from gradviz.analysis.explain.fixes.rewriting import (
    Rewriting,
    together,
    with_keyword,
)
from gradviz.analysis.explain.fixes.to_numpy import in_torch
from gradviz.analysis.explain.switched_off import switch_of
from gradviz.model.events import Operation, Write
from gradviz.model.explanation import CodeLine, Fix
from gradviz.model.history import ALIASES
from gradviz.model.sentence import Sentence, say

_LEAVING: Final = frozenset({"item", "tolist", "numpy", "detach", "cpu"})


_IN_TORCH: Final = frozenset(
    {"sqrt", "exp", "expm1", "log", "log10", "log1p", "log2", "sin", "cos", "tan", "asin", "acos"}
    | {"atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma"}
)
"""Functions of ``math`` that are functions of torch with the same name and meaning."""
_LEFT: Final = ("left torch", "detach", ".data")
_AT_THE_LINE: Final = (*_LEFT, "no_grad", "inference mode", "requires_grad")
"""Reasons for which a line is changed as a whole."""


def fixes_of(cuts: Sequence[Cut], context: ErrorContext) -> Iterator[Fix]:
    """Changes that continue the graph where it was cut, for each cut.

    Args:
        cuts: All that a root was cut off by: those of one line are mended together.
        context: The error.
    """
    block = _block_around(cuts, context)
    if block is not None:
        fix = recorded_lines(*block, context)
        yield from () if fix is None else (fix,)
        return
    for cut in cuts:
        if cut.reason == "create_graph":
            fix = _with_graph(cut, context)
        elif cut.reason not in _AT_THE_LINE:
            fix = (
                None  # what takes the place of a choice without a derivative, only the author knows
            )
        else:
            statement = context.statement_at(cut.at)
            fix = None if statement is None else _at_line(cut, statement, cuts, context)
        if fix is not None:
            yield fix


def _at_line(
    cut: Cut, statement: Statement, cuts: Sequence[Cut], context: ErrorContext
) -> Fix | None:
    if cut.reason in _LEFT:
        beside = [one for one in cuts if one.reason in _LEFT]
        return _stay(
            [one for one in beside if context.statement_at(one.at) is statement],
            statement,
            context,
        )
    if cut.reason == "requires_grad":
        if any(_is_given_values(key, cut.step, context) for key in cut.tensors):
            return None  # what they were computed from is to learn, not the tensor itself
        return given_to_optimizer(cuts, context) or _switch_on(statement)
    return _record(cut, context)


def _is_given_values(key: str, since: int, context: ErrorContext) -> bool:
    """Whether a line put values that require grad into the memory of a tensor without a graph:
    ``layer.weight.data = weight.data``."""
    name, history = context.name(key), context.history
    for step, write in history.events(Write, context.step):
        if step < since or not (key in write.tensors or (name is not None and write.name == name)):
            continue
        calls = history.events(Operation, step + 1, step)
        if any(call.name in ALIASES and call.required for _, call in calls):
            return True
    return False


def require_grad(name: Sentence, made: CodeLine | None, context: ErrorContext) -> Iterator[Fix]:
    """Make a tensor require grad after it is created."""
    statement = context.statement_at(made)
    if statement is not None and not statement.is_compound:
        does = say("makes {} require grad before it is used", name)
        yield Fix(does, f"{name}.requires_grad_()", "after", statement.at)


def _stay(cuts: Sequence[Cut], statement: Statement, context: ErrorContext) -> Fix | None:
    """Take out the calls of a line that lead out of the graph, and those that lead into torch
    again."""
    wrapped = [context.statement_at(cut.wrapped) for cut in cuts]
    of_values = (cut for cut in cuts if cut.arrived is None or cut.arrived.name in FROM_VALUES)
    values = [context.statement_at(cut.wrapped) for cut in of_values]
    found = (*wrapped, *_passing_on(cuts, statement, context))
    others = {one.line: one for one in found if one is not None and one is not statement}
    involved = [statement, *(others[line] for line in sorted(others))]
    if any(_is_written_later(cut, context) for cut in cuts) or _is_carried(statement, context):
        return None
    if any(one.code != statement.code for one in involved) and _has_callers(statement, context):
        return None  # others may need the number that it returns
    is_mixed = any(cut.call == "tolist" for cut in cuts) and any(
        calls_in(one, "append", "extend") for one in involved
    )
    made = {name for one in involved for name in _names_changed(one)}
    arrays = [in_torch(one, made) for one in involved]
    if is_mixed or any(one is None for one in arrays):
        return None
    of_list, is_value = any(c.of_list for c in cuts), any(c.wrapped is None for c in cuts)
    changes: list[Rewriting] = []
    for one, numpy in zip(involved, arrays, strict=True):
        if one is statement:
            spans = _leaving_spans(one, cuts, context)
        else:
            spans = _following_spans(one, involved)
        if spans is None:
            return None
        known = {span_of(at) for at, _ in spans}
        spans = [*spans, *(change for change in numpy or () if span_of(change[0]) not in known)]
        if one is not statement or is_value or one in wrapped:
            wrapping = _wrapping_spans(one, involved, of_list, spans)
            if one in values and not wrapping and calls_in(one, *FROM_VALUES):
                return None  # which of them has the value is not known
            spans = [*spans, *wrapping]
        if one is statement and not spans:
            return None
        if spans:
            changes.append(Rewriting(one, tuple(spans)))
    return together(say("keeps the value in torch, and in the graph"), changes)


def _passing_on(
    cuts: Sequence[Cut], statement: Statement, context: ErrorContext
) -> Iterator[Statement]:
    """Lines that passed on what a line took out of torch, without those between that read none of
    it: of other functions all, as they have names of their own."""
    for cut in cuts:
        made = set(_names_changed(statement))
        for line in reversed(cut.through):
            one = context.statement_at(line)
            if one is None:
                continue
            is_other = one.code != statement.code or isinstance(one.node, ast.Return)
            if is_other or made.intersection(names_read(one.node)):
                made.update(_names_changed(one))
                yield one


def _has_callers(statement: Statement, context: ErrorContext) -> bool:
    """Whether several lines called the function of a statement."""
    history = context.history
    frames = [
        frames_of(step, history)
        for step in range(1, context.step)
        if statement_of(history, step) is statement
    ]
    lines = [history.line(steps[-2]) for steps in frames if len(steps) > 1]
    return len({(line.code, line.line) for line in lines if line is not None}) > 1


def _is_written_later(cut: Cut, context: ErrorContext) -> bool:
    """Whether memory that would be on the graph is written after the cut."""
    keys = {*cut.tensors, *cut.made}
    rows = [context.history.tensor(key, context.step) for key in keys if key.startswith("t")]
    storages = {row.storage for row in rows if row is not None and row.storage is not None}
    return any(
        event.storage in storages or keys & set(event.reads)
        for _, event in context.history.events(Write, context.step, cut.step + 1)
    )


def _is_carried(statement: Statement, context: ErrorContext) -> bool:
    """Whether the cut is between one iteration of a loop and the next."""
    bound = set(names_bound(statement))
    noticed = context.statement
    around = [id(loop) for loop in loops_around(noticed)] if noticed is not None else []
    return any(
        id(loop) in around and bound & set(names_read(one))
        for loop in loops_around(statement)
        for one in loop.body
        if one.lineno < statement.node.lineno
    )


def _leaving_spans(
    statement: Statement, cuts: Sequence[Cut], context: ErrorContext
) -> list[TextChange] | None:
    """The calls that cut, and those around them that lead out of torch, to be taken out.

    ``None`` if it is not known which they are.
    """
    found: dict[ast.AST, None] = {}
    replaced: list[TextChange] = []
    for cut in cuts:
        site = site_of(context.history, cut.place, cut.event)
        if site is None:
            return None
        if (function := _of_math(site.node)) is not None:
            replaced.append((function, f"torch.{function.attr}"))
            continue
        around = [part for part in statement.parts if (left := _left(part)) and site.is_in(left)]
        if _left(site.node) is not None:
            around.append(site.node)
        elif site.call_of(*FROM_VALUES) is None:
            return None
        found |= dict.fromkeys(around)
    return [*replaced, *_taken_out(list(found), statement)]


def _of_math(node: ast.AST) -> ast.Attribute | None:
    """The function of a call such as ``math.sqrt(x)``, which torch has for tensors."""
    function = node.func if isinstance(node, ast.Call) else None
    is_of_math = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    if not is_of_math or not isinstance(function, ast.Attribute):
        return None
    is_same = ast.unparse(function.value) == "math" and function.attr in _IN_TORCH
    is_alone = isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    return function if is_same and is_alone else None


def _following_spans(statement: Statement, involved: Sequence[Statement]) -> list[TextChange]:
    """The calls that lead what other lines made out of torch, to be taken out."""
    made = {name for one in involved if one is not statement for name in _names_changed(one)}
    return _taken_out(
        [
            part
            for part in statement.parts
            if not _is_data(part) and (left := _left(part)) and made & set(names_read(left))
        ],
        statement,
    )


def _names_changed(statement: Statement) -> list[str]:
    """Variables that are bound, and lists that are added to."""
    added = calls_in(statement, "append", "extend")
    return [*names_bound(statement), *(name for call in added for name in names_read(call.func))]


def _left(part: ast.AST) -> ast.expr | None:
    """What a call or attribute leads out of torch, or off the graph; ``None`` of another one."""
    if _is_data(part):
        return part.value
    if not isinstance(part, ast.Call):
        return None
    if isinstance(part.func, ast.Attribute) and part.func.attr in _LEAVING:
        if last_name(part.func.value) != "torch":
            return part.func.value
        return part.args[0] if part.args else None
    return part.args[0] if last_name(part.func) in ("float", "int") and part.args else None


def _is_data(part: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(part, ast.Attribute) and part.attr == "data"


def _taken_out(parts: Sequence[ast.AST], statement: Statement) -> list[TextChange]:
    """What remains is what they take, the outermost first; ``cpu()`` stays if it is that."""
    found: list[TextChange] = []
    for part in parts:
        left = _left(part)
        assert left is not None
        if isinstance(part, ast.Call) and (left in part.args):
            found += _unwrapped(part, statement)
        elif found or last_name(getattr(part, "func", part)) != "cpu":
            found.append((Span(behind(left, part, statement), end_of(part)), ""))
    return found


def _wrapping_spans(
    statement: Statement, involved: Sequence[Statement], of_list: bool, inside: list[TextChange]
) -> list[TextChange]:
    """``torch.tensor(…)`` to be taken out; of a list of tensors ``torch.stack`` remains. What is
    changed in the line already is in it."""
    calls = [c for c in calls_in(statement, *FROM_VALUES, "Variable") if c.args]
    if inside:
        calls = [
            c for c in calls if any(start_of(c) <= start_of(at) < end_of(c) for at, _ in inside)
        ]
    elif len(calls) > 1:
        others = [one for one in involved if one is not statement]
        made = {name for one in others for name in _names_changed(one)}
        calls = [c for c in calls if made.intersection(names_read(c.args[0]))]
    if len(calls) != 1:
        return []
    call = calls[0]
    lists = (ast.List, ast.ListComp, ast.GeneratorExp)
    values = [part for one in involved for part in one.parts if isinstance(part, lists)]
    if of_list or values or any(calls_in(one, "append") for one in involved):
        rest = Span(end_of(call.args[0]), end_of(call))
        return [(call.func, "torch.stack"), (rest, ")")]
    return _unwrapped(call, statement)


def _unwrapped(call: ast.Call, statement: Statement) -> list[TextChange]:
    """A call to be replaced by its first argument."""
    inner = call.args[0]
    is_bound = call is getattr(statement.node, "value", None)
    is_one = is_bound or not isinstance(inner, (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp))
    opens, closes = ("", "") if is_one else ("(", ")")
    return [
        (Span(start_of(call), start_of(inner)), opens),
        (Span(end_of(inner), end_of(call)), closes),
    ]


def _record(cut: Cut, context: ErrorContext) -> Fix | None:
    """Switch recording on again where it was switched off."""
    switch = switch_of(cut, context)
    line = context.statement_at(cut.at)
    if switch is None:
        return None
    if line is not None and keep_leaf.is_update(line):
        return keep_leaf.new_leaves(line)  # a recorded update would make results of the leaves
    if switch.is_decorator:
        decorated = [one for one in switch.statement.around if getattr(one, "decorator_list", ())]
        if any(map(_writes_inside, decorated[-1:])):
            return None
        return Fix(say("lets autograd record this function"), "", "instead", switch.at)
    if switch.call is not None and is_reentrant(switch.call):
        return _without_reentrance(context)
    if isinstance(switch.statement.node, ast.With):
        return _record_block(switch.statement, switch.statement.node, cut, context)
    return _mode_on(switch.statement)


def _block_around(cuts: Sequence[Cut], context: ErrorContext) -> tuple[ast.With, ast.expr] | None:
    """The block of several lines that made all cuts, and what switches recording off in it."""
    switches = [switch_of(cut, context) for cut in cuts]
    nodes = [None if one is None or one.is_decorator else one.statement.node for one in switches]
    block = nodes[0] if nodes else None
    if not isinstance(block, ast.With) or any(one is not block for one in nodes):
        return None
    call = switch_in(block)
    if call is None or condition_of(call) is not None or len(block.body) < 2:
        return None
    return None if _writes_inside(block) else (block, call)


def _record_block(head: Statement, block: ast.With, cut: Cut, context: ErrorContext) -> Fix | None:
    """Record a block, or the one line of it that the author may mean to be recorded."""
    call = switch_in(block)
    if call is None or _writes_inside(block):
        return None
    condition = condition_of(call)
    inside = [
        one
        for step in frames_of(cut.step, context.history)
        if (one := statement_of(context.history, step)) is not None and block in one.around
    ]
    if condition is None and len(block.body) > 1:
        return _recorded_line(inside[-1], block) if inside else None
    does = say("lets autograd record these lines")
    if condition is not None:
        does = say("lets autograd record these lines, whatever {} is", condition[0])
    on = "torch.enable_grad()"
    if last_name(getattr(call, "func", call)) == "inference_mode":
        on = "torch.inference_mode(False)"
    return Fix(does, head.edited([(call, on)]), "instead", head.at)


def _without_reentrance(context: ErrorContext) -> Fix | None:
    """Record inside all checkpoints, of which each gives the next one its input."""
    lines: dict[tuple[str, int | None], Statement] = {}
    for step in range(1, context.step):
        statement = statement_of(context.history, step)
        if statement is not None and any(map(is_reentrant, calls_in(statement, *CHECKPOINTS))):
            lines.setdefault((statement.code.name, statement.line), statement)
    changes = [
        found
        for statement in lines.values()
        for call in calls_in(statement, *CHECKPOINTS)[:1]
        if (found := with_keyword(statement, call, "use_reentrant", "False")) is not None
    ]
    does = say("records inside the checkpoint, whether or not its input requires grad")
    return together(does, changes) if len(changes) == len(lines) else None


def _recorded_line(statement: Statement, block: ast.With) -> Fix | None:
    """Record one line of a block; the author may mean the others not to be recorded."""
    if statement.is_compound or not statement.is_alone or statement.around[-1] is not block:
        return None
    made = set(names_bound(statement))
    later = [one for one in block.body if one.lineno > statement.node.lineno]
    if not made or any(made.intersection(names_read(one)) for one in later):
        return None  # what is computed from it would not be recorded
    inside = "\n".join(f"    {line}" for line in statement.text.split("\n"))
    does = say("lets autograd record this line")
    return Fix(does, f"with torch.enable_grad():\n{inside}", "instead", statement.at)


def _mode_on(statement: Statement) -> Fix | None:
    """Leave grad mode on, where a line has switched it off."""
    calls = calls_in(statement, "set_grad_enabled")
    value = calls[0].args[0] if len(calls) == 1 and calls[0].args else None
    is_off = isinstance(value, ast.Constant) and value.value is False
    if value is None or not is_off or not isinstance(statement.node, ast.Expr):
        return None
    code = statement.edited([(value, "True")])
    return Fix(say("lets autograd record what follows"), code, "instead", statement.at)


def _writes_inside(outer: ast.stmt) -> bool:
    """Whether a block writes in place, which may be allowed only while nothing is recorded."""
    for node in ast.walk(outer):
        if isinstance(node, ast.AugAssign):
            return True
        if isinstance(node, ast.Call) and last_name(node.func).endswith("_"):
            return True
    return False


def _switch_on(statement: Statement) -> Fix | None:
    """Leave ``requires_grad`` as it was."""
    node = statement.node
    does = say("makes the tensor require grad")
    if any(True for _ in loops_around(statement)):
        return None  # others of the loop may be frozen on purpose
    if isinstance(node, ast.Assign):
        if [last_name(target) for target in node.targets] != ["requires_grad"]:
            return None
        return Fix(does, statement.edited([(node.value, "True")]), "instead", statement.at)
    calls = calls_in(statement, "requires_grad_")
    if len(calls) != 1:
        return None
    values = [*calls[0].args, *(k.value for k in calls[0].keywords)]
    return Fix(does, statement.edited([(v, "True") for v in values]), "instead", statement.at)


def _with_graph(cut: Cut, context: ErrorContext) -> Fix | None:
    """``create_graph=True`` for a gradient that is differentiated again, and for what is computed
    of it in the line that raised, if that may be differentiated too."""
    site = site_of(context.history, cut.step, cut.event)
    call = None if site is None else site.call_of("grad")
    if site is None or call is None:
        return None
    found = [with_keyword(site.statement, call, "create_graph", "True")]
    again = context.statement
    if again is not None and again.node is not site.statement.node and _may_go_on(again):
        calls = calls_in(again, "grad")
        is_open = len(calls) == 1 and not any(k.arg == "create_graph" for k in calls[0].keywords)
        found += [with_keyword(again, calls[0], "create_graph", "True")] if is_open else []
    does = say("records how the gradient is computed, so that it can be differentiated too")
    return together(does, found)


def _may_go_on(statement: Statement) -> bool:
    """Whether a line is in a function, or a later one runs backward."""
    if any(isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)) for one in statement.around):
        return True
    later = (one for one in statements_of(statement.code) if one.line > statement.line)
    return any(calls_in(one, "backward", "grad") for one in later)
