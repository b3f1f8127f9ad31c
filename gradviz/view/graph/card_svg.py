"""The elements of one card or one link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import hypot
from typing import Final, TypeAlias

from gradviz.view import formatting
from gradviz.view.element import Element, Value
from gradviz.view.graph.card_parts import MORE, Block, Card, EdgeGradient, Line, Port, times
from gradviz.view.graph.geometry import (
    BAR,
    BESIDE,
    CORNER,
    INSIDE,
    PAD,
    PILL,
    STACK,
    TAB,
    UP,
    CardFrame,
    at_right,
    chip_width,
    is_at_corner,
    more_tabs,
    port_place,
    tabs_width,
)
from gradviz.view.graph.layout import Direction, Point
from gradviz.view.style import SIZES
from gradviz.view.text import EM, cells, plain, px, width_of

ARROW: Final = (8.0, 3.4)
"""Length and half width of an arrow head."""
LEAF: Final = 14.0
"""Height of the bar of a leaf."""
AWAY: Final = 10.0
"""Pixels between a port and what is written on its link: the arrow head is there."""
GLYPHS: Final = {
    "done": "l2.5,3 4.5,-6",
    "now": "m0,-4l7,4 -7,4z",
    "next": "m0.5,-3.2l5.6,3.2 -5.6,3.2z",
    "raised": "m0.5,-3.2l6.4,6.4m0,-6.4l-6.4,6.4",
    "new": "m0.3,0h6.4m-3.2,-3.2v6.4",
}
"""A tick, a filled and an open triangle, a cross and a plus, from the middle of their left side."""


DrawnBlocks: TypeAlias = "dict[tuple[int, float, float, float], tuple[Element, ...]]"
"""The elements of blocks, by the ``id()`` of the block, its left, top and width."""


_drawn_once: Final = lru_cache(maxsize=4096)
"""What is drawn in the same way again and again is one element, which is also written once."""


class LinkCurve(str):
    """Path data of a link, which knows the points that it is made of."""

    __slots__ = ("points",)
    points: Sequence[Point]
    """Bézier control points between the boxes."""

    @classmethod
    def of(cls, path: Sequence[Point], tail: Point, head: Point) -> LinkCurve:
        """A link along ``path``, which goes on so far inside the boxes at its ends."""
        start, end = path[0], path[-1]
        line = f"M{_pair((start[0] + tail[0], start[1] + tail[1]))}"
        line += f"L{_pair(start)}C" if tail != (0, 0) else "C"
        line += " ".join(map(_pair, path[1:]))
        if head != (0, 0):
            line += f"L{_pair((end[0] + head[0], end[1] + head[1]))}"
        curve = cls(line)
        curve.points = path
        return curve


def card(
    frame: CardFrame, place: Point, direction: Direction, drawn: DrawnBlocks | None = None
) -> Element:
    """A card with its ports, at its place.

    Args:
        frame: The card, measured.
        place: Where it is.
        direction: How data flows.
        drawn: Blocks that were drawn before, of cards that still exist; they are used again.
    """
    drawn = {} if drawn is None else drawn
    item = frame.card
    attributes: dict[str, Value] = {"class": item.css}
    attributes |= {
        "id": f"gv-{item.id}",
        "data-id": None if item.id == MORE else item.refers or item.id,
        "data-tensor": " ".join(filter(None, (item.tensor, *item.tensors))) or None,
        "data-others": " ".join(item.others) or None,
        "role": "img",
        "aria-label": item.aria,
        "transform": f"translate({px(place[0] + frame.left)} {px(place[1] + frame.top)})",
    }
    inside = [_title(item.title)] if item.title else []
    is_round = "gv-leaf" in item.css or "gv-tensor" in item.css
    radius = 6.0 if item.has_bar or not is_round else 13.0
    if item.is_stack:
        inside.append(_rect(STACK, STACK, frame.width, frame.height, radius, "gv-card gv-stack"))
    inside.append(_rect(0, 0, frame.width, frame.height, radius, "gv-card"))
    if frame.band and item.has_band:
        inside.append(_band(frame.width, frame.height, frame.band, radius))
    if frame.inside != (0.0, 0.0):
        top, end = frame.inside[0] - frame.top - UP, frame.height - 1
        inside.append(_rect(1, top, frame.width - 2, end - top, radius - 1, "gv-paper"))
    if item.has_bar:
        inside.append(_rect(7, (frame.height - LEAF) / 2, 3, LEAF, 1, "gv-leaf-bar"))
    left = PAD + (INSIDE if direction == "LR" and frame.left else 0) + BAR * item.has_bar
    right = INSIDE if direction == "LR" and frame.box.width > frame.left + frame.width else 0
    beside = left + item.blocks[0].width + BESIDE
    for block, top in zip(item.blocks, frame.tops, strict=True):
        start, width = left, frame.width - left - PAD - right
        if block.beside:
            start, width = beside, block.width
            beside += width + BESIDE
            if block.is_at_end:
                end = max(start + width, frame.width - PAD - right - at_right(item))
                start = end - max(line.width for line in block.lines)
        known = drawn.get(own := (id(block), start, top, width))
        if known is None:
            known = drawn[own] = tuple(_block(block, start, top, width))
        inside += known
    edge = frame.width - 8
    if item.tabs and item.tab_row == 0:
        inside += _tabs(item, edge, frame.tops[0] + item.blocks[0].height / 2)
        edge -= tabs_width(item)
    elif item.tabs:
        row = item.tab_row
        inside += _tabs(item, edge, frame.tops[row] + item.blocks[row].lines[0].height / 2)
    for word, css in item.chips:
        if is_at_corner(word, item):
            inside.append(_corner(word, f"gv-chip{css} gv-corner", frame.width))
        else:
            inside.append(_chip(word, f"gv-chip{css}", frame.band, edge))
            edge -= chip_width(word) + 5
    inside += _ports(frame, item.inputs, True, direction)
    inside += _ports(frame, item.outputs, False, direction)
    return Element("g", attributes, tuple(inside))


def reach(frame: CardFrame, port: int, is_input: bool, direction: Direction) -> Point:
    """How far a link goes on inside the box, over the place a pill would take, to the card."""
    if frame.card.is_stack and not is_input:
        return 0.0, 0.0
    ports = frame.card.inputs if is_input else frame.card.outputs
    pill = ports[port].width if port < len(ports) else 0.0
    if direction == "TB":
        if is_input:
            return 0.0, 0.0 if pill else frame.top
        end = frame.top + frame.height + (PILL - INSIDE if pill else 0.0)
        return 0.0, round(end - frame.box.height, 1) + 0.0
    inside = INSIDE - pill if pill else 0.0
    if is_input:
        return frame.left + inside, 0.0
    return frame.left + frame.width - inside - frame.box.width, 0.0


def link(
    path: tuple[Point, ...],
    source: str,
    target: str,
    slot: int | None,
    tail: Point,
    head: Point,
    *,
    is_edge: bool,
    own_id: str,
    css: str = "",
    label: Element | None = None,
) -> Element:
    """A link with one arrow head at each end; the style sheet shows one of them.

    Args:
        path: Control points.
        source: Node that holds the entry, or that saved; the stub for nodes that are not drawn.
        target: Node that the entry points to, or the tensor that was saved; or the stub.
        slot: Place in ``next_functions``, if it is one entry of a node that is drawn.
        tail: How far the link goes on inside the box it leaves.
        head: How far inside the box where it arrives.
        is_edge: Whether it is an entry of ``next_functions``; else a tensor saved from outside.
        own_id: Its id; a tensor saved from outside needs none in a picture of one moment.
        css: More classes.
        label: What belongs to it.
    """
    line, *arrows = _curve(path, tail, head)
    if not is_edge:
        return Element(
            "g",
            {
                "class": f"gv-uses {css}".rstrip(),
                "id": own_id or None,
                "data-source": source,
                "data-tensor": target,
                "aria-hidden": "true",
            },
            (line,),
        )
    return Element(
        "g",
        {
            "class": f"gv-edge {css}" if css else "gv-edge",
            "id": own_id,
            "data-source": source,
            "data-target": target,
            "data-slot": None if slot is None else str(slot),
            "aria-hidden": "true",
        },
        (line, *arrows, *([label] if label else ())),
    )


@_drawn_once
def _curve(path: tuple[Point, ...], tail: Point, head: Point) -> tuple[Element, ...]:
    """A link and the arrow heads at its ends, the one where data arrives first."""
    first = (path[0][0] + tail[0], path[0][1] + tail[1])
    last = (path[-1][0] + head[0], path[-1][1] + head[1])
    into = _arrow(last, path[-2] if head == (0, 0) else path[-1], path)
    back = _arrow(first, path[1] if tail == (0, 0) else path[0], path)
    return (
        Element("path", {"d": LinkCurve.of(path, tail, head)}),
        Element("polygon", {"class": "gv-head gv-head-data", "points": into}),
        Element("polygon", {"class": "gv-head gv-head-engine", "points": back}),
    )


def count(number: int, end: Point, direction: Direction) -> Element | None:
    """How many entries of ``next_functions`` a link is, where it ends; nothing for one."""
    if number == 1:
        return None
    word, (x, y) = times(number), end
    width = width_of(word, SIZES["text"]) + 12
    is_down = direction == "TB"
    left, top = (x - width / 2, y - AWAY - PILL) if is_down else (x - AWAY - width, y - PILL / 2)
    said = f"{number:,} entries of next_functions, to nodes that are not drawn"
    pill = _rect(left, top, width, PILL, 7.5)
    return Element("g", {"class": "gv-port"}, (_title(said), pill, _text(word, left + 6, top + 11)))


def _arrow(tip: Point, before: Point, path: Sequence[Point]) -> str:
    if tip == before:
        before = path[0] if tip == path[-1] else path[-1]
    dx, dy = tip[0] - before[0], tip[1] - before[1]
    length = hypot(dx, dy) or 1.0
    dx, dy = dx / length, dy / length
    base = tip[0] - ARROW[0] * dx, tip[1] - ARROW[0] * dy
    side = -dy * ARROW[1], dx * ARROW[1]
    corners = (tip, (base[0] + side[0], base[1] + side[1]), (base[0] - side[0], base[1] - side[1]))
    return " ".join(map(_pair, corners))


def _pair(point: Point) -> str:
    return f"{px(point[0])},{px(point[1])}"


@_drawn_once
def _rect(x: float, y: float, width: float, height: float, radius: float, css: str = "") -> Element:
    is_moved = bool(x or y)
    return Element(
        "rect",
        {
            "class": css or None,
            "x": x if is_moved else None,
            "y": y if is_moved else None,
            "width": width,
            "height": height,
            "rx": radius or None,
        },
    )


def _path(css: str | None, line: str) -> Element:
    return Element("path", {"class": css, "d": line})


def _title(words: str) -> Element:
    return Element("title", {}, (words,))


@_drawn_once
def _band(width: float, height: float, band: float, radius: float) -> Element:
    edge = 0.6
    w, h, r = width - edge, band, px(radius - edge)
    if h >= height - 1:
        return _rect(edge, edge, w - edge, height - 2 * edge, radius - edge, "gv-band")
    corner = f"a{r},{r} 0 0 1 {r}"
    return _path(
        "gv-band",
        f"M{px(edge)},{px(h)}V{px(radius)}{corner},-{r}H{px(width - radius)}{corner},{r}V{px(h)}Z",
    )


def _block(block: Block, x: float, top: float, width: float) -> Iterator[Element]:
    if not block.framed:
        yield from lines(block.lines, x, top)
        return
    height = block.height - 2
    inside = [_title(block.title), _rect(x, top, width, height, 3, "gv-box")]
    if "gv-modified" in block.css:
        inside.append(_rect(x + 2, top + 2, width - 4, height - 4, 2, "gv-box"))
    elif "gv-held" in block.css or (block.kind == "tag" and not block.is_light):
        inside.append(_path("gv-mark", f"M{px(x)},{px(top)}h3v{px(height)}h-3z"))
    inside += lines(block.lines, x + (5 if block.is_light else 10), top + 2.5)
    yield Element("g", {"class": block.css, "data-id": block.data_id}, tuple(inside))


def lines(rows: Sequence[Line], x: float, top: float) -> Iterator[Element]:
    """Lines of text below each other."""
    for line in rows:
        baseline = top + line.height - (5.5 if line.height > 16 else 4)
        start = x + line.width - width_of(line.whole, line.size)
        if line.icon == "pin":
            stem = f"M{px(x + 4.5)},{px(baseline + 1)}v-4.5m-3,-3"
            yield _path("gv-pin", f"{stem}a3,3 0 1 1 6,0a3,3 0 1 1 -6,0z")
        elif line.icon == "bar":
            yield _rect(x + 3, baseline - 9, 3, 11, 1, "gv-bar")
        elif line.icon == "ref":
            yield _path("gv-ref-sign", f"M{px(x + 1)},{px(baseline)}l7,-7m-5,0h5v5")
        elif line.icon in ("folded", "open"):
            sign = "m2.5,4.5h4" + ("m-2,-2v4" if line.icon == "folded" else "")
            box = f"M{px(x)},{px(baseline - 9)}h9v9h-9z{sign}"
            yield _path("gv-fold-sign", box)
        elif line.icon == "cut":
            yield _path("gv-cut-sign", f"M{px(x)},{px(baseline - 3.5)}h6m0,-4.5v9m3,-9v9")
        if line.change is not None:
            yield _ground(line, start, baseline)
        yield _line(line, start, baseline)
        top += line.height


def _ground(line: Line, x: float, y: float) -> Element:
    """What is behind the text that is new in a line."""
    now = line.change[1] if line.change else ""
    width = width_of(now, line.size)
    left = x + width_of(line.whole, line.size) - width
    return _rect(left - 2, y - line.size + 0.5, width + 4, line.size + 2.5, 2, "gv-ground")


def _line(line: Line, x: float, y: float) -> Element:
    if not line.lead and line.change is None:
        return _text(line.text, x, y, line.size, line.css)
    spans: list[Element | str] = []
    if line.lead:
        spans.append(Element("tspan", {"class": "gv-name"}, (line.lead,)))
    if line.text:
        spans.append(f" {line.text}" if line.lead else line.text)
    if line.change is not None:
        was, now = line.change
        spans.append(" " if line.beginning else "")
        spans += [Element("tspan", {"class": "gv-was"}, (was,)), " → "] if was else []
        spans.append(Element("tspan", {"class": "gv-is"}, (now,)))
    return _text(line.whole, x, y, line.size, line.css, tuple(filter(None, spans)))


def _text(
    text: str,
    x: float,
    y: float,
    size: float = SIZES["text"],
    css: str = "",
    content: tuple[Element | str, ...] = (),
) -> Element:
    attributes: dict[str, Value] = {"class": css or None, "x": x, "y": y}
    if not plain(text):
        # Fonts for other scripts have other widths; these characters are fitted to their room.
        attributes["textLength"] = width_of(text, size)
        attributes["lengthAdjust"] = "spacingAndGlyphs"
    return Element("text", attributes, content or (text,))


def _tabs(item: Card, edge: float, middle: float) -> Iterator[Element]:
    """A square for each saved tensor, up to the edge."""
    size = TAB - 4
    left = edge - TAB * len(item.tabs) + 4
    if item.more_tabs:
        words = more_tabs(item)
        edge_of_words = left - 4 - width_of(words, SIZES["text"])
        yield _text(words, edge_of_words, middle + 4, css="gv-muted")
    for number, tab in enumerate(item.tabs):
        square = _rect(left + TAB * number, middle - size / 2, size, size, 2)
        attributes: dict[str, Value] = {"class": tab.css, "data-id": tab.data_id}
        yield Element("g", attributes, (_title(tab.title), square))


@_drawn_once
def _chip(word: str, css: str, band: float, edge: float) -> Element:
    width = chip_width(word)
    x, y = edge - width, band - 21
    inside, start = [_rect(x, y, width, PILL, 3)], x + 6
    if word in GLYPHS:
        inside.append(_path(None, f"M{px(x + 6)},{px(y + PILL / 2)}{GLYPHS[word]}"))
        start += 12
    return Element("g", {"class": css}, (*inside, _text(word, start, y + 11)))


@_drawn_once
def _corner(word: str, css: str, edge: float) -> Element:
    x = edge - CORNER - 6
    glyph = _path(None, f"M{px(x + (CORNER - 7) / 2)},0{GLYPHS[word]}")
    circle = _rect(x, -CORNER / 2, CORNER, CORNER, CORNER / 2)
    return Element("g", {"class": css}, (_title(word), circle, glyph))


def _ports(
    frame: CardFrame, ports: Sequence[Port], is_input: bool, direction: Direction
) -> Iterator[Element]:
    """Pills on the rim, each half in the card."""
    for number, port in enumerate(ports):
        if not port.label:
            continue
        at = port_place(frame, number, is_input, direction)
        x, y = at[0] - frame.left, at[1] - frame.top
        width = port.width
        if direction == "TB":
            left, top = x - width / 2, y if is_input else frame.height - INSIDE
        else:
            left, top = INSIDE - width if is_input else frame.width - INSIDE, y - PILL / 2
        yield _pill(port, left, top, port.node if port.css == "gv-stub" else "")


@_drawn_once
def _pill(port: Port, left: float, top: float, source: str) -> Element:
    """The name of a port; one of an entry that is None says whose it is."""
    attributes: dict[str, Value] = {"class": port.css}
    if source:
        attributes |= {"data-source": source, "data-slot": str(port.slot)}
    pill = _rect(left, top, port.width, PILL, 7.5)
    return Element("g", attributes, (pill, _text(port.label, left + 6, top + 11)))


HEIGHT: Final = 15.0
TIGHT: Final = 27.0
MOST: Final[dict[Direction, int]] = {"TB": 26, "LR": 15}
"""Cells of the longest gradient."""
SIGN: Final = 11.0


def absent(key: str) -> Element:
    """The empty place of something that does not exist at a step."""
    return Element("g", {"id": key, "class": "gv-absent"}, ("",))


def rank_gap(flows: Iterable[EdgeGradient], direction: Direction, is_tight: bool = False) -> float:
    """Pixels between ranks that gradients need, where no port has a name if it is tight; 0 without
    gradients."""
    widths = [_width(formatting.gradient_words(flow.gradient, MOST[direction])) for flow in flows]
    if not widths:
        return 0.0
    if direction == "TB":
        return TIGHT if is_tight else 38.0
    return max(widths) + 36.0


def port_gap(flows: Iterable[EdgeGradient]) -> float:
    """Pixels between ports that the shapes of gradients need; 0 without gradients."""
    return max(
        (_width(formatting.gradient_words(flow.gradient, 0)) + 4 for flow in flows), default=0
    )


def _width(words: str) -> float:
    return width_of(words, SIZES["text"]) + SIGN + (8 if words else 4)


def gradient(
    flow: EdgeGradient,
    path: Sequence[Point],
    head: CardFrame,
    port: int,
    direction: Direction,
) -> Element:
    """A gradient where a link ends, with a sign of its direction; of a link inside of a card the
    sign alone, where the link turns.

    Args:
        flow: The gradient.
        path: Control points of the link.
        head: The card where it ends.
        port: The port where it does.
        direction: How data flows.
    """
    x, y = path[-1]
    is_beside = head.card.inputs[port].is_beside
    is_inside = is_beside and head.inside != (0.0, 0.0)
    room = MOST[direction]
    if direction == "TB":
        space = path[0][0] - x if is_beside else head.box.width / head.box.inputs
        free = space - 4 - SIGN - 8 - (AWAY if is_beside else 0)
        room = min(room, int(free / (EM * SIZES["text"])))
    words = formatting.gradient_words(flow.gradient, room)
    words = words if cells(words) <= room else ""  # whole or not at all
    width = _width(words)
    if is_inside:
        left, top, sign = x - width / 2, path[0][1] - HEIGHT / 2, "l0,-7 6,3.5z"
    elif is_beside:
        left, top, sign = x + AWAY, y - HEIGHT / 2, "l0,-7 6,3.5z"
    elif direction == "TB":
        left, top, sign = x - width / 2, y - AWAY - HEIGHT, "l3.5,-6 3.5,6z"
    else:
        left, top, sign = x - AWAY - width, y - HEIGHT / 2, "l6,-3.5 0,7z"
    middle = top + HEIGHT / 2
    start = middle + (3.5 if is_beside else 3 if direction == "TB" else 0)
    said = f"gradient {formatting.gradient_words(flow.gradient, 200)}"
    shown = [
        Element("title", {}, (said,)),
        Element("rect", {"x": left, "y": top, "width": width, "height": HEIGHT, "rx": 7.5}),
        Element("path", {"d": f"M{px(left + 4)},{px(start)}{sign}"}),
    ]
    if words:
        shown.append(Element("text", {"x": left + SIGN + 4, "y": middle + 3.5}, (words,)))
    return Element("g", {"class": "gv-gradient"}, tuple(shown))
