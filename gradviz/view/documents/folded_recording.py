"""The folds of a recording as the browser gets them: cards have a variant per step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from gradviz.model.errors import OptionError
from gradviz.model.fold import Fold, FoldTree
from gradviz.model.ids import by_number
from gradviz.view.animation.animation import Animations
from gradviz.view.animation.fold_boxes import FoldBoxes
from gradviz.view.documents.folds import LIMIT as NEEDED
from gradviz.view.documents.folds import SMALL, WIDGET, Room, fold_data, inside_data
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.extent import LEFT_OUT
from gradviz.view.graph.scene import ALL
from gradviz.view.items import fold_item

LIMIT: Final = (
    "not in this recording, which has the outer folds; gradviz.show(recording[step].graph) has all"
)
"""What a fold says whose inside nobody has."""
IN_NOTEBOOK: Final = replace(WIDGET, size=1_000_000)
"""How much of the insides a notebook has, where a kernel has the rest; an inside of a recording has
the variants of its elements at all steps."""
ANSWER: Final = 2_000_000
"""Bytes of insides above which an answer has not all folds that are asked for."""


class RecordedFolds:
    """The folds of one recording as plain data.

    Args:
        animations: The pictures of its steps.
        boxes: Its folds at each step.
    """

    def __init__(self, animations: Animations, boxes: FoldBoxes) -> None:
        assert animations.folding is not None
        self._animations, self._boxes, self._folding = animations, boxes, animations.folding
        self._tree: FoldTree = self._folding.tree
        self._shown, self._words = animations.scenes.shown, boxes.words
        self._opened = self._folding.opening.ids

    def carried(self, room: Room) -> tuple[str, ...]:
        """The folds whose insides a document has: those that are open at first in any case; then
        those that steps open, and all others, the outer ones first, as many as there is room
        for."""
        carried = dict.fromkeys((ALL, *(key for key in self._shown if key in self._opened)))
        turns = dict.fromkeys(self._boxes.turns) if self._folding.is_automatic else ()
        around = chain.from_iterable((*self._around(turn), turn) for turn in turns if turn)
        others = dict.fromkeys((*around, *self._shown))
        is_small, used = room == IN_NOTEBOOK and len(self._tree.graph) <= SMALL, 0
        for fold_id in (key for key in others if key in self._shown and key not in carried):
            if not is_small and (len(carried) >= room.count or used >= room.size):
                break
            carried[fold_id] = None
            used += 0 if is_small else self._animations.bytes_of(fold_id)
        return tuple(carried)

    def answer(self, fold_ids: Sequence[str]) -> bytes:
        """The insides of folds in every density, with the variants of their elements and the steps
        at which these begin; of several folds as many as one answer has room for.

        Raises:
            UnknownNodeError: If there is no such fold.
            OptionError: If its inside is not in the recording.
        """
        found, used, pictures = list[str](), 0, self._animations
        for fold in map(self._tree.__getitem__, fold_ids):
            if fold.id not in self._shown:
                raise OptionError(f"{self._words.label(fold)}: {LIMIT}")
            used += pictures.bytes_of(fold.id)
            if found and used > ANSWER:
                break
            found.append(fold.id)
        pieces: dict[str, int] = {}
        answer = {
            "inside": list(fold_ids),
            "insides": self._insides(found),
            "folds": [self._fold(self._tree[key], True) for key in found],
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

    def field(self, carried: Collection[str]) -> dict[str, Any]:
        """The field ``fold`` of a document that has these insides; cards are among the elements of
        its pictures."""
        tree = self._tree
        needed = NEEDED if len(self._shown) == len(tree) else LIMIT
        return {
            "opened": list(by_number(self._opened)),
            "current": list(self._current(carried)),
            "direction": self._animations.scenes.source.options.direction,
            "folds": [self._fold(one, one.id in carried) for one in tree if self._is_listed(one)],
            "insides": self._insides(carried),
            "limit": "" if len(carried) > len(tree) else needed,
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

    def _current(self, carried: Collection[str]) -> Iterator[list[Any]]:
        """The steps from which on another turn of a loop runs, each with the folds that are open
        since it does: the turn, and what is around it."""
        before = ""
        for step, turn in enumerate(self._boxes.turns if self._folding.is_automatic else ()):
            if turn != before:
                around = {turn, *self._around(turn)}
                yield [step, list(by_number(around.intersection(carried) - self._opened))]
            before = turn

    def _around(self, fold_id: str) -> tuple[str, ...]:
        return tuple(fold.id for fold in self._tree.around(fold_id))

    def _is_listed(self, fold: Fold) -> bool:
        """Whether it is open or has a card."""
        above = self._tree.above(fold.id)
        return above is None or above.id in self._shown

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
