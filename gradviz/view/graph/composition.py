"""From insides to a picture: an open fold is its inside, in the place of its box.

Each inside is laid out once. Where a fold is open, the inside around it is stretched: coordinates
are mapped so that the place of its box is as large as what is in it, and no distance shrinks. So
nothing overlaps, what is on one side of something stays there, and closing a fold restores what
was. Links go past boxes straight along the flow, and sideways only where no box is: the places
where they turn are mapped, and they stay beside what they were beside.
``widgets/src/graph/composition.ts`` does the same in the browser, and ``tests/golden/composition``
binds the two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from gradviz.view.graph.fold_header import HEADER
from gradviz.view.graph.layout import Direction, Point
from gradviz.view.graph.placing import DrawnInside, End, Frame, PlacedCard, PlacedLink
from gradviz.view.graph.routes import Place, Span, Stretch, curve, room


def compose(
    fold_id: str,
    opened: Collection[str],
    inside_of: Callable[[str], DrawnInside | None],
    direction: Direction,
) -> DrawnInside:
    """The inside of a fold with the insides of the open folds in it.

    Args:
        fold_id: The fold.
        opened: Ids of the folds that are open.
        inside_of: The inside of a fold, ``None`` if it is not known: then its box stays.
        direction: How data flows.
    """
    inside = inside_of(fold_id)
    assert inside is not None
    if inside.is_picture:
        return inside
    children: dict[str, DrawnInside] = {}
    for card in inside.cards:
        if card.id in opened and inside_of(card.id) is not None:
            children[card.id] = compose(card.id, opened, inside_of, direction)
    return _Stretched(inside, children, direction).composed()


class _Stretched:
    """An inside with other insides in the place of some of its cards."""

    def __init__(
        self, inside: DrawnInside, children: dict[str, DrawnInside], direction: Direction
    ) -> None:
        self._inside, self._children = inside, children
        self._down = direction == "TB"
        wide, high = [], []
        for card in inside.cards:
            if (child := children.get(card.id)) is not None:
                wide.append((card.x, card.x + card.width, child.width))
                high.append((card.y, card.y + card.height, child.height + HEADER))
        sizes = (inside.width, wide), (inside.height, high)
        (breadth, across), (length, along) = sizes if self._down else sizes[::-1]
        self._cards = {card.id: card for card in inside.cards}
        self._breadth = breadth
        self._across = Stretch(breadth, across)
        rims = inside.inputs, inside.outputs
        self._rim = [[*map(self._across, places)] for places in rims]
        for key, place in reversed([*self._straight()]):
            self._rim[key[0]][key[1]] = place
        self._ways = [self._way(link) for link in inside.links]
        self._along = Stretch(length, [*along, *room(self._ways)])
        self._length = self._along(length)

    def composed(self) -> DrawnInside:
        """Cards, frames and links, those of open folds after what is around them."""
        inside = self._inside
        cards: list[PlacedCard] = []
        frames: list[Frame] = []
        links = [*map(self._link, inside.links, self._ways)]
        for card in inside.cards:
            x, y = self._place(card)
            child = self._children.get(card.id)
            if child is None:
                cards.append(replace(card, x=x, y=y))
                continue
            frames.append(Frame(card.id, x, y, child.width, child.height + HEADER))
            moved = child.moved((x, y + HEADER))
            cards += moved.cards
            frames += moved.frames
            links += moved.links
        width, height = self._turned((self._across(self._breadth), self._length))
        inputs, outputs = map(tuple, self._rim)
        parts = tuple(cards), tuple(links), inputs, outputs
        return DrawnInside(width, height, *parts, is_picture=True, frames=tuple(frames))

    def _straight(self) -> Iterator[tuple[tuple[bool, int], float]]:
        """Places on the rim, in (False) or out (True) and which, right before or after the port of
        a card: they stay there."""
        for link in self._inside.links:
            (first, _), (last, _) = self._turned(link.points[0]), self._turned(link.points[-1])
            if abs(first - last) >= 1:
                continue
            if not link.tail[0] and link.head[0]:
                yield (False, link.tail[1]), self._side(link.head, last, True)
            elif not link.head[0] and link.tail[0]:
                yield (True, link.head[1]), self._side(link.tail, first, False)

    def _turned(self, place: Place) -> Point:
        """A place across and along the flow as a point, and a point as such a place."""
        return place if self._down else (place[1], place[0])

    def _spans(self, card: PlacedCard) -> tuple[Span, Span]:
        """Where a card begins and its size, across the flow and along it."""
        spans = (card.x, card.width), (card.y, card.height)
        return spans if self._down else spans[::-1]

    def _size(self, card: PlacedCard) -> Place:
        """The size of a card, or of the frame in its place, across and along the flow."""
        child = self._children.get(card.id)
        size = (card.width, card.height) if child is None else (child.width, child.height + HEADER)
        return self._turned(size)

    def _start(self, card: PlacedCard, axis: int) -> float:
        """Where a card begins now, or the frame in its place: across (0) or along the flow (1)."""
        stretch = self._along if axis else self._across
        start, size = self._spans(card)[axis]
        if card.id in self._children:
            middle = (stretch(start) + stretch(start + size)) / 2
        else:
            middle = stretch(start + size / 2)
        return middle - self._size(card)[axis] / 2

    def _place(self, card: PlacedCard) -> Point:
        """Upper left corner of a card, or of the frame in its place."""
        return self._turned((self._start(card, 0), self._start(card, 1)))

    def _way(self, link: PlacedLink) -> list[Place]:
        """Where a link turns: across the flow as it is now, along it as it was. Within the row of a
        card it goes straight from its port, or to it."""
        places = [*map(self._turned, link.points)]
        tail = self._side(link.tail, places[0][0], False)
        head = self._side(link.head, places[-1][0], True)
        passed = [self._across(across) for across, _ in places[2:-2]]
        sides = [tail, tail, *passed, head, head]
        return [(side, along) for side, (_, along) in zip(sides, places, strict=True)]

    def _side(self, end: End, across: float, is_head: bool) -> float:
        """How far across the flow a link ends now."""
        key, port = end
        if not key:
            return self._rim[is_head][port]
        card = self._cards[key]
        child = self._children.get(key)
        if child is None:
            return self._start(card, 0) + across - self._spans(card)[0][0]
        inner = (child.inputs if is_head else child.outputs)[port]
        return self._start(card, 0) + inner + (0.0 if self._down else HEADER)

    def _link(self, link: PlacedLink, way: Sequence[Place]) -> PlacedLink:
        tail, head = self._end(link.tail, False), self._end(link.head, True)
        inner = [(across, self._along(along)) for across, along in way[1:-1]]
        turns = [(way[0][0], tail), *inner, (way[-1][0], head)]
        return replace(
            link,
            points=curve([*map(self._turned, turns)], "TB" if self._down else "LR"),
            tail_reach=(0.0, 0.0) if link.tail[0] in self._children else link.tail_reach,
            head_reach=(0.0, 0.0) if link.head[0] in self._children else link.head_reach,
        )

    def _end(self, end: End, is_head: bool) -> float:
        """How far along the flow a link ends now."""
        key, _ = end
        if not key:
            return self._length if is_head else 0.0
        card = self._cards[key]
        return self._start(card, 1) + (0.0 if is_head else self._size(card)[1])
