"""Runs the programs of scenarios: recorded, not recorded, and with a fix applied."""

from __future__ import annotations

import ast
import contextlib
import copy
import linecache
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import gradviz
from gradviz.model.explanation import Explanation, Fix
from gradviz.model.sentence import Sentence

_MARKS = ("culprit", "saved", "noticed")
_HEAD = ("def program():", "    with block() as found:")
_INDENT = " " * 8


def unmarked(text: str) -> str:
    """A program without the comments that mark its lines."""
    return "\n".join(line.partition("  #")[0] for line in text.split("\n"))


def line_of(text: str, mark: str, first: int = 1 + len(_HEAD)) -> int | None:
    """Number of the marked line in the file that runs; ``None`` if no line is marked so.

    Args:
        text: The program.
        mark: A word of the comment.
        first: Number of the program's first line.
    """
    for number, line in enumerate(text.split("\n"), first):
        if mark in line.partition("  #")[2].split():
            return number
    return None


def run(text: str, block: Any = contextlib.nullcontext, name: str = "program.py") -> dict[str, Any]:
    """Run a program in a block.

    Args:
        text: The program.
        block: Gives the block; what that binds is ``found`` among the variables.
        name: Name of the file.

    Returns:
        The variables of the program at its end.
    """
    body = textwrap.indent(text, _INDENT).rstrip()
    whole = "\n".join([*_HEAD, body, "    return locals()", ""])
    linecache.cache[name] = (len(whole), None, whole.splitlines(True), name)
    space: dict[str, Any] = {
        "__name__": "program",
        "F": nn.functional,
        "block": block,
        "checkpoint": checkpoint,
        "copy": copy,
        "nn": nn,
        "np": np,
        "torch": torch,
    }
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(whole, name, "exec"), space)
        found: dict[str, Any] = space["program"]()
    return {**space, **found}


def explained(text: str, record: bool = True) -> Explanation:
    """The explanation of the error that a program raises."""
    found = run(unmarked(text), lambda: gradviz.expect_error(record=record))["found"]
    assert isinstance(found, Explanation)
    return found


def sentences(explanation: Explanation) -> list[Sentence]:
    """Everything that an explanation says."""
    causes = [cause.what for cause in explanation.causes]
    fixes = [one.does for fix in explanation.fixes for one in (fix, *fix.also)]
    told = (explanation.what, explanation.why, *explanation.unknown, *explanation.already)
    return [*told, *causes, *fixes]


@contextlib.contextmanager
def anomaly() -> Iterator[None]:
    """torch's own search for the line that made the node."""
    with torch.autograd.set_detect_anomaly(True, check_nan=False):
        yield


def fixed(text: str, fix: Fix, first: int = 1 + len(_HEAD)) -> str:
    """A program with a fix applied.

    Args:
        text: The program.
        fix: What to change.
        first: Number of the program's first line.
    """
    lines = unmarked(text).split("\n")
    edits: Sequence[Fix] = (fix, *fix.also)
    spans = {edit: _span(lines, (edit.line or 0) - first + 1) for edit in edits}
    for edit in sorted(edits, key=lambda e: spans[e], reverse=True):
        first, last = spans[edit]
        indent = " " * (len(lines[first]) - len(lines[first].lstrip()))
        new = [indent + line for line in edit.code.split("\n")] if edit.code else []
        if edit.how == "instead":
            lines[first : last + 1] = new
        elif edit.how == "before":
            lines[first:first] = new
        else:
            assert edit.how == "after"
            lines[last + 1 : last + 1] = new
    return "\n".join(lines)


def still_wrong(
    one: Explanation, before: Sequence[Explanation], after: Sequence[Explanation]
) -> list[str]:
    """Kinds of faults that a program has with a fix: the one for which it is offered, or others.

    What is worth a look may come to light with a fix.

    Args:
        one: What the fix is offered for.
        before: All that is told of the program.
        after: All that is told of it with the fix.
    """
    left = Counter(other.kind for other in after if other.is_fault or other.kind == one.kind)
    left.subtract(other.kind for other in before if other is not one)
    return [kind for kind, times in left.items() if times > 0]


def _span(lines: list[str], number: int) -> tuple[int, int]:
    """First and last line, from 0, of the statement that begins at a line."""
    found = (number - 1, number - 1)
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.stmt) and node.lineno == number:
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if body else node.end_lineno or number
            found = (number - 1, max(number, last) - 1)
    return found


def is_right(variables: dict[str, Any], left: str, right: str) -> bool:
    """Whether two expressions are equal for these variables."""
    one, other = (eval(side, dict(variables)) for side in (left, right))
    if not isinstance(one, torch.Tensor):
        return bool(one == eval(right, dict(variables)))
    return bool(torch.allclose(one, other))
