"""A forward hook that writes the output of its module returns a new one in its place."""

from __future__ import annotations

import ast
from dataclasses import replace

from gradviz.analysis.code.arguments import arguments_of
from gradviz.analysis.code.callers import caller_step
from gradviz.analysis.code.sites import Site
from gradviz.analysis.code.statements import Statement, names_bound, statement_of, statements_of
from gradviz.analysis.explain.fixes.out_of_place import out_of_place
from gradviz.model.events import Operation
from gradviz.model.explanation import Fix
from gradviz.model.history import History
from gradviz.model.records import Node
from gradviz.model.sentence import Sentence, say
from gradviz.model.writes import Written


def returned_instead(
    site: Site, written: Written, saved_by: Node, history: History
) -> tuple[Fix, Sentence] | None:
    """The write makes a new tensor, which the hook returns: a module hands on what a forward hook
    returns.

    Args:
        site: The expression that writes.
        written: The write.
        saved_by: The node that saved its result, which was written.
        history: The recording.
    """
    statement = site.statement
    name = (
        _output_of_hook(statement, written, history) if _is_of_module(saved_by, history) else None
    )
    function = statement.around[-1] if statement.around else None
    if name is None or not isinstance(function, ast.FunctionDef) or statement.is_compound:
        return None
    new = out_of_place(site, written.by, name)
    if new is None:
        return None
    does = say("the hook returns a new tensor, which takes the place of the output")
    fix, last = new.fix(does), f"return {name}"
    lines = [one for one in statements_of(statement.code) if one.node is function.body[-1]]
    if not lines or fix.how not in ("instead", "before"):
        return None
    if fix.how == "before":
        return replace(fix, also=(Fix(Sentence(), last, "after", lines[0].at),)), does
    if lines[0].node is statement.node:
        return replace(fix, code=f"{fix.code}\n{last}"), does
    return replace(fix, also=(Fix(Sentence(), last, "after", lines[0].at),)), does


def _is_of_module(node: Node, history: History) -> bool:
    """Whether a module made a node."""
    step, place = history.birth(node.id)[:2]
    events = history.recording.records[step].events
    made = events[place] if place < len(events) else None
    return isinstance(made, Operation) and made.module is not None


def _output_of_hook(statement: Statement, written: Written, history: History) -> str | None:
    """The argument for the output, if the line is in a forward hook that returns nothing: a
    function that a module called and no line of the program, whose last argument is written."""
    function = statement.around[-1] if statement.around else None
    if not isinstance(function, ast.FunctionDef) or function.name == "forward":
        return None
    names = arguments_of(function)
    names = names[1:] if names[:1] == ["self"] else names
    if len(names) not in (3, 4):
        return None
    lines = [one for one in statements_of(statement.code) if function in one.around]
    if any(isinstance(one.node, ast.Return) or names[-1] in names_bound(one) for one in lines):
        return None
    caller = caller_step(history, written.step)
    called_by = None if caller is None else statement_of(history, caller)
    if called_by is None or function.name in ast.unparse(called_by.node):
        return None
    return names[-1]
