"""Nodes of torch's own classes of modules, which are known by their names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from gradviz.analysis.fold.gaps import Call, Gap
from gradviz.analysis.fold.known_makers import Modules
from gradviz.analysis.fold.module_types import ENDS, LOOPS
from gradviz.model.graph import Graph

PRODUCTS: Final = frozenset(("AddmmBackward0", "MmBackward0"))


@dataclass(slots=True)
class Free:
    """What is left of a gap between nodes that are known by torch's own classes."""

    first: int
    end: int
    found: dict[int, int] = field(default_factory=dict)
    """The module of each node that is known, by its place in the order."""
    level: int = 0
    """Of the calls that end, how many are known to have made nothing more."""
    entered: int = 0
    """Of the calls that begin, from the innermost, how many have made nothing before."""
    tail: tuple[int, int, int] | None = None
    """A module whose call ends, and from where to where all nodes are that are still its own."""
    head: tuple[int, int, int] | None = None
    """The same of one whose call begins."""
    others: tuple[int, ...] = ()
    """Modules without parameters that are called between the two calls, in a row."""

    def __len__(self) -> int:
        return self.end - self.first


class Rows:
    """Gives nodes to modules of torch's own classes.

    Args:
        graph: The graph.
        modules: Its modules.
        gaps: Its gaps.
    """

    def __init__(self, graph: Graph, modules: Modules, gaps: Sequence[Gap]) -> None:
        self._graph = graph
        self._modules = modules
        self._names = graph.names
        self._order = graph.order
        self.called = {number for number in range(len(modules.paths)) if modules.is_row(number)}
        """Rows that are called, and not gone through by hand."""
        for gap in gaps:
            if gap.common in self.called and not self._is_possible(gap):
                self.called.discard(gap.common)

    def free(self, gap: Gap) -> Free:
        """What is left of a gap."""
        left = Free(gap.first, gap.end)
        self._advance(gap, left)
        self._retreat(gap, left)
        if gap.common in self.called and gap.exits and gap.enters:
            self._between(gap, left)
        return left

    def _advance(self, gap: Gap, left: Free) -> None:
        """Give nodes to the calls that end, the innermost first, as far as these are known."""
        modules = self._modules
        for level, call in enumerate(gap.exits):
            number = call.module
            if modules.types[number] in LOOPS:
                self._end(gap, left, number)
                return
            if modules.makes[number] is not None:
                self._end(gap, left, number)
            elif number in self.called:
                inner = gap.exits[level - 1].module if level else -1
                if not self.forward(left, self.after(number, inner)):
                    return
            elif modules.is_called(number):
                return
            left.level += 1

    def after(self, row: int, child: int) -> list[int]:
        """The modules that a row calls after one of them."""
        inside = self._modules.inside[row]
        return inside[inside.index(child) + 1 :] if child in inside else []

    def before(self, row: int, child: int) -> list[int]:
        """The modules that a row calls before one of them, the last first."""
        inside = self._modules.inside[row]
        return inside[: inside.index(child)][::-1] if child in inside else []

    def _end(self, gap: Gap, left: Free, number: int) -> None:
        """What a module of torch's own class makes after its last known node."""
        kind = self._modules.types[number]
        names = [self._names[place] for place in self._order[left.first : left.end]]
        for end in ENDS.get(kind, ()):
            if tuple(names[: len(end)]) == end:
                self._give(left, range(left.first, left.first + len(end)), number)
                left.first += len(end)
                return
        is_linear = kind == "Linear" and names and gap.before is not None
        if is_linear and self._is_unfolded(left.first - 1):
            self._give(left, [left.first], number)
            left.first += 1

    def _is_unfolded(self, at: int) -> bool:
        """Whether the node after a product of matrices is the view that a Linear makes of it.

        The product has two dimensions, and the result has those of the input but for the last.
        """
        graph, order = self._graph, self._order
        if at + 1 >= len(order) or self._names[order[at]] not in PRODUCTS:
            return False
        product, view = order[at], order[at + 1]
        if graph.targets[view] != ((product, 0),):
            return False
        if self._names[view] == "UnsafeViewBackward0":
            return True
        before, after = _shape(graph, product), _shape(graph, view)
        if self._names[view] != "ViewBackward0" or len(after) < 3 or before[-1:] != after[-1:]:
            return False
        flat = self._flat_input(product)
        if flat is None:
            return True
        whole = [_shape(graph, entry[0]) for entry in graph.targets[flat] if entry is not None]
        return [shape[:-1] for shape in whole] == [after[:-1]]

    def _flat_input(self, product: int) -> int | None:
        """The view that a product of matrices has for its input, if it has one."""
        graph = self._graph
        views = ("ViewBackward0", "UnsafeViewBackward0", "ReshapeAliasBackward0")
        found = (entry[0] for entry in graph.targets[product] if entry is not None)
        return next((one for one in found if self._names[one] in views), None)

    def forward(self, left: Free, others: Sequence[int]) -> bool:
        """Give the next nodes to modules without parameters; whether all of them are known."""
        for number in others:
            makes = self._modules.makes[number]
            if makes is None:
                return False
            counts = dict(makes)
            while left.first < left.end:
                name = self._names[self._order[left.first]]
                if counts.get(name, 0) < 1:
                    break
                counts[name] -= 1
                self._give(left, [left.first], number)
                left.first += 1
        return True

    def backward(self, left: Free, others: Sequence[int]) -> bool:
        """Give the nodes before to modules without parameters; whether all of them are known."""
        for number in others:
            makes = self._modules.makes[number]
            if makes is None:
                return False
            counts = dict(makes)
            while left.first < left.end:
                name = self._names[self._order[left.end - 1]]
                if counts.get(name, 0) < 1:
                    break
                counts[name] -= 1
                left.end -= 1
                self._give(left, [left.end], number)
        return True

    def _give(self, left: Free, places: Sequence[int] | range, number: int) -> None:
        left.found.update(dict.fromkeys(places, number))

    def _retreat(self, gap: Gap, left: Free) -> None:
        """Give nodes to the calls that begin, the innermost first."""
        modules = self._modules
        calls = gap.enters[::-1]
        for level, call in enumerate(calls):
            number = call.module
            if modules.makes[number] is not None:
                self._begin(gap, left, number)
            elif number in self.called:
                inner = calls[level - 1].module if level else -1
                if not self.backward(left, self.before(number, inner)):
                    return
            elif modules.is_called(number):
                return
            left.entered += 1

    def _begin(self, gap: Gap, left: Free, number: int) -> None:
        """What a Linear makes before its first known node: a matrix of its input."""
        if self._modules.types[number] != "Linear" or gap.after is None:
            return
        for at in range(gap.after.at, min(gap.after.at + 2, len(self._order))):
            flat = self._flat_input(self._order[at])
            if (
                left.first < left.end
                and flat == self._order[left.end - 1]
                and self._is_unfolded(at)
            ):
                left.end -= 1
                self._give(left, [left.end], number)

    def _between(self, gap: Gap, left: Free) -> None:
        """Give what a row made between two of its modules to those that it called there."""
        others = self._others(gap)
        is_known_before = left.level == len(gap.exits)
        is_known_after = left.entered == len(gap.enters)
        if is_known_before:
            while others and self._modules.makes[others[0]] is not None:
                self.forward(left, [others.pop(0)])
        if is_known_after:
            while others and self._modules.makes[others[-1]] is not None:
                self.backward(left, [others.pop()])
        left.others = tuple(others)
        unknown = [
            *([] if is_known_before else [self._innermost(gap.exits[::-1], self.after)]),
            *others,
            *([] if is_known_after else [self._innermost(gap.enters, self.before)]),
        ]
        if len(unknown) == 1:
            if not is_known_before:
                left.tail = unknown[0], left.first, left.end
            elif not is_known_after:
                left.head = unknown[0], left.first, left.end
            self._give(left, range(left.first, left.end), unknown[0])
            left.first = left.end

    def _innermost(self, calls: Sequence[Call], others: Callable[[int, int], Sequence[int]]) -> int:
        """The module whose calls alone can have made the nodes next to some calls.

        Args:
            calls: Calls, each in the one before.
            others: What a row calls on that side of a module.
        """
        found = calls[0].module
        for call in calls[1:]:
            if found not in self.called or others(found, call.module):
                break
            found = call.module
        return found

    def _others(self, gap: Gap) -> list[int]:
        """Modules without tensors between the two that a gap is between."""
        inside = self._modules.inside[gap.common]
        first, last = gap.exits[-1].module, gap.enters[0].module
        if first not in inside or last not in inside:
            return []
        return inside[inside.index(first) + 1 : inside.index(last)]

    def _is_possible(self, gap: Gap) -> bool:
        """Whether a row can have made a gap, by calling the modules in it one after the other."""
        if not gap.exits or not gap.enters:
            return True
        inside = self._modules.inside[gap.common]
        first, last = gap.exits[-1].module, gap.enters[0].module
        if inside.index(first) >= inside.index(last):
            return False
        left = Free(gap.first, gap.end)
        self._advance(gap, left)
        self._retreat(gap, left)
        self._between(gap, left)
        is_known = left.level == len(gap.exits) and left.entered == len(gap.enters)
        return not (is_known and len(left) and not left.others)


def _shape(graph: Graph, place: int) -> tuple[int, ...]:
    """The shape of what a node's forward returned, empty if it is not known."""
    shapes = graph.output_shapes[place]
    return shapes[0] or () if shapes else ()
