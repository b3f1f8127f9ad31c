"""The inside of one fold, laid out and drawn alone: what pictures of folded graphs consist of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeAlias

from gradviz.model.fold import Fold, FoldLink, Inside, Value
from gradviz.model.folding import Folding
from gradviz.model.records import TensorInfo
from gradviz.view.element import Element
from gradviz.view.graph import card_svg, cards
from gradviz.view.graph.card_parts import Card, CardContent, Density
from gradviz.view.graph.drawing import DrawnLink, output_port, referenced, thin, way_in
from gradviz.view.graph.fold_cards import FoldCards
from gradviz.view.graph.fold_header import header_width
from gradviz.view.graph.geometry import CardFrame, count_gap, measure
from gradviz.view.graph.layout import MARGIN, Direction, Layout, LayoutBox, Point, lay_out
from gradviz.view.graph.layout_links import Link, spines
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.rims import PORTS, Insides
from gradviz.view.graph_index import GraphIndex

GAP: Final[dict[str, float]] = {"TB": 20.0, "LR": 34.0}
"""Pixels between ranks: less than where a graph is drawn whole, so that more fits a screen."""
OUTSIDE: Final = 8
"""Tensors that nothing uses which are drawn, beside the whole graph."""
BOX: Final = ""
"""Id of what is around the whole graph: one box for all of it."""

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
    offset: Point
    """Where the card is in its box."""


@dataclass(frozen=True, slots=True)
class PlacedLink:
    """A link in an inside."""

    points: tuple[Point, ...]
    """Bézier control points, ``1 + 3 k`` of them, from tail to head."""
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


class InsideDrawings:
    """Draws the insides of the folds of one graph, each when it is asked for.

    Args:
        folding: The folds.
        graph_index: Their graph, with all of its nodes.
        options: How cards are drawn.
        insides: What is in the folds.
    """

    def __init__(
        self,
        folding: Folding,
        graph_index: GraphIndex,
        options: DrawOptions,
        insides: Insides | None = None,
    ) -> None:
        self._folding = folding
        self._tree = folding.tree
        self._index = graph_index
        self._options = options
        self.insides = insides or Insides(folding.tree)
        self._outside = outside_members(folding, graph_index, options)
        self.outside_folds = {key: fold for fold, keys in self._outside.items() for key in keys}
        """The fold in which each tensor outside the graph is drawn; of several the last."""
        self.drawn = lru_cache(maxsize=None)(self._drawn)

    def _drawn(self, fold_id: str, density: Density) -> DrawnInside:
        """The inside of a fold, or of what is around the whole graph, in one density."""
        content = self._options.content(density)
        fold_cards = FoldCards(self._folding, self._index, content)
        if fold_id == BOX:
            root = self._tree.root
            card = fold_cards.card(root, 0, 0, self.insides.rim(root.id).roots)
            return _placed((card,), (), (0, 0), 0.0, self._options)
        fold = self._tree[fold_id]
        made = self._cards(self.insides.inside(fold_id), fold_cards, content)
        wires = [*self._wires(self.insides.inside(fold_id), made)]
        outside = [self._index.tensors[key] for key in self._outside.get(fold_id, ())]
        for info in outside:
            for node_id, name in self._index.saved_by.get(info.id, ()):
                if node_id in made:
                    port = way_in(made, node_id, name)
                    wires.append(DrawnLink(Link(info.id, 0, node_id, port), node_id, info.id))
        nodes = {key: card for key, card in made.items() if key not in self._folding.totals}
        wires = thin(nodes, wires, content)
        made |= nodes
        tensors = [cards.tensor_card(info, self._index, content) for info in outside]
        shown, links = referenced((*tensors, *made.values()), wires)
        rim = self.insides.rim(fold_id)
        ports = (rim.input_ports, rim.output_ports)
        words = fold_cards.words
        room = header_width(words.label(fold), words.counts(fold))
        return _placed(shown, links, ports, room if fold is not self._tree.root else 0.0, self._options)

    def _cards(self, inside: Inside, fold_cards: FoldCards, content: CardContent) -> dict[str, Card]:
        """A card per member."""
        made: dict[str, Card] = {}
        crowds = _crowds(inside)
        for number, member in enumerate(inside.fold.members):
            if isinstance(member, Fold):
                rim = self.insides.rim(member.id)
                made[member.id] = fold_cards.card(
                    member, rim.input_ports, rim.output_ports, rim.roots
                )
            else:
                node = self._index.graph.nodes[member]
                hidden = {self._key(value[0]) for value in crowds.get(number, ())}
                made[node.id] = cards.node_card(
                    node, self._index, content, lambda key, hidden=hidden: key not in hidden
                )
        return made

    def _wires(self, inside: Inside, made: dict[str, Card]) -> Iterator[DrawnLink]:
        """The links between the members, and those over the rim; links that have the same ends
        are one."""
        found: dict[Link, list[tuple[FoldLink, int, int]]] = {}
        for link in inside.links:
            tail = self._tail(inside, link, made)
            if tail is None:
                continue
            for head, entries in self._heads(inside, link, made):
                found.setdefault(Link(*tail, *head), []).extend(
                    (link, *entry) for entry in entries or ((-1, -1),)
                )
        for link, entries in found.items():
            yield self._wire(inside, link, entries, made)

    def _wire(
        self,
        inside: Inside,
        link: Link,
        entries: Sequence[tuple[FoldLink, int, int]],
        made: dict[str, Card],
    ) -> DrawnLink:
        first, place, slot = entries[0]
        values = {one.value for one, _, _ in entries}
        target = link.tail if link.tail in made else self._key(first.value[0])
        if link.head in made and link.head not in self._folding.totals:
            card = made[link.head]
            if card.inputs[link.head_port].count == 1:
                return DrawnLink(link, link.head, target, f"{link.head}.{slot}", slot)
            count = len(entries)
        else:
            count = len(values)
        own_id = f"{inside.fold.id}.{link.tail}.{link.tail_port}.{link.head}.{link.head_port}"
        source = link.head if link.head in made else ""
        return DrawnLink(link, source, target, own_id, None, count)

    def _tail(
        self, inside: Inside, link: FoldLink, made: dict[str, Card]
    ) -> tuple[str, int] | None:
        """The card and port that a value comes from, or the place on the rim."""
        if link.tail is None:
            return _rim("in", self.insides.rim(inside.fold.id).inputs[link.value]), 0
        member = inside.fold.members[link.tail]
        if isinstance(member, Fold):
            port = self.insides.rim(member.id).outputs.get(link.value)
            return None if port is None else (member.id, port)
        node_id = self._key(member)
        return node_id, output_port(made[node_id], link.value[1])

    def _heads(
        self, inside: Inside, link: FoldLink, made: dict[str, Card]
    ) -> Iterator[tuple[tuple[str, int], tuple[tuple[int, int], ...]]]:
        """The cards and ports that a value goes to, or the place on the rim, with the entries."""
        if link.head is None:
            port = self.insides.rim(inside.fold.id).outputs.get(link.value)
            if port is not None:
                yield (_rim("out", port), 0), ()
            return
        member = inside.fold.members[link.head]
        if isinstance(member, Fold):
            yield (member.id, self.insides.rim(member.id).inputs[link.value]), link.entries
            return
        node_id = self._key(member)
        ports = made[node_id].inputs
        shared = next((i for i, port in enumerate(ports) if port.count > 1), 0)
        by_slot = {port.slot: i for i, port in enumerate(ports)}
        for entry in link.entries:
            yield (node_id, by_slot.get(entry[1], shared)), (entry,)

    def _key(self, place: int) -> str:
        return self._index.graph.nodes[place].id


def outside_members(
    folding: Folding, graph_index: GraphIndex, options: DrawOptions
) -> dict[str, list[str]]:
    """The tensors outside the graph that are drawn in each fold: beside the nodes that save them,
    and a few that nothing uses beside the whole graph."""
    tree = folding.tree
    every = "constants" in options.parts
    found: dict[str, dict[str, None]] = {}
    unused = 0
    for info in graph_index.outside:
        if not (every or info.requires_grad):
            continue
        savers = graph_index.saved_by.get(info.id, ())
        for node_id, _ in savers:
            found.setdefault(tree.around(node_id)[-1].id, {})[info.id] = None
        if not savers and (unused := unused + 1) <= OUTSIDE:
            found.setdefault(tree.root.id, {})[info.id] = None
    return {fold_id: list(keys) for fold_id, keys in found.items()}


def _crowds(inside: Inside) -> dict[int, list[Value]]:
    """Of each node among the members, the values that come from one fold or over the rim, where
    these are so many that they have one port together."""
    counts: dict[tuple[int, int | None], list[Value]] = {}
    members = inside.fold.members
    for link in inside.links:
        if link.head is None or isinstance(members[link.head], Fold):
            continue
        if link.tail is None or isinstance(members[link.tail], Fold):
            counts.setdefault((link.head, link.tail), []).append(link.value)
    crowds: dict[int, list[Value]] = {}
    for (head, _), values in counts.items():
        if len(values) > PORTS:
            crowds.setdefault(head, []).extend(values)
    return crowds


def _rim(side: str, port: int) -> str:
    """The id of the place where values cross the rim, while it is laid out."""
    return f"{side}.{port}"


def _placed(
    shown: Sequence[Card],
    wires: Sequence[DrawnLink],
    ports: tuple[int, int],
    room: float,
    options: DrawOptions,
) -> DrawnInside:
    """Cards and links, placed.

    Args:
        shown: The cards.
        wires: The links.
        ports: How many places there are on the rim, where values come in and where they go out.
        room: Pixels that it is wide, at least.
        options: How it is drawn.
    """
    direction = options.direction
    rims = [[_rim(side, i) for i in range(n)] for side, n in zip(("in", "out"), ports, strict=True)]
    links = [wire.link for wire in wires]
    ids = [*rims[0], *(card.id for card in shown), *rims[1]]
    spine = spines(ids, links)
    frames = {card.id: measure(card, direction, spine.get(card.id, -1)) for card in shown}
    places = [LayoutBox(one, *_THIN[direction]) for rim in rims for one in rim]
    gap = count_gap((wire.count for wire in wires), direction) or GAP[direction]
    boxes = [*places[: ports[0]], *(f.box for f in frames.values()), *places[ports[0] :]]
    layout = lay_out(boxes, links, direction, options.engine, gap, rims)
    return _Rimmed(layout, rims, direction, room).inside(frames, wires)


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
        """What is inside, with its cards drawn."""
        placed = tuple(self._card(frame) for frame in frames.values())
        links = tuple(
            self._link(wire, path, frames)
            for wire, path in zip(wires, self._layout.paths, strict=True)
        )
        into, out = (tuple(map(self._along, rim)) for rim in self._rims)
        return DrawnInside(self.width, self.height, placed, links, into, out)

    def _at(self, point: Point) -> Point:
        return round(point[0] + self._by[0], 1) + 0.0, round(point[1] + self._by[1], 1) + 0.0

    def _along(self, place: str) -> float:
        x, y = self._at(self._layout.places[place])
        return round((x if self._down else y) + 4.0, 1)

    def _card(self, frame: CardFrame) -> PlacedCard:
        x, y = self._at(self._layout.places[frame.box.id])
        element = card_svg.card(frame, (0.0, 0.0), self._direction)
        offset = (frame.left, frame.top)
        return PlacedCard(frame.box.id, x, y, frame.box.width, frame.box.height, element, offset)

    def _link(
        self, wire: DrawnLink, path: Sequence[Point], frames: dict[str, CardFrame]
    ) -> PlacedLink:
        link, points = wire.link, [self._at(point) for point in path]
        if link.head in self._rims[1]:
            along = self._along(link.head)
            end = (along, self.height) if self._down else (self.width, along)
            by = end[0] - points[-1][0], end[1] - points[-1][1]
            points[-2:] = [(round(x + by[0], 1), round(y + by[1], 1)) for x, y in points[-2:]]
        tail, tail_reach = self._end(link.tail, link.tail_port, False, frames)
        head, head_reach = self._end(link.head, link.head_port, True, frames)
        return PlacedLink(
            tuple(points),
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
