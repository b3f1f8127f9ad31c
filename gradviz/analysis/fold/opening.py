"""Which folds of a graph are open when it is first shown, as a person asks for it or by itself."""

from __future__ import annotations

import difflib
import heapq
import operator
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, NamedTuple

from gradviz.analysis.fold.module_paths import parts_of
from gradviz.model.errors import OptionError
from gradviz.model.fold import Fold, FoldTree, Opening

FEW: Final = 12
"""Boxes on the screen up to which folds are opened."""
DRAWN: Final = 400
"""Boxes on the screen that a person can ask for, as in a picture without folds."""
_MAY_BE: Final = (
    "it may be a number of levels to open (0: one box), a list of the modules to fold "
    "(fold=['model.layers']) or to open (fold={'open': ['model.layers']}), a function that is "
    "called with a fold and returns whether it is folded, False for a picture without folds, "
    "or None"
)


def opened(tree: FoldTree, fold: object = None) -> Opening:
    """The folds that are open at first.

    Args:
        tree: The folded graph.
        fold: ``None``: as many as leave few boxes. A number: folds of so many levels, 0 for one
            box. A list, tuple or set of module paths: all but the folds of these.
            ``{"open": paths}``: the folds of these, and those around them, no others. A function:
            all but the folds for which it returns ``True``. ``False``: all. Of more than 400 boxes
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
        named = _named(tree, fold)
        found = _all_but(tree, lambda one, _depth: one.id in named.folds)
        note = " ".join(filter(None, (found.note, _without_fold(named.without))))
        return Opening(found.ids, note)
    if isinstance(fold, Mapping):
        named = _named(tree, _to_open(fold))
        wanted = _around(tree, named.folds | named.around)
        return _all_but(tree, lambda one, _depth: one.id not in wanted)
    if callable(fold):
        return _as_asked(tree, fold)
    if isinstance(fold, str):
        raise OptionError(f"fold={fold!r} must be a list: fold=[{fold!r}]")
    raise OptionError(f"fold= cannot be of type {type(fold).__name__}: {_MAY_BE}")


def _by_itself(tree: FoldTree) -> frozenset[str]:
    """Opened are the largest folds that have folds inside while few boxes are on the screen; in any
    case what has everything in it."""
    ids = {tree.root.id}
    boxes = tree.cards(tree.root)
    closed = [_by_size(one) for one in tree.root.folds]
    heapq.heapify(closed)
    while closed:
        _, _, one = heapq.heappop(closed)
        is_all = boxes == 1
        if is_all or (_opens(one) and boxes - 1 + tree.cards(one) <= FEW):
            boxes += tree.cards(one) - 1
            ids.add(one.id)
            for inner in one.folds:
                heapq.heappush(closed, _by_size(inner))
    return frozenset(ids)


def _opens(fold: Fold) -> bool:
    """Whether a fold says more when it is open: the parts of a repeat are equal, and of a layer
    its name says what it does."""
    is_layer = all(one.kind == "leaves" for one in fold.folds)
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
            if ids and boxes - 1 + tree.cards(one) > DRAWN:
                left += 1
                continue
            boxes += tree.cards(one) - 1
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


class _Named(NamedTuple):
    """What some paths of modules lead to."""

    folds: frozenset[str]
    """Ids of the folds of these modules."""
    without: tuple[str, ...]
    """Paths of modules that made nodes, but have no fold of their own."""
    around: frozenset[str]
    """Ids of the innermost folds with nodes of these."""


def _named(tree: FoldTree, paths: Collection[object]) -> _Named:
    """The folds of these modules, by their paths with or without the name of the variable."""
    known: dict[str, list[str]] = {}
    for fold in tree:
        for name in _names(fold.path):
            known.setdefault(name, []).append(fold.id)
    nodes: dict[str, list[int]] = {}
    for place, maker in enumerate(tree.makers):
        for name in _names(maker or ""):
            nodes.setdefault(name, []).append(place)
    found: list[str] = []
    around: list[str] = []
    without: list[str] = []
    for path in paths:
        if not isinstance(path, str):
            raise OptionError(
                f"fold= has {path!r} in it, and must name modules by their paths: "
                "fold=['model.layers']"
            )
        if path in known:
            found += known[path]
        elif path in nodes:
            without.append(path)
            around += (tree.around(tree.graph.id_at(place))[-1].id for place in nodes[path])
        else:
            raise OptionError(_unknown(path, known))
    return _Named(frozenset(found), tuple(without), frozenset(around))


def _without_fold(paths: Sequence[str]) -> str:
    if not paths:
        return ""
    is_one = len(paths) == 1
    they = "has no box of its own: its" if is_one else "have no boxes of their own: their"
    return f"{', '.join(paths)} {they} nodes are shown one by one."


def _to_open(fold: Mapping[Any, Any]) -> Collection[object]:
    """The paths in ``{"open": paths}``."""
    paths = fold.get("open")
    if set(fold) != {"open"} or not isinstance(paths, (list, tuple, set, frozenset)):
        raise OptionError(f"fold={dict(fold)!r} does not list what to open: {_MAY_BE}")
    return paths


def _around(tree: FoldTree, fold_ids: Iterable[str]) -> frozenset[str]:
    """Folds, and those that they are in."""
    found = {tree.root.id}
    for fold_id in fold_ids:
        found |= {fold_id, *(one.id for one in tree.around(fold_id))}
    return frozenset(found)


def _names(path: str) -> Iterator[str]:
    """A path, and the same without the variable."""
    if path:
        yield path
        if rest := ".".join(parts_of(path)[1:]):
            yield rest


def _unknown(path: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(path, known, n=5, cutoff=0.5) or list(known)[:5]
    there = f"near ones are {', '.join(map(repr, near))}" if near else "no module is known in it"
    return f"fold= names {path!r}, but no fold of this graph is of that module: {there}"
