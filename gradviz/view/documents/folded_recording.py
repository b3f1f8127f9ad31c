"""The folds of a recording as the browser gets them: cards have a variant per step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final

from gradviz.model.errors import OptionError
from gradviz.model.fold import Fold, FoldTree
from gradviz.model.ids import by_number
from gradviz.view import formatting
from gradviz.view.animation.folded_animation import FoldedAnimations
from gradviz.view.documents.folds import LIMIT as NEEDED
from gradviz.view.documents.folds import SMALL, WIDGET, Room, inside_data
from gradviz.view.graph.extent import LEFT_OUT
from gradviz.view.graph.inside_layout import DrawnInside
from gradviz.view.graph.insides import BOX
from gradviz.view.graph.options import DrawOptions
from gradviz.view.items import words_to_find
from gradviz.view.text import clean

LIMIT: Final = (
    "not in this recording, which has the outer folds; gradviz.show(recording[step].graph) has all"
)
"""What a fold says whose inside nobody has."""
IN_NOTEBOOK: Final = replace(WIDGET, size=1_000_000)
"""How much of the insides a notebook has, where a kernel has the rest; an inside of a recording has
the variants of its elements at all steps."""
ANSWER: Final = 2_000_000
"""Bytes of insides above which an answer has not all folds that are asked for."""


def carry(folded: FoldedAnimations, room: Room) -> None:
    """Choose the insides that a document has: those that are open at first in any case; then those
    that steps open, and all others, the outer ones first, as many as there is room for."""
    tree, unplaced, opened = folded.folding.tree, folded.unplaced, folded.folding.opening.ids
    carried = dict.fromkeys((BOX, *(key for key in unplaced.shown if key in opened)))
    turns = dict.fromkeys(unplaced.turns) if folded.folding.is_automatic else ()
    around = chain.from_iterable((*_around(tree, turn), turn) for turn in turns if turn)
    others = [key for key in dict.fromkeys((*around, *unplaced.shown)) if key in unplaced.heads]
    is_small, used = room == IN_NOTEBOOK and len(tree.graph) <= SMALL, 0
    for fold_id in (key for key in others if key not in carried):
        if not is_small and (len(carried) >= room.count or used >= room.size):
            break
        carried[fold_id] = None
        used += 0 if is_small else folded.bytes_of(fold_id)
    folded.carry(tuple(carried))


def _around(tree: FoldTree, fold_id: str) -> tuple[str, ...]:
    return tuple(fold.id for fold in tree.around(fold_id))


def inside_answer(folded: FoldedAnimations, fold_ids: Sequence[str]) -> bytes:
    """The insides of folds in every density, with the variants of their elements and the steps at
    which these begin; of several folds as many as one answer has room for.

    Raises:
        UnknownNodeError: If there is no such fold.
        OptionError: If its inside is not in the recording.
    """
    tree, found, used = folded.folding.tree, list[str](), 0
    for fold in map(tree.__getitem__, fold_ids):
        if fold.id not in folded.unplaced.heads:
            raise OptionError(f"{folded.unplaced.words.label(fold)}: {LIMIT}")
        used += folded.bytes_of(fold.id)
        if found and used > ANSWER:
            break
        found.append(fold.id)
    pieces: dict[str, int] = {}
    answer = {
        "inside": list(fold_ids),
        "insides": _insides(folded, found),
        "folds": [_fold(folded, tree[key], True) for key in found],
        "looks": {
            density: looks_in(one.pieces_of(found), pieces) for density, one in folded.made.items()
        },
        "pieces": list(pieces),
        "at": {
            density: [[step, at] for step, at in enumerate(one.changes_of(found)) if at]
            for density, one in folded.made.items()
        },
    }
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "backslashreplace")


def looks_in(
    texts: Mapping[str, Iterable[Iterable[str]]], pieces: dict[str, int]
) -> dict[str, list[list[int]]]:
    """The variants of elements as places in a list of pieces, to which those are added that are not
    in it."""
    return {
        key: [[pieces.setdefault(one, len(pieces)) for one in look] for look in looks]
        for key, looks in texts.items()
    }


def _insides(folded: FoldedAnimations, fold_ids: Iterable[str]) -> dict[str, Any]:
    ids = list(fold_ids)
    return {
        density: {key: _inside(animation.inside(key)) for key in ids}
        for density, animation in folded.made.items()
    }


def fold_field(folded: FoldedAnimations, options: DrawOptions) -> dict[str, Any]:
    """The field ``fold`` of the document of a recording; cards are among the elements of its
    pictures.

    Args:
        folded: The pictures.
        options: How they are drawn.
    """
    tree, shown = folded.folding.tree, frozenset(folded.carried)
    listed = [fold for fold in tree if _is_listed(folded, fold)]
    return {
        "opened": list(by_number(folded.folding.opening.ids)),
        "current": list(_current(folded)),
        "direction": options.direction,
        "folds": [_fold(folded, fold, fold.id in shown) for fold in listed],
        "insides": _insides(folded, folded.carried),
        "limit": "" if len(shown) > len(tree) else (NEEDED if folded.unplaced.is_whole else LIMIT),
        "note": LEFT_OUT if tree.graph.values_left_out else "",
    }


def _current(folded: FoldedAnimations) -> Iterator[list[Any]]:
    """The steps from which on another turn of a loop runs, each with the folds that are open since
    it does: the turn, and what is around it."""
    if not folded.folding.is_automatic:
        return
    tree, opened = folded.folding.tree, folded.folding.opening.ids
    shown, before = frozenset(folded.carried), ""
    for step, turn in enumerate(folded.unplaced.turns):
        if turn != before:
            around = {turn, *(fold.id for fold in tree.around(turn))}
            yield [step, list(by_number((around & shown) - opened))]
        before = turn


def _is_listed(folded: FoldedAnimations, fold: Fold) -> bool:
    """Whether it is open or has a card."""
    above = folded.folding.tree.above(fold.id)
    return above is None or above.id in folded.unplaced.shown


def _fold(folded: FoldedAnimations, fold: Fold, has_inside: bool) -> dict[str, Any]:
    above = folded.folding.tree.above(fold.id)
    return {
        "id": fold.id,
        "above": above.id if above is not None else "",
        "kind": fold.kind,
        "path": fold.path,
        "label": folded.unplaced.words.label(fold),
        "words": [formatting.plural(fold.nodes, "node")],
        "nodes": fold.nodes,
        "members": len(fold.members),
        "has_inside": has_inside,
    }


def _inside(inside: DrawnInside) -> dict[str, Any]:
    """An inside without what is drawn on its cards, which differs from step to step."""
    data = inside_data(inside)
    for card in data["cards"]:
        card["markup"] = ""
    for link in data["links"]:
        link["id"] = link["id"] or f"{link['source']}.{link['target']}"
    return {**data, "header": ""}


def folded_items(
    items: Iterable[dict[str, dict[str, Any] | None]], folded: FoldedAnimations
) -> Iterator[dict[str, dict[str, Any] | None]]:
    """The changed items at each step with the fold that each is in; at the first those of folds."""
    homes = {node: around[-1] for node, around in folded.unplaced.around.items()}
    homes |= folded.unplaced.insides.outside_folds
    for step, changed in enumerate(items):
        first = (
            {}
            if step
            else {
                fold.id: _item(folded, fold)
                for fold in folded.folding.tree
                if _is_listed(folded, fold)
            }
        )
        yield {
            **first,
            **{
                key: item and {**item, "fold": homes[key]} if key in homes else item
                for key, item in changed.items()
            },
        }


def _item(folded: FoldedAnimations, fold: Fold) -> dict[str, Any]:
    """A fold as what can be found and selected; its card says what a step does in it."""
    above, words = folded.folding.tree.above(fold.id), folded.unplaced.words
    label, nodes = words.label(fold), formatting.plural(fold.nodes, "node")
    rows = [row for row in words.rows(fold) if row[0] in CONSTANT]
    return {
        "id": fold.id,
        "kind": "fold",
        "label": label,
        "aria": f"{label}, {nodes}",
        "find": words_to_find([fold.id, fold.path, fold.type, clean(label)]),
        "next": [],
        "prev": [],
        "details": [{"heading": label, "rows": rows}],
        "fold": above.id if above else "",
    }


CONSTANT: Final = frozenset(
    ("id", "fold", "module", "nodes", "leaves", "elements", "parts", "module inferred")
)
"""What is the same of a fold at every step."""
