"""Where the cards and links of a scene are. There are two policies: what is a picture of its own is
as Graphviz draws it; what stands in the place of a box has its links straight along the flow past
rows, so that it can be stretched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, TypeAlias

from gradviz.view.element import Element
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Card
from gradviz.view.graph.extent import fits_screen
from gradviz.view.graph.geometry import UP, CardFrame
from gradviz.view.graph.layout import (
    MARGIN,
    RANK_GAP,
    UNIT,
    Direction,
    Layout,
    LayoutBox,
    Link,
    Point,
    lay_out,
)
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.routes import Place, Routes, Span, Stretch, room
from gradviz.view.graph.scene import DrawnLink, Scene
from gradviz.view.text import px

SPARED: Final = 12.0
"""Pixels by which ranks with numbers are closer, too."""
GAP: Final[dict[str, float]] = {"TB": 12.0, "LR": 30.0}
"""Pixels between ranks: less than where a graph is drawn whole, so that more fits a screen."""
CLOSE_GAP: Final[dict[str, float]] = {"TB": 20.0, "LR": 30.0}
"""Pixels between ranks of a picture that fits a screen if they are closer than usual."""
ARROW: Final = 44.0
WRITTEN: Final = 76.0
"""Pixels between a box and what is beside it, and where gradients are written between."""
APART: Final = 6.0
"""Pixels between two that are beside a box."""
CLEAR: Final = 8.0
"""Pixels between what is beside a box and links that go past it."""
SIDE: Final = 6.0
"""Pixels from a corner of a box to the first arrow at its side."""
FEW: Final = 2
"""So many arrows are straight."""
CLOSER: Final = 1.4
"""How much larger than a screen a picture may be that closer ranks could make fit."""
INDENT: Final = 18.0
"""Pixels from the left side of a box to what is inside of it: an arrow is between."""
INSIDE: Final = 5.0
"""Pixels below what is inside of a box, and on its right; and between two."""
End: TypeAlias = tuple[str, int]
"""Where a link ends: id of a card, ``""`` for the rim, and the number of the port."""


@dataclass(frozen=True, slots=True)
class PlacedCard:
    """A card in an inside."""

    id: str
    x: float
    y: float
    width: float
    height: float
    frames: tuple[CardFrame, ...]
    """Its variants, in boxes of one size."""

    @property
    def card(self) -> Card:
        """The card, as it is in the first of its variants."""
        return self.frames[0].card

    def moved(self, look: Element) -> Element:
        """A variant of the card at its place."""
        x, y = self.x + self.frames[0].left, self.y + self.frames[0].top
        return look.changed({"transform": f"translate({px(x)} {px(y)})"})


@dataclass(frozen=True, slots=True)
class PlacedLink:
    """A link in an inside."""

    points: tuple[Point, ...]
    """In an inside that can be stretched the places where it turns, from tail to head, with its
    ends; in a picture Bézier control points, ``1 + 3 k`` of them."""
    tail: End
    head: End
    tail_reach: Point
    """How far it goes on into the box of the card that it comes from."""
    head_reach: Point
    wire: DrawnLink


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame around an open fold, with its header on top."""

    id: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class DrawnInside:
    """The inside of one fold, placed; or a picture that is made of those of open folds."""

    width: float
    height: float
    cards: tuple[PlacedCard, ...]
    links: tuple[PlacedLink, ...]
    inputs: tuple[float, ...]
    """Where values come in, along the rim: one place per port of the closed box."""
    outputs: tuple[float, ...]
    """Where they go out."""
    is_picture: bool = False
    """Whether its links are curves already."""
    frames: tuple[Frame, ...] = ()
    """Those of open folds in it, a frame before those in it."""

    def moved(self, by: Point) -> DrawnInside:
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


def rim_id(side: str, port: int) -> str:
    """The id of the place where values cross the rim, while it is laid out."""
    return f"{side}.{port}"


def room_of(inside: Sequence[CardFrame]) -> Point:
    """Width and height that what is inside of a card needs in it; nothing for nothing."""
    if not inside:
        return 0.0, 0.0
    width = INDENT + max(frame.box.width for frame in inside) + INSIDE
    return width, sum(frame.box.height + INSIDE for frame in inside)


def placed(
    scene: Scene,
    frames: Mapping[str, tuple[CardFrame, ...]],
    options: DrawOptions,
    gap: float = 0.0,
    room: float = 0.0,
) -> DrawnInside:
    """Cards and links, placed.

    Args:
        scene: What is in it.
        frames: The variants of each card, in boxes of one size.
        options: How it is drawn.
        gap: Pixels between ranks that what is written on links needs.
        room: Pixels that it is wide, at least.
    """
    place = _as_drawn if scene.is_whole else _in_rows
    return place(scene, frames, options, gap, room)


def _as_drawn(
    scene: Scene,
    frames: Mapping[str, tuple[CardFrame, ...]],
    options: DrawOptions,
    gap: float,
    _room: float,
) -> DrawnInside:
    """As Graphviz draws it: closer together where all of it fits a screen so."""
    direction, place = options.direction, scene.places.get
    shown = dict.fromkeys(place(card.id, card.id) for card in scene.cards)
    boxes = {key: replace(frames[key][0].box, id=key) for key in shown}
    joined = list(dict.fromkeys(scene.links))

    def laid_out(ranks: float) -> tuple[_Column | _Inside, list[Link], Layout]:
        column = (
            _Inside(boxes, scene, frames)
            if scene.are_inside
            else _Column(boxes, scene, WRITTEN if gap else ARROW, ranks)
        )
        main = [link for link in joined if link.tail not in column.head]
        found = lay_out(column.boxes, main, direction, options.engine, ranks)
        return column, main, column.placed(found)

    column, main, layout = laid_out(gap or RANK_GAP[direction])
    if not gap and not fits_screen(layout) and fits_screen(layout, CLOSER):
        closer = laid_out(CLOSE_GAP[direction])
        column, main, layout = closer if fits_screen(closer[2]) else (column, main, layout)
    paths = dict(zip(main, layout.paths, strict=True))
    paths |= {one: column.path(one, layout) for one in joined if one.tail in column.head}
    layout = replace(layout, paths=tuple(map(paths.__getitem__, scene.links)))
    return as_laid_out(scene, frames, layout, direction)


class _Column:
    """What is beside boxes, in a column on the right of each.

    Args:
        boxes: All boxes, by their places.
        scene: What is in the picture.
        gap: Pixels between a box and what is beside it.
        ranks: Pixels between ranks: half of them are free above and below a box.
    """

    def __init__(
        self, boxes: Mapping[str, LayoutBox], scene: Scene, gap: float, ranks: float
    ) -> None:
        self._all, self._beside = boxes, scene.beside
        self.head = {key: head for head, keys in self._beside.items() for key in keys}
        """The box that each of them is beside."""
        self._gap, self._free = gap, (ranks - APART) / 2 if self._is_chain(scene) else -CLEAR
        self.boxes = [self._wide(box) for key, box in boxes.items() if key not in self.head]
        """The others, with room for them."""

    def _is_chain(self, scene: Scene) -> bool:
        """Whether no link goes past another box, or to another side than straight on."""
        main = {link for link in scene.links if link.tail not in self.head}
        ends = [{link.tail for link in main}, {link.head for link in main}]
        return all(len(end) == len(main) for end in ends)

    def _wide(self, box: LayoutBox) -> LayoutBox:
        """A box with the room that is needed beside it."""
        if not (keys := self._beside.get(box.id)):
            return box
        wide = self._gap + max(self._all[key].width for key in keys)
        high = self._height(keys)
        beside = UNIT * ceil((wide + box.width) / UNIT) - box.width
        around = (high - box.height) / 2 - self._free
        return replace(box, beside=beside, around=round(max(0.0, around), 1))

    def _height(self, keys: Sequence[str]) -> float:
        return sum(self._all[key].height for key in keys) + APART * (len(keys) - 1)

    def placed(self, layout: Layout) -> Layout:
        """The layout with what is beside, cut to what is there."""
        places = dict(layout.places)
        for head, keys in self._beside.items():
            box, (x, y) = self._all[head], layout.places[head]
            top = y + (box.height - self._height(keys)) / 2
            for key in keys:
                places[key] = (round(x + box.width + self._gap, 1), round(top, 1))
                top += self._all[key].height + APART
        right = max((x + self._all[key].width for key, (x, _) in places.items()), default=0.0)
        ends = (x for path in layout.paths for x, _ in path)
        return replace(layout, places=places, width=round(max((right, *ends)) + MARGIN, 1))

    def path(self, link: Link, layout: Layout) -> tuple[Point, ...]:
        """From the left side of what is beside to the right side of its box: straight where it can
        be."""
        box, (x, y) = self._all[link.head], layout.places[link.head]
        own, (left, top) = self._all[link.tail], layout.places[link.tail]
        start = left, round(top + own.height / 2, 1)
        low, high = y + SIDE, y + box.height - SIDE
        keys = self._beside[link.head]
        share = (keys.index(link.tail) + 0.5) / len(keys)
        spread = start[1] if len(keys) <= FEW else low + share * (high - low)
        end = round(x + box.width, 1), round(min(max(spread, low), high), 1)
        bend = round((start[0] - end[0]) / 2, 1)
        return start, (start[0] - bend, start[1]), (end[0] + bend, end[1]), end


class _Inside:
    """What is beside boxes, inside of each below what it says.

    Args:
        boxes: All boxes, by their places.
        scene: What is in the picture.
        frames: The variants of each card, with room for it.
    """

    def __init__(
        self,
        boxes: Mapping[str, LayoutBox],
        scene: Scene,
        frames: Mapping[str, tuple[CardFrame, ...]],
    ) -> None:
        self._all, self._beside, self._frames = boxes, scene.beside, frames
        self.head = {key: head for head, keys in self._beside.items() for key in keys}
        """The box that each of them is in."""
        self.boxes = [box for key, box in boxes.items() if key not in self.head]
        """The others."""

    def placed(self, layout: Layout) -> Layout:
        """The layout with what is inside."""
        places = dict(layout.places)
        for head, keys in self._beside.items():
            x, y = layout.places[head]
            top = y + self._frames[head][0].inside[0]
            for key in keys:
                places[key] = round(x + INDENT, 1), round(top, 1)
                top += self._all[key].height + INSIDE
        return replace(layout, places=places)

    def path(self, link: Link, layout: Layout) -> tuple[Point, ...]:
        """From the left side of what is inside up to what its box says."""
        (left, top), (x, y) = layout.places[link.tail], layout.places[link.head]
        start = left, round(top + self._all[link.tail].height / 2, 1)
        end = round(x + INDENT / 2, 1), round(y + self._frames[link.head][0].inside[0] - UP, 1)
        return start, (end[0], start[1]), (end[0], start[1]), end


def as_laid_out(
    scene: Scene,
    frames: Mapping[str, tuple[CardFrame, ...]],
    layout: Layout,
    direction: Direction,
) -> DrawnInside:
    """A picture of its own.

    Args:
        scene: What is in it.
        frames: The variants of each card.
        layout: Where places are, and the path of each link.
        direction: How data flows.
    """
    shown = []
    for card in scene.cards:
        box = frames[card.id][0].box
        corner = layout.places[scene.places.get(card.id, card.id)]
        shown.append(PlacedCard(card.id, *corner, box.width, box.height, frames[card.id]))
    links = tuple(
        _link(wire, path, frames, (), direction)
        for wire, path in zip(scene.wires, layout.paths, strict=True)
    )
    return DrawnInside(layout.width, layout.height, tuple(shown), links, (), (), is_picture=True)


def _in_rows(
    scene: Scene,
    frames: Mapping[str, tuple[CardFrame, ...]],
    options: DrawOptions,
    gap: float,
    room: float,
) -> DrawnInside:
    """In rows, with links that go past them straight."""
    direction, ports = options.direction, scene.ports
    rims = [
        [rim_id(side, i) for i in range(n)] for side, n in zip(("in", "out"), ports, strict=True)
    ]
    places = [LayoutBox(one, *_THIN[direction]) for rim in rims for one in rim]
    shown = [frames[card.id] for card in scene.cards]
    boxes = [*places[: ports[0]], *(one[0].box for one in shown), *places[ports[0] :]]
    gap = max(GAP[direction], gap - SPARED)
    layout = lay_out(boxes, scene.links, direction, options.engine, gap, rims)
    return _Rimmed(layout, rims, direction, room).inside(frames, scene)


def _link(
    wire: DrawnLink,
    points: tuple[Point, ...],
    frames: Mapping[str, tuple[CardFrame, ...]],
    rims: Sequence[Sequence[str]],
    direction: Direction,
) -> PlacedLink:
    """A link along these points."""
    ends: list[tuple[End, Point]] = []
    link = wire.link
    for key, port, is_head in (
        (link.tail, link.tail_port, False),
        (link.head, link.head_port, True),
    ):
        rim = next((rim for rim in rims if key in rim), None)
        if rim is not None:
            ends.append((("", rim.index(key)), (0.0, 0.0)))
            continue
        if _is_beside(frames, link):
            ends.append(((key, port), (0.0, 0.0)))
            continue
        # It goes on to the card, under a pill that is there at some steps.
        frame = min(frames[key], key=lambda one: sum(bool(pill.label) for pill in one.card.outputs))
        ends.append(((key, port), card_svg.reach(frame, port, is_head, direction)))
    (tail, tail_reach), (head, head_reach) = ends
    return PlacedLink(points, tail, head, tail_reach, head_reach, wire)


def _is_beside(frames: Mapping[str, tuple[CardFrame, ...]], link: Link) -> bool:
    """Whether it comes from a card beside the one where it arrives."""
    ports = frames[link.head][0].card.inputs if link.head in frames else ()
    return link.head_port < len(ports) and ports[link.head_port].is_beside


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

    def inside(self, frames: Mapping[str, tuple[CardFrame, ...]], scene: Scene) -> DrawnInside:
        """What is inside, with room between rows where links turn."""
        boxes = {card.id: self._box(frames[card.id][0]) for card in scene.cards}
        routes = Routes(boxes.values(), self.width if self._down else self.height)
        ways = [
            self._way(routes, link, path)
            for link, path in zip(scene.links, self._layout.paths, strict=True)
        ]
        length = self.height if self._down else self.width
        along = Stretch(length, room(ways))
        cards = tuple(self._card(key, frames[key], box, along) for key, box in boxes.items())
        turned = (
            tuple(self._turned((across, _tenth(along(at)))) for across, at in way) for way in ways
        )
        links = tuple(
            _link(wire, way, frames, self._rims, self._direction)
            for wire, way in zip(scene.wires, turned, strict=True)
        )
        length = _tenth(along(length))
        size = (self.width, length) if self._down else (length, self.height)
        into, out = (tuple(map(self._along, rim)) for rim in self._rims)
        return DrawnInside(*size, cards, links, into, out)

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

    def _card(
        self, key: str, frames: tuple[CardFrame, ...], box: tuple[Span, Span], stretch: Stretch
    ) -> PlacedCard:
        """A card in its row, as far from the start of the row as before."""
        (across, _), (start, _) = box
        x, y = self._turned((across, _tenth(stretch(start))))
        return PlacedCard(key, x, y, frames[0].box.width, frames[0].box.height, frames)


def _tenth(value: float) -> float:
    return round(value, 1) + 0.0
