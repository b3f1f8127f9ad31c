"""A custom Function whose backward returned the wrong number of gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradviz.analysis.code.statements import Statement, end_of, statements_of
from gradviz.analysis.explain.error_context import ErrorContext
from gradviz.analysis.explain.fault import Finding
from gradviz.analysis.explain.torch_messages import gradients_in
from gradviz.model.explanation import Cause, Fix
from gradviz.model.formatting import plural
from gradviz.model.records import Node
from gradviz.model.sentence import Term, say


@dataclass(frozen=True, kw_only=True)
class WrongNumber(Finding):
    """The expected and the returned number of gradients, and the line that returns them."""

    counts: tuple[int, int] | None
    returned: Statement | None


def wrong_number(context: ErrorContext) -> Iterator[WrongNumber]:
    """The expected and the returned number of gradients, and the line that returns them."""
    node, counts = context.node, gradients_in(context.raised.message)
    name = _class_of(node, context.raised.message)
    function = name if node is None else Term(node.id, name)
    returned = _return_of(name, context)
    causes = []
    if returned is not None:
        words = say("{}.backward returns them here", function)
        causes.append(Cause("other", words, returned.at))
    made = None if node is None else context.history.made_at(node)
    if made is not None:
        causes.append(Cause("save", say("{}.apply made the node", function), made))
    which = say("which line of {}.backward returns them", function)
    yield WrongNumber(
        history=context.history,
        step=context.step,
        case="" if counts is not None else "numbers not known",
        words={
            "function": function,
            "gave": "" if counts is None else plural(counts[1], "gradient"),
            "owed": "" if counts is None else plural(counts[0], "input"),
        },
        node=node,
        causes=tuple(causes),
        targets={"node": [None if node is None else node.id]},
        unknown=() if returned is not None else (which,),
        counts=counts,
        returned=returned,
    )


def _class_of(node: Node | None, message: str) -> str:
    if node is not None:
        return node.name.removesuffix("Backward")
    words = message.split()
    return words[1].removesuffix("Backward") if len(words) > 1 else "the Function"


def _return_of(name: str, context: ErrorContext) -> Statement | None:
    """The one ``return`` of the class's backward."""
    found = [
        statement
        for code in context.recording.codes
        for statement in statements_of(code)
        if isinstance(statement.node, ast.Return) and _is_inside(statement, name)
    ]
    return found[0] if len(found) == 1 else None


def _is_inside(statement: Statement, name: str) -> bool:
    around = statement.around[-2:]
    return (
        len(around) == 2
        and isinstance(around[0], ast.ClassDef)
        and around[0].name == name
        and isinstance(around[1], ast.FunctionDef)
        and around[1].name == "backward"
    )


def fixes(found: WrongNumber) -> Iterator[Fix]:
    """``None`` for arguments that need no gradient; a missing gradient is not made up."""
    node, counts, returned = found.node, found.counts, found.returned
    value = returned.node.value if returned and isinstance(returned.node, ast.Return) else None
    if node is None or counts is None or returned is None or value is None:
        return
    owed, given = counts
    is_tuple = isinstance(value, ast.Tuple)
    if given < owed and (given == 1 or is_tuple):
        if any(entry is not None for entry in node.next_functions[given:]):
            return
        end = end_of(value)
        rest = ", None" * (owed - given)
        does = say("returns None for arguments of forward that need no gradient")
        if is_tuple and returned.segment(value).startswith("("):
            end = end[0], end[1] - 1
        yield Fix(does, returned.edited([(end, rest)]), "instead", returned.at)
    elif isinstance(value, ast.Tuple) and len(value.elts) == given:
        kept = ", ".join(returned.segment(one) for one in value.elts[:owed])
        does = say("returns one gradient per argument of forward")
        yield Fix(does, returned.edited([(value, kept)]), "instead", returned.at)
