"""Facts about a cause that the recording lacks, and what to type so that another one has them.

NOTE [What can be followed]
The user's own code is followed unless ``only=`` was given, so what is not followed is a library's:
then ``into=`` is told to follow it. The words are typed where the recording is begun, so they
name nothing that exists only inside a function, nor what ``into=`` refuses: what Python and torch
have themselves, lambdas, and methods of tensors.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.analysis.code.statements import (
    is_expression,
    is_named,
    names_bound,
    statements_of,
)
from gradviz.analysis.explain.fault import Finding
from gradviz.model.events import Note
from gradviz.model.explanation import Explanation
from gradviz.model.formatting import plural
from gradviz.model.history import History
from gradviz.model.recording import Code, Recording
from gradviz.model.sentence import Sentence, listed, say

RECORD_EARLIER: Final = (
    "Begin gradviz.record() before it; in a notebook, type %gradviz on and run the earlier cells "
    "again"
)
"""What to type if it happened before the recording."""


def function_name(function: ast.expr | None, code: Code, history: History) -> str | None:
    """A function as ``into=`` takes it: ``fit``, ``trainer.fit``, ``model.layers[0]``.

    Args:
        function: What is called.
        code: The code that calls it.
        history: The recording.

    Returns:
        Of a function in a library that the code imports as a whole, the library. ``None`` for
        what has no lines that could be followed: builtins, lambdas, methods of tensors, torch.
    """
    path = "" if function is None else ast.unparse(function)
    root = _root(function)
    if root is None or not is_expression(path) or history.bearers(root):
        return None
    given = _imports(code).get(root, root)
    if given.partition(".")[0] == "torch" or (root == path and hasattr(builtins, root)):
        return None
    if _is_local(root, code, history.recording):
        return None
    if any(_is_refused(value) for value in _assigned(root, code)):
        return None
    return root if root != path and root in _modules(code) else path


def not_followed_words(functions: Iterable[str], recording: Recording) -> Sentence:
    """What is not known, and how to find it out.

    Args:
        functions: What was not followed, as :func:`function_name` gives it.
        recording: The recording that lacks its lines.
    """
    names = tuple(functions)
    words = into_words(names, recording)
    return say("which line inside {}; {} shows it", listed(names), words)


def into_words(functions: tuple[str, ...], recording: Recording) -> str:
    """What to type so that functions are followed."""
    is_cell = recording.label == "cell"
    if any(note.about == "only" for _, note in recording.history.placed(Note)):
        return (
            "%%gradviz without --only and --only-cell"
            if is_cell
            else "gradviz.record() without only="
        )
    if is_cell:
        # The magic splits names at their dots: model.layers.0 is what it finds.
        dotted = (re.sub(r"\[(\d+)\]", r".\1", one) for one in functions)
        return "%%gradviz " + " ".join(f"--into {one}" for one in dotted)
    listing = ", ".join(functions)
    return f"gradviz.record(into={listing if len(functions) == 1 else f'[{listing}]'})"


def not_listed_words(recording: Recording) -> Sentence:
    """That steps before it are counted, and how to have all of them."""
    total = len(recording.records) + recording.counted
    enough = 10 ** (len(str(total)) + 1)
    words = (
        "{} and sub-steps before it are counted, not listed; gradviz.record(budget={}) lists more"
    )
    return say(words, plural(recording.counted, "step"), f"{enough:_}")


def place_not_known(found: Finding, explanation: Explanation) -> Iterator[Sentence]:
    """That Python gives no position for the expression that did it, so that there is no fix."""
    at = None if explanation.cause is None else explanation.cause.at
    if found.called and found.site is None and not explanation.fixes and at is not None and at.text:
        line = found.history.line_term(at)
        words = "which expression of {} did it: Python gives no position for it. Write one call"
        yield say(f"{words} per line", line)


def _root(function: ast.expr | None) -> str | None:
    """The variable at which ``trainer.model.layers[0]`` begins."""
    node = function
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_local(name: str, code: Code, recording: Recording) -> bool:
    """Whether a variable exists only inside a function, not where the recording is begun."""
    statements = () if code in recording.codes[:1] else statements_of(code)
    return any(name in names_bound(one) for one in statements) or any(
        name == one.arg
        for statement in statements
        if isinstance(statement.node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for one in ast.walk(statement.node.args)
        if isinstance(one, ast.arg)
    )


def _is_refused(value: ast.expr) -> bool:
    """Whether what is assigned has no lines of its own: a lambda, a function of torch."""
    return isinstance(value, ast.Lambda) or _root(value) == "torch"


def _assigned(name: str, code: Code) -> Iterator[ast.expr]:
    """What a code assigns to a variable."""
    for statement in statements_of(code):
        node = statement.node
        if isinstance(node, ast.Assign) and any(is_named(one, name) for one in node.targets):
            yield node.value


def _imports(code: Code) -> dict[str, str]:
    """Names that the text of a code imports, and what they are."""
    found = {name: name for name in code.imports}
    for statement in statements_of(code):
        node = statement.node
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = one.name
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                found[one.asname or one.name] = f"{node.module or ''}.{one.name}"
    return found


def _modules(code: Code) -> frozenset[str]:
    """Names that the text of a code binds to modules of Python."""
    nodes = (s.node for s in statements_of(code) if isinstance(s.node, ast.Import))
    return frozenset(
        one.asname or one.name.partition(".")[0] for node in nodes for one in node.names
    )
