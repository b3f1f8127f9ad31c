"""Changes after which a value stays on the graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.analysis.cuts import FROM_VALUES, Cut
from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.fixes.modes import SWITCHES
from gradviz.analysis.explaining.fixes.rewriting import Rewriting, keyword_change, with_keyword
from gradviz.analysis.explaining.sites import site_of
from gradviz.analysis.explaining.statements import (
    Span,
    Statement,
    calls_in,
    end_of,
    last_name,
    loops_around,
    names_bound,
    names_read,
    start_of,
)
from gradviz.model.events import Write
from gradviz.model.explanation import CodeLine, Cure

_LEAVING: Final = frozenset({"item", "tolist", "numpy", "detach", "cpu"})
_INSTEAD_OF: Final = {
    "argmax": "{0}.softmax(-1)",
    "argmin": "(-{0}).softmax(-1)",
    "argsort": "{0}.sort().values",
}
"""Differentiable relatives of operations without a derivative."""


_LEFT: Final = ("left torch", "detach", ".data")
_AT_THE_LINE: Final = (*_LEFT, "no_grad", "inference mode", "requires_grad")
"""Reasons for which a line is changed as a whole."""


def cures_of(cut: Cut, evidence: Evidence) -> Iterator[Cure]:
    """Changes that let the graph go on where it was cut."""
    if cut.reason == "create_graph":
        cure = _with_graph(cut, evidence)
    elif cut.reason not in _AT_THE_LINE:
        cure = _with_derivative(cut, evidence)
    else:
        statement = evidence.statement_at(cut.at)
        cure = None if statement is None else _at_line(cut, statement, evidence)
    if cure is not None:
        yield cure


def _at_line(cut: Cut, statement: Statement, evidence: Evidence) -> Cure | None:
    if cut.reason in _LEFT:
        return _stay(cut, statement, evidence)
    if cut.reason == "requires_grad":
        return _switch_on(statement)
    return _record(cut, statement, evidence)


def require_grad(name: str, made: CodeLine | None, evidence: Evidence) -> Cure | None:
    """Ask for the gradient of a tensor once it is made."""
    statement = evidence.statement_at(made)
    if statement is None or statement.is_compound:
        return None
    does = f"asks for the gradient of {name} before it is used"
    return Cure(does, f"{name}.requires_grad_()", "after", statement.line)


def _stay(cut: Cut, statement: Statement, evidence: Evidence) -> Cure | None:
    """Take out the calls that lead out of the graph, and those that lead into torch again."""
    wrapped = evidence.statement_at(cut.wrapped)
    between = [evidence.statement_at(line) for line in cut.through]
    involved = [s for s in (statement, wrapped, *between) if s is not None]
    if _is_written_later(cut, evidence) or _is_carried(statement, evidence):
        return None
    is_mixed = cut.call == "tolist" and any(calls_in(one, "append", "extend") for one in involved)
    if is_mixed or any(_uses_numpy(one) for one in involved):
        return None
    changes: dict[int, tuple[Statement, list[tuple[ast.AST, str]]]] = {}
    for one in involved:
        spans = [*_leaving_spans(one, cut)]
        if one is not statement or cut.wrapped is None or one is wrapped:
            spans += _wrapping_spans(one, involved, cut.of_list)
        if spans:
            changes[one.line] = one, spans
    if statement.line not in changes:
        return None
    edits = [
        Cure("", _without_self(one.edited(spans)), "instead", line)
        for line, (one, spans) in sorted(changes.items())
    ]
    first = next(edit for edit in edits if edit.line == statement.line)
    also = tuple(edit for edit in edits if edit.line != statement.line)
    does = "stays in torch, and on the graph"
    return Cure(does, first.code, "instead", first.line, also)


def _is_written_later(cut: Cut, evidence: Evidence) -> bool:
    """Whether memory that would be on the graph is written after the cut."""
    keys = {*cut.tensors, *cut.made}
    rows = [evidence.history.tensor(key, evidence.step) for key in keys if key.startswith("t")]
    storages = {row.storage for row in rows if row is not None and row.storage is not None}
    return any(
        event.storage in storages or keys & set(event.reads)
        for _, event in evidence.history.events(Write, evidence.step, cut.step + 1)
    )


def _is_carried(statement: Statement, evidence: Evidence) -> bool:
    """Whether the cut is on the way from one pass of a loop to the next."""
    bound = set(names_bound(statement))
    noticed = evidence.statement
    around = [id(loop) for loop in loops_around(noticed)] if noticed is not None else []
    return any(
        id(loop) in around and bound & set(names_read(one))
        for loop in loops_around(statement)
        for one in loop.body
        if one.lineno < statement.node.lineno
    )


def _without_self(code: str) -> str:
    """Empty for ``loss = loss``."""
    left, sign, right = code.partition(" = ")
    return "" if sign and left == right else code


def _leaving_spans(statement: Statement, cut: Cut) -> list[tuple[ast.AST, str]]:
    """``.item()``, ``.detach()``, ``.numpy()`` and the like, to be taken out."""
    found: list[tuple[ast.AST, str]] = []
    for part in statement.parts:
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr in _LEAVING and not (part.func.attr == "cpu" and not found):
                found.append((Span(end_of(part.func.value), end_of(part)), ""))
        elif isinstance(part, ast.Attribute) and part.attr == "data" and cut.reason == ".data":
            found.append((Span(end_of(part.value), end_of(part)), ""))
        elif isinstance(part, ast.Call) and last_name(part.func) in ("float", "int") and part.args:
            found += _unwrapped(part)
    return found


def _wrapping_spans(
    statement: Statement, involved: Sequence[Statement], of_list: bool
) -> list[tuple[ast.AST, str]]:
    """``torch.tensor(…)`` to be taken out; of a list of tensors ``torch.stack`` remains."""
    calls = [c for c in calls_in(statement, *FROM_VALUES) if c.args]
    if len(calls) != 1:
        return []
    call = calls[0]
    lists = (ast.List, ast.ListComp, ast.GeneratorExp)
    values = [part for one in involved for part in one.parts if isinstance(part, lists)]
    if of_list or values or any(calls_in(one, "append") for one in involved):
        rest = Span(end_of(call.args[0]), end_of(call))
        return [(call.func, "torch.stack"), (rest, ")")]
    return _unwrapped(call)


def _unwrapped(call: ast.Call) -> list[tuple[ast.AST, str]]:
    """A call to be replaced by its first argument."""
    inner = call.args[0]
    return [(Span(start_of(call), start_of(inner)), ""), (Span(end_of(inner), end_of(call)), "")]


def _uses_numpy(statement: Statement) -> bool:
    return any(isinstance(p, ast.Name) and p.id in ("np", "numpy") for p in statement.parts)


def _record(cut: Cut, statement: Statement, evidence: Evidence) -> Cure | None:
    """Switch recording on again around a statement."""
    for outer in reversed(statement.around):
        head = Statement(statement.code, outer, ())
        calls = calls_in(head, *SWITCHES)
        if isinstance(outer, ast.With) and len(calls) == 1:
            if _writes_inside(outer):
                return None
            code = head.edited([(calls[0], "torch.enable_grad()")])
            return Cure("lets autograd record these lines", code, "instead", head.line)
        for decorator in getattr(outer, "decorator_list", ()):
            inner = decorator.func if isinstance(decorator, ast.Call) else decorator
            if last_name(inner) in SWITCHES:
                if _writes_inside(outer):
                    return None
                line = decorator.lineno + statement.code.first_line - 1
                return Cure("lets autograd record this function", "", "instead", line)
    site = site_of(evidence.history, cut.step, cut.event)
    around = [c for c in calls_in(statement, "checkpoint") if site is not None and site.is_in(c)]
    if around:
        code = with_keyword(statement, around[-1], "use_reentrant", "False") or ""
        code = "" if code == statement.text else code
        does = "records inside the checkpoint, whether or not its input requires grad"
        return Cure(does, code, "instead", statement.line) if code else None
    return _mode_on(cut.step, evidence)


def _mode_on(until: int, evidence: Evidence) -> Cure | None:
    """Leave grad mode on, where a line had switched it off."""
    for step in range(until - 1, 0, -1):
        statement = evidence.statement_at(evidence.history.line(step))
        calls = [] if statement is None else calls_in(statement, "set_grad_enabled")
        if statement is None or len(calls) != 1 or not isinstance(statement.node, ast.Expr):
            continue
        value = calls[0].args[0] if calls[0].args else None
        if isinstance(value, ast.Constant) and value.value is False:
            code = statement.edited([(value, "True")])
            return Cure("lets autograd record what follows", code, "instead", statement.line)
        return None
    return None


def _writes_inside(outer: ast.stmt) -> bool:
    """Whether a block writes in place, which may be allowed only while nothing is recorded."""
    for node in ast.walk(outer):
        if isinstance(node, ast.AugAssign):
            return True
        if isinstance(node, ast.Call) and last_name(node.func).endswith("_"):
            return True
    return False


def _switch_on(statement: Statement) -> Cure | None:
    """Leave ``requires_grad`` as it was."""
    node = statement.node
    does = "the gradient is asked for"
    if isinstance(node, ast.Assign):
        return Cure(does, statement.edited([(node.value, "True")]), "instead", statement.line)
    calls = calls_in(statement, "requires_grad_")
    if len(calls) != 1:
        return None
    values = [*calls[0].args, *(k.value for k in calls[0].keywords)]
    return Cure(does, statement.edited([(v, "True") for v in values]), "instead", statement.line)


def _with_graph(cut: Cut, evidence: Evidence) -> Cure | None:
    """``create_graph=True`` for a gradient that is differentiated again."""
    site = site_of(evidence.history, cut.step, cut.event)
    call = None if site is None else site.call_of("grad")
    if site is None or call is None:
        return None
    change = keyword_change(site.statement, call, "create_graph", "True")
    does = "records how the gradient is computed, so that it has a gradient too"
    return None if change is None else Rewriting(site.statement, (change,)).cure(does)


def _with_derivative(cut: Cut, evidence: Evidence) -> Cure | None:
    """A relative of an operation without a derivative; whether it fits, the user must say."""
    site = site_of(evidence.history, cut.step, cut.event)
    call = None if site is None else site.call_of(cut.call)
    pattern = _INSTEAD_OF.get(cut.call)
    if site is None or call is None or pattern is None or not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    if last_name(owner) == "torch":
        if not call.args:
            return None
        owner = call.args[0]
    does = "has a derivative: weights in place of a choice, if that fits"
    code = pattern.format(site.statement.segment(owner))
    return Cure(does, code, "elsewhere", site.statement.line)
