"""What is in a fold, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from gradviz.model.fold import Fold, FoldKind, FoldTotals
from gradviz.model.folding import Folding
from gradviz.model.records import Node
from gradviz.view import formatting
from gradviz.view.fold_words import title
from gradviz.view.graph_index import GraphIndex
from gradviz.view.text import clean

KINDS: Final[Mapping[FoldKind, str]] = {
    "graph": "the whole graph",
    "repeat": "repeated parts",
    "turn": "one of several equal parts",
    "part": "nodes that follow each other",
    "leaves": "leaves",
}
"""What a fold is that is not of a module."""


def kind_of(fold: Fold) -> str:
    """What a fold is.

    Examples:
        >>> [kind_of(Fold("f1", "module", (), 0, 0, calls=calls)) for calls in (1, 3, 0)]
        ['one call of a module', '3 calls of a module', 'calls of modules in this one']
        >>> kind_of(Fold("f1", "module", (), 0, 0)), kind_of(Fold("f1", "turn", (), 0, 0))
        ('what a module made', 'one of several equal parts')
    """
    if fold.kind != "module":
        return KINDS[fold.kind]
    if fold.calls is None:
        return "what a module made"
    if not fold.calls:
        return "calls of modules in this one"
    return "one call of a module" if fold.calls == 1 else f"{fold.calls:,} calls of a module"


class FoldFacts:
    """Says what is in the folds of one graph.

    Args:
        folding: The folds.
        graph_index: Their graph.
    """

    def __init__(self, folding: Folding, graph_index: GraphIndex) -> None:
        self._folding = folding
        self._tree = folding.tree
        self._index = graph_index
        self._labels: dict[str, str] = {}

    def fold(self, fold_id: str) -> Fold:
        """A fold by its id."""
        return self._tree[fold_id]

    def label(self, fold: Fold) -> str:
        """What it is called, seen from the fold that it is in; for its name all of it is read."""
        known = self._labels.get(fold.id)
        if known is None:
            known = self._labels[fold.id] = self._label(fold)
        return known

    def _label(self, fold: Fold) -> str:
        if fold.kind == "graph":
            return f"graph of {self._index.subject}"
        return title(self._tree, fold)

    def counts(self, fold: Fold) -> str:
        """The facts in one line."""
        return formatting.join(self.facts(fold))

    def facts(self, fold: Fold) -> tuple[str, ...]:
        """Nodes and saved bytes of all of it, and whether they are freed; of leaves elements."""
        totals = self._folding.totals[fold.id]
        nodes = formatting.plural(totals.nodes, "node")
        if fold.kind == "leaves":
            nodes = formatting.plural(totals.parameters, "element")
            if totals.leaves < fold.nodes:
                nodes = formatting.join((f"{totals.leaves:,} there", nodes))
        return (nodes, *self.memory(totals))

    def memory(self, totals: FoldTotals) -> Iterator[str]:
        """What is saved."""
        if totals.saved_bytes:
            yield f"{formatting.size(totals.saved_bytes)} saved"
        if totals.freed:
            yield "partly freed" if totals.held + totals.modified else "freed"
        if totals.packed:
            yield f"{totals.packed:,} packed"

    def elements(self, fold: Fold) -> str:
        """Elements of its leaves; ``""`` if there are none, or if that is what it counts."""
        totals = self._folding.totals[fold.id]
        if not totals.leaves or fold.kind == "leaves":
            return ""
        return formatting.plural(totals.parameters, "element")

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

    def rows(self, fold: Fold) -> list[list[str]]:
        """Everything that is known of a fold, as pairs of label and value."""
        totals = self._folding.totals[fold.id]
        rows = [
            ("id", fold.id),
            ("fold", kind_of(fold)),
            ("module", formatting.join((clean(fold.path), clean(fold.type)))),
            ("nodes", f"{totals.nodes:,}"),
            ("leaves", f"{totals.leaves:,}" if totals.leaves else ""),
            ("elements", f"{totals.parameters:,}" if totals.leaves else ""),
            ("saved tensors", self._saved(totals)),
            ("saved bytes", formatting.size(totals.saved_bytes) if totals.saved_bytes else ""),
            (".grad", self.gradients(fold).removeprefix(".grad").strip() if totals.grads else ""),
            ("hooks", f"{totals.hooks:,}" if totals.hooks else ""),
            ("problems", formatting.join(self.problems(fold), ", ")),
            ("module inferred", self._inferred(fold)),
        ]
        if fold.times:
            same = "equal structure" if fold.equal else "equal, but for the first or last"
            each, rest = divmod(totals.nodes - totals.leaves, fold.times)
            if fold.equal and not rest and totals.nodes == fold.nodes:
                same = f"each of {formatting.plural(each, 'node')} beside leaves, {same}"
            rows.insert(2, ("parts", f"{fold.times:,}, {same}"))
        return [[label, value] for label, value in rows if value]

    def of_node(self, node: Node, fold: Fold) -> list[list[str]]:
        """What the folds say of a node: which module made it, and how that is known."""
        place = self._tree.graph.place_of(node.id)
        maker = None if place is None else self._tree.makers[place]
        if not maker or node.module is not None or node.variable is not None:
            return []
        how = " (inferred from parameters and from the nodes around it)"
        return [["module", f"{clean(maker)}{how if place in self._tree.inferred else ''}"]]

    def _saved(self, totals: FoldTotals) -> str:
        counts = {
            "held": totals.held,
            "modified": totals.modified,
            "freed": totals.freed,
            "packed": totals.packed,
        }
        return ", ".join(f"{number:,} {word}" for word, number in counts.items() if number)

    def _inferred(self, fold: Fold) -> str:
        found = sum(place in self._tree.inferred for place in self._tree.nodes_of(fold))
        if not found or not self.path(fold):
            return ""
        return f"{found:,} of {fold.nodes:,} nodes, from parameters and the nodes around"

    def path(self, fold: Fold | None) -> str:
        """The path of the module that a fold is in, or is."""
        while fold is not None and not fold.path:
            fold = self._tree.above(fold.id)
        return "" if fold is None else fold.path
