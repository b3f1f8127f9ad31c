"""A loss or a gradient that is nan or inf, and what made the first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from gradviz.analysis.code.sites import site_of
from gradviz.analysis.code.statements import last_name
from gradviz.analysis.explain.first_not_finite import NotFiniteFound, finding
from gradviz.analysis.explain.not_finite import NotFinite
from gradviz.model.events import BackwardStarted, Operation
from gradviz.model.history import History
from gradviz.model.sentence import say

_CHECKED: Final = "_amp_update_scale_"
"""What a ``GradScaler`` calls, which skips steps whose gradients are not finite."""


def first_nan_or_inf(history: History) -> Iterator[NotFiniteFound]:
    """The first backward of a root that is not finite, or that gave a leaf such a gradient.

    Infinite values alone are none: a mask of ``-inf`` before softmax leaves loss and gradients
    finite. Nor are gradients that a ``GradScaler`` checks.
    """
    known = NotFinite(history)
    harm = known.first_harm()
    if harm is None or any(call.name == _CHECKED for _, call in history.placed(Operation)):
        return
    place, number, key, word = harm
    begun, started = history.started[number]
    if _is_scaled(started, history):
        return
    is_root = known.root(started, begun) is not None
    if is_root:
        words = say("{} is {}", history.tensor_term(key, place[0], "the root"), word)
    else:
        words = say("{} gets a gradient with {}", history.tensor_term(key, place[0]), word)
    name, root = history.name(key, place[0]), next(iter(started.roots), ("", 0))[0]
    mark = key if history.tensor(key, place[0]) is not None else root
    yield finding(known.first_of(number), words, history, place[0], names=(name,), key=mark)


def _is_scaled(started: BackwardStarted, history: History) -> bool:
    """Whether the root is what a method ``scale`` returned, as that of a ``GradScaler`` does."""
    roots = {node for node, _ in started.roots}
    for place, call in history.told(Operation):
        if call.node in roots:
            site = site_of(history, place, call)
            node = None if site is None else site.node
            if isinstance(node, ast.Call) and last_name(node.func) == "scale":
                return True
    return False
