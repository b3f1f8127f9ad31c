"""Where the cards and links of one inside are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.view.element import Element
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.drawing import DrawnLink
from gradviz.view.graph.geometry import CardFrame, count_gap
from gradviz.view.graph.layout import MARGIN, Direction, Layout, LayoutBox, Point, lay_out
from gradviz.view.graph.layout_links import Link, spines
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.routes import Place, Routes, Span, room
from gradviz.view.graph.stretch import Stretch

SPARED: Final = 12.0
"""Pixels by which ranks with numbers are closer, too."""
GAP: Final[dict[str, float]] = {"TB": 12.0, "LR": 30.0}
"""Pixels between ranks: less than where a graph is drawn whole, so that more fits a screen."""
End: TypeAlias = tuple[str, int]
"""Where a link ends: id of a card, ``""`` for the rim, and the number of the port."""


@dataclass(frozen=True, slots=True)
class PlacedCard:
    """A card in an inside, drawn with its box at 0, 0."""

    id: str
    x: float
    y: float
    width: float
    height: float
    element: Element
    card: Card
    offset: Point
    """Where the card is in its box."""


@dataclass(frozen=True, slots=True)
class PlacedLink:
    """A link in an inside."""

    points: tuple[Point, ...]
    """In an inside the places where it turns, from tail to head, with its ends; in a picture
    Bézier control points, ``1 + 3 k`` of them."""
    tail: End
    head: End
    tail_reach: Point
    """How far it goes on into the box of the card that it comes from."""
    head_reach: Point
    id: str
    source: str
    """The card or node where it is an entry of ``next_functions``, or that saved it."""
    target: str
    """The card or node that this points to, or the tensor that was saved."""
    slot: int | None
    count: int
    is_edge: bool


@dataclass(frozen=True, slots=True)
class DrawnInside:
    """The inside of one fold, placed."""

    width: float
    height: float
    cards: tuple[PlacedCard, ...]
    links: tuple[PlacedLink, ...]
    inputs: tuple[float, ...]
    """Where values come in, along the rim: one place per port of the closed box."""
    outputs: tuple[float, ...]
    """Where they go out."""


def rim_id(side: str, port: int) -> str:
    """The id of the place where values cross the rim, while it is laid out."""
    return f"{side}.{port}"


@dataclass(frozen=True, slots=True)
class InsideScene:
    """What is in an inside before it is placed."""

    cards: Sequence[Card]
    wires: Sequence[DrawnLink]
    ports: tuple[int, int] = (0, 0)
    """How many places there are on the rim, where values come in and where they go out."""
    room: float = 0.0
    """Pixels that it is wide, at least."""


def placed(
    scene: InsideScene, options: DrawOptions, measured: Callable[[Card, int], CardFrame]
) -> DrawnInside:
    """Cards and links, placed.

    Args:
        scene: What is in it.
        options: How it is drawn.
        measured: The size of a card, by its number on the longest path.
    """
    shown, wires, ports, direction = scene.cards, scene.wires, scene.ports, options.direction
    rims = [
        [rim_id(side, i) for i in range(n)] for side, n in zip(("in", "out"), ports, strict=True)
    ]
    links = [wire.link for wire in wires]
    ids = [*rims[0], *(card.id for card in shown), *rims[1]]
    spine = spines(ids, links)
    frames = {card.id: measured(card, spine.get(card.id, -1)) for card in shown}
    places = [LayoutBox(one, *_THIN[direction]) for rim in rims for one in rim]
    gap = max(GAP[direction], count_gap((wire.count for wire in wires), direction) - SPARED)
    boxes = [*places[: ports[0]], *(f.box for f in frames.values()), *places[ports[0] :]]
    layout = lay_out(boxes, links, direction, options.engine, gap, rims)
    return _Rimmed(layout, rims, direction, scene.room).inside(frames, wires)


_THIN: Final = {"TB": (8.0, 1.0), "LR": (1.0, 8.0)}
"""Width and height of a place on the rim."""


class _Rimmed:
    """A layout of which the places at the rim are on the rim itself."""

    def __init__(
        self, layout: Layout, rims: Sequence[Sequence[str]], direction: Direction, room: float
    ) -> None:
        self._layout, self._rims = layout, rims
        self._down = direction == "TB"
        self._direction: Direction = direction
        width, height = layout.width, layout.height
        left = (max(width, room) - width) / 2
        top = 0.0
        if rims[0]:
            before = MARGIN + 1.0
            left, top = (left, -before) if self._down else (left - before, top)
        if rims[1]:
            x, y = layout.places[rims[1][0]]
            below = [c[1] for key, c in layout.places.items() if key not in rims[1]]
            height = y if self._down and y > max(below, default=0.0) else height
            width = x if not self._down else width
        self._by = (left, top)
        self.width = round(max(width + left, room) if not self._down else max(width, room), 1)
        self.height = round(height + top, 1)

    def inside(self, frames: dict[str, CardFrame], wires: Sequence[DrawnLink]) -> DrawnInside:
        """What is inside, with its cards drawn, and room between rows where links turn."""
        boxes = {frame.box.id: self._box(frame) for frame in frames.values()}
        routes = Routes(boxes.values(), self.width if self._down else self.height)
        ways = [
            self._way(routes, wire.link, path)
            for wire, path in zip(wires, self._layout.paths, strict=True)
        ]
        length = self.height if self._down else self.width
        along = Stretch(length, room(ways))
        placed = tuple(self._card(frame, boxes[frame.box.id], along) for frame in frames.values())
        links = tuple(
            self._link(wire, [(across, _tenth(along(at))) for across, at in way], frames)
            for wire, way in zip(wires, ways, strict=True)
        )
        length = _tenth(along(length))
        size = (self.width, length) if self._down else (length, self.height)
        into, out = (tuple(map(self._along, rim)) for rim in self._rims)
        return DrawnInside(*size, placed, links, into, out)

    def _box(self, frame: CardFrame) -> tuple[Span, Span]:
        """From where to where a box is, across the flow and along it."""
        x, y = self._at(self._layout.places[frame.box.id])
        wide, high = (x, x + frame.box.width), (y, y + frame.box.height)
        return (wide, high) if self._down else (high, wide)

    def _way(self, routes: Routes, link: Link, path: Sequence[Point]) -> list[Place]:
        """Where a link turns, across the flow and along it."""
        hint = [self._turned(self._at(point)) for point in path]
        end = hint[-1]
        if link.head in self._rims[1]:
            end = (self._along(link.head), self.height if self._down else self.width)
        return routes.way(hint[0], end, [*hint[:-1], end])

    def _turned(self, place: tuple[float, float]) -> tuple[float, float]:
        """A point as a place across and along the flow, and back."""
        return place if self._down else (place[1], place[0])

    def _at(self, point: Point) -> Point:
        return round(point[0] + self._by[0], 1) + 0.0, round(point[1] + self._by[1], 1) + 0.0

    def _along(self, place: str) -> float:
        x, y = self._at(self._layout.places[place])
        return round((x if self._down else y) + 4.0, 1)

    def _card(self, frame: CardFrame, box: tuple[Span, Span], stretch: Stretch) -> PlacedCard:
        """A card in its row, as far from the start of the row as before."""
        (across, _), (start, _) = box
        x, y = self._turned((across, _tenth(stretch(start))))
        element = card_svg.card(frame, (0.0, 0.0), self._direction)
        offset = (frame.left, frame.top)
        size = frame.box.width, frame.box.height
        return PlacedCard(frame.box.id, x, y, *size, element, frame.card, offset)

    def _link(
        self, wire: DrawnLink, way: Sequence[Place], frames: dict[str, CardFrame]
    ) -> PlacedLink:
        link = wire.link
        tail, tail_reach = self._end(link.tail, link.tail_port, False, frames)
        head, head_reach = self._end(link.head, link.head_port, True, frames)
        return PlacedLink(
            tuple(map(self._turned, way)),
            tail,
            head,
            tail_reach,
            head_reach,
            wire.key,
            wire.source,
            wire.target,
            wire.slot,
            wire.count,
            wire.is_edge,
        )

    def _end(
        self, key: str, port: int, is_input: bool, frames: dict[str, CardFrame]
    ) -> tuple[End, Point]:
        for rim in self._rims:
            if key in rim:
                return ("", rim.index(key)), (0.0, 0.0)
        return (key, port), card_svg.reach(frames[key], port, is_input, self._direction)


def _tenth(value: float) -> float:
    return round(value, 1) + 0.0
