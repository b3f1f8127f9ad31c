"""SVG for one card or one link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot
from typing import Final

from gradviz.view.blocks import Block, Line, Port
from gradviz.view.geometry import INSIDE, PAD, PILL, Frame, chip_width, port_place
from gradviz.view.layout import Direction, Point
from gradviz.view.text import plain, px, width_of, xml

ARROW: Final = (8.0, 3.4)
"""Length and half width of an arrow head."""
GLYPHS: Final = {
    "done": "l2.5,3 4.5,-6",
    "now": "m0,-4l7,4 -7,4z",
    "next": "m0.5,-3.2l5.6,3.2 -5.6,3.2z",
    "raised": "m0.5,-3.2l6.4,6.4m0,-6.4l-6.4,6.4",
}
"""A tick, a filled and an open triangle and a cross, from the middle of their left side."""


def card(frame: Frame, place: Point, direction: Direction) -> str:
    """A card with its ports, at its place."""
    item = frame.card
    own_id = "" if item.id == "more" else f' id="gv-{item.id}" data-id="{item.id}"'
    tensor = f' data-tensor="{item.tensor}"' if item.tensor else ""
    x, y = place[0] + frame.left, place[1] + frame.top
    lines = [
        f'<g class="{item.css}"{own_id}{tensor} role="img" aria-label="{xml(item.aria)}" '
        f'transform="translate({px(x)} {px(y)})">'
    ]
    if item.title:
        lines.append(f"<title>{xml(item.title)}</title>")
    radius = 13.0 if "gv-leaf" in item.css or "gv-tensor" in item.css else 5.0
    lines.append(_rect(0, 0, frame.width, frame.height, radius, "gv-card"))
    if frame.band and "gv-tensor" not in item.css:
        lines.append(_band(frame, radius))
    left = PAD + (INSIDE if direction == "LR" and frame.left else 0)
    for block, top in zip(item.blocks, frame.tops, strict=True):
        right = INSIDE if direction == "LR" and frame.box.width > frame.left + frame.width else 0
        lines.append(_block(block, left, top, frame.width - left - PAD - right))
    edge = frame.width - 8
    for word, css in ((item.chip, "gv-chip"), (item.status, f"gv-chip gv-{item.status}-chip")):
        if word:
            lines.append(_chip(word, css, frame, edge))
            edge -= chip_width(word) + 5
    lines += _ports(frame, item.inputs, True, direction)
    lines += _ports(frame, item.outputs, False, direction)
    return "".join((*lines, "</g>"))


def reach(frame: Frame, port: int, is_input: bool, direction: Direction) -> Point:
    """How far a link goes on inside the box, over the place a pill would take, to the card."""
    ports = frame.card.inputs if is_input else frame.card.outputs
    pill = ports[port].width if port < len(ports) else 0.0
    if direction == "TB":
        gap = frame.top if is_input else frame.top + frame.height - frame.box.height
        return 0.0, 0.0 if pill else gap
    inside = INSIDE - pill if pill else 0.0
    if is_input:
        return frame.left + inside, 0.0
    return frame.left + frame.width - inside - frame.box.width, 0.0


def wire(
    path: Sequence[Point],
    source: str,
    target: str,
    slot: int | None,
    tail: Point,
    head: Point,
    own_id: str = "",
    css: str = "",
    label: str = "",
) -> str:
    """A link with one arrow head at each end; the style sheet shows one of them.

    Args:
        path: Control points.
        source: Node that holds the entry, or that saved.
        target: Node that the entry points to, or the tensor that was saved.
        slot: Place in ``next_functions``; ``None`` for a tensor saved from outside.
        tail: How far the link goes on inside the box it leaves.
        head: How far inside the box where it arrives.
        own_id: Id of a link without a slot, which needs none in a picture of one moment.
        css: More classes.
        label: SVG that belongs to it.
    """
    first = (path[0][0] + tail[0], path[0][1] + tail[1])
    last = (path[-1][0] + head[0], path[-1][1] + head[1])
    line = "M" + _pair(first) + ("L" + _pair(path[0]) if tail != (0, 0) else "")
    line += "C" + " ".join(map(_pair, path[1:])) + ("L" + _pair(last) if head != (0, 0) else "")
    if slot is None:
        key = f' id="{own_id}"' if own_id else ""
        return (
            f'<g class="gv-uses"{key} data-source="{source}" '
            f'data-tensor="{target}" aria-hidden="true">'
            f'<path d="{line}"/></g>'
        )
    into = _arrow(last, path[-2] if head == (0, 0) else path[-1], path)
    name = f"gv-edge {css}" if css else "gv-edge"
    back = _arrow(first, path[1] if tail == (0, 0) else path[0], path)
    return (
        f'<g class="{name}" id="gv-{source}.{slot}" data-source="{source}" data-target="{target}" '
        f'data-slot="{slot}" aria-hidden="true"><path d="{line}"/>'
        f'<polygon class="gv-head gv-head-data" points="{into}"/>'
        f'<polygon class="gv-head gv-head-engine" points="{back}"/>{label}</g>'
    )


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


def _rect(x: float, y: float, width: float, height: float, radius: float, css: str = "") -> str:
    name = f' class="{css}"' if css else ""
    corner = f' rx="{px(radius)}"' if radius else ""
    at = f' x="{px(x)}" y="{px(y)}"' if x or y else ""
    return f'<rect{name}{at} width="{px(width)}" height="{px(height)}"{corner}/>'


def _band(frame: Frame, radius: float) -> str:
    edge = 0.6
    w, h, r = frame.width - edge, frame.band, px(radius - edge)
    if h >= frame.height - 1:
        return _rect(edge, edge, w - edge, frame.height - 2 * edge, radius - edge, "gv-band")
    corner = f"a{r},{r} 0 0 1 {r}"
    return (
        f'<path class="gv-band" d="M{px(edge)},{px(h)}V{px(radius)}{corner},-{r}'
        f'H{px(frame.width - radius)}{corner},{r}V{px(h)}Z"/>'
    )


def _block(block: Block, x: float, top: float, width: float) -> str:
    if not block.framed:
        return "".join(_lines(block.lines, x, top))
    shown = [f'<g class="{block.css}" data-id="{block.data_id}"><title>{xml(block.title)}</title>']
    height = block.height - 2
    shown.append(_rect(x, top, width, height, 3, "gv-box"))
    if "gv-modified" in block.css:
        shown.append(_rect(x + 2, top + 2, width - 4, height - 4, 2, "gv-box"))
    elif "gv-held" in block.css or block.kind == "tag":
        shown.append(f'<path class="gv-mark" d="M{px(x)},{px(top)}h3v{px(height)}h-3z"/>')
    shown += _lines(block.lines, x + 10, top + 2.5)
    return "".join((*shown, "</g>"))


def _lines(lines: Sequence[Line], x: float, top: float) -> Iterator[str]:
    for line in lines:
        baseline = top + line.height - (5.5 if line.height > 16 else 4)
        start = x + 13 if line.icon else x
        if line.icon == "pin":
            yield (
                f'<path class="gv-pin" d="M{px(x + 4.5)},{px(baseline + 1)}v-4.5m-3,-3'
                f'a3,3 0 1 1 6,0a3,3 0 1 1 -6,0z"/>'
            )
        elif line.icon == "bar":
            yield _rect(x + 3, baseline - 9, 3, 11, 1, "gv-bar")
        elif line.icon == "cut":
            yield (
                f'<path class="gv-cut-sign" d="M{px(x)},{px(baseline - 3.5)}h6m0,-4.5v9m3,-9v9"/>'
            )
        yield _line(line, start, baseline)
        top += line.height


def _line(line: Line, x: float, y: float) -> str:
    content = xml(line.text)
    if line.lead:
        content = f'<tspan class="gv-name">{xml(line.lead)}</tspan>' + (
            f" {content}" if content else ""
        )
    return _text(line.whole, x, y, line.size, line.css, content)


def _text(text: str, x: float, y: float, size: float, css: str = "", content: str = "") -> str:
    name = f' class="{css}"' if css else ""
    # Fonts for other scripts have other widths; these characters are fitted to their room.
    fit = (
        ""
        if plain(text)
        else f' textLength="{px(width_of(text, size))}" lengthAdjust="spacingAndGlyphs"'
    )
    return f'<text{name} x="{px(x)}" y="{px(y)}"{fit}>{content or xml(text)}</text>'


def _chip(word: str, css: str, frame: Frame, edge: float) -> str:
    width = chip_width(word)
    x, y = edge - width, frame.band - 21
    rect = _rect(x, y, width, PILL, 3)
    glyph, start = "", x + 6
    if word in GLYPHS:
        glyph = f'<path d="M{px(x + 6)},{px(y + PILL / 2)}{GLYPHS[word]}"/>'
        start += 12
    return f'<g class="{css}">{rect}{glyph}{_text(word, start, y + 11, 10)}</g>'


def _ports(
    frame: Frame, ports: Sequence[Port], is_input: bool, direction: Direction
) -> Iterator[str]:
    """Pills on the rim, each half in the card."""
    for number, port in enumerate(ports):
        if not port.label:
            continue
        at = port_place(frame, number, is_input, direction)
        x, y = at[0] - frame.left, at[1] - frame.top
        width = port.width
        if direction == "TB":
            left, top = x - width / 2, y if is_input else y - PILL
        else:
            left, top = INSIDE - width if is_input else frame.width - INSIDE, y - PILL / 2
        stub = ""
        if port.css == "gv-stub":
            stub = f' data-source="{frame.card.id}" data-slot="{port.slot}"'
        yield f'<g class="{port.css}"{stub}>{_rect(left, top, width, PILL, 7.5)}'
        yield _text(port.label, left + 6, top + 11, 10) + "</g>"
