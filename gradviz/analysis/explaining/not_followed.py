"""Functions whose lines were not recorded, and what would tell what happened inside."""

from __future__ import annotations

import ast
import builtins

from gradviz.model.sentence import Sentence, say


def function_name(function: ast.expr | None) -> str | None:
    """A function as ``into=`` takes it; ``None`` for methods and what Python itself has."""
    if not isinstance(function, ast.Name) or hasattr(builtins, function.id):
        return None
    return function.id


def not_followed_words(function: str) -> Sentence:
    """What is not known, and what would tell it."""
    return say("which line inside {0}; gradviz.record(into={0}) would tell", function)
