"""The folds of a recording as the browser gets them: cards have a variant per step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from gradviz.model.fold import Fold
from gradviz.model.ids import by_number
from gradviz.view import formatting
from gradviz.view.animation.folded_animation import FoldedAnimations
from gradviz.view.documents.folds import inside_data
from gradviz.view.graph.inside_layout import DrawnInside
from gradviz.view.graph.options import DrawOptions
from gradviz.view.items import words_to_find
from gradviz.view.text import clean

LIMIT: Final = (
    "not in this document, which has the outer folds; gradviz.show(recording[step].graph) has all"
)
"""What a fold says whose inside is not there."""


def fold_field(folded: FoldedAnimations, options: DrawOptions) -> dict[str, Any]:
    """The field ``fold`` of the document of a recording; cards are among the elements of its
    pictures."""
    tree, shown = folded.folding.tree, frozenset(folded.unplaced.shown)
    listed = [fold for fold in tree if _is_listed(folded, fold)]
    return {
        "opened": list(by_number(folded.folding.opening.ids)),
        "direction": options.direction,
        "folds": [_fold(folded, fold, fold.id in shown) for fold in listed],
        "insides": {
            density: {key: _inside(one) for key, one in animation.insides.items()}
            for density, animation in folded.made.items()
        },
        "limit": "" if folded.unplaced.is_whole else LIMIT,
        "note": "",
    }


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
