"""Marks on a picture: what is new or different since the picture before.

They are laid over the finished picture, so that nothing moves for their sake. As every mark they
exist three times: as a glyph, as a heavy line, as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gradviz.view.changes import ChangeMark, Changes
from gradviz.view.geometry import PILL
from gradviz.view.style import LIGHT, Mark
from gradviz.view.text import px, width_of

CHANGE_MARKS: Final[dict[ChangeMark, Mark]] = {
    "new": Mark("gv-new", "+ new", "+ new since the run before"),
    "changed": Mark("gv-changed", "Δ changed", "Δ changed since the run before"),
}
_RULES: Final = """
.gv-new>.gv-card,.gv-changed>.gv-card{stroke:$ink;stroke-width:2.6}
.gv-new>.gv-box,.gv-changed>.gv-box{stroke:$ink;stroke-width:2}
.gv-edge.gv-new>path{stroke:$ink;stroke-width:2.6}
.gv-badge>rect{fill:$root;stroke:$card;stroke-width:1}
.gv-badge>text{font-size:10px;font-weight:600;fill:$root-ink}
"""
"""Colours are those of the root's pill: no other mark is a dark patch."""


def mark_wire(wire: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """The document of a picture with the changes marked, explained and told.

    Args:
        wire: As ``gradviz.view.wire.to_wire`` wrote it.
        changes: What differs from the graph before.
    """
    used = [mark for mark in CHANGE_MARKS if mark in changes.marks.values()]
    legend = [{"class": CHANGE_MARKS[m].css, "label": CHANGE_MARKS[m].legend} for m in used]
    items = []
    for item in wire["items"]:
        rows = [list(row) for row in changes.details.get(item["id"], ())]
        if mark := changes.marks.get(item["id"]):
            words = CHANGE_MARKS[mark].word
            told = {"heading": words, "rows": rows} if rows else None
            item = item | {
                "aria": f"{item['aria']}, {mark}",
                "find": f"{item['find']} {mark}",
                "details": [*([told] if told else []), *item["details"]],
            }
        items.append(item)
    return {
        **wire,
        "svg": mark_svg(wire["svg"], changes.marks),
        "items": items,
        "legend": [*legend, *wire["legend"]],
    }


def mark_svg(svg: str, marks: Mapping[str, ChangeMark]) -> str:
    """Lay marks over a picture.

    Examples:
        >>> svg = '<svg><style></style><g class="gv-edge" id="gv-n0.0"><path d="M0,0C0,9 9,9 9,9"/>'
        >>> mark_svg(svg + "</g></svg>", {"n0.0": "new"}).count('class="gv-edge gv-new"')
        1
    """
    if not marks:
        return svg
    rules = re.sub(r"\$([a-z-]+)", lambda m: f"var(--gv-{m[1]},{LIGHT[m[1]]})", _RULES)
    svg = svg.replace("</style>", f"{rules}</style>", 1)
    for key, mark in marks.items():
        svg = _mark(svg, key, mark)
    return svg


def _mark(svg: str, key: str, mark: ChangeMark) -> str:
    """Add a class and a badge to the group that stands for ``key``, if it is drawn."""
    known = re.escape(key)
    start = re.search(rf'<g class="([^"]*)"(?: id="gv-{known}"| data-id="{known}")[^>]*>', svg)
    if start is None:
        return svg
    end = _end_of_group(svg, start.end())
    opening = start[0].replace(start[1], f"{start[1]} {CHANGE_MARKS[mark].css}", 1)
    opening = re.sub(r'(aria-label="[^"]*)"', rf'\1, {mark}"', opening, count=1)
    inside = svg[start.end() : end]
    badge = _badge(start[1].split(), inside, mark)
    return svg[: start.start()] + opening + inside + badge + svg[end:]


def _end_of_group(svg: str, start: int) -> int:
    depth = 1
    for tag in re.finditer(r"<g\b|</g>", svg[start:]):
        depth += 1 if tag[0] == "<g" else -1
        if depth == 0:
            return start + tag.start()
    return len(svg)


def _badge(classes: list[str], inside: str, mark: ChangeMark) -> str:
    word = CHANGE_MARKS[mark].word
    if "gv-edge" in classes:
        at = _middle(inside)
        return "" if at is None else _pill(word[0], *at)
    box = re.search(r'<rect class="gv-(card|box)"([^>]*)>', inside)
    if box is None:
        return ""
    sizes = {name: float(value) for name, value in re.findall(r'(\w+)="([\d.]+)"', box[2])}
    right = sizes.get("x", 0.0) + sizes["width"]
    if box[1] == "box":  # one line of text leaves no room for the word; the legend has it
        return _pill(word[0], right - 4, sizes.get("y", 0.0))
    left = max(right - _wide(word) - 6, *_pills_end(inside, sizes["height"]))
    return _pill(word, left + _wide(word) / 2, sizes["height"])


def _pills_end(inside: str, bottom: float) -> Iterator[float]:
    """Where pills on the lower rim end that reach far to the right."""
    yield 0.0
    for rect in re.finditer(
        r'<g class="gv-[^"]*"><rect x="([\d.-]+)" y="([\d.-]+)" width="([\d.]+)"', inside
    ):
        if float(rect[2]) > bottom - PILL:
            yield float(rect[1]) + float(rect[3]) + 3


def _wide(word: str) -> float:
    return max(PILL, width_of(word, 10) + 10)


def _pill(word: str, x: float, y: float) -> str:
    """A pill around a point."""
    width = _wide(word)
    left, top = x - width / 2, y - PILL / 2
    return (
        f'<g class="gv-badge"><rect x="{px(left)}" y="{px(top)}" width="{px(width)}" '
        f'height="{px(PILL)}" rx="7.5"/>'
        f'<text x="{px(x - width_of(word, 10) / 2)}" y="{px(top + 11)}">{word}</text></g>'
    )


def _middle(inside: str) -> tuple[float, float] | None:
    """A point halfway along the curve of a link."""
    path = re.search(r'<path d="M[^C]*?([\d.-]+),([\d.-]+)C([^"L]*)', inside)
    if path is None:
        return None
    numbers = [float(path[1]), float(path[2]), *map(float, re.findall(r"[\d.-]+", path[3]))]
    xs, ys = numbers[::2], numbers[1::2]
    pieces = len(xs) // 3
    first = pieces // 2 * 3
    if pieces % 2 == 0:  # between two pieces
        return xs[first], ys[first]
    return _halfway(xs[first : first + 4]), _halfway(ys[first : first + 4])


def _halfway(controls: list[float]) -> float:
    start, one, two, end = controls
    return (start + 3 * one + 3 * two + end) / 8
