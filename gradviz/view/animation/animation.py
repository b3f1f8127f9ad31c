"""All steps of a recording, drawn in each density; the recording is played once."""

from __future__ import annotations

from itertools import chain
from typing import Final

from gradviz.model.recording import Recording
from gradviz.view.animation.played_scenes import PlayedScenes, most_at_once
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.drawing import Drawing, boxes_of
from gradviz.view.graph.options import DEFAULT, DrawOptions

ALL_DENSITIES: Final = 600
"""Nodes of a recording up to which it has the densities of the boxes that it opens with."""


class Animations(Drawing):
    """The pictures of all steps of a recording in each density.

    Args:
        recording: What is shown; with many nodes it is folded.
        options: How it is drawn.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.
    """

    scenes: PlayedScenes

    def __init__(self, recording: Recording, options: DrawOptions = DEFAULT) -> None:
        steps = None if options.focus else recording.folded_steps
        folding = None if steps is None else steps.folding
        if folding is not None:
            opening = "compact" if options.density == "auto" else options.density
            offered = densities_of(options, len(recording.graph), boxes_of(folding))
            scenes = PlayedScenes(recording, options, (opening, *offered), steps)
        else:
            least = options.densities_of(most_at_once(recording, options.focus))
            scenes = PlayedScenes(recording, options, least)
            opening = options.density_of(scenes.seen)
            offered = options.densities_of(scenes.seen)
        first = () if folding is None else (opening,)
        super().__init__(scenes, dict.fromkeys((*first, *offered)), opening, folding)
        if self.folding is not None:
            self._open_around_marks()

    def _open_around_marks(self) -> None:
        """What explanations point at is to be seen."""
        assert self.folding is not None
        leaves = self.scenes.recording.graph.leaf_nodes
        folding, marks = self.folding, self[self.opening].drawn_marks
        for key in dict.fromkeys(mark.id.partition(".")[0] for mark in marks):
            if self.scenes.around(key):
                folding = folding.opened_around(leaves.get(key, key))
        self.open(folding)

    def bytes_of(self, fold_id: str) -> int:
        """How large an inside is in all densities, with the variants of its elements, about."""
        pieces = (one.pieces_of([fold_id]).values() for one in self.values())
        return sum(
            len(text) for looks in chain.from_iterable(pieces) for look in looks for text in look
        )


def densities_of(options: DrawOptions, nodes: int, boxes: int) -> tuple[Density, ...]:
    """The densities of a folded recording: those of a picture with the boxes that it opens with;
    of a very large one, each of whose steps is drawn in each density, those of its size.

    Args:
        options: How it is drawn.
        nodes: Nodes of its graph.
        boxes: Boxes that it opens with.

    Examples:
        >>> densities_of(DrawOptions(), nodes=400, boxes=12)
        ('compact', 'normal', 'full')
        >>> densities_of(DrawOptions(), nodes=1000, boxes=12)
        ('compact', 'full')
    """
    return options.densities_of(boxes if nodes <= ALL_DENSITIES else nodes)
