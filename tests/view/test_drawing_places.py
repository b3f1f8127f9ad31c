"""Where words, cards and links stand in a drawing."""

from __future__ import annotations

import re
from itertools import combinations
from typing import TypeAlias, get_args
from xml.etree import ElementTree as ET

import pytest

from gradviz.view.graph.drawing import draw
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import SIZES
from gradviz.view.text import width_of
from tests.view.graphs import every_mark, often_used, product_and_sum
from tests.view.test_drawing import SVG, by_class, parsed

Rect: TypeAlias = "tuple[float, float, float, float]"
"""Left, top, right and lower edge."""
SMALL = ("gv-chip", "gv-port", "gv-stub", "gv-root")


def numbers(text: str | None) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", text or "")]


def rect_of(rect: ET.Element, x: float, y: float) -> Rect:
    left, top, width, height = (float(rect.get(k) or 0) for k in ("x", "y", "width", "height"))
    return x + left, y + top, x + left + width, y + top + height


def cards_of(root: ET.Element) -> dict[str, tuple[list[Rect], list[tuple[str, Rect]]]]:
    """Of each card its rectangles, and its words with the room they take."""
    found = {}
    for card in root:
        if not by_class(card, "gv-card"):
            continue
        x, y = numbers(card.get("transform"))
        rects = [rect_of(rect, x, y) for rect in card.iter(f"{SVG}rect")]
        small = {text for css in SMALL for group in by_class(card, css) for text in group}
        words = []
        for text in card.iter(f"{SVG}text"):
            css = "small" if text in small else text.get("class", "")[3:]
            size = SIZES.get(css, SIZES["text"])
            left, line = x + float(text.get("x", 0)), y + float(text.get("y", 0))
            said = "".join(text.itertext())
            box = (left, line - 0.8 * size, left + width_of(said, size), line + 0.2 * size)
            words.append((said, box))
        found[card.get("id", "more").removeprefix("gv-")] = rects, words
    return found


def holds(one: Rect, other: Rect, slack: float = 0.1) -> bool:
    return all(a <= b + slack for a, b in zip((*one[:2], *other[2:]), (*other[:2], *one[2:])))


def apart(one: Rect, other: Rect) -> bool:
    return one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def reference(edge: ET.Element) -> str:
    """The reference that an edge joins instead of the card of its leaf, if there is one."""
    return f"{edge.get('data-target')}.ref.{edge.get('data-source')}"


PLACED = [
    pytest.param(draw(graph, DrawOptions(direction)), id=f"{name} {direction}")
    for name, graph in (
        ("product", product_and_sum()),
        ("every mark", every_mark()),
        ("often used", often_used()),
    )
    for direction in get_args(Direction)
]


@pytest.mark.parametrize("svg", PLACED)
def test_words_and_links_have_their_places(svg: str) -> None:
    assert_words_stand_inside_of_their_card_and_not_on_each_other(svg)
    assert_links_lead_from_card_to_card_and_heads_point_at_them(svg)


def assert_words_stand_inside_of_their_card_and_not_on_each_other(svg: str) -> None:
    for rects, words in cards_of(parsed(svg)).values():
        for said, box in words:
            assert any(holds(rect, box) for rect in rects), said
        for (one, there), (other, here) in combinations(words, 2):
            assert apart(there, here), (one, other)


def assert_links_lead_from_card_to_card_and_heads_point_at_them(svg: str) -> None:
    root = parsed(svg)
    cards = {key: rects for key, (rects, _) in cards_of(root).items()}
    for edge in by_class(root, "gv-edge"):
        path, data, engine = edge
        line = numbers(path.get("d"))
        for head, end, key in (
            (data, line[-2:], edge.get("data-source", "")),
            (engine, line[:2], edge.get("data-target", "")),
        ):
            x, y, *_ = numbers(head.get("points"))
            assert [x, y] == end
            key = referred if head is engine and (referred := reference(edge)) in cards else key
            assert any(holds(rect, (x, y, x, y), 1.0) for rect in cards[key])
            around = (x - 2, y - 2, x + 2, y + 2)
            assert not any(holds(rect, around) for rect in cards[key])
