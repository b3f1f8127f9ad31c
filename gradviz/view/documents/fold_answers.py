"""What the browser asks for of a folded graph: insides, and what Find does not find there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from gradviz.model.progress import counted, working
from gradviz.view.documents.folds import FoldDocument, Room
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.text import clean

ROOM: Final = Room(14, 300_000, 0, 0)
"""How many insides an answer has, for each fold that is asked for."""
SEVERAL: Final = 2_000_000
"""Bytes of insides above which an answer has not all folds that are asked for."""
FOUND: Final = 200
"""Nodes that an answer to Find has."""


class FoldAnswers:
    """Answers questions about one folded graph, as JSON.

    Args:
        drawing: The folded graph.
    """

    def __init__(self, drawing: GraphDrawing) -> None:
        self._drawing, self._tree = drawing, drawing.tree

    def inside(self, fold_ids: Sequence[str], density: Density) -> bytes:
        """The inside of a fold in every density, and in one density those of the folds in it; of
        several folds only their own in this density, as many as one answer has room for.

        Raises:
            UnknownNodeError: If there is no such fold.
        """
        folds = [self._tree[fold_id] for fold_id in fold_ids]
        if len(folds) == 1:
            densities = (density, *(d for d in self._drawing.densities if d != density))
            ids = [(fold_ids[0], one) for one in densities]
            ids += [(one.id, density) for one in folds[0].folds]
            found = FoldDocument(self._drawing, ROOM, ids)
        else:
            room = replace(ROOM, count=len(folds), size=SEVERAL)
            ids = [(one.id, density) for one in folds]
            found = FoldDocument(self._drawing, room, ids)
            folds = [one for one in folds if one.id in found.insides[density]]
        around = chain.from_iterable((*self._tree.around(f.id), f, *f.folds) for f in folds)
        shown = {one.id: one for one in around}.values()
        nodes = (self._tree.graph.nodes[place] for fold in folds for place in fold.places)
        return _json(
            {
                "inside": list(fold_ids),
                "insides": {d: insides for d, insides in found.insides.items() if insides},
                "folds": [found.fold(one) for one in shown],
                "items": [*map(found.item, nodes), *map(found.fold_item, shown)],
            }
        )

    def find(self, query: str) -> bytes:
        """The first nodes that a query finds, with the folds around them, and how many more there
        are."""
        found = FoldDocument(self._drawing, ROOM, ())
        with working("find"):
            every = self._matches(query)
        places = every[:FOUND]
        nodes = [self._tree.graph.nodes[place] for place in places]
        around = dict.fromkeys(chain.from_iterable(self._around(node.id) for node in nodes))
        return _json(
            {
                "find": query,
                "more": len(every) - len(places),
                "folds": [found.fold(self._tree[key]) for key in around],
                "items": [
                    *map(found.item, nodes),
                    *(found.fold_item(self._tree[key]) for key in around),
                ],
            }
        )

    def _around(self, node_id: str) -> Iterator[str]:
        return (fold.id for fold in self._tree.around(node_id))

    def _matches(self, query: str) -> list[int]:
        """Places of the nodes in whose words all words of a query are; first the one whose id it
        is."""
        wanted = query.lower().split()
        if not wanted:
            return []
        own = self._tree.graph.place_of(query.strip().lower())
        words = zip(self._names(), self._modules(), strict=True)
        texts = counted(enumerate(words), "nodes searched", len(self._tree.graph))
        places = (place for place, text in texts if _has_all(clean(" ".join(text)), wanted))
        return list(dict.fromkeys(chain(() if own is None else (own,), places)))

    def _names(self) -> Iterator[str]:
        """What each node is called, and where it was made."""
        columns, names = self._tree.graph.columns, self._drawing.graph_index.names
        rows = zip(columns.name, columns.source, columns.module, columns.variable, strict=True)
        for name, source, module, variable in rows:
            found = (name, source, module, variable and names.get(variable))
            yield " ".join(filter(None, found))

    def _modules(self) -> list[str]:
        """The path of the module that each node is folded into."""
        paths = [""] * len(self._tree.graph)
        for fold in self._tree:
            path = self._drawing.words.path(fold)
            for place in fold.places if path else ():
                paths[place] = path
        return paths


def _has_all(text: str, words: Sequence[str]) -> bool:
    text = text.lower()
    return all(word in text for word in words)


def _json(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer, ensure_ascii=True, separators=(",", ":")).encode("ascii")
