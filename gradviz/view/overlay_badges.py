"""The badges of marks: where there is room on a card, a box, an edge or a stub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gradviz.model.marks import MarkKind
from gradviz.view.geometry import PILL
from gradviz.view.overlay_style import OVERLAYS
from gradviz.view.text import px, width_of

BELOW: Final = 2.0
"""How far the middle of a badge is below the rim of its card: the last line stays readable."""


def badges(classes: Sequence[str], inside: str, kinds: Sequence[MarkKind]) -> str:
    """Badges for one group of a picture, side by side.

    Args:
        classes: Classes of the group.
        inside: Its content.
        kinds: Its marks.
    """
    words = {kind: OVERLAYS[kind].word for kind in kinds}
    glyphs = {kind: word.split()[0] for kind, word in words.items()}
    if "gv-edge" in classes or "gv-uses" in classes:
        at = _middle(inside)
        return "" if at is None else _row(glyphs, at[0] - _total(glyphs) / 2, at[1])
    box = re.search(r'<rect class="gv-(card|box)"([^>]*)>', inside)
    if "gv-stub" in classes:
        box = re.search(r"<rect(?P<none>)([^>]*)>", inside)
    if box is None:
        return ""
    sizes = {name: float(value) for name, value in re.findall(r'(\w+)="([\d.-]+)"', box[2])}
    right = sizes.get("x", 0.0) + sizes["width"]
    if box[1] != "card":  # one line of text leaves no room for the word; the legend has it
        left = right - 3 if "gv-stub" in classes else right + 2 + PILL / 2 - _total(glyphs)
        return _row(glyphs, left, sizes.get("y", 0.0))
    left = max(right - _total(words) - 6, *_pills_end(inside, sizes["height"]))
    return _row(words, left, sizes["height"] + BELOW)


def _row(words: dict[MarkKind, str], left: float, y: float) -> str:
    drawn = []
    for kind, word in words.items():
        drawn.append(_pill(kind, word, left + _wide(word) / 2, y))
        left += _wide(word) + 3
    return "".join(drawn)


def _total(words: dict[MarkKind, str]) -> float:
    return sum(map(_wide, words.values())) + 3 * (len(words) - 1)


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


def _pill(kind: MarkKind, word: str, x: float, y: float) -> str:
    """A pill around a point."""
    width = _wide(word)
    left, top = x - width / 2, y - PILL / 2
    own = "" if kind in ("new", "changed") else f" {OVERLAYS[kind].css}-badge"
    return (
        f'<g class="gv-badge{own}"><rect x="{px(left)}" y="{px(top)}" width="{px(width)}" '
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
