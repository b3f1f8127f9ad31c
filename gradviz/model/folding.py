"""How a graph is shown folded: the folds, what is in them, and which are open at first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gradviz.model.fold import FoldTotals, FoldTree, Opening


@dataclass(frozen=True, slots=True)
class Folding:
    """A folded graph with the totals of its folds."""

    tree: FoldTree
    opening: Opening
    totals: Mapping[str, FoldTotals]
    """Of each fold, by its id."""
    is_automatic: bool = False
    """Whether nobody asked for these folds: then fewer may be open, so that a picture fits."""
    is_other_model: bool = False
    """Whether a module was given, of which nothing is in the graph."""

    def closed(self, fold_id: str) -> Folding:
        """The same with one fold closed."""
        return replace(self, opening=replace(self.opening, ids=self.opening.ids - {fold_id}))

    def opened_around(self, key: str) -> Folding:
        """The same with the folds around a node or a fold open, too.

        Raises:
            UnknownNodeError: If there is no such node or fold.
        """
        return self.opened_with(fold.id for fold in self.tree.around(key))

    def opened_with(self, fold_ids: Iterable[str]) -> Folding:
        """The same with some folds open, too."""
        return replace(self, opening=replace(self.opening, ids=self.opening.ids.union(fold_ids)))


@dataclass(frozen=True, slots=True)
class FoldedSteps:
    """The folded graph of all steps of a recording."""

    folding: Folding
    """The folds of every node that any step knows; their totals are those of the last rows."""
    totals: Sequence[Mapping[str, FoldTotals]]
    """Per step the totals that differ from those of the step before; at the first all."""
