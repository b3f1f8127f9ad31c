"""From a graph to its folds: views, modules, repeated parts, and no fold with too many members."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from gradviz.analysis.fold.drafts import Draft, DraftMember, chunked, finished
from gradviz.analysis.fold.placement import Placement, placement_of
from gradviz.analysis.fold.repeats import periods
from gradviz.model.fold import FoldTree
from gradviz.model.graph import Graph

MOST: Final = 24
"""Members of a fold, beside its leaves."""
PART: Final = 12
"""Members of a part, into which the members of a fold are put that would have more."""
LEAVES: Final = 8
"""Leaves of a fold that are its members; more are one fold."""
LOOSE: Final = 3
"""From so many nodes on, between modules, nodes outside of these are a part."""
VIEWS: Final = frozenset(
    f"{name}Backward0"
    for name in (
        *("View", "UnsafeView", "ReshapeAlias", "Alias", "T", "Transpose", "Permute", "Expand"),
        *("Squeeze", "Unsqueeze", "ToCopy", "Clone", "Unflatten", "Movedim", "SwapAxes"),
    )
) | {f"SqueezeBackward{number}" for number in range(1, 6)}
"""Nodes of views, of contiguous copies and of casts: the same numbers in another form."""


def fold_tree(graph: Graph) -> FoldTree:
    """How a graph is folded.

    Views and casts go with the node that uses them. What a call of a module made is one fold, in
    the fold of the module that called it. Parts of equal structure one after the other are a
    repeat. Leaves are members of the innermost fold in which they are used. A fold that would have
    too many members has parts.

    Every fold but those of views is a part of the forward without a gap, so that no fold is both
    before and after another one.

    Examples:
        >>> from gradviz.model import Node
        >>> nodes = [Node(f"n{i}", "SinBackward0", ((f"n{i + 1}", 0),)) for i in range(99)]
        >>> tree = fold_tree(Graph.of([*nodes, Node("n99", "CosBackward0", (None,))], [("n0", 0)]))
        >>> [(fold.kind, fold.nodes) for fold in tree.root.folds]
        [('repeat', 99)]
    """
    placement = placement_of(graph)
    types = {module.path: module.type for module in graph.modules}
    members = _Folding(graph, placement, types).members()
    root = Draft("graph", members)
    _put_leaves(graph, root)
    return FoldTree(graph, finished(root), placement.inferred)


class _Folding:
    """Puts the nodes of a graph into folds, from the inside out."""

    def __init__(self, graph: Graph, placement: Placement, types: dict[str, str]) -> None:
        self._graph = graph
        self._paths = placement.paths
        self._types = types
        self._shapes: dict[Hashable, int] = {}
        self._shape_of: dict[DraftMember, int] = {}

    def members(self) -> list[DraftMember]:
        """The members of the fold with the whole graph."""
        atoms = [(self._parts(atom), atom) for atom in self._atoms()]
        return self._level(atoms, 0)

    def _parts(self, atom: DraftMember) -> tuple[str, ...]:
        """The path of an atom's module, part by part."""
        place = atom if isinstance(atom, int) else atom.head
        path = None if place is None else self._paths[place]
        return tuple(path.split(".")) if path else ()

    def _atoms(self) -> Iterator[DraftMember]:
        """Nodes, those with views before them together with these, in the order of the forward."""
        graph, user = self._graph, self._only_user()
        views: dict[int, list[int]] = {}
        for place in graph.order:
            before = views.pop(place, [])
            head = user.get(place)
            if head is not None:
                views.setdefault(head, []).extend((*before, place))
            elif before:
                inner = chunked(before, MOST, PART)
                yield Draft("views", [*inner, place], head=place)
            else:
                yield place

    def _only_user(self) -> dict[int, int]:
        """Of each view that only one node uses, which is of the same module, that node."""
        graph, paths = self._graph, self._paths
        users: dict[int, int] = {}
        counts = [0] * len(graph)
        for place, row in enumerate(graph.targets):
            for entry in row:
                if entry is not None:
                    counts[entry[0]] += 1
                    users[entry[0]] = place
        for place, _ in graph.root_places:
            counts[place] += 1
        names = graph.names
        return {
            place: user
            for place, user in users.items()
            if counts[place] == 1 and names[place] in VIEWS and paths[place] == paths[user]
        }

    def _level(
        self, atoms: Sequence[tuple[tuple[str, ...], DraftMember]], depth: int
    ) -> list[DraftMember]:
        """Members of a module: what its modules made, as folds, and what it made itself."""
        found: list[DraftMember] = []

        def child(atom: tuple[tuple[str, ...], DraftMember]) -> str | None:
            return atom[0][depth] if len(atom[0]) > depth else None

        for name, run in groupby(atoms, child):
            inside = list(run)
            if name is None:
                found += (atom for _, atom in inside)
            else:
                found.append(self._module(inside, depth + 1))
        return self._arranged(found)

    def _module(
        self, atoms: Sequence[tuple[tuple[str, ...], DraftMember]], depth: int
    ) -> DraftMember:
        """What one call of a module made; what only holds one other fold is that fold."""
        members = self._level(atoms, depth)
        path = ".".join(atoms[0][0][:depth])
        if len(members) == 1 and isinstance(members[0], Draft) and members[0].kind != "views":
            return members[0]
        return Draft("module", members, path, self._types.get(path, ""))

    def _arranged(self, members: list[DraftMember]) -> list[DraftMember]:
        """The members of a fold with its repeats, the rest in parts where there is too much."""
        members = self._repeats(members)
        if any(isinstance(one, Draft) and one.kind in ("module", "repeat") for one in members):
            members = list(_loose_together(members))
        return chunked(members, MOST, PART)

    def _repeats(self, members: list[DraftMember]) -> list[DraftMember]:
        """The members with those that come again and again in repeats."""
        members = self._siblings(members)
        found: list[DraftMember] = []
        at = 0
        for period in periods([self._shape(one) for one in members]):
            found += members[at : period.start]
            starts = range(period.start, at := period.end, period.length)
            turns = [members[start : start + period.length] for start in starts]
            found.append(_repeat([_turn(one) for one in turns]))
        return found + members[at:]

    def _siblings(self, members: list[DraftMember]) -> list[DraftMember]:
        """Modules of one class side by side, equal but for the first and the last, as repeats."""
        found: list[DraftMember] = []

        def kind(one: DraftMember) -> tuple[str, str] | None:
            if isinstance(one, int) or one.kind != "module":
                return None
            above, _, name = one.path.rpartition(".")
            return (above, one.type) if name.isdecimal() or one.type else None

        for key, run in groupby(members, kind):
            inside = list(run)
            shapes = [self._shape(one) for one in inside]
            middle = shapes[1:-1] or shapes
            is_repeat = key is not None and len(inside) > 1 and len(set(middle)) == 1
            if is_repeat:
                found.append(_repeat(inside, len(set(shapes)) == 1))
            else:
                found += inside
        return found

    def _shape(self, one: DraftMember) -> int:
        """A number that members of equal structure have in common."""
        known = self._shape_of.get(one)
        if known is None:
            known = self._shape_of[one] = self._new_shape(one)
        return known

    def _new_shape(self, one: DraftMember) -> int:
        places = [one] if isinstance(one, int) else list(one.nodes)
        at = {place: i for i, place in enumerate(places)}
        graph = self._graph
        rows = tuple(
            (graph.names[place], tuple(self._way(entry, at) for entry in graph.targets[place]))
            for place in places
        )
        kind = () if isinstance(one, int) else (one.kind, one.type)
        return self._shapes.setdefault((kind, rows), len(self._shapes))

    def _way(self, entry: tuple[int, int] | None, at: dict[int, int]) -> Hashable:
        """Where an entry leads, seen from inside a part."""
        if entry is None:
            return None
        if entry[0] in at:
            return at[entry[0]], entry[1]
        return "leaf" if self._graph.variables[entry[0]] is not None else "outside"


def _turn(members: list[DraftMember]) -> DraftMember:
    return members[0] if len(members) == 1 else Draft("turn", members)


def _repeat(turns: Sequence[DraftMember], equal: bool = True) -> Draft:
    times = len(turns)
    return Draft("repeat", chunked(turns, PART + 4, PART, times=True), times=times, equal=equal)


def _loose_together(members: Iterable[DraftMember]) -> Iterator[DraftMember]:
    """Members, several nodes in a row that are of no inner module in parts."""

    def is_loose(one: DraftMember) -> bool:
        return isinstance(one, int) or one.kind == "views"

    for loose, run in groupby(members, is_loose):
        inside = list(run)
        if loose and len(inside) >= LOOSE:
            yield Draft("part", chunked(inside, MOST, PART))
        else:
            yield from inside


def _put_leaves(graph: Graph, root: Draft) -> None:
    """Put every leaf into the innermost fold in which all of its users are, but for views."""
    above: dict[int, tuple[Draft, ...]] = {}
    todo: list[tuple[Draft, tuple[Draft, ...]]] = [(root, (root,))]
    while todo:
        draft, around = todo.pop()
        for one in draft.members:
            if isinstance(one, int):
                above[one] = around
            else:
                todo.append((one, around if one.kind == "views" else (*around, one)))
    shared: dict[int, tuple[Draft, ...]] = {}
    for place, row in enumerate(graph.targets):
        for entry in row:
            if entry is not None and graph.variables[entry[0]] is not None:
                leaf, mine = entry[0], above[place]
                known = shared.get(leaf, mine)
                count = sum(1 for _ in _together(known, mine))
                shared[leaf] = known[:count]
    for place, variable in enumerate(graph.variables):
        if variable is not None:
            shared.get(place, (root,))[-1].leaves.append(place)
    for draft in _all(root):
        if len(draft.leaves) > LEAVES and draft.members:
            leaves = Draft("leaves", chunked(draft.leaves, MOST, PART))
            draft.leaves = []
            draft.members.insert(0, leaves)


def _together(one: Sequence[Draft], other: Sequence[Draft]) -> Iterator[Draft]:
    for mine, theirs in zip(one, other):
        if mine is not theirs:
            return
        yield mine


def _all(root: Draft) -> Iterator[Draft]:
    todo = [root]
    while todo:
        draft = todo.pop()
        yield draft
        todo += [one for one in draft.members if isinstance(one, Draft)]
