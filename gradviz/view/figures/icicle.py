"""Memory as an icicle: from the total to kinds, modules, nodes and saved tensors.

Each column holds the same bytes, divided further; the height of a box is its share of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from gradviz.model.memory import Memory
from gradviz.view import formatting
from gradviz.view.element import Element
from gradviz.view.figures.figure import Figure, fitting, path, text, title
from gradviz.view.figures.icicle_parts import IciclePart, parts_of, walk
from gradviz.view.text import EM, px, width_of

HEAD: Final = 20.0
"""Height of the line with the names of the columns."""
EDGE: Final = 1.0
"""Room for the outermost lines."""
LINE: Final = 15.0
HIGHEST: Final = 280.0
"""So high that it is seen as a whole below what a report says, with the head of the table."""
PAD: Final = 10.0
"""Space left of a label, for the bar of the kind."""
SMALLEST: Final = 4.0
"""Height below which boxes are drawn as one."""
WIDTHS: Final = ((64.0, 110.0), (90.0, 130.0), (90.0, 170.0), (110.0, 190.0), (90.0, 210.0))
"""Least and greatest width of a column, of which the third may be missing."""

_RULES: Final = """
.gv-icicle text{font-family:$font;font-size:11px;fill:$ink}
.gv-icicle .gv-amount{fill:$muted}
.gv-icicle .gv-column{fill:$muted;font-size:10px}
.gv-icicle rect{stroke-width:.8}
.gv-icicle path{fill:none;stroke-width:4}
.gv-icicle .gv-total>rect{fill:$head;stroke:$line}
.gv-icicle .gv-parameter>rect{fill:$leaf-fill;stroke:$leaf}
.gv-icicle .gv-parameter>path{stroke:$leaf}
.gv-icicle .gv-buffer>rect{fill:$head;stroke:$line}
.gv-icicle .gv-buffer>path{stroke:$muted;stroke-dasharray:9 2 2 2}
.gv-icicle .gv-input>rect{fill:$head;stroke:$line}
.gv-icicle .gv-input>path{stroke:$muted;stroke-dasharray:2 3}
.gv-icicle .gv-activation>rect{fill:$held-fill;stroke:$held}
.gv-icicle .gv-activation>path{stroke:$held;stroke-dasharray:7 4}
.gv-icicle .gv-rest>rect{stroke-dasharray:3 2}
"""


@dataclass(frozen=True, slots=True)
class IcicleBox:
    """A part with its place."""

    part: IciclePart
    x: float
    y: float
    width: float
    height: float


def icicle(memory: Memory) -> Figure:
    """Draw the kept bytes, the same output for the same count.

    Examples:
        >>> from gradviz.model.memory import HeldStorage, Holder
        >>> held = HeldStorage("s0", 4, "activation", "", (("n0", "result"),))
        >>> node = Holder("n0", "ExpBackward0", 4, 4, 0, (0, 0, 0, 4), 1, ("n0",))
        >>> icicle(Memory("", (), (), None, (held,), (node,))).svg().count("<rect")
        5
    """
    total, levels = parts_of(memory)
    boxes, widths = place(total, levels)
    width = sum(widths) + 2 * EDGE
    parts, x = [], EDGE
    for name, one in zip(levels, widths, strict=True):
        parts.append(text(x + 2, HEAD - 7, name, "gv-column"))
        x += one
    parts += map(_drawn, boxes)
    height = HEAD + _height(total)
    below, room = _below(memory, total, width, height)
    return Figure("gv-icicle", (width, height + room), _said(memory), _RULES, (*parts, *below))


def place(total: IciclePart, levels: tuple[str, ...]) -> tuple[list[IcicleBox], list[float]]:
    """The place of each part, and the width of each column."""
    columns: list[list[tuple[IciclePart, float, float]]] = [[] for _ in levels]

    def put(part: IciclePart, level: int, top: float, bottom: float) -> None:
        columns[level].append((part, round(top, 1), round(bottom, 1)))
        scale = (bottom - top) / part.nbytes
        at = top
        for one in _joined(part, scale):
            put(one, level + 1, at, at + one.nbytes * scale)
            at += one.nbytes * scale

    if total.nbytes:
        put(total, 0, HEAD, HEAD + _height(total))
    limits = WIDTHS if len(levels) == len(WIDTHS) else (*WIDTHS[:2], *WIDTHS[3:])
    widths, boxes, x = [], [], EDGE
    for column, (least, most) in zip(columns, limits, strict=True):
        wide = [_wide(part) for part, top, bottom in column if bottom - top >= LINE]
        widths.append(float(round(min(most, max((least, *wide))))))
        boxes += [IcicleBox(part, x, y, widths[-1], round(end - y, 1)) for part, y, end in column]
        x += widths[-1]
    return boxes, widths


def _joined(part: IciclePart, scale: float) -> list[IciclePart]:
    """The parts of a part; those too small to be seen are taken together."""
    small = [one for one in part.parts if one.nbytes * scale < SMALLEST]
    if len(small) < 2:
        return part.parts
    amount = sum(one.nbytes for one in small)
    words = f"{len(small)} small parts: {formatting.size(amount)}"
    kinds = {one.kind for one in small}
    kind = kinds.pop() if len(kinds) == 1 else "total"
    rest = IciclePart(f"{len(small)} more", amount, f"{kind} gv-rest", words)
    return [*(one for one in part.parts if one.nbytes * scale >= SMALLEST), rest]


def _height(total: IciclePart) -> float:
    """Height for a line of text per saved tensor, up to a limit."""
    leaves = sum(not one.parts for one in walk(total))
    return min(HIGHEST, max(120.0, leaves * 24.0))


def _wide(part: IciclePart) -> float:
    return max(width_of(part.label, 11), width_of(formatting.size(part.nbytes), 11)) + PAD + 6


def _drawn(box: IcicleBox) -> Element:
    part = box.part
    ground = {"x": box.x, "y": box.y, "width": box.width, "height": box.height}
    inside = [title(part.words), Element("rect", ground)]
    if part.kind != "total":
        top, bottom = px(box.y + 0.5), px(box.y + max(0.5, box.height - 0.5))
        inside.append(path(None, f"M{px(box.x + 3)} {top}V{bottom}"))
    attributes = {"class": f"gv-{part.kind}", "data-id": part.id or None}
    return Element("g", attributes, (*inside, *_label(box)))


def _label(box: IcicleBox) -> list[Element]:
    """Name and amount: in two lines, in one, the name alone, or nothing."""
    room, x = box.width - PAD - 4, box.x + PAD
    name, amount = box.part.label, formatting.size(box.part.nbytes)
    if box.height < LINE - 1 or not (short := fitting(name, room)):
        return []
    middle = box.y + box.height / 2
    if box.height >= 2 * LINE and width_of(amount, 11) <= room:
        return [text(x, middle - 3, short), text(x, middle + 11, amount, "gv-amount")]
    lines = [text(x, middle + 4, short)]
    if width_of(f"{name}  {amount}", 11) <= room:
        lines.append(text(box.x + box.width - 4, middle + 4, amount, "gv-amount", "end"))
    return lines


def _below(
    memory: Memory, total: IciclePart, width: float, top: float
) -> tuple[list[Element], float]:
    """What each bar means, and what is not in the picture; and the height of it all."""
    lines, x, y = [], EDGE, top + 20
    for part in total.parts:
        words = f"{part.label} {formatting.size(part.nbytes)}"
        wide = width_of(words, 11) + 34
        if x > EDGE and x + wide > width:
            x, y = EDGE, y + LINE + 2
        sample = Element("rect", {"x": x + 0.5, "y": y - 10, "width": 14.0, "height": 13.0})
        bar = path(None, f"M{px(x + 3.5)} {px(y - 9.5)}v12")
        inside = (sample, bar, text(x + 20, y, words))
        lines.append(Element("g", {"class": f"gv-{part.kind}"}, inside))
        x += wide
    room = max(20, int(width / (EM * 11)))
    for words in wrap(_missing(memory), room) if memory.unknown else ():
        y += LINE
        lines.append(text(0, y, words, "gv-amount"))
    return lines, y + 8 - top


def _missing(memory: Memory) -> str:
    count = formatting.plural(len(memory.unknown), "saved tensor")
    return f"Not in the picture: {count} whose size is not known."


def _said(memory: Memory) -> str:
    total, _ = parts_of(memory)
    kinds = ", ".join(f"{part.label} {formatting.size(part.nbytes)}" for part in total.parts)
    nodes = ", ".join(
        f"{one.id} {one.name} {formatting.size(one.nbytes)}"
        for one in memory.nodes[:5]
        if one.nbytes
    )
    missing = f" {_missing(memory)}" if memory.unknown else ""
    return (
        f"{formatting.size(memory.total)} kept for backward, as boxes whose height is their share: "
        f"{kinds or 'nothing'}. Nodes that keep most: {nodes or 'none'}.{missing}"
    )
