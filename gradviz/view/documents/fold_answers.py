"""What the browser asks for of a folded graph: insides, and what Find does not find there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

from gradviz.view.documents.folds import FoldDocument, Room
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.folded import FoldedDrawing
from gradviz.view.text import clean

ROOM: Final = Room(14, 300_000, 0, 0)
"""How many insides an answer has."""
FOUND: Final = 50
"""Nodes that an answer to Find has."""


class FoldAnswers:
    """Answers questions about one folded graph, as JSON.

    Args:
        drawing: The folded graph.
    """

    def __init__(self, drawing: FoldedDrawing) -> None:
        self._drawing, self._tree = drawing, drawing.folding.tree

    def inside(self, fold_id: str, density: Density) -> bytes:
        """The inside of a fold in every density, and in one density those of the folds in it.

        Raises:
            UnknownNodeError: If there is no such fold.
        """
        fold = self._tree[fold_id]
        densities = (density, *(d for d in self._drawing.densities if d != density))
        ids = [(fold_id, one) for one in densities] + [(one.id, density) for one in fold.folds]
        found = FoldDocument(self._drawing, densities, ROOM, ids)
        shown = (*self._tree.around(fold_id), fold, *fold.folds)
        nodes = (self._tree.graph.nodes[place] for place in fold.places)
        return _json(
            {
                "inside": fold_id,
                "insides": {d: insides for d, insides in found.insides.items() if insides},
                "folds": [found.fold(one) for one in shown],
                "items": [*map(found.item, nodes), *map(found.fold_item, shown)],
            }
        )

    def find(self, query: str) -> bytes:
        """The first nodes that a query finds, with the folds around them."""
        found = FoldDocument(self._drawing, (), ROOM, ())
        places = list(islice(self._matches(query), FOUND))
        nodes = [self._tree.graph.nodes[place] for place in places]
        around = dict.fromkeys(chain.from_iterable(self._around(node.id) for node in nodes))
        return _json(
            {
                "find": query,
                "folds": [found.fold(self._tree[key]) for key in around],
                "items": [
                    *map(found.item, nodes),
                    *(found.fold_item(self._tree[key]) for key in around),
                ],
            }
        )

    def _around(self, node_id: str) -> Iterator[str]:
        return (fold.id for fold in self._tree.around(node_id))

    def _matches(self, query: str) -> Iterator[int]:
        """Places of the nodes in whose words all words of a query are."""
        wanted = query.lower().split()
        graph, names = self._tree.graph, self._drawing.graph_index.names
        columns = graph.columns
        rows = zip(columns.name, columns.source, columns.module, columns.variable, strict=True)
        for place, (name, source, module, variable) in enumerate(rows):
            words = (name, source, module, variable and names.get(variable))
            text = clean(" ".join(filter(None, words))).lower()
            if wanted and all(word in text for word in wanted):
                yield place


def _json(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=True, separators=(",", ":")).encode("ascii")
