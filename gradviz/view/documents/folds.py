"""The folds of a graph as the browser gets them: their names, and as many insides as fit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, Final

from gradviz.model.fold import Fold, FoldTree
from gradviz.model.ids import by_number
from gradviz.model.records import Node, TensorInfo
from gradviz.view.element import Element, write
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.placing import DrawnInside
from gradviz.view.graph.scene import ALL
from gradviz.view.graph_index import LISTED
from gradviz.view.items import fold_item, folded_item, tensor_item

FOLDS: Final = 300
"""Folds that a document names, the outer ones, beside those around the nodes that it lists."""
LIMIT: Final = "needs a kernel: this document has only some of the folds"
"""What a fold says whose inside is elsewhere."""


@dataclass(frozen=True, slots=True)
class Room:
    """How much of the insides of folds a document has; those that are open at first always."""

    count: int
    """How many insides, each density for itself."""
    size: int
    """Bytes of all of them, before compression."""
    nodes: int
    """How many nodes are listed, beside those in these insides."""
    in_text: int
    """How many nodes the text lists, of more."""


SMALL: Final = 400
"""Nodes of a graph up to which a document has all insides of the density in which it opens."""
WIDGET: Final = Room(60, 220_000, 1_000, 400)
"""In a notebook, where a kernel has the rest."""
PAGE: Final = Room(20_000, 8_000_000, LISTED, LISTED)
"""In a saved page, which has no kernel."""


class FoldDocument:
    """The folds of one graph as plain data.

    Args:
        drawing: The folded graph.
        room: How many insides there are.
        wanted: Which insides, in this order, the first of them in any case; if not given those of
            the folds that are open at first, then of all others, the outer ones first.
    """

    def __init__(
        self,
        drawing: GraphDrawing,
        room: Room = WIDGET,
        wanted: Iterable[tuple[str, Density]] | None = None,
    ) -> None:
        assert drawing.folding is not None
        self._drawing, self._folding, self._room = drawing, drawing.folding, room
        self._tree, densities = drawing.folding.tree, drawing.densities
        self._densities = densities
        self.insides: dict[Density, dict[str, dict[str, Any]]] = {d: {} for d in densities}
        first = self._first() if wanted is None else []
        self._fill(first, self._others() if wanted is None else wanted)
        every = chain.from_iterable(found.values() for found in self.insides.values())
        cards = frozenset(card["id"] for inside in every for card in inside["cards"])
        boxes = drawing.scenes.source.boxes
        self._shown = cards.union(*(boxes.members.get(key, ()) for key in cards))
        """Nodes and folds that have a card in an inside."""

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that only the document of a folded graph has."""
        fold = {
            "opened": list(by_number(self._folding.opening.ids)),
            "direction": self._drawing.options.direction,
            "folds": [self.fold(fold) for fold in self.listed],
            "insides": self.insides,
            "limit": "" if self._is_whole else LIMIT,
            "note": self._drawing.scenes.note,
        }
        return {"fold": fold, **({"extent": self.extent} if self.extent else {})}

    @property
    def _is_whole(self) -> bool:
        """Whether each fold has an inside, in one density at least."""
        return any(all(fold.id in ids for fold in self._tree) for ids in self.insides.values())

    @cached_property
    def listed(self) -> tuple[Fold, ...]:
        """The folds that are named."""
        outer = (fold for fold, _ in zip(self._tree.by_depth(), range(FOLDS)))
        inner = (one for node in self.nodes for one in self._tree.around(node.id))
        shown = (self._tree[key] for key in self._shown if key[0] == "f")
        ids = {fold.id for fold in chain(outer, inner, shown)}
        return tuple(self._tree[key] for key in by_number(ids))

    @cached_property
    def nodes(self) -> list[Node]:
        """The nodes that are listed: the first ones, and those that have a card."""
        graph = self._tree.graph
        first = range(min(self._room.nodes, len(graph)))
        shown = (graph.place_of(key) for key in self._shown if key[0] == "n")
        places = {*first, *(place for place in shown if place is not None)}
        return [graph.nodes[place] for place in sorted(places)]

    @property
    def in_text(self) -> int:
        """How many nodes the text lists."""
        count = len(self._tree.graph)
        return count if count <= self._room.nodes else self._room.in_text

    @property
    def extent(self) -> dict[str, Any] | None:
        """What is said of nodes that are not listed."""
        count, listed = len(self._tree.graph), len(self.nodes)
        if count <= listed:
            return None
        subject = self._drawing.graph_index.subject_typed
        words = (
            f"Outline lists {listed:,} of {count:,} nodes; with a kernel Find finds all. Totals "
            f"cover all; print(gradviz.snapshot({subject})) lists all."
        )
        return {"words": words, "subject": subject, "example": ""}

    @property
    def items(self) -> list[dict[str, Any]]:
        """The folds as what can be found and selected."""
        return [self.fold_item(fold) for fold in self.listed]

    def fold_item(self, fold: Fold) -> dict[str, Any]:
        """A fold as what can be found and selected."""
        above = self._tree.above(fold.id)
        is_whole = fold.id in self._shown or any(fold.id in ids for ids in self.insides.values())
        item = fold_item(fold, above.id if above else "", self._drawing.words, is_whole)
        return self._drawing.marks.item(item)

    def item(self, one: Node | TensorInfo) -> dict[str, Any]:
        """What can be found and selected: a node, a tensor it made, or one outside the graph."""
        graph_index = self._drawing.graph_index
        if isinstance(one, Node):
            fold = self._tree.around(one.id)[-1]
            words, is_whole = self._drawing.words, one.id in self._shown
            return self._drawing.marks.item(folded_item(one, graph_index, fold, words, is_whole))
        savers = dict.fromkeys(node for node, _ in graph_index.saved_by.get(one.id, ()))
        near = ([one.node], []) if one.node else ([], list(savers))
        folds = self._drawing.outside_folds
        fold_id = self._tree.around(one.node)[-1].id if one.node else folds.get(one.id, "")
        item = tensor_item(one, graph_index, *near)
        return self._drawing.marks.item({**item, "fold": fold_id})

    def fold(self, fold: Fold) -> dict[str, Any]:
        """What the browser knows of a fold, whether or not it has its inside."""
        has_inside = any(fold.id in ids for ids in self.insides.values())
        return fold_data(fold, self._tree, self._drawing.words, has_inside)

    def _first(self) -> list[tuple[str, Density]]:
        """The insides that are there in any case."""
        ids = self._folding.opening.ids
        keys = [ALL, *(fold.id for fold in self._tree if fold.id in ids)]
        return [(key, density) for density in self._densities for key in keys]

    def _others(self) -> Iterator[tuple[str, Density]]:
        return ((fold.id, density) for density in self._densities for fold in self._tree.by_depth())

    def _fill(
        self, first: Sequence[tuple[str, Density]], others: Iterable[tuple[str, Density]]
    ) -> None:
        """Take the first insides, then others until there is no room. Of a small graph those of one
        density fit in any case."""
        is_small = self._room == WIDGET and len(self._tree.graph) <= SMALL
        used = 0
        for number, (fold_id, density) in enumerate(chain(first, others)):
            there = self.insides[density]
            if fold_id in there:
                continue
            is_free = number < len(first) or (is_small and density == self._densities[0])
            if not is_free and (len(there) >= self._room.count or used >= self._room.size):
                return
            there[fold_id] = self.inside(fold_id, density)
            used += len(json.dumps(there[fold_id], ensure_ascii=False))

    def inside(self, fold_id: str, density: Density) -> dict[str, Any]:
        """The inside of a fold as plain data."""
        pictures = self._drawing[density]
        looks = {key: drawn[0] for key, drawn in pictures.looks_of([fold_id]).items()}
        parts = [*head.inside] if (head := looks.get(f"gv-header-{fold_id}")) else []
        data = inside_data(pictures.inside(fold_id), looks)
        return {**data, "header": "".join(map(write, parts))}


def fold_data(fold: Fold, tree: FoldTree, words: FoldFacts, has_inside: bool) -> dict[str, Any]:
    """What the browser knows of a fold, whether or not the document has its inside."""
    above = tree.above(fold.id)
    return {
        "id": fold.id,
        "above": above.id if above is not None else "",
        "kind": fold.kind,
        "path": fold.path,
        "label": words.label(fold),
        "words": [words.counts(fold)],
        "nodes": fold.nodes,
        "members": tree.cards(fold),
        "has_inside": has_inside,
    }


def inside_data(
    inside: DrawnInside, looks: Mapping[str, Element | None] = MappingProxyType({})
) -> dict[str, Any]:
    """The inside of a fold as plain data.

    Args:
        inside: The inside.
        looks: How its cards look; not given where that differs from step to step.
    """
    return {
        "width": inside.width,
        "height": inside.height,
        "cards": [
            {
                "id": card.id,
                "x": card.x,
                "y": card.y,
                "width": card.width,
                "height": card.height,
                "markup": "" if look is None else write(look),
            }
            for card in inside.cards
            for look in [looks.get(f"gv-{card.id}")]
        ],
        "links": [
            {
                "points": [list(point) for point in link.points],
                "tail": list(link.tail),
                "head": list(link.head),
                "tail_reach": list(link.tail_reach),
                "head_reach": list(link.head_reach),
                "id": link.wire.key,
                "source": link.wire.source,
                "target": link.wire.target,
                "slot": link.wire.slot,
                "count": link.wire.count,
                "is_edge": link.wire.is_edge,
            }
            for link in inside.links
        ],
        "inputs": list(inside.inputs),
        "outputs": list(inside.outputs),
    }
