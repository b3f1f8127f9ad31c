from __future__ import annotations

import re

import pytest

from gradviz.view.graph.drawing import draw
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import DARK, FORCED, LIGHT, MARKS, css
from tests.view.graphs import chain, every_mark, often_used, product_and_sum
from tests.view.recordings import ALL, animation_of, texts_of

FILLS = [name for name in LIGHT if name.endswith("-fill")]


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_is_readable(subtests: pytest.Subtests) -> None:
    for text, paper in [
        *(("ink", paper) for paper in ("card", "head", *FILLS)),
        *(("muted", paper) for paper in ("card", "head")),
        ("modified", "modified-fill"),
        ("now", "card"),
        ("card", "now"),
        ("root-ink", "root"),
    ]:
        for theme in [LIGHT, DARK]:
            with subtests.test(text=text, paper=paper, theme=theme):
                assert contrast(theme[text], theme[paper]) >= 4.5


def test_lines_can_be_seen_on_cards(subtests: pytest.Subtests) -> None:
    for line in [n for n in LIGHT if n + "-fill" in LIGHT or n in ("line", "edge", "freed")]:
        for theme in [LIGHT, DARK]:
            with subtests.test(line=line, theme=theme):
                assert contrast(theme[line], theme["card"]) >= 3


@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_edges_of_a_static_picture_can_be_seen_on_white_and_on_dark(page: str) -> None:
    assert contrast(LIGHT["edge"], page) >= 3


def test_all_themes_have_the_same_colours() -> None:
    assert set(LIGHT) == set(DARK) == set(FORCED)
    assert set(re.findall(r"var\(--gv-([a-z-]+)", css(steps=True))) == set(LIGHT)


def test_sheet_follows_print_and_forced_colours() -> None:
    assert "@media print" in css()
    assert "@media (forced-colors:active)" in css()


def test_sheet_can_load_nothing() -> None:
    assert not re.search(r"url\(|@import|@font-face|<", css())


def test_every_class_that_is_drawn_is_styled_or_explained() -> None:
    svg = draw(every_mark()) + draw(product_and_sum()) + steps()
    classes = re.findall(r'class="([^"]*)"', svg)
    drawn = {name for names in classes for name in names.split()} - {"gradviz-svg"}
    told = {"gv-holds", "gv-saves-nothing", "gv-extra", "gv-formula", "gv-source", "gv-done-chip"}
    styled = set(re.findall(r"\.(gv-[a-z-]+)", css(steps=True)))
    assert drawn - styled - set(MARKS) - told == set()


def steps() -> str:
    animations = [animation_of(recording) for recording in ALL.values()]
    return "".join(
        look for animation in animations for looks in texts_of(animation).values() for look in looks
    )


def test_every_mark_of_the_table_can_be_drawn() -> None:
    svg = draw(every_mark()) + draw(often_used()) + draw(chain(401)) + steps()
    svg += draw(every_mark(), DrawOptions(density="full"))
    classes = [mark.drawn or mark.css for mark in MARKS.values()]
    assert [name for name in classes if not re.search(rf'class="[^"]*\b{name}\b', svg)] == []
