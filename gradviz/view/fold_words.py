"""The words of a fold: its title, and what it is in a few words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.model.fold import Fold, FoldTree, Member
from gradviz.view import formatting
from gradviz.view.text import clean

NAMES: Final = 3
"""Names of nodes in the title of a part."""


def title(tree: FoldTree, fold: Fold) -> str:
    """What a fold is called, seen from the fold that it is in.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> net = Fold("f1", "module", (0,), 1, 0, path="net.h.3", type="Block")
        >>> tree = FoldTree(graph, Fold("f0", "graph", (net,), 1, 0))
        >>> title(tree, net)
        'net.h.3 · Block'
    """
    if fold.kind == "graph":
        return "the whole graph"
    if fold.kind == "leaves":
        return formatting.plural(fold.nodes, "leaf")
    if fold.kind == "views" and fold.head is not None:
        return clean(tree.graph.names[fold.head])
    if fold.times:
        return _equal_parts(tree, fold)
    if fold.kind == "turn":
        main = _main_module(tree, fold)
        return _module(tree, fold, main) if main else _numbered(tree, fold)
    if fold.kind == "module":
        return _module(tree, fold, fold)
    return _listed(_main_names(tree, fold))


def _listed(names: Iterable[str]) -> str:
    several = list(dict.fromkeys(names))
    return ", ".join(several[:NAMES]) + (", …" if len(several) > NAMES else "")


def _numbered(tree: FoldTree, part: Fold, until: Fold | None = None) -> str:
    """A part of a repeat, or some of them, by what is in each: ``"cell, head · 3 of 12"``."""
    repeat = next(one for one in reversed(tree.around(part.id)) if one.kind == "repeat")
    numbers = [f"{_number(tree, one):,}" for one in (part, until) if one is not None]
    return formatting.join((_inner(tree, part), f"{' … '.join(numbers)} of {repeat.times:,}"))


def _inner(tree: FoldTree, turn: Fold) -> str:
    """The modules in a turn without their types; if there are none, its nodes."""
    modules = [_relative(tree, turn, one.path) for one in turn.folds if one.kind == "module"]
    return _listed(modules or _main_names(tree, turn))


def _module(tree: FoldTree, fold: Fold, module: Fold) -> str:
    return formatting.join((_relative(tree, fold, module.path), clean(module.type)))


def _main_module(tree: FoldTree, turn: Fold) -> Fold | None:
    """The largest module in a turn, if it is another one than that of the turns beside it."""
    main, repeat = _largest(turn), tree.above(turn.id)
    for beside in repeat.folds if main and repeat else ():
        other = _largest(beside)
        if beside is not turn and main and other and other.path == main.path:
            return None
    return main


def _largest(turn: Fold) -> Fold | None:
    modules = (one for one in turn.folds if one.kind == "module")
    return max(modules, key=lambda one: one.nodes, default=None)


def _relative(tree: FoldTree, fold: Fold, path: str) -> str:
    """A path from the module of the folds around."""
    outer = [one.path for one in tree.around(fold.id) if one.path]
    above = max((one for one in outer if path.startswith(f"{one}.")), key=len, default="")
    rest = path[len(above) + 1 :] if above else path
    # A number alone says little: it is said with the name of the list that it is in.
    return clean(f"{above.rpartition('.')[2]}.{rest}" if above and rest[0].isdecimal() else rest)


def _equal_parts(tree: FoldTree, fold: Fold) -> str:
    """``"h.0 … h.11 ×12 · Block"``, of nodes ``"MulBackward0 ×100"``."""
    times = f"×{fold.times:,}"
    first, last = _end(tree, fold, 0), _end(tree, fold, -1)
    if isinstance(first, int) or isinstance(last, int):
        some = first if isinstance(first, int) else last
        return f"{clean(tree.graph.names[some])} {times}" if isinstance(some, int) else times
    if first.kind == "views":
        return f"{title(tree, first)} {times}"
    ends = (first, last)
    modules = [one if one.kind == "module" else _main_module(tree, one) for one in ends]
    if modules[0] is None or modules[1] is None:
        if fold.kind == "part":
            return _numbered(tree, first, last)
        return f"{_inner(tree, first)} {times}"
    paths = dict.fromkeys(_relative(tree, fold, one.path) for one in modules if one is not None)
    return formatting.join((f"{' … '.join(paths)} {times}", clean(modules[0].type)))


def _end(tree: FoldTree, fold: Fold, at: int) -> Member:
    """The first or last of the equal parts."""
    member: Member = _made(tree, fold)[at]
    while isinstance(member, Fold) and member.kind == "part" and member.times:
        member = _made(tree, member)[at]
    return member


def _made(tree: FoldTree, fold: Fold) -> tuple[Member, ...]:
    """The members without leaves; these only where there is nothing else."""
    variables = tree.graph.variables
    made = (
        one
        for one in fold.members
        if (one.kind != "leaves" if isinstance(one, Fold) else variables[one] is None)
    )
    return tuple(made) or fold.members


def _number(tree: FoldTree, fold: Fold) -> int:
    """Which of the equal parts it is, from 1."""
    number, inner = 1, fold
    for around in reversed(tree.around(fold.id)):
        for one in _made(tree, around):
            if one is inner:
                break
            number += one.times or 1 if isinstance(one, Fold) else 1
        if around.kind == "repeat":
            break
        inner = around
    return number


def _main_names(tree: FoldTree, fold: Fold) -> Iterator[str]:
    """What the members of a fold do: modules, and operations of nodes that are in none; of views
    that of the node that uses them, leaves only where there is nothing else."""
    for one in _made(tree, fold):
        if not isinstance(one, Fold):
            yield node_name(tree, one)
        elif one.head is not None:
            yield node_name(tree, one.head)
        elif one.kind == "module" or one.kind == "leaves":
            yield title(tree, one)
        else:
            yield from _main_names(tree, one)


def node_name(tree: FoldTree, place: int) -> str:
    """A node in few words: ``"Mul"``."""
    return _short(clean(tree.graph.names[place]))


def _short(name: str) -> str:
    without_number = name.rstrip("0123456789")
    return without_number.removesuffix("Backward") or name if "Backward" in name else name
