"""The words of a fold: its title, and what it is in a few words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gradviz.model.fold import Fold, FoldTree, Member
from gradviz.view import formatting
from gradviz.view.text import clean

NAMES: Final = 3
"""Names of nodes in the title of a part."""
_NUMBERS: Final = re.compile(r"(\d+)")


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
    if fold.times:
        return _equal_parts(tree, fold, fold)
    if fold.kind == "turn":
        is_numbered = is_of_loop(tree, fold)
        return _numbered(tree, fold) if is_numbered else _listed(_main_names(tree, fold))
    if fold.kind == "module":
        return _module(tree, fold, fold)
    return _listed(_main_names(tree, fold))


def title_alone(tree: FoldTree, fold: Fold) -> str:
    """What a fold is called where those around it are not named: modules by their whole paths.

    Examples:
        >>> from gradviz.model import Graph, Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> out = Fold("f2", "module", (0,), 1, 0, path="net.out", type="Linear")
        >>> net = Fold("f1", "module", (out,), 1, 0, path="net", type="Net")
        >>> tree = FoldTree(graph, Fold("f0", "graph", (net,), 1, 0))
        >>> title(tree, out), title_alone(tree, out)
        ('out · Linear', 'net.out · Linear')
    """
    if fold.kind == "module":
        return formatting.join((clean(fold.path), clean(fold.type)))
    return _equal_parts(tree, fold, tree.root) if fold.times else title(tree, fold)


def is_of_loop(tree: FoldTree, fold: Fold) -> bool:
    """Whether a fold is a turn of a loop: all turns use the same modules, as layers do not."""
    return fold.kind == "turn" and _main_module(tree, fold) is None


def _listed(names: Iterable[str]) -> str:
    several = list(dict.fromkeys(names))
    return ", ".join(several[:NAMES]) + (", …" if len(several) > NAMES else "")


def _numbered(tree: FoldTree, part: Fold, until: Fold | None = None) -> str:
    """A turn of a loop, or some of them: ``"turn 3 of 12"``, ``"turns 1 … 12 of 96"``."""
    repeat = next(one for one in reversed(tree.around(part.id)) if one.kind == "repeat")
    numbers = [f"{_number(tree, one):,}" for one in (part, until) if one is not None]
    turns = "turn" if len(numbers) == 1 else "turns"
    return f"{turns} {' … '.join(numbers)} of {repeat.times:,}"


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
    return clean(f"{_last_name(above)}.{rest}" if above and rest[0].isdecimal() else rest)


def _last_name(path: str) -> str:
    """The last name of a path: ``"layers"`` of ``"model.layers"``, all of ``models["a.b"]``."""
    end = path.rfind("]") + 1
    return path if end == len(path) else path[path.rfind(".", end) + 1 :]


def _equal_parts(tree: FoldTree, fold: Fold, seen_from: Fold) -> str:
    """``"h.0 … h.11 ×12 · Block"``, of nodes ``"MulBackward0 ×100"``; of calls of one module its
    name: ``"h.3 ×2 · Block"``.

    Args:
        tree: The folds.
        fold: A repeat, or some parts of one.
        seen_from: Paths are those from the modules around this one.
    """
    times = f"×{fold.times:,}"
    parts = list(_parts(tree, fold))
    folds = [one for one in parts if isinstance(one, Fold)]
    if len(folds) < len(parts) or not folds:
        if fold.path:
            return formatting.join(
                (f"{_relative(tree, seen_from, fold.path)} {times}", clean(fold.type))
            )
        some = parts[0] if parts else None
        name = title(tree, some) if isinstance(some, Fold) else None
        name = clean(tree.graph.names[some]) if isinstance(some, int) else name
        return " ".join(filter(None, (name, times)))
    mains = [one if one.path else _main_module(tree, one) for one in folds]
    modules = [one for one in mains if one is not None]
    if len(modules) < len(folds):
        if fold.kind == "part":
            return _numbered(tree, folds[0], folds[-1])
        return f"{_inner(tree, folds[0])} {times}"
    names = _together(tree, fold, seen_from, [one.path for one in modules])
    kinds = dict.fromkeys(clean(one.type) for one in modules if one.type)
    beside = () if folds[0].path else _beside(tree, folds[len(folds) // 2], modules)
    return formatting.join((f"{names} {times}", _listed([*kinds, *beside])))


def _beside(tree: FoldTree, turn: Fold, modules: Iterable[Fold]) -> Iterator[str]:
    """What a turn has beside its module: other modules by their types, nodes by their names."""
    for one in _made(tree, turn):
        if not isinstance(one, Fold) or not one.path:
            yield from [node_name(tree, one)] if isinstance(one, int) else _main_names(tree, one)
        elif not any(one is module for module in modules):
            yield clean(one.type or one.path)


def _together(tree: FoldTree, fold: Fold, seen_from: Fold, paths: Sequence[str]) -> str:
    """Several paths as a range, if that has no others than these; else the first ones."""
    names = {path: _relative(tree, seen_from, path) for path in dict.fromkeys(paths)}
    found = list(names)
    if len(found) > 1 and _is_range(tree, fold, found):
        return f"{names[found[0]]} … {names[found[-1]]}"
    return _listed(names.values())


def _is_range(tree: FoldTree, fold: Fold, paths: Sequence[str]) -> bool:
    """Whether paths differ in numbers that only rise or only fall, and no module of the graph that
    is between two of them is outside of the fold."""
    forms = [_NUMBERS.split(path) for path in _all_numbered(paths)]
    words = forms[0][::2]
    if any(form[::2] != words for form in forms):
        return False
    numbers = [tuple(map(int, form[1::2])) for form in forms]
    if numbers[-1] < numbers[0]:
        numbers.reverse()
    if numbers != sorted(numbers):
        return False
    graph, own = tree.graph, set(numbers)
    makers = {maker for place in tree.nodes_of(fold) if (maker := graph.makers[place])}
    for path, module in graph.modules_by_path.items():
        form = _NUMBERS.split(path) if path.startswith(words[0]) else []
        if form[::2] != words or tuple(map(int, form[1::2])) in own:
            continue
        if not numbers[0] < tuple(map(int, form[1::2])) < numbers[-1]:
            continue
        # A module without tensors has no fold of its own, and may be in the turn of another one.
        is_there = makers or module.tensors
        if is_there and not any(f"{maker}.".startswith(f"{path}.") for maker in makers):
            return False
    return True


def _all_numbered(paths: Sequence[str]) -> Sequence[str]:
    """Paths of which the first that a variable had has a number, too: ``net#1``, ``net#2``."""
    name = next((path.partition("#")[0] for path in paths if "#" in path), None)
    if name is None:
        return paths
    is_first = [path.startswith(name) and "#" not in path for path in paths]
    return [f"{name}#1{p[len(name) :]}" if one else p for p, one in zip(paths, is_first)]


def _parts(tree: FoldTree, fold: Fold) -> Iterator[Member]:
    """The equal parts of a repeat, or of some parts of one."""
    for one in _made(tree, fold):
        if isinstance(one, Fold) and one.kind == "part" and one.times:
            yield from _parts(tree, one)
        else:
            yield one


def _made(tree: FoldTree, fold: Fold) -> tuple[Member, ...]:
    """The members without leaves, of boxes the nodes that they are called by; leaves only where
    there is nothing else."""
    variables, pairs = tree.graph.variables, tree.pairs
    made = (
        one
        for one in fold.members
        if (one.kind != "leaves" if isinstance(one, Fold) else variables[one] is None)
        and one not in pairs
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
    """What the members of a fold do: modules, and operations of boxes that are in none; leaves
    only where there is nothing else."""
    for one in _made(tree, fold):
        if not isinstance(one, Fold):
            yield node_name(tree, one)
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
