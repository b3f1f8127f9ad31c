"""A custom Function whose backward gave the wrong number of gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradviz.analysis.explaining.evidence import Evidence
from gradviz.analysis.explaining.kinds import gradients_in
from gradviz.analysis.explaining.statements import Statement, end_of, statements_of
from gradviz.analysis.explaining.words import plural
from gradviz.model.explanation import Cause, CodeLine, Cure, Explanation
from gradviz.model.facts import Node
from gradviz.model.marks import Mark


def wrong_number(evidence: Evidence) -> Explanation:
    """What backward owed, what it gave, and the line that returns it."""
    node, counts = evidence.node, gradients_in(evidence.raised.message)
    name = _class_of(node, evidence.raised.message)
    returned = _return_of(name, evidence)
    what = f"{name}.backward gave the wrong number of gradients"
    if counts is not None:
        inputs = plural(counts[0], "input")
        what = f"{name}.backward gave {plural(counts[1], 'gradient')}, but forward has {inputs}"
    at = None if returned is None else _line(returned)
    causes = [] if at is None else [Cause("other", f"{name}.backward returns them here", at)]
    made = None if node is None else evidence.history.made_at(node)
    if made is not None:
        causes.append(Cause("save", f"{name}.apply made the node", made))
    return Explanation(
        what=what,
        why="backward owes one gradient for every argument of forward, in their order; None for "
        "those that need none",
        node=None if node is None else node.id,
        node_name=None if node is None else node.name,
        causes=tuple(causes),
        cures=tuple(_cures(node, counts, returned)),
        unknown=() if returned is not None else (f"which line of {name}.backward returns them",),
        marks=() if node is None else (Mark(node.id, "refused", what),),
    )


def _class_of(node: Node | None, message: str) -> str:
    if node is not None:
        return node.name.removesuffix("Backward")
    words = message.split()
    return words[1].removesuffix("Backward") if len(words) > 1 else "the Function"


def _return_of(name: str, evidence: Evidence) -> Statement | None:
    """The one ``return`` of the class's backward."""
    found = [
        statement
        for code in evidence.recording.codes
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


def _line(statement: Statement) -> CodeLine:
    return CodeLine(statement.line, statement.text, statement.code.name)


def _cures(
    node: Node | None, counts: tuple[int, int] | None, returned: Statement | None
) -> Iterator[Cure]:
    """``None`` for arguments that need no gradient; a missing gradient is not made up."""
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
        does = "None for arguments of forward that need no gradient"
        if is_tuple and returned.segment(value).startswith("("):
            end = end[0], end[1] - 1
        yield Cure(does, returned.edited([(end, rest)]), "instead", returned.line)
    elif isinstance(value, ast.Tuple) and len(value.elts) == given:
        kept = ", ".join(returned.segment(one) for one in value.elts[:owed])
        does = "one gradient per argument of forward"
        yield Cure(does, returned.edited([(value, kept)]), "instead", returned.line)
