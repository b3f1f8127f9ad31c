"""Where cards are before the first node: near each other.

The layout is made for all steps, and keeps the leaves apart where nodes are to come. Until there is
a node this room would be empty, so each card has a place of its own for these steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import sqrt
from typing import Final

from gradviz.view.animation.step_drawings import Variants
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.geometry import CardFrame, measure, together
from gradviz.view.graph.layout import MARGIN, Direction, Layout, LayoutBox, Point

GAP: Final = 8.0
NARROW: Final = 352.0
"""Pixels of a row at least: what a phone shows in a size that can be read."""
WIDE: Final = 2.2
"""Width of all rows by their height, where they are wider."""
SCATTERED: Final = 3.0
"""How many times as large the part of the picture must be in which they would be."""


@dataclass(frozen=True, slots=True)
class OpeningPlaces:
    """The cards of the steps before the first node, where they have places of their own."""

    until: int
    """The step at which they go to their places in the graph."""
    frames: Mapping[str, tuple[CardFrame, ...]]
    """Of each card, one for each variant before that step."""
    places: Mapping[str, Point]
    """Upper left corner of each card's box."""
    size: Point
    """Of the picture in which they fit, at least."""

    def below(self, height: float) -> OpeningPlaces:
        """The same, moved down."""
        places = {key: (x, y + height) for key, (x, y) in self.places.items()}
        return replace(self, places=places, size=(self.size[0], self.size[1] + height))

    def box(self, key: str, step: int) -> tuple[Point, Point] | None:
        """Corner and size of the box of a card at a step; ``None`` where it is in the graph."""
        if step >= self.until or key not in self.places:
            return None
        box = self.frames[key][0].box
        return self.places[key], (box.width, box.height)


NOWHERE: Final = OpeningPlaces(0, {}, {}, (0.0, 0.0))
"""All cards are at their places in the graph from the beginning."""


def opening_places(
    cards: Mapping[str, Variants[Card]],
    place: Mapping[str, str],
    layout: Layout,
    direction: Direction,
    order: Sequence[str],
) -> OpeningPlaces:
    """Place the cards of the steps before the first node.

    Args:
        cards: The variants of all cards.
        place: For each card, the card whose place it shares.
        layout: Their places in the graph.
        direction: How data flows.
        order: Ids of tensors, in the order in which their cards are placed.
    """
    until = min((_begin(one) for one in cards.values() if not _is_of_tensor(one)), default=0)
    looks = {key: tuple(_looks_before(cards[key], until)) for key in cards}
    if not any(looks.values()):
        return NOWHERE
    rank = {tensor: i for i, tensor in enumerate(order)}
    there = sorted(
        (key for key in cards if looks[key]), key=lambda key: rank[looks[key][0].tensor or key]
    )
    groups: dict[str, list[str]] = {}
    for key in there:
        groups.setdefault(place[key], []).append(key)
    frames: dict[str, tuple[CardFrame, ...]] = {}
    for keys in groups.values():
        made = iter(
            together([measure(look, direction) for k in keys for look in looks[k]], direction)
        )
        frames |= {key: tuple(next(made) for _ in looks[key]) for key in keys}
    boxes = [replace(frames[keys[0]][0].box, id=home) for home, keys in groups.items()]
    rows, width, height = _in_columns(boxes)
    corners = [layout.places[home] for home in groups]
    left, top = min(x for x, _ in corners), min(y for _, y in corners)
    right = max(x + box.width for (x, _), box in zip(corners, boxes, strict=True))
    bottom = max(y + box.height for (_, y), box in zip(corners, boxes, strict=True))
    if (right - left) * (bottom - top) <= SCATTERED * width * height:
        return NOWHERE
    # In the middle of where they go, but within the picture.
    x = max(MARGIN, min((left + right - width) / 2, layout.width - MARGIN - width))
    y = max(MARGIN, min((top + bottom - height) / 2, layout.height - MARGIN - height))
    own = {home: (round(x + at[0], 1), round(y + at[1], 1)) for home, at in rows.items()}
    size = width + 2 * MARGIN, height + 2 * MARGIN
    return OpeningPlaces(until, frames, {key: own[place[key]] for key in there}, size)


def _in_columns(boxes: Sequence[LayoutBox]) -> tuple[dict[str, Point], float, float]:
    """Corners of boxes that are read row by row, and width and height of all."""
    area = sum((box.width + GAP) * (box.height + GAP) for box in boxes)
    room = max(NARROW, sqrt(WIDE * area))
    for count in range(len(boxes), 0, -1):
        widths = [max(box.width for box in boxes[i::count]) for i in range(count)]
        if sum(widths) + GAP * (count - 1) <= room or count == 1:
            break
    heights = [max(box.height for box in boxes[i : i + count]) for i in range(0, len(boxes), count)]
    xs, ys = ([0.0, *accumulate(size + GAP for size in sizes)] for sizes in (widths, heights))
    corners = {box.id: (xs[i % count], ys[i // count]) for i, box in enumerate(boxes)}
    return corners, xs[-1] - GAP, ys[-1] - GAP


def _begin(variants: Variants[Card]) -> int:
    return variants.changes[0][0]


def _is_of_tensor(variants: Variants[Card]) -> bool:
    return all(card.is_of_tensor and not card.refers for card in variants.looks)


def _looks_before(variants: Variants[Card], until: int) -> Iterator[Card]:
    """The variants that a card has before a step, each once."""
    yield from dict.fromkeys(
        look for step, look in variants.changes if step < until and look is not None
    )
