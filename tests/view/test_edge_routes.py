"""Edges pass beside the cards that they do not join."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TypeAlias

import pytest

from gradviz.view.animation.animation import Animations
from gradviz.view.element import Element
from gradviz.view.graph.card_svg import LinkCurve
from gradviz.view.graph.layout import Point
from gradviz.view.graph.step_pictures import StepPictures
from tests.browser.gallery import RECORDINGS
from tests.view.crossings import points_along

Frame: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""
CLEAR = 3.0
"""Pixels between an edge and a card that it passes."""


@cache
def animations(name: str) -> Animations:
    return Animations(RECORDINGS[name]())


def number(element: Element, name: str) -> float:
    return float(element.text(name) or 0)


def corner(card: Element) -> Point:
    x, y = re.findall(r"[-\d.]+", card.text("transform"))
    return float(x), float(y)


def frames(card: Element) -> list[Frame]:
    """A card, and the pills on its rim."""
    left, top = corner(card)
    pills = [
        inside
        for child in card.children
        if isinstance(child, Element) and {"gv-port", "gv-stub", "gv-root"} & set(child.classes)
        for inside in child.children
        if isinstance(inside, Element)
    ]
    own = [child for child in (*card.children, *pills) if isinstance(child, Element)]
    return [
        (x, y, x + number(rect, "width"), y + number(rect, "height"))
        for rect in own
        if rect.tag == "rect"
        for x, y in ((left + number(rect, "x"), top + number(rect, "y")),)
    ]


def passed_through(animation: StepPictures) -> list[str]:
    """Edges that pass through a card, or a pill of one, that is not their end."""
    looks = [looks[0] for looks in animation.elements.values() if looks[0] is not None]
    cards = [look for look in looks if look.text("role") == "img"]
    places = {
        node: corner(card)
        for card in cards
        if ".ref." not in card.text("id")
        for node in (card.text("data-id"), *card.text("data-others").split())
    }
    found = []
    for edge, card in product(looks, cards):
        curve = next((e.attributes["d"] for e in edge.inside if e.tag == "path"), None)
        if edge is card or not isinstance(curve, LinkCurve):
            continue
        ends = [edge.text(f"data-{end}") for end in ("source", "target", "tensor")]
        # Cards of steps that follow each other are at one place.
        shown = {card.text("data-id"), *card.text("data-others").split()}
        if not shown.isdisjoint(ends) or corner(card) in [places.get(end) for end in ends]:
            continue
        for left, top, right, bottom in frames(card):
            if any(
                left - CLEAR < x < right + CLEAR and top - CLEAR < y < bottom + CLEAR
                for x, y in points_along(curve.points)
            ):
                found.append(f"{edge.text('id')} passes through {card.text('id')}")
    return found


def test_no_edge_passes_through_a_card_that_is_not_its_end(subtests: pytest.Subtests) -> None:
    for name in sorted(RECORDINGS):
        for density in animations(name):
            with subtests.test(name=name, density=density):
                assert passed_through(animations(name)[density]) == []
