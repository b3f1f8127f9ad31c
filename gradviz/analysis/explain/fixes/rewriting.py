"""How the text of a line is changed, and the fix that consists of such changes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gradviz.analysis.code.statements import (
    Statement,
    TextChange,
    end_of,
    span_of,
    start_of,
)
from gradviz.model.explanation import Fix
from gradviz.model.sentence import Sentence

_MOST = 6
"""Places that a fix changes at most."""


@dataclass(frozen=True)
class Rewriting:
    """A statement, and what is changed in its text.

    Args:
        statement: The statement.
        changes: Parts of it, or places in it, and what is put there.
        copied: Name of the tensor that a copy takes the place of, if one does.
    """

    statement: Statement
    changes: tuple[TextChange, ...]
    copied: str = ""

    def fix(self, does: Sentence) -> Fix:
        """The change as a fix; code that only precedes the line becomes a fix "before" it."""
        at, start = self.statement.at, start_of(self.statement.node)
        is_before = all(place == start and new.endswith("\n") for place, new in self.changes)
        if is_before and not self.statement.shares_lines:
            code = "".join(new for _, new in self.changes).rstrip("\n")
            return Fix(does, code, "before", at)
        return Fix(does, _without_self(self.statement.edited(self.changes)), "instead", at)


def _without_self(code: str) -> str:
    """Empty for ``loss = loss``."""
    left, sign, right = code.partition(" = ")
    return "" if sign and left == right else code


def together(does: Sentence, found: Sequence[Rewriting | Fix | None]) -> Fix | None:
    """One fix of several changes, if there is one for each and they do not meet.

    Changes of one line become one; those that are the same are made once.
    """
    lines: dict[object, Rewriting] = {}
    fixes: dict[Fix, None] = {}
    for one in found:
        if one is None:
            return None
        if isinstance(one, Fix):
            beside = next((f for f in fixes if _is_beside(f, one)), None)
            if beside is None:
                fixes[one] = None
            elif one.code not in beside.code.split("\n"):
                fixes = {(_both(f, one) if f is beside else f): None for f in fixes}
            continue
        key = (one.statement.code, one.statement.line)
        known = lines.get(key, replace(one, changes=()))
        both = {(span_of(at), new): (at, new) for at, new in (*known.changes, *one.changes)}
        lines[key] = replace(known, changes=tuple(both.values()))
    changes = [*(one.fix(Sentence()) for one in lines.values()), *fixes]
    places = {(fix.at, fix.how) for fix in changes}
    if len(places) < len(changes) or not 0 < len(changes) <= _MOST:
        return None
    first, *others = changes
    also = tuple(replace(fix, does=Sentence()) for fix in others)
    return replace(first, does=first.does or does, also=(*first.also, *also))


def _is_beside(one: Fix, other: Fix) -> bool:
    """Whether two fixes put code before the same line."""
    return one.how == other.how == "before" and one.at == other.at


def _both(one: Fix, other: Fix) -> Fix:
    """Two fixes that put code before the same line."""
    return replace(one, code=f"{one.code}\n{other.code}")


def called(value: ast.expr, method: str) -> list[TextChange]:
    """Changes after which a method is called on a value, or an attribute read."""
    if isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
        return [(end_of(value), f".{method}")]
    return [(start_of(value), "("), (end_of(value), f").{method}")]


def called_before(call: ast.Call, method: str) -> list[TextChange]:
    """Changes after which a method is called before another: ``h.detach().numpy()``."""
    assert isinstance(call.func, ast.Attribute)
    row, column = end_of(call.func)
    return [((row, column - len(call.func.attr.encode())), f"{method}.")]


def with_keyword(statement: Statement, call: ast.Call, name: str, value: str) -> Rewriting | None:
    """The statement with a keyword added to a call of it, or given another value."""
    for keyword in call.keywords:
        if keyword.arg is None:
            return None
        if keyword.arg == name:
            return Rewriting(statement, ((keyword.value, value),))
    row, column = end_of(call)
    has_comma = statement.segment(call)[:-1].rstrip().endswith(",")
    comma = ", " if (call.args or call.keywords) and not has_comma else ""
    return Rewriting(statement, (((row, column - 1), f"{comma}{name}={value}"),))


def before(statement: Statement, code: str) -> TextChange | None:
    """The change that puts code before a statement; ``None`` where that is not possible."""
    node = statement.node
    if isinstance(node, (ast.While, ast.FunctionDef, ast.ClassDef)):
        return None
    if statement.is_first and (statement.is_compound or not statement.shares_lines):
        return start_of(node), f"{code}\n"
    return None if statement.is_compound else (start_of(node), f"{code}; ")
