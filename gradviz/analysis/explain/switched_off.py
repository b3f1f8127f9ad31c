"""The line that switched recording off before a call that was not recorded."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from gradviz.analysis.code.frames import frames_of
from gradviz.analysis.code.grad_switches import SWITCHES, is_switched_off
from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import Statement, calls_in, last_name, statement_of
from gradviz.analysis.cuts import Cut
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fixes.grad_modes import (
    CHECKPOINTS,
    condition_of,
    is_reentrant,
    switch_in,
)
from gradviz.model.events import GradMode, GradModeChanged
from gradviz.model.explanation import CodeLine
from gradviz.model.history import History
from gradviz.model.sentence import Sentence, say


@dataclass(frozen=True)
class Switch:
    """What switched recording off."""

    statement: Statement
    """The head of a block, the line that called, or a line of a decorated function."""
    at: CodeLine
    call: ast.expr | None = None
    """The switch in it, if it is one of torch's."""
    is_decorator: bool = False

    @property
    def what(self) -> Sentence:
        """What it did."""
        condition = None if self.call is None else condition_of(self.call)
        if condition is not None:
            text, value = condition
            return say("{} was {}, so nothing is recorded from here", text, value)
        if self.is_decorator:
            return say("no line of this function is recorded")
        if self.call is not None and isinstance(self.statement.node, (ast.With, ast.AsyncWith)):
            return say("no line of this block is recorded")
        if self.call is not None and is_reentrant(self.call):
            return say("a reentrant checkpoint records nothing if no input requires grad")
        return say("recording was switched off here")


def switch_of(cut: Cut, context: ErrorContext) -> Switch | None:
    """What switched recording off before a cut, if the recording or its text shows it."""
    if cut.reason not in ("no_grad", "inference mode"):
        return None
    history = context.history
    mode: GradMode = "inference" if cut.reason == "inference mode" else "off"
    if was_off_before(cut, history):
        return None
    step = _changed(cut.step, mode, history)
    found = None if step is None else _at_change(step, history)
    return found or _around(cut, history)


def was_off_before(cut: Cut, history: History) -> bool:
    """Whether recording was switched off since before the recording began."""
    changes = [event for _, event in history.events(GradModeChanged, cut.step)]
    return bool(changes) and all("on" not in (one.before, one.after) for one in changes)


def _changed(until: int, mode: GradMode, history: History) -> int | None:
    """The step with which the mode that held at a step began."""
    changes = [*history.events(GradModeChanged, until)]
    if not changes or changes[-1][1].after != mode:
        return None
    at = len(changes) - 1
    while at and changes[at - 1][1].after != "on":
        at -= 1
    return changes[at][0] if changes[at][1].before == "on" else None


def _at_change(step: int, history: History) -> Switch | None:
    """What switched it in the line of a step, or on the way into its function."""
    frames = frames_of(step, history)
    for place in reversed(range(len(frames))):
        statement = statement_of(history, frames[place])
        if statement is None:
            return None
        at = replace(statement.at, step=frames[place])
        found = _in_line(statement)
        if found is not None:
            return replace(found, at=at)
        if not _is_first(frames[place], history):
            return Switch(statement, at)
        found = _decorated(statement)
        if found is not None:
            return found
    if len(frames) == 1:
        statement = statement_of(history, frames[0])
        return None if statement is None else Switch(statement, statement.at)
    return None


def _is_first(step: int, history: History) -> bool:
    """Whether no line of its function had run before, so that what called it may have done it."""
    records = history.recording.records
    depth = records[step].depth
    for earlier in reversed(records[:step]):
        if earlier.level == 0 and earlier.depth <= depth:
            return earlier.depth < depth or earlier.kind == "start"
    return True


def _around(cut: Cut, history: History) -> Switch | None:
    """The block or function around a cut, or around the lines that called its function."""
    site = site_of(history, cut.step, cut.event)
    for place in reversed(frames_of(cut.step, history)):
        statement = statement_of(history, place)
        if statement is None:
            return None
        checkpoints = [one for one in calls_in(statement, *CHECKPOINTS) if is_reentrant(one)]
        if place != cut.step or (site is not None and any(map(site.is_in, checkpoints))):
            for call in checkpoints[:1]:
                return Switch(statement, statement.at, call)
        found = _enclosing(statement) or _decorated(statement)
        if found is not None:
            return found
    return None


def _enclosing(statement: Statement) -> Switch | None:
    """The innermost block around a line that switches recording off, in the same function."""
    for outer in reversed(statement.around):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        if isinstance(outer, (ast.With, ast.AsyncWith)) and is_switched_off(outer):
            head = Statement(statement.code, outer, ())
            return Switch(head, head.at, switch_in(outer))
    return None


def _in_line(statement: Statement) -> Switch | None:
    """A line that calls what switches recording off."""
    calls = [part for part in calls_in(statement, *SWITCHES, *CHECKPOINTS) if _may_be_off(part)]
    return Switch(statement, statement.at, calls[0]) if calls else None


def _may_be_off(call: ast.Call) -> bool:
    return last_name(call.func) not in CHECKPOINTS or is_reentrant(call)


def _decorated(statement: Statement) -> Switch | None:
    """The decorator of the function of a line, if it switches recording off."""
    for outer in reversed(statement.around):
        for decorator in getattr(outer, "decorator_list", ()):
            inner = decorator.func if isinstance(decorator, ast.Call) else decorator
            if last_name(inner) in SWITCHES:
                line = decorator.lineno + statement.code.first_line - 1
                at = CodeLine(line, statement.code.line(line), statement.code.name)
                return Switch(statement, at, decorator, is_decorator=True)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
    return None
