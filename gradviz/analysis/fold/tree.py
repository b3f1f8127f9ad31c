"""From a graph to its folds: boxes, modules, repeated parts, and no fold with too many members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from gradviz.analysis.fold.calls import Calls, Level
from gradviz.analysis.fold.drafts import (
    MOST,
    Boxes,
    Draft,
    DraftMember,
    cut_where_narrow,
    finished,
    nodes_of,
)
from gradviz.analysis.fold.leaves import put_leaves
from gradviz.analysis.fold.module_paths import parts_of
from gradviz.analysis.fold.placement import Placement, placement_of
from gradviz.analysis.fold.structure import Structure
from gradviz.analysis.fold.turns import Turns
from gradviz.model.boxes import heads_of, pairs_of
from gradviz.model.collector import no_collection
from gradviz.model.fold import FoldTree
from gradviz.model.graph import Graph
from gradviz.model.progress import counted, working

LOOSE: Final = 3
"""From so many boxes on, between modules, those outside of these are a part."""


def fold_tree(graph: Graph) -> FoldTree:
    """How a graph is folded.

    The nodes of one box are side by side in one fold. What a call of a module made is one fold, in
    the fold of the module that called it. Parts of equal structure one after the other are a
    repeat. Leaves are members of the innermost fold in which they are used, of several calls of a
    module of the first. A fold that would have too many members has parts.

    Every fold is a part of the forward without a gap, so that no fold is both before and after
    another one.

    Examples:
        >>> from gradviz.model import Node
        >>> nodes = [Node(f"n{i}", "SinBackward0", ((f"n{i + 1}", 0),)) for i in range(99)]
        >>> tree = fold_tree(Graph.of([*nodes, Node("n99", "CosBackward0", (None,))], [("n0", 0)]))
        >>> [(fold.kind, fold.nodes) for fold in tree.root.folds]
        [('repeat', 99)]
    """
    with working("fold"), no_collection():
        placement = placement_of(graph)
        folding = _Folding(graph, placement)
        root, boxes = folding.root(), folding.boxes
        put_leaves(graph, root, boxes)
        made = finished(root, boxes)
        return FoldTree(graph, made, placement.inferred, placement.paths, folding.pairs)


class _Folding:
    """Puts the boxes of a graph into folds, from the inside out."""

    def __init__(self, graph: Graph, placement: Placement) -> None:
        self._graph = graph
        self._calls = Calls(graph, placement.paths)
        self.pairs, self.boxes = _boxes(graph, pairs_of(graph, self._calls.keys))
        self._structure = Structure(graph, self.boxes)
        self._turns = Turns(self._structure, self._arranged)

    def root(self) -> Draft:
        """The fold with the whole graph.

        A module is closed where the next node is of none or of another one; the modules that run
        are a stack, the outermost one first.
        """
        running: Sequence[Level] = ()
        members: list[list[DraftMember]] = [[]]
        for head in self.boxes:
            levels = self._calls.levels(head)
            if levels is not running:
                self._change(running, levels, members)
                running = levels
            members[-1].append(head)
        self._change(running, (), members)
        return Draft("graph", self._arranged(members[0]))

    def _change(
        self, old: Sequence[Level], new: Sequence[Level], members: list[list[DraftMember]]
    ) -> None:
        """Close the modules that have ended, and open those that have begun."""
        same = 0
        while same < min(len(old), len(new)) and old[same] == new[same]:
            same += 1
        for depth in range(len(old), same, -1):
            inside = members.pop()
            members[-1].append(self._module(old[depth - 1], inside))
        members += ([] for _ in range(len(new) - same))

    def _module(self, level: Level, members: list[DraftMember]) -> DraftMember:
        """What one call of a module made; what only holds one other fold is that fold.

        A model, which no other module calls, is always a fold of its own, with its own name.
        """
        calls = self._calls.count(level, nodes_of(members, self.boxes))
        members = self._turns.folded(members)
        path = level.path
        module = self._graph.modules_by_path.get(path)
        kind = "" if module is None else module.type
        is_model = len(parts_of(path)) == 1 and not (module and module.is_container)
        if len(members) == 1:
            one = members[0]
            if isinstance(one, int):
                if not self._structure.leaves([one]):
                    return one
            elif is_model and self._turns.are_calls(one):
                one.members = [self._call(turn, path, kind) for turn in one.members]
                return one
            elif not is_model:
                if not one.path:
                    one.path, one.type = path, kind
                return one
        draft = Draft("module", members, path, kind, calls)
        self._structure.close(draft)
        draft.members = self._in_parts(members)
        return draft

    def _call(self, turn: DraftMember, path: str, kind: str) -> DraftMember:
        """A turn that is a call of a model; of parts of a repeat each of their turns."""
        if isinstance(turn, Draft) and turn.kind == "part" and turn.times:
            turn.members = [self._call(one, path, kind) for one in turn.members]
            return turn
        members = turn.members if isinstance(turn, Draft) and turn.kind == "turn" else [turn]
        return Draft("module", members, path, kind, 1, first=self._structure.first(turn))

    def _arranged(self, members: list[DraftMember]) -> list[DraftMember]:
        """The members of a fold with its repeats, the rest in parts where there is too much."""
        return self._in_parts(self._turns.folded(members))

    def _in_parts(self, members: list[DraftMember]) -> list[DraftMember]:
        if any(isinstance(one, Draft) and one.kind in ("module", "repeat") for one in members):
            members = list(self._loose_together(members))
        widths = [self._structure.width(one) for one in members]
        return cut_where_narrow(members, widths)

    def _loose_together(self, members: Iterable[DraftMember]) -> Iterator[DraftMember]:
        """Members, several boxes in a row that are of no inner module in parts."""
        for is_loose, run in groupby(members, lambda one: isinstance(one, int)):
            inside = list(run)
            if is_loose and len(inside) >= LOOSE:
                first = self._structure.first(inside[0])
                yield Draft("part", self._in_parts(inside), first=first)
            else:
                yield from inside


def _boxes(graph: Graph, pairs: Mapping[int, int]) -> tuple[dict[int, int], Boxes]:
    """The pairs whose boxes are not too large, and all boxes in the order of the forward.

    Args:
        graph: The graph.
        pairs: Nodes in the box of a node beside them, each with that one.
    """
    heads = heads_of(pairs)
    sizes = Counter(heads.values())
    found: dict[int, list[int]] = {}
    for place in counted(graph.order, "nodes folded", len(graph)):
        head = heads.get(place, place)
        if sizes[head] >= MOST:
            head = place
        # A box is where its last node is: no other one is used outside of it.
        places = found.pop(head, [])
        places.append(place)
        found[head] = places
    return {one: head for one, head in pairs.items() if sizes[heads[one]] < MOST}, found
