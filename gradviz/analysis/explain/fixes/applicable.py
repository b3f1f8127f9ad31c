"""Whether a fix can be typed where it is offered; every fix is asked before it is shown."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from gradviz.analysis.code.arguments import given_for
from gradviz.analysis.code.scopes import lacking, made_local, names_at, reads_before, stored
from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import (
    Statement,
    code_of,
    is_expression,
    last_name,
    plain,
    statements_of,
)
from gradviz.model.events import Operation
from gradviz.model.explanation import Fix
from gradviz.model.history import EventPlace, History
from gradviz.model.recording import Code

_OF_TENSORS: Final = frozenset(
    {
        "backward", "clone", "cpu", "detach", "expand_as", "requires_grad_", "reshape_as",
        "retain_grad", "squeeze", "unsqueeze",
    }
)  # fmt: skip
"""Methods that fixes call on a variable that has to be a tensor."""
_VIEWS: Final = frozenset({"T", "data", "grad", "imag", "mT", "real"})
"""Attributes of tensors that are tensors."""


def is_applicable(fix: Fix, history: History) -> bool:
    """Whether the text parses with a fix, has the names it uses, and tensors where it treats
    variables so.

    Args:
        fix: The fix.
        history: The recording.
    """
    edits = (fix, *fix.also)
    places = [code_of(history.recording, one.at) for one in edits]
    for one, code in zip(edits, places, strict=True):
        if code is None or not statements_of(code):
            continue  # its text is not known
        beside = [e for e, other in zip(edits, places, strict=True) if other == code]
        if one.how != "elsewhere" and _tree(edited(code, beside)) is None:
            return False
        if one.how != "elsewhere" and not _keeps_others(one, beside, code):
            return False
        if not _fits_in(one, beside, code, history):
            return False
    return True


def edited(code: Code, edits: Sequence[Fix]) -> str:
    """A source text with changes made."""
    lines = plain(code.text).split("\n")
    spans = {one: _span(code, one) for one in edits}
    for one in sorted(edits, key=lambda e: spans[e], reverse=True):
        first, last = spans[one]
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        new = textwrap.indent(one.code, indent).split("\n") if one.code else []
        if one.how == "instead":
            lines[first : last + 1] = new
        else:
            place = first if one.how == "before" else last + 1
            lines[place:place] = new
    return "\n".join(lines)


def _span(code: Code, fix: Fix) -> tuple[int, int]:
    """First and last row of the statement that a fix is about, or of its decorator."""
    line = fix.line or code.first_line
    last = max((s.last_line for s in statements_of(code) if s.line == line), default=line)
    return line - code.first_line, last - code.first_line


def _keeps_others(one: Fix, beside: Sequence[Fix], code: Code) -> bool:
    """Whether a change leaves the other statements of its lines where they are.

    What comes before or behind a line comes before or behind all of its statements, and outside of
    a loop whose head it begins with. What takes its place has each of them, perhaps changed.
    """
    if not any(s.shares_lines for s in statements_of(code) if s.line == one.line):
        return True
    if one.how != "instead" or sum(other.line == one.line for other in beside) > 1:
        return False
    first, last = _span(code, one)
    rows = range(first + 1, last + 2)
    was = Counter(_own_text(s.node) for s in statements_of(code) if s.node.lineno in rows)
    given = Counter(map(_own_text, _statements_in(one.code)))
    return sum((was - given).values()) <= sum((given - was).values())


def _own_text(node: ast.stmt) -> str:
    """A statement without those inside it."""
    blocks = ("body", "orelse", "finalbody", "handlers", "cases")
    parts = [v for name, v in ast.iter_fields(node) if name not in blocks]
    return f"{type(node).__name__} {[_dumped(part) for part in parts]}"


def _dumped(part: object) -> object:
    if isinstance(part, list):
        return [_dumped(one) for one in part]
    return ast.dump(part) if isinstance(part, ast.AST) else part


def _statements_in(text: str) -> list[ast.stmt]:
    """Statements that begin in some lines of a program, which may continue one before them."""
    rows = text.count("\n") + 1
    for before, behind in product(("", "if True: pass\n", "try: pass\n"), ("", "\n    pass")):
        tree = _tree(f"{before}{text}{behind}")
        if tree is not None:
            first = 1 + bool(before)
            nodes = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
            return [node for node in nodes if first <= node.lineno < first + rows]
    return []


def _fits_in(one: Fix, beside: Sequence[Fix], code: Code, history: History) -> bool:
    """Whether the variables that a change uses have values there, and the right ones."""
    there = [s for s in statements_of(code) if s.line == one.line]
    tree = _tree(one.code) or _tree(f"{one.code}\n    pass")  # the head of a block
    if not there or tree is None:
        return True
    known = set(names_at(there[0], history.recording))
    known.update(*(_made(other) for other in beside if (other.line or 0) < (one.line or 0)))
    known.update(*(stored(s.node) for s in there if one.how == "after"))
    local = made_local(there[0], _bound_by(tree))
    if local and reads_before(there[0], local - _made_before(one, beside)):
        return False
    known -= local - _made_before(one, beside)
    if lacking(tree.body, known) or _constant_for_tensor(tree, there, history):
        return False
    was = {ast.unparse(n) for s in there for n in s.parts if isinstance(n, ast.expr)}
    treated = _treated_as_tensors(tree, was)
    written = _written_in(there)
    return all(
        text in written or _is_called(text, code, history) or _is_given(text, there[0], history)
        for text in treated
        if is_expression(text)
    )


def _made_before(fix: Fix, beside: Sequence[Fix]) -> set[str]:
    """Variables that other changes of the same fix bind at earlier lines."""
    earlier = (other for other in beside if (other.line or 0) < (fix.line or 0))
    return {name for other in earlier for name in _made(other)}


def _bound_by(tree: ast.Module) -> set[str]:
    """Variables that a change binds; comprehensions have variables of their own."""
    inside = {
        name
        for n in ast.walk(tree)
        if isinstance(n, ast.comprehension)
        for name in stored(n.target)
    }
    return stored(tree) - inside


def _written_in(there: Sequence[Statement]) -> set[str]:
    """What lines already treat as tensors: ``p.mul_(2)``, ``p.grad``."""
    parts = [part for s in there for part in s.parts]
    funcs = [part.func for part in parts if isinstance(part, ast.Call)]
    written = (f for f in funcs if isinstance(f, ast.Attribute) and f.attr.endswith("_"))
    read = (part for part in parts if isinstance(part, ast.Attribute) and part.attr == "grad")
    return {ast.unparse(one.value) for one in (*written, *read)}


def _made(fix: Fix) -> set[str]:
    """Variables that another change of the same fix binds."""
    tree = _tree(fix.code)
    return set() if tree is None else stored(tree)


def _constant_for_tensor(tree: ast.Module, there: Sequence[Statement], history: History) -> bool:
    """Whether a change binds the name of a tensor to a constant, as the line did not."""
    return any(
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and any(ast.unparse(target) in history.texts for target in node.targets)
        and not any(isinstance(getattr(s.node, "value", None), ast.Constant) for s in there)
        for node in ast.walk(tree)
    )


def _treated_as_tensors(tree: ast.Module, was: set[str]) -> Iterator[str]:
    """What a change calls methods of tensors on, as the line did not."""
    own = stored(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        base: ast.expr = owner
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        is_own = isinstance(base, ast.Name) and base.id in own and _is_new(base, tree)
        if node.func.attr in _OF_TENSORS and ast.unparse(node) not in was and not is_own:
            while isinstance(owner, ast.Attribute) and owner.attr in _VIEWS:
                owner = owner.value
            yield ast.unparse(owner)


def _is_new(owner: ast.Name, tree: ast.Module) -> bool:
    """Whether a change itself makes a variable: in a loop, or in a line before."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.For, ast.comprehension)) and owner.id in stored(node.target):
            return True
        if isinstance(node, ast.Assign) and any(owner.id in stored(t) for t in node.targets):
            return node.lineno < owner.lineno
    return False


def _is_called(text: str, code: Code, history: History) -> bool:
    """Whether a tensor was ever called so; attributes are not always known by name."""
    if text in history.texts:
        return True
    own, dot, attribute = text.partition(".")
    if own == "self" and any(name.endswith(f".{attribute}") for name in history.texts):
        return True
    targets = (t for s in statements_of(code) for t in getattr(s.node, "targets", ()))
    if dot and text in map(ast.unparse, targets):
        return True
    return any(
        text in _given_as_tensors(place, one, code, history)
        for place, one in history.placed(Operation)
        if one.position is not None
    )


def _is_given(text: str, statement: Statement, history: History) -> bool:
    """Whether a variable is an argument for which the one caller of the function types a tensor."""
    value = given_for(text, statement, history.recording)
    if value is None:
        return False
    is_path = isinstance(value, (ast.Name, ast.Attribute))
    return ast.unparse(value) in history.texts if is_path else _is_made(value, history)


def _is_made(value: ast.expr, history: History) -> bool:
    """Whether a tensor is the result of an expression."""
    sites = (site_of(history, place, one) for place, one in history.makers.values())
    wanted = ast.dump(value)
    return any(
        site is not None and not site.ordinal and ast.dump(site.node) == wanted for site in sites
    )


def _given_as_tensors(place: EventPlace, one: Operation, code: Code, history: History) -> list[str]:
    """How a line types the tensors that it gives to a call of torch."""
    if code_of(history.recording, history.line(place)) != code:
        return []
    site = site_of(history, place, one)
    node = None if site is None else site.node
    typed: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        typed = [node.left, node.right]
    elif isinstance(node, ast.AugAssign):
        typed = [node.target, node.value]
    elif isinstance(node, ast.Call) and last_name(node.func) == one.name:
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        is_method = owner is not None and len(one.inputs) > len(node.args)
        typed = [owner, *node.args] if owner is not None and is_method else node.args
    return [ast.unparse(t) for t, given in zip(typed, one.inputs) if given.shape is not None]


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
