from __future__ import annotations

import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradviz.view.text import cells, clean, px, shorten, xml
from tests.view.graphs import HOSTILE, TEXT


@given(TEXT, st.integers(3, 60))
def test_shortened_text_fits_its_room(text: str, room: int) -> None:
    assert cells(shorten(text, room)) <= room


@given(TEXT)
def test_clean_text_has_no_character_that_hides_or_reorders(text: str) -> None:
    bad = {"Cc", "Cs", "Zl", "Zp", "Co", "Cn"}
    assert not [sign for sign in clean(text) if unicodedata.category(sign) in bad]
    assert not set(clean(text)) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u200b\ufeff")


@given(TEXT)
def test_escaped_text_is_one_xml_text_node(text: str) -> None:
    element = ET.fromstring(f'<a b="{xml(text)}">{xml(text)}</a>')
    assert len(element) == 0
    assert list(element.attrib) == ["b"]


def test_hostile_text_can_always_be_encoded(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            assert clean(text).encode("utf-8")


def test_short_plain_text_stays_as_it_is() -> None:
    assert shorten("model.fc.weight", 15) == "model.fc.weight"


def test_text_from_right_to_left_is_isolated_once() -> None:
    name = clean("שלום")
    assert name == "\u2068שלום\u2069"
    assert shorten(f"self = {name}", 40) == f"self = {name}"
    assert cells(name) == 4


def test_stacked_marks_are_dropped_after_the_second() -> None:
    assert clean("e" + "\u0301" * 40) == "e\u0301\u0301"


def test_lengths_have_at_most_one_decimal(subtests: pytest.Subtests) -> None:
    for value, text in [(1.0, "1"), (1.25, "1.2"), (-0.04, "-0"), (3.96, "4")]:
        with subtests.test(value=value, text=text):
            assert px(value).lstrip("-") == text.lstrip("-")
