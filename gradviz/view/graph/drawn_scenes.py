"""What is drawn, with its variants over the steps: of a graph one step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Generic, TypeAlias, TypeVar

from gradviz.model.explanation import Explanation
from gradviz.model.highlights import Highlight
from gradviz.model.records import ValueSummary
from gradviz.view import aria
from gradviz.view.element import Element, write_pieces
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Card, Density, EdgeGradient, LinkLook
from gradviz.view.graph.extent import Extent, banner, extent_of, written
from gradviz.view.graph.geometry import CardFrame, measure, together
from gradviz.view.graph.highlights import GraphMarks
from gradviz.view.graph.layout import Point
from gradviz.view.graph.scene import ALL, Scene, Scenes

Look = TypeVar("Look")
Life: TypeAlias = tuple[int, int]
"""The first and last step at which something exists."""


class Variants(Generic[Look]):
    """The variants of one item over the steps; ``None`` where it does not exist."""

    def __init__(self) -> None:
        self.looks: dict[Look, int] = {}
        """Each variant once, with its number from 0."""
        self.changes: list[tuple[int, Look | None]] = []
        """Steps at which a variant begins."""

    @classmethod
    def of(cls, look: Look) -> Variants[Look]:
        """The one variant of what is the same at all steps."""
        variants = cls()
        variants.put(0, look)
        return variants

    @property
    def now(self) -> Look | None:
        """The variant at the last added step."""
        return self.changes[-1][1] if self.changes else None

    def put(self, step: int, look: Look | None) -> None:
        """Set the variant from ``step`` on."""
        if look == self.now:
            return
        if look is not None:
            self.looks.setdefault(look, len(self.looks))
        self.changes.append((step, look))

    def at(self, step: int) -> Look | None:
        """The variant at a step."""
        begun = bisect_right(self.changes, step, key=itemgetter(0))
        return self.changes[begun - 1][1] if begun else None

    def existed(self, step: int) -> bool:
        """Whether there was a variant at a step."""
        return self.at(step) is not None

    def life(self, steps: int) -> Life:
        """First and last step at which it exists, of so many steps."""
        there = [i for i, (_, look) in enumerate(self.changes) if look is not None]
        last = there[-1] + 1
        return self.changes[there[0]][0], self.changes[last][0] - 1 if last < len(
            self.changes
        ) else steps

    def numbers(self) -> dict[int, int]:
        """The number of the variant from a step on, by the step; how many there are where it does
        not exist."""
        none = len(self.looks)
        return {0: none} | {
            step: none if look is None else self.looks[look] for step, look in self.changes
        }


ONLY: Variants[LinkLook] = Variants.of(LinkLook())
"""A link that is always there."""


class DrawnScenes:
    """The scenes of a graph.

    Args:
        scenes: What is in it.
        words: What is in its folds; ``None`` if nothing is folded.
        note: What a reader is told of them.
        marks: Where marks of findings are.
        gradients: Those that are written on the edges, by node and place in its
            ``next_functions``.
    """

    steps = 1
    is_played = False
    """Whether they are of a recording."""
    subject = ""
    """What a person passes to ``show``; if not given the roots."""
    kept: int | None = 256
    """How many drawn insides are kept: of a large graph thousands may be asked for, one by one."""
    explained: Mapping[int, Iterable[Explanation]] = {}
    """What explanations point at, by step."""

    def __init__(
        self,
        scenes: Scenes,
        words: FoldFacts | None = None,
        note: str = "",
        marks: GraphMarks | None = None,
        gradients: Mapping[tuple[str, int], ValueSummary | None] | None = None,
    ) -> None:
        self.source, self.words, self.note, self.marks = scenes, words, note, marks
        self._flows = {
            f"{node}.{slot}": Variants.of(LinkLook("gv-flow", EdgeGradient(gradient, True)))
            for (node, slot), gradient in (gradients or {}).items()
        }
        self.graph_index = scenes.graph_index
        self.tensors_outside = len(scenes.saving)
        """How many tensors outside the graph could be drawn."""
        self._pieces: dict[int, tuple[Element, tuple[str, ...]]] = {}
        self._parts: dict[int, str] = {}

    @property
    def fold_ids(self) -> Iterable[str]:
        """The folds of which there is a scene, with what is around everything."""
        folding = self.source.folding
        return (ALL,) if folding is None else (ALL, *(fold.id for fold in folding.tree))

    def knows(self, fold_id: str) -> bool:
        """Whether there is a scene of a fold."""
        return True

    @property
    def extent(self) -> Extent:
        """How much of the graph is drawn."""
        outside = len(self.source.outside), self.tensors_outside
        return extent_of(self.graph_index, outside, self.subject, self.subject)

    def summary(self, step: int) -> str:
        """A sentence about the graph at a step."""
        gone = "" if self.marks is None else self.marks.gone
        return f"{aria.of_graph(self.graph_index)}{gone}"

    def banner(self, width: float) -> tuple[Element, ...]:
        """What is written at the top of a picture of such a width."""
        if self.source.folding is not None:
            return written(self.note, width)
        if self.is_played or self.graph_index.nodes or self.source.outside:
            return banner(self.extent, width)
        return written(aria.title(self.graph_index), width)

    def scene(self, fold_id: str, density: Density) -> Scene:
        """What is in a fold, with references."""
        return self.source.scene(fold_id, density).referred()

    def card(self, card: Card, density: Density) -> Variants[Card]:
        """The variants of a card of a scene."""
        return Variants.of(card)

    def link(self, own_id: str) -> Variants[LinkLook]:
        """The variants of a link of a scene."""
        return self._flows.get(own_id, ONLY)

    @property
    def has_run(self) -> bool:
        """Whether it shows the numbers of a run."""
        return bool(self._flows or self.graph_index.before)

    def head(self, fold_id: str) -> Variants[tuple[str, ...]]:
        """What the header of an open fold says."""
        assert self.words is not None
        return Variants.of(self.words.facts(self.words.fold(fold_id)))

    def around(self, key: str) -> tuple[str, ...]:
        """The folds that a node is in, in which marks of explanations are seen."""
        return ()

    def frames(
        self, group: tuple[Variants[Card], ...], spine: int, gap: float, room: Point = (0.0, 0.0)
    ) -> Mapping[Variants[Card], tuple[CardFrame, ...]]:
        """The frames of cards that share a place, all with the largest box.

        Args:
            group: Their variants.
            spine: The number of the place on the longest path, -1 beside it.
            gap: Pixels between its input ports, at least.
            room: Width, at least, and additional height for what is inside of the cards.
        """
        direction = self.source.options.direction
        looks = [look for variants in group for look in variants.looks]
        made = iter(together([measure(look, direction, spine, gap) for look in looks], room))
        return {variants: tuple(next(made) for _ in variants.looks) for variants in group}

    def drawn(self, frames: tuple[CardFrame, ...]) -> tuple[Element, ...]:
        """The variants of a card, each with its box at 0, 0."""
        direction = self.source.options.direction
        return tuple(card_svg.card(frame, (0.0, 0.0), direction) for frame in frames)

    def written(self, look: Element | None) -> tuple[str, ...]:
        """An element as text in pieces, written once; nothing if it does not exist."""
        if look is None:
            return ()
        if (known := self._pieces.get(id(look))) is None:
            known = self._pieces[id(look)] = look, tuple(write_pieces(look, self._parts))
        return known[1]

    def marked_in(self, fold_id: str) -> Sequence[Highlight]:
        """The marks of findings in a fold."""
        return () if self.marks is None else self.marks.within(fold_id)
