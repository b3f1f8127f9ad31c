"""From insides to a picture: an open fold is its inside, in the place of its box.

Each inside is laid out once. Where a fold is open, the inside around it is stretched: coordinates
are mapped so that the place of its box is as large as what is in it, and no distance shrinks. So
nothing overlaps, what is on one side of something stays there, and closing a fold restores what
was. Links are cut where the stretch changes, so that they stay beside what they were beside.
``widgets/src/graph/composition.ts`` does the same in the browser, and ``tests/golden/composition``
binds the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gradviz.view.graph.fold_header import HEADER
from gradviz.view.graph.inside_layout import DrawnInside, End, PlacedCard, PlacedLink
from gradviz.view.graph.layout import Direction, Point

_HALVINGS: Final = 30
"""Bisections after which a cut is at its place, far below a pixel."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame around an open fold, with its header on top."""

    id: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Composed:
    """A picture, or a part of it, made of the insides of open folds."""

    width: float
    height: float
    cards: tuple[PlacedCard, ...]
    frames: tuple[Frame, ...]
    """A frame before those in it."""
    links: tuple[PlacedLink, ...]
    inputs: tuple[float, ...]
    outputs: tuple[float, ...]

    def moved(self, by: Point) -> Composed:
        """The same, elsewhere."""
        return replace(
            self,
            cards=tuple(replace(c, x=c.x + by[0], y=c.y + by[1]) for c in self.cards),
            frames=tuple(replace(f, x=f.x + by[0], y=f.y + by[1]) for f in self.frames),
            links=tuple(
                replace(one, points=tuple((x + by[0], y + by[1]) for x, y in one.points))
                for one in self.links
            ),
        )


class Stretch:
    """A growing map of one axis, between its breakpoints linear, that shrinks no distance.

    Args:
        length: Length of the axis.
        needs: Where it begins, where it ends and how long it must become, for each interval.

    Examples:
        >>> stretch = Stretch(100, [(20, 40, 50)])
        >>> [stretch(at) for at in (0, 20, 30, 40, 100)]
        [0.0, 20.0, 45.0, 70.0, 130.0]
    """

    def __init__(self, length: float, needs: Sequence[tuple[float, float, float]]) -> None:
        self._before = sorted({0.0, float(length), *(e for need in needs for e in need[:2])})
        at = {place: number for number, place in enumerate(self._before)}
        ending: dict[int, list[tuple[int, float]]] = {}
        for start, end, size in needs:
            ending.setdefault(at[end], []).append((at[start], max(size, end - start)))
        self._after: list[float] = []
        for number, place in enumerate(self._before):
            least = self._after[-1] + place - self._before[number - 1] if number else place
            starts = (self._after[start] + size for start, size in ending.get(number, ()))
            self._after.append(max((least, *starts)))

    @property
    def inner(self) -> Sequence[float]:
        """Where the stretch changes."""
        return self._before[1:-1]

    def __call__(self, place: float, near: float | None = None) -> float:
        """Where a place is now.

        Args:
            place: The place.
            near: A place whose stretch is used, if it is not that of the place itself.
        """
        before, after = self._before, self._after
        known = place if near is None else near
        number = min(max(bisect_right(before, known) - 1, 0), len(before) - 2)
        share = (place - before[number]) / (before[number + 1] - before[number])
        return after[number] + share * (after[number + 1] - after[number])


def compose(
    fold_id: str,
    opened: Collection[str],
    inside_of: Callable[[str], DrawnInside | None],
    direction: Direction,
) -> Composed:
    """The inside of a fold with the insides of the open folds in it.

    Args:
        fold_id: The fold.
        opened: Ids of the folds that are open.
        inside_of: The inside of a fold, ``None`` if it is not known: then its box stays.
        direction: How data flows.
    """
    inside = inside_of(fold_id)
    assert inside is not None
    children: dict[str, Composed] = {}
    for card in inside.cards:
        if card.id in opened and inside_of(card.id) is not None:
            children[card.id] = compose(card.id, opened, inside_of, direction)
    return _Stretched(inside, children, direction).composed()


class _Stretched:
    """An inside with other insides in the place of some of its cards."""

    def __init__(
        self, inside: DrawnInside, children: dict[str, Composed], direction: Direction
    ) -> None:
        self._inside, self._children = inside, children
        self._down = direction == "TB"
        wide, high = [], []
        for card in inside.cards:
            if (child := children.get(card.id)) is not None:
                wide.append((card.x, card.x + card.width, child.width))
                high.append((card.y, card.y + card.height, child.height + HEADER))
        self._x = Stretch(inside.width, wide)
        self._y = Stretch(inside.height, high)
        self._placed = {card.id: self._place(card) for card in inside.cards}
        self._cards = {card.id: card for card in inside.cards}
        along = self._x if self._down else self._y
        self._rim = tuple(tuple(map(along, places)) for places in (inside.inputs, inside.outputs))

    def composed(self) -> Composed:
        """Cards, frames and links, those of open folds after what is around them."""
        inside = self._inside
        cards: list[PlacedCard] = []
        frames: list[Frame] = []
        links = [self._link(link) for link in inside.links]
        for card in inside.cards:
            x, y = self._placed[card.id]
            child = self._children.get(card.id)
            if child is None:
                cards.append(replace(card, x=x, y=y))
                continue
            frames.append(Frame(card.id, x, y, child.width, child.height + HEADER))
            moved = child.moved((x, y + HEADER))
            cards += moved.cards
            frames += moved.frames
            links += moved.links
        width, height = self._x(inside.width), self._y(inside.height)
        return Composed(width, height, tuple(cards), tuple(frames), tuple(links), *self._rim)

    def _place(self, card: PlacedCard) -> Point:
        """Upper left corner of a card, or of the frame in its place."""
        child = self._children.get(card.id)
        if child is None:
            x, y = self._x(card.x + card.width / 2), self._y(card.y + card.height / 2)
            return x - card.width / 2, y - card.height / 2
        x = self._x(card.x) + self._x(card.x + card.width)
        y = self._y(card.y) + self._y(card.y + card.height)
        return (x - child.width) / 2, (y - child.height - HEADER) / 2

    def _link(self, link: PlacedLink) -> PlacedLink:
        points = self._curve(link.points)
        tail = self._end(link.tail, link.points[0], False)
        head = self._end(link.head, link.points[-1], True)
        points[:2] = _moved(points[:2], points[0], tail)
        points[-2:] = _moved(points[-2:], points[-1], head)
        return replace(
            link,
            points=tuple(points),
            tail_reach=(0.0, 0.0) if link.tail[0] in self._children else link.tail_reach,
            head_reach=(0.0, 0.0) if link.head[0] in self._children else link.head_reach,
        )

    def _curve(self, points: Sequence[Point]) -> list[Point]:
        """Control points of the image of a curve."""
        pieces = [points[at : at + 4] for at in range(0, len(points) - 1, 3)]
        for axis, stretch in enumerate((self._x, self._y)):
            for place in stretch.inner:
                pieces = [part for piece in pieces for part in cut(piece, axis, place)]
        found: list[Point] = []
        for piece in pieces:
            x, y = middle(piece)
            image = [(self._x(p[0], x), self._y(p[1], y)) for p in piece]
            found += image if not found else image[1:]
        return found

    def _end(self, end: End, point: Point, is_head: bool) -> Point:
        """Where a link ends now."""
        key, port = end
        if not key:
            along = self._rim[is_head][port]
            length = (self._y if self._down else self._x)(
                self._inside.height if self._down else self._inside.width
            )
            across = length if is_head else 0.0
            return (along, across) if self._down else (across, along)
        x, y = self._placed[key]
        child = self._children.get(key)
        if child is None:
            card = self._cards[key]
            return x + point[0] - card.x, y + point[1] - card.y
        along = (child.inputs if is_head else child.outputs)[port]
        if self._down:
            return x + along, y if is_head else y + child.height + HEADER
        return x if is_head else x + child.width, y + HEADER + along


def cut(piece: Sequence[Point], axis: int, place: float) -> list[Sequence[Point]]:
    """A Bézier curve of four points, in two where it goes from one side of a place to the other.

    Args:
        piece: The curve.
        axis: 0 if the place is an x, 1 if it is a y.
        place: The place.
    """
    start, end = piece[0][axis] - place, piece[3][axis] - place
    if start * end >= 0:
        return [piece]
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        if (_split(piece, share)[0][3][axis] - place) * start > 0:
            low = share
        else:
            high = share
    return _split(piece, (low + high) / 2)


def middle(piece: Sequence[Point]) -> Point:
    """The point in the middle of a Bézier curve of four points."""
    return _split(piece, 0.5)[0][3]


def _split(piece: Sequence[Point], share: float) -> list[Sequence[Point]]:
    """De Casteljau: the two parts of a curve."""
    a, b, c, d = piece
    ab, bc, cd = _between(a, b, share), _between(b, c, share), _between(c, d, share)
    abc, bcd = _between(ab, bc, share), _between(bc, cd, share)
    at = _between(abc, bcd, share)
    return [(a, ab, abc, at), (at, bcd, cd, d)]


def _between(one: Point, other: Point, share: float) -> Point:
    return one[0] + share * (other[0] - one[0]), one[1] + share * (other[1] - one[1])


def _moved(points: Iterable[Point], start: Point, end: Point) -> list[Point]:
    by = end[0] - start[0], end[1] - start[1]
    return [(x + by[0], y + by[1]) for x, y in points]
