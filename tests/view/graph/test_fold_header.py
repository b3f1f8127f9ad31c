"""Headers of open folds: as many facts as there is room for, and nothing is cut in silence."""

from __future__ import annotations

from gradviz.view.element import Element, all_of
from gradviz.view.graph.fold_header import ASIDE, end_of, header, header_width

FACTS = ("58 nodes", "680.3 KiB saved", "partly freed", "83 packed")


def words(elements: tuple[Element, ...]) -> list[str]:
    """The texts of a header."""
    texts = (one for one in all_of(elements) if one.tag == "text")
    return [str(child) for text in texts for child in text.children]


def test_a_wide_header_says_everything() -> None:
    said = words(header("h.3 · Block", FACTS, 600.0))
    assert said == ["h.3 · Block", FACTS[0], *(f"· {fact}" for fact in FACTS[1:])]


def test_a_narrow_header_says_that_there_is_more() -> None:
    width = header_width("h.3 · Block", FACTS)
    assert words(header("h.3 · Block", FACTS, width)) == [
        "h.3 · Block",
        "58 nodes",
        "· 680.3 KiB saved",
        "· …",
    ]


def test_no_fact_reaches_into_the_room_for_signs() -> None:
    for width in range(200, 600, 10):
        facts = [one for one in header("a", FACTS, float(width)) if "gv-fact" in one.classes]
        assert all(end_of(fact) <= width - ASIDE for fact in facts[:-1])


def test_the_first_fact_and_few_others_always_have_room() -> None:
    for facts in (FACTS[:1], FACTS[:2]):
        drawn = header("h.3 · Block", facts)
        assert header_width("h.3 · Block", facts) >= end_of(drawn[-1]) + ASIDE
