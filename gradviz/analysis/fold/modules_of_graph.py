"""The modules of a graph as a tree."""

from __future__ import annotations

from collections.abc import Iterable

from gradviz.analysis.fold.module_types import ROW, USED_BY_OTHERS, makes_of
from gradviz.model.graph import Graph


class Modules:
    """The modules of a graph, each known by a number; a module comes before those in it.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        rows = graph.modules
        self.paths = [row.path for row in rows]
        self.types = [row.type.removeprefix("Parametrized") or row.type for row in rows]
        self.is_bare = [not row.tensors for row in rows]
        """Whether each has no tensors itself."""
        self._is_container = [row.is_container for row in rows]
        self.inside: list[list[int]] = [[] for _ in rows]
        """The modules in each, in their order."""
        self.above: list[int] = []
        """The module that each is in, -1 for an outermost one."""
        self.numbers = {path: number for number, path in enumerate(self.paths)}
        """The module of each path."""
        for number, path in enumerate(self.paths):
            above = self.around(path.rpartition(".")[0]) if path else -1
            self.above.append(above)
            if above >= 0:
                self.inside[above].append(number)
        self.makes = [
            makes_of(kind) if all(self.is_parametrization(one) for one in inside) else None
            for kind, inside in zip(self.types, self.inside)
        ]
        """For modules of torch's own classes what each makes, see :func:`makes_of`."""
        for number in range(len(rows) - 1, -1, -1):
            inside = self.inside[number]
            self.is_bare[number] &= all(self.is_bare[one] for one in inside)
        self._leads = [self._chain(number) for number in range(len(rows))]
        self.by_hand: set[int] = set()
        """Rows of modules that are gone through by hand."""

    def around(self, path: str) -> int:
        """The innermost module of the graph that a path leads to, or through; -1 if there is none.

        Examples:
            >>> from gradviz.model import Graph, Node
            >>> from gradviz.model.records import ModuleInfo
            >>> node = Node("n0", "SinBackward0", (None,))
            >>> modules = Modules(Graph.of([node], [("n0", 0)], modules=[ModuleInfo("net", "Net")]))
            >>> modules.around("net.layers.0"), modules.around("other")
            (0, -1)
        """
        while path and path not in self.numbers:
            path = path.rpartition(".")[0]
        return self.numbers.get(path, -1)

    def _chain(self, number: int) -> tuple[int, ...]:
        found = []
        while number >= 0:
            found.append(number)
            number = self.above[number]
        return tuple(reversed(found))

    def is_parametrization(self, number: int) -> bool:
        """Whether it computes parameters of the module that it is in."""
        return self.paths[number].endswith(".parametrizations")

    def common(self, numbers: Iterable[int]) -> int:
        """The innermost module around all of these; -1 if there is none."""
        found = -1
        for level in zip(*map(self.chain, numbers)):
            if len(set(level)) > 1:
                break
            found = level[0]
        return found

    def chain(self, number: int) -> tuple[int, ...]:
        """The modules that one is in, from the outermost one to itself."""
        return self._leads[number] if number >= 0 else ()

    def calls(self, number: int) -> tuple[int, ...]:
        """Those of them that are called."""
        return tuple(one for one in self.chain(number) if self.is_called(one))

    def is_called(self, number: int) -> bool:
        """Whether it has a ``forward``, and is not gone through by hand."""
        return not self._is_container[number] and number not in self.by_hand

    def called_around(self, number: int) -> int:
        """The innermost module that is called, of one and those around it; -1 if there is none."""
        while number >= 0 and not self.is_called(number):
            number = self.above[number]
        return number

    def is_row(self, number: int) -> bool:
        """Whether it calls the modules in it one after the other, and does nothing else."""
        return number >= 0 and self.types[number] == ROW

    def user_of(self, number: int) -> int:
        """The module whose forward uses the parameters of one."""
        while number >= 0 and (self._is_container[number] or self.types[number] == USED_BY_OTHERS):
            number = self.above[number]
        return number
