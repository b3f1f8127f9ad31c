"""The folds of a recording as the browser gets them: cards have a variant per step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from gradviz.model.fold import Fold, FoldTree
from gradviz.model.ids import by_number
from gradviz.model.recording import Recording
from gradviz.view.animation.animation import Animations
from gradviz.view.animation.played_scenes import CARDS
from gradviz.view.documents.folds import FOLDS, LIMIT, SMALL, fold_data, inside_data
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.extent import LEFT_OUT
from gradviz.view.graph.scene import ALL
from gradviz.view.items import fold_item

IN_NOTEBOOK: Final = 100
"""Cards in the insides that a notebook has beside those of open folds, where a kernel has the rest:
each has the variants of its elements at all steps."""
ANSWER: Final = 600
"""Cards in insides above which an answer has not all folds that are asked for."""


def room_in_notebook(recording: Recording) -> int:
    """How many cards a notebook has in the insides of folds that are closed at first: of a small
    recording all of them."""
    return CARDS if len(recording.graph) <= SMALL else IN_NOTEBOOK


def asked(tree: FoldTree, fold_ids: Sequence[str]) -> list[str]:
    """Of the folds that are asked for as many as one answer has room for, the first in any case.

    Raises:
        UnknownNodeError: If there is no such fold.
    """
    found, used = list[str](), 0
    for fold in map(tree.__getitem__, fold_ids):
        used += tree.cards(fold)
        if found and used > ANSWER:
            break
        found.append(fold.id)
    return found


class RecordedFolds:
    """The folds of one recording as plain data.

    Args:
        animations: The pictures of its steps.
    """

    def __init__(self, animations: Animations) -> None:
        boxes = animations.scenes.boxes
        assert animations.folding is not None
        assert boxes is not None
        self._animations, self._boxes, self._folding = animations, boxes, animations.folding
        self._tree: FoldTree = self._folding.tree
        self._shown, self._words = animations.scenes.shown, boxes.words
        outer_ones = islice(self._tree.by_depth(), FOLDS)
        self._named = {self._tree.root.id, *self._shown, *(fold.id for fold in outer_ones)}
        """Folds whose members are named."""
        self._opened = self._folding.opening.ids

    def answer(self, fold_ids: Sequence[str]) -> bytes:
        """The insides that there are in every density, with the variants of their elements and the
        steps at which these begin, as an answer to who asks for these folds."""
        pictures, found = self._animations, list(self._shown)
        pieces: dict[str, int] = {}
        answer = {
            "inside": fold_ids,
            "insides": self._insides(found),
            "folds": [self._fold(one, one.id in found) for one in self._answered(found)],
            "looks": {
                density: looks_in(one.pieces_of(found), pieces) for density, one in pictures.items()
            },
            "pieces": list(pieces),
            "at": {
                density: [[step, at] for step, at in enumerate(one.changes_of(found)) if at]
                for density, one in pictures.items()
            },
        }
        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace")

    def _answered(self, found: Sequence[str]) -> Iterator[Fold]:
        """Folds that are answered, and those in them."""
        for key in found:
            yield self._tree[key]
            yield from self._tree[key].folds

    @property
    def field(self) -> dict[str, Any]:
        """The field ``fold`` of a document; cards are among the elements of its pictures."""
        tree, carried = self._tree, (ALL, *self._shown)
        return {
            "opened": list(by_number(self._opened)),
            "current": list(self._current()),
            "direction": self._animations.scenes.source.options.direction,
            "folds": [self._fold(one, one.id in carried) for one in tree if self._is_listed(one)],
            "insides": self._insides(carried),
            "limit": "" if len(carried) > len(tree) else LIMIT,
            "note": LEFT_OUT if tree.graph.values_left_out else "",
        }

    def items(
        self, items: Iterable[dict[str, dict[str, Any] | None]]
    ) -> Iterator[dict[str, dict[str, Any] | None]]:
        """The changed items at each step with the fold that each is in; at the first those of
        folds."""
        homes = {node: around[-1] for node, around in self._boxes.around.items()}
        homes |= self._boxes.scenes.outside
        first = {fold.id: self._item(fold) for fold in self._tree if self._is_listed(fold)}
        for changed in items:
            yield {
                **first,
                **{
                    key: item and {**item, "fold": homes[key]} if key in homes else item
                    for key, item in changed.items()
                },
            }
            first = {}

    def _insides(self, fold_ids: Iterable[str]) -> dict[str, Any]:
        ids = list(fold_ids)
        return {
            density: {key: self._inside(density, key) for key in ids}
            for density in self._animations
        }

    def _inside(self, density: Density, fold_id: str) -> dict[str, Any]:
        """An inside without what is drawn on its cards, which differs from step to step."""
        data = inside_data(self._animations[density].inside(fold_id))
        for link in data["links"]:
            link["id"] = link["id"] or f"{link['source']}.{link['target']}"
        return {**data, "header": ""}

    def _current(self) -> Iterator[list[Any]]:
        """The steps from which on another turn of a loop runs, each with the folds that are open
        since it does: the turn, and what is around it."""
        before, turns = "", self._boxes.turns if self._folding.is_automatic else ()
        for place, step in enumerate(self._animations.scenes.drawn_steps if turns else ()):
            turn = turns[step]
            if turn != before:
                around = {turn, *self._around(turn)}
                yield [place, list(by_number(around.intersection(self._shown) - self._opened))]
            before = turn

    def _around(self, fold_id: str) -> tuple[str, ...]:
        return tuple(fold.id for fold in self._tree.around(fold_id))

    def _is_listed(self, fold: Fold) -> bool:
        """Whether it is open or has a card."""
        above = self._tree.above(fold.id)
        return above is None or above.id in self._named

    def _fold(self, fold: Fold, has_inside: bool) -> dict[str, Any]:
        return fold_data(fold, self._tree, self._words, has_inside)

    def _item(self, fold: Fold) -> dict[str, Any]:
        """A fold as what can be found and selected."""
        above = self._tree.above(fold.id)
        return fold_item(fold, above.id if above else "", self._words, True)


def looks_in(
    texts: Mapping[str, Iterable[Iterable[str]]], pieces: dict[str, int]
) -> dict[str, list[list[int]]]:
    """The variants of elements as places in a list of pieces, to which those are added that are not
    in it."""
    return {
        key: [[pieces.setdefault(one, len(pieces)) for one in look] for look in looks]
        for key, looks in texts.items()
    }
