"""Which folds of a graph are open when it is first shown, as a person asks for it or by itself."""

from __future__ import annotations

import difflib
import heapq
import operator
import traceback
from collections.abc import Callable, Collection, Iterator
from types import FunctionType
from typing import Any, Final

from gradviz.analysis.fold.module_paths import parts_of
from gradviz.model.errors import OptionError
from gradviz.model.fold import Fold, FoldTree, Opening

FEW: Final = 12
"""Boxes on the screen up to which folds are opened."""
DRAWN: Final = 400
"""Boxes on the screen that a person can ask for, as in a picture without folds."""
_MAY_BE: Final = (
    "it may be a number of levels to open (0: one box), a list of the modules to fold "
    "(fold=['model.layers']), a function that is called with a fold and returns whether it is "
    "folded, False for a picture without folds, or None"
)


def opened(tree: FoldTree, fold: object = None) -> Opening:
    """The folds that are open at first.

    Args:
        tree: The folded graph.
        fold: ``None``: as many as leave few boxes. A number: folds of so many levels, 0 for one
            box. A list, tuple or set of module paths: all but the folds of these. A function: all
            but the folds for which it returns ``True``. ``False``: all. Of more than 400 boxes
            that would be on the screen the innermost folds stay closed, and the note says so.

    Raises:
        OptionError: If ``fold`` is none of these, or names a module that is not in the graph.

    Examples:
        >>> from gradviz.analysis.fold.tree import fold_tree
        >>> from gradviz.model import Graph, Node
        >>> tree = fold_tree(Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)]))
        >>> opened(tree).ids, opened(tree, 0).ids
        (frozenset({'f0'}), frozenset())
    """
    if fold is None or fold is True:
        return Opening(_by_itself(tree))
    if fold is False:
        return _all_but(tree, lambda _fold, _depth: False)
    if (levels := _whole_number(fold)) is not None:
        if levels < 0:
            raise OptionError(f"fold={fold!r} is less than 0; {_MAY_BE}")
        return _all_but(tree, lambda _fold, depth: depth >= levels)
    if isinstance(fold, (list, tuple, set, frozenset)):
        closed = _folds_of(tree, fold)
        return _all_but(tree, lambda one, _depth: one.id in closed)
    if callable(fold):
        return _as_asked(tree, fold)
    if isinstance(fold, str):
        raise OptionError(f"fold={fold!r} must be a list: fold=[{fold!r}]")
    raise OptionError(f"fold= cannot be of type {type(fold).__name__}: {_MAY_BE}")


def _by_itself(tree: FoldTree) -> frozenset[str]:
    """Opened are the largest folds that have folds inside while few boxes are on the screen; in any
    case what has everything in it."""
    ids = {tree.root.id}
    boxes = len(tree.root.members)
    closed = [_by_size(one) for one in tree.root.folds]
    heapq.heapify(closed)
    while closed:
        _, _, one = heapq.heappop(closed)
        is_all = boxes == 1
        if is_all or (_opens(one) and boxes - 1 + len(one.members) <= FEW):
            boxes += len(one.members) - 1
            ids.add(one.id)
            for inner in one.folds:
                heapq.heappush(closed, _by_size(inner))
    return frozenset(ids)


def _opens(fold: Fold) -> bool:
    """Whether a fold says more when it is open: the parts of a repeat are equal, and of a layer
    its name says what it does."""
    is_layer = all(one.kind in ("views", "leaves") for one in fold.folds)
    return fold.kind in ("module", "part") and not fold.times and not is_layer


def _by_size(fold: Fold) -> tuple[int, int, Fold]:
    return -fold.nodes, fold.first, fold


def _all_but(tree: FoldTree, is_closed: Callable[[Fold, int], bool]) -> Opening:
    """All folds but some and those in them, the outer ones first, up to the largest picture."""
    ids: list[str] = []
    boxes, left = 1, 0
    level = [tree.root]
    depth = 0
    while level:
        inner: list[Fold] = []
        for one in level:
            if is_closed(one, depth):
                continue
            if ids and boxes - 1 + len(one.members) > DRAWN:
                left += 1
                continue
            boxes += len(one.members) - 1
            ids.append(one.id)
            inner += one.folds
        level = inner
        depth += 1
    note = f"{left} folds are closed: open, more than {DRAWN} boxes would be drawn." if left else ""
    return Opening(frozenset(ids), note)


def _as_asked(tree: FoldTree, ask: Callable[[Fold], Any]) -> Opening:
    """All folds but those that a function of the user says are folded."""
    try:
        return _all_but(tree, lambda one, _depth: bool(ask(one)))
    except Exception as error:  # whatever it raises, there is something to show
        name = ask.__qualname__ if isinstance(ask, FunctionType) else type(ask).__qualname__
        text = "".join(traceback.format_exception_only(error)).partition("\n")[0]
        note = f"fold={name} raised {text}; the folds are those of fold=None."
        return Opening(_by_itself(tree), note)


def _whole_number(value: object) -> int | None:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _folds_of(tree: FoldTree, paths: Collection[object]) -> frozenset[str]:
    """The folds of these modules, by their paths with or without the name of the variable."""
    known: dict[str, list[str]] = {}
    for fold in tree:
        for name in _names(fold):
            known.setdefault(name, []).append(fold.id)
    found: list[str] = []
    for path in paths:
        if not isinstance(path, str):
            raise OptionError(
                f"fold= has {path!r} in it, and must name modules by their paths: "
                "fold=['model.layers']"
            )
        if path not in known:
            raise OptionError(_unknown(path, known))
        found += known[path]
    return frozenset(found)


def _names(fold: Fold) -> Iterator[str]:
    if fold.path:
        yield fold.path
        if rest := ".".join(parts_of(fold.path)[1:]):
            yield rest


def _unknown(path: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(path, known, n=5, cutoff=0.5) or list(known)[:5]
    there = f"near ones are {', '.join(map(repr, near))}" if near else "no module is known in it"
    return f"fold= names {path!r}, but no fold of this graph is of that module: {there}"
