"""Marks of findings on a graph: on the card of a thing, or on the closed box around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from gradviz.model.fold import FoldTree
from gradviz.model.folding import Folding
from gradviz.model.formatting import plural
from gradviz.model.highlights import Highlight
from gradviz.view.graph.highlights import highlighted_item
from gradviz.view.graph.scenes import ALL
from gradviz.view.graph_index import GraphIndex

OPENED: Final = 24
"""Boxes up to which what is around marks is open at first."""


class GraphMarks:
    """Where the marks on one graph are.

    Args:
        tree: Its folds; ``None`` if nothing is folded.
        graph_index: The graph.
        marks: The marks, the most important first.
        outside: The fold in which each tensor outside the graph is drawn.
    """

    def __init__(
        self,
        tree: FoldTree | None,
        graph_index: GraphIndex,
        marks: Iterable[Highlight],
        outside: Mapping[str, str],
    ) -> None:
        self._tree, self._index, self._outside = tree, graph_index, outside
        self._graph = graph_index.graph
        self.marks = tuple(marks)
        self._leaves = {
            key: node for node, key in enumerate(self._graph.variables) if key and self.marks
        }
        self._on_cards: dict[str, list[Highlight]] = {}
        """Of each fold the marks on cards in it."""
        self._in_boxes: dict[str, dict[Highlight, int]] = {}
        """Of each fold the marks on closed boxes in it, with how many they stand for."""
        self._on_items: dict[str, list[Highlight]] = {}
        for mark in self.marks:
            self._take(mark)

    @property
    def gone(self) -> str:
        """What is said of nodes that are no longer there, after their number."""
        gone = (mark.id for mark in self.marks if mark.kind == "gone")
        nodes = {key for key in gone if key[0] == "n" and key[1:].isdecimal()}
        verb = "is" if len(nodes) == 1 else "are"
        return f"; {plural(len(nodes), 'node')} of these {verb} gone" if nodes else ""

    def around(self, key: str) -> tuple[str, ...]:
        """Ids of the folds around what a mark is on, the whole graph first."""
        card = self.card_of(key)
        if self._tree is None:
            return ()
        if card in self._outside:
            fold = self._outside[card]
            return (*(one.id for one in self._tree.around(fold)), fold)
        if self._graph.place_of(card) is None:
            return ()
        return tuple(one.id for one in self._tree.around(card))

    def card_of(self, key: str) -> str:
        """The node, or the tensor outside the graph, whose card shows what a mark is on."""
        key = key.partition(".")[0]
        if (place := self._leaves.get(key)) is not None:
            return self._graph.nodes[place].id
        info = self._index.tensors.get(key)
        return info.node or key if info else key

    def _take(self, mark: Highlight) -> None:
        around = self.around(mark.id)
        if self._tree is not None and not around:
            return
        own = replace(mark, id=self.card_of(mark.id)) if mark.id in self._leaves else mark
        self._on_items.setdefault(own.id.partition(".")[0], []).append(own)
        self._on_cards.setdefault(around[-1] if around else ALL, []).append(own)
        for fold, inner in zip((ALL, *around), around, strict=False):
            found = self._in_boxes.setdefault(fold, {})
            closed = Highlight(inner, mark.kind)
            found[closed] = found.get(closed, 0) + 1

    def within(self, fold_id: str) -> list[Highlight]:
        """The marks on cards in a fold, and on closed boxes in it."""
        boxes = self._in_boxes.get(fold_id, {}).items()
        return [
            *self._on_cards.get(fold_id, ()),
            *(replace(mark, words=f"{count:,} inside") for mark, count in boxes),
        ]

    def item(self, item: dict[str, Any]) -> dict[str, Any]:
        """What can be selected, with its marks."""
        own = self._on_items.get(item["id"])
        return highlighted_item(item, own) if own else item

    def opened(self, folding: Folding, boxes: int) -> Folding:
        """The folds around marks open, too, as long as the picture has few boxes.

        Args:
            folding: The folds.
            boxes: How many boxes the picture has.
        """
        for mark in self.marks:
            around = [key for key in self.around(mark.id) if key not in folding.opening.ids]
            more = sum(len(folding.tree[key].members) - 1 for key in around)
            if around and boxes + more <= OPENED:
                folding = folding.opened_with(around)
                boxes += more
        return folding
