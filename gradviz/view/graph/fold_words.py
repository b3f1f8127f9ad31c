"""What a fold is called, and what is said of it in few words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gradviz.model.fold import Fold, FoldTotals, Member
from gradviz.model.folding import Folding
from gradviz.view import formatting
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean

NAMES: Final = 3
"""Nodes that the title of a part lists."""
_ENDING: Final = re.compile(r"Backward\d*$")


class FoldWords:
    """The words of the folds of one graph.

    Args:
        folding: The folds.
        graph_index: Their graph.
    """

    def __init__(self, folding: Folding, graph_index: GraphIndex) -> None:
        self._folding = folding
        self._tree = folding.tree
        self._index = graph_index

    def title(self, fold: Fold) -> str:
        """What a fold is called inside the fold it is in: ``"h.0 … h.11 ×12"``."""
        above = self._tree.above(fold.id)
        return self._name(fold, self._around(above))

    def label(self, fold: Fold) -> str:
        """The same with the class of the module: ``"h.3 · Block"``."""
        kind = fold.type or (self._first(fold).type if fold.times else "")
        return formatting.join((self.title(fold), clean(kind)))

    def counts(self, fold: Fold) -> str:
        """Nodes and saved bytes, and whether they are freed."""
        totals = self._folding.totals[fold.id]
        nodes = formatting.plural(totals.nodes, "node")
        if fold.kind == "leaves":
            nodes = formatting.plural(totals.leaves, "leaf")
        elif fold.times > 1 and fold.equal and totals.nodes % fold.times == 0:
            nodes = f"{formatting.plural(totals.nodes // fold.times, 'node')} each"
        return formatting.join((nodes, *self.memory(totals)))

    def memory(self, totals: FoldTotals) -> Iterator[str]:
        """What is saved."""
        if totals.saved_bytes:
            yield f"{formatting.size(totals.saved_bytes)} saved"
        if totals.freed:
            yield "partly freed" if totals.held + totals.modified else "freed"
        if totals.packed:
            yield f"{totals.packed:,} packed"

    def parameters(self, fold: Fold) -> str:
        """Elements of its leaves; ``""`` if there are none."""
        totals = self._folding.totals[fold.id]
        if not totals.leaves:
            return ""
        if fold.path or fold.times or self._around(self._tree.above(fold.id)):
            return formatting.plural(totals.parameters, "parameter")
        sizes = formatting.plural(totals.parameters, "element")
        return f"{formatting.plural(totals.leaves, 'leaf')}, {sizes}"

    def gradients(self, fold: Fold) -> str:
        """The norm of the gradients of its leaves together; ``""`` before there is one."""
        totals = self._folding.totals[fold.id]
        if not totals.grads:
            return ""
        norm = "" if totals.grad_norm is None else f" norm {formatting.number(totals.grad_norm)}"
        some = f" of {totals.grads:,} of {totals.leaves:,}" if totals.grads < totals.leaves else ""
        return f".grad{norm}{some}"

    def problems(self, fold: Fold) -> Iterator[str]:
        """What is wrong inside."""
        totals = self._folding.totals[fold.id]
        if totals.modified:
            yield f"⚠ {formatting.plural(totals.modified, 'saved tensor')} modified"
        if totals.bad_grads:
            yield f"⚠ nan or inf in {totals.bad_grads:,} .grad"

    def with_head(self, fold: Fold) -> str:
        """The views that are folded into the card of a node: ``"t, view"``."""
        places = (place for place in self._tree.nodes_of(fold) if place != fold.head)
        return self._listed([self._node(place).lower() for place in places])

    def _name(self, one: Member, around: str) -> str:
        if isinstance(one, int):
            return self._node(one)
        if one.kind == "graph":
            return f"graph of {self._index.subject}"
        if one.times:
            ends = (self._first(one), self._last(one))
            first, last = (self._name(end, around) for end in ends)
            named = f"{first} … {last}" if first != last else first
            if all(end.kind == "turn" and not self._path_in(end) for end in ends):
                named = self._turns(one)
            return f"{named} ×{one.times:,}"
        if path := self._path_in(one):
            return self._relative(path, around)
        if one.kind == "turn":
            return self._turns(one)
        if one.kind == "leaves":
            return "parameters" if around else "leaves"
        if one.head is not None:
            return self._node(one.head)
        return self._listed([self._name(member, around) for member in reversed(one.members)])

    def _turns(self, one: Fold) -> str:
        """Which turns of a repeat: ``"turn 3"``, ``"turns 1 … 12"``."""
        number = self._turn_number(self._first(one) if one.times else one)
        if not one.times or one.times == 1:
            return f"turn {number}"
        return f"turns {number} … {number + one.times - 1}"

    def _turn_number(self, turn: Fold) -> int:
        """Which one of its repeat a turn is, 1 for the first."""
        number, fold = 1, turn
        while (above := self._tree.above(fold.id)) is not None and above.times:
            for other in above.members:
                if other is fold:
                    break
                number += max(1, other.times) if isinstance(other, Fold) else 1
            fold = above
        return number

    def _first(self, repeat: Fold) -> Fold:
        return self._end(repeat, 0)

    def _last(self, repeat: Fold) -> Fold:
        return self._end(repeat, -1)

    def _end(self, repeat: Fold, which: int) -> Fold:
        one = repeat
        while one.times and isinstance(inner := one.members[which], Fold):
            one = inner
        return one

    def _path_in(self, fold: Fold) -> str:
        """The path of a fold's module; of a turn that of its largest module."""
        if fold.path or fold.kind != "turn":
            return fold.path
        inner = [one for one in fold.folds if one.path]
        return max(inner, key=lambda one: one.nodes).path if inner else ""

    def _around(self, fold: Fold | None) -> str:
        """The path of the module that a fold is in."""
        while fold is not None and not fold.path:
            fold = self._tree.above(fold.id)
        return "" if fold is None else fold.path

    def _relative(self, path: str, around: str) -> str:
        """A path as it is said inside a module: a number with the name before it."""
        if not around or not path.startswith(f"{around}."):
            return clean(path)
        rest = path.removeprefix(f"{around}.")
        above = around.rpartition(".")[2]
        return clean(f"{above}.{rest}" if rest[0].isdecimal() else rest)

    def _node(self, place: int) -> str:
        name = self._tree.graph.names[place]
        variable = self._index.names.get(self._tree.graph.variables[place] or "")
        return variable or _ENDING.sub("", clean(name)) or clean(name)

    def _listed(self, names: list[str]) -> str:
        several = list(dict.fromkeys(names))
        more = ", …" if len(several) > NAMES else ""
        return ", ".join(several[:NAMES]) + more
