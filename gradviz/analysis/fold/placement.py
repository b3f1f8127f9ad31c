"""Which module made each node: known from a recording, or inferred from the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradviz.analysis.fold.edges_of_calls import Edges
from gradviz.analysis.fold.gaps import Gap, gaps_of
from gradviz.analysis.fold.known_makers import Makers, Modules
from gradviz.analysis.fold.rows import Free, Rows
from gradviz.model.collector import no_collection
from gradviz.model.graph import Graph


@dataclass(frozen=True, slots=True)
class Placement:
    """The module of each node."""

    paths: tuple[str | None, ...]
    """By place, the path of the module that made it, or of one around that; ``""``: no module in
    the outermost one made it, but this one itself, or code outside; ``None``: not known. Of leaves
    ``None``."""
    inferred: frozenset[int]
    """Places of the nodes of which it is not known, but follows from those around them."""


def placement_of(graph: Graph) -> Placement:
    """The module of each node, as far as it is known or follows.

    A recording has seen it. Without one, a node that uses parameters or buffers of one module only
    was made by it. What the forward made between two nodes of one call was made in that call. At
    the end and at the beginning of calls it follows from what torch's own modules make, and from
    what all calls of a class have in common, where that leaves one way only. Where it leaves
    several, nodes are placed at the module around all of them.

    The time it takes grows with the nodes of the graph.

    Examples:
        >>> from gradviz.model import Node
        >>> node = Node("n0", "SinBackward0", (None,), module="net")
        >>> placement_of(Graph.of([node], [("n0", 0)])).paths
        ('net',)
    """
    if any(graph.makers):
        return Placement(tuple(graph.makers), frozenset())
    with no_collection():
        return _inferred(graph)


def _inferred(graph: Graph) -> Placement:
    modules = Modules(graph)
    anchors = list(Makers(graph, modules).anchors())
    found: list[str | None] = [None] * len(graph)
    order = graph.order
    for anchor in anchors:
        found[order[anchor.at]] = modules.paths[anchor.module]
    known = {order[anchor.at] for anchor in anchors}
    if anchors:
        gaps = list(gaps_of(graph, modules, anchors))
        rows = Rows(graph, modules, gaps)
        free = [rows.free(gap) for gap in gaps]
        edges = Edges(graph, modules, gaps, free, rows.called)
        filling = _Filling(graph, modules, rows, edges)
        for gap, left in zip(gaps, free):
            for at, path in filling.paths(gap, left):
                found[order[at]] = path
    inferred = (place for place, path in enumerate(found) if path is not None)
    return Placement(tuple(found), frozenset(inferred) - known)


class _Filling:
    """Places the nodes of gaps.

    Args:
        graph: The graph.
        modules: Its modules.
        rows: What torch's own modules make.
        edges: What other modules make at the beginning and at the end of a call.
    """

    def __init__(self, graph: Graph, modules: Modules, rows: Rows, edges: Edges) -> None:
        self._names = graph.names
        self._order = graph.order
        self._modules = modules
        self._rows = rows
        self._edges = edges

    def paths(self, gap: Gap, left: Free) -> Iterable[tuple[int, str | None]]:
        """The nodes of a gap, by their places in the order, with the paths of their modules.

        Args:
            gap: The gap.
            left: What is left of it; afterwards nothing more is known.
        """
        modules = self._modules
        ended = self._ended(gap, left)
        begun = self._begun(gap, left)
        common = gap.common
        while common >= 0 and not self._runs(common):
            common = modules.above[common]
        for at in range(gap.first, gap.end):
            if at in left.found:
                yield at, modules.paths[left.found[at]]
            elif common >= 0:
                yield at, modules.paths[common]
            elif modules.is_row(gap.common):  # gone through by hand, or of classes with other names
                yield at, None
            else:
                is_outside = ended <= at < begun and self._is_outside(gap, at)
                yield at, "" if is_outside else None

    def _is_outside(self, gap: Gap, at: int) -> bool:
        """Whether no module inside the outermost ones can have made a node."""
        modules = self._modules
        name = self._names[self._order[at]]
        known = [anchor.module for anchor in (gap.before, gap.after) if anchor is not None]
        outermost = (
            next(one for one in modules.chain(module) if modules.is_called(one)) for module in known
        )
        return all(self._runs(one) and self._may_make_itself(one, name) for one in outermost)

    def _may_make_itself(self, number: int, name: str) -> bool:
        modules = self._modules
        return modules.is_row(number) or modules.may_make_itself(number, name)

    def _runs(self, number: int) -> bool:
        """Whether a module is called, and not only holds others."""
        if self._modules.is_row(number):
            return number in self._rows.called
        return self._modules.is_called(number)

    def _ended(self, gap: Gap, left: Free) -> int:
        """Give nodes to the calls that end; returns from where on all of them surely have."""
        modules = self._modules
        first, limit, is_exact = left.first, left.first, True
        for level, call in enumerate(gap.exits):
            number = call.module
            if level < left.level or not self._runs(number):
                continue
            if number in self._rows.called:
                others = self._rows.after(number, gap.exits[level - 1].module)
                if not is_exact or not self._rows.forward(left, others):
                    limit = gap.end if others else limit
                    is_exact = is_exact and not others
                limit = max(limit, left.first)
            elif not modules.is_outermost(number):
                edge = self._edges.tail_of(call, gap)
                end = min(first + edge.sure, left.end)
                left.found.update(dict.fromkeys(range(left.first, end), number))
                left.first = max(left.first, end)
                limit = gap.end if edge.most is None else max(limit, first + edge.most)
                is_exact = edge.most == edge.sure
        return limit

    def _begun(self, gap: Gap, left: Free) -> int:
        """Give nodes to the calls that begin; returns from where on one of them may have begun."""
        modules = self._modules
        calls = gap.enters[::-1]
        end, limit, is_exact = left.end, left.end, True
        for level, call in enumerate(calls):
            number = call.module
            if level < left.entered or not self._runs(number):
                continue
            if number in self._rows.called:
                others = self._rows.before(number, calls[level - 1].module)
                if not is_exact or not self._rows.backward(left, others):
                    limit = gap.first if others else limit
                    is_exact = is_exact and not others
                limit = min(limit, left.end)
            elif not modules.is_outermost(number):
                edge = self._edges.head_of(call, gap)
                start = max(end - edge.sure, left.first)
                left.found.update(dict.fromkeys(range(start, left.end), number))
                left.end = min(left.end, start)
                limit = gap.first if edge.most is None else min(limit, end - edge.most)
                is_exact = edge.most == edge.sure
        return limit
