from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from gradviz.model.explanation import Explanation
from gradviz.view.contents.parts_of import html_of
from tests.view.explanations import FREED, LOOK, SILENT, spoilt
from tests.view.graphs import HOSTILE

ELEMENTS = {
    *("section", "h4", "span", "p", "dl", "dt", "dd", "div", "code", "strong", "pre"),
    *("details", "summary", "del"),
}


def card(explanation: Explanation) -> ET.Element:
    return ET.fromstring(html_of(explanation))


def words(element: ET.Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def test_what_happened_the_culprit_and_the_first_fix_are_at_the_top() -> None:
    title, what, culprit, fix, where, old, code, more = card(FREED)
    assert (title.tag, words(title)) == ("h4", "✕ RuntimeError · graph freed")
    assert words(what) == FREED.what
    assert words(culprit) == "culpritline 6: out2.backward()"
    assert words(fix) == "Fix 1: keeps what was saved"
    assert (old.tag, words(old.find("del"))) == ("pre", "out2.backward()")
    assert (words(where), code.text) == ("in place of line 6:", "out2.backward(retain_graph=True)")
    assert (more.tag, words(more.find("summary"))) == ("details", "more")
    assert words(more.find("p")) == "Fix 2: goes through a fresh graph"
    assert words(more.findall("p")[1]) == FREED.why


def test_a_silent_fault_says_that_there_was_no_error() -> None:
    heading = words(card(SILENT).find("h4"))
    assert heading == "⚠\N{VARIATION SELECTOR-15} no error, but wrong · hidden write"


def test_what_is_worth_a_look_has_no_sign_of_an_error() -> None:
    heading = words(card(LOOK).find("h4"))
    assert heading == "· worth a look · gradient added to a used one"
    html = html_of(LOOK)
    assert "jp-warn" not in html
    assert "jp-error" not in html
    assert "Fix" not in html
    assert "If not meant" in html


def test_facts_are_a_list_of_names_and_values() -> None:
    found = card(FREED).find("details/dl")
    assert found is not None
    names, values = ([words(e) for e in found if e.tag == tag] for tag in ("dt", "dd"))
    assert dict(zip(names, values, strict=True)) == {
        "cause": "backward 1 ran through MulBackward0 and freed it",
        "saved in": "line 4: out1 = a * bMulBackward0 saved a and b",
        "noticed": "line 7: out2.backward()",
        "variables": "out2, out1",
        "saved tensor": "other of MulBackward0, saved @v0",
        "already changed": "c.grad was 1.0 and is 2.0",
        "not known": "whether one backward was meant",
    }


def test_fixes_are_code_as_it_is_typed() -> None:
    typed = [pre for pre in card(FREED).iter("pre") if pre.find("del") is None]
    assert [pre.text for pre in typed] == [
        "out2.backward(retain_graph=True)",
        "out1 = a * b\nout2 = out1 + c",
    ]
    assert [words(place) for place in card(FREED).findall("details/div")] == [
        "before line 7:",
        "without line 6",
    ]


def test_it_is_a_region_with_headings_that_stay_out_of_the_table_of_contents() -> None:
    root = card(FREED)
    assert root.attrib["role"] == "region"
    assert root.attrib["aria-label"] == "RuntimeError: graph freed"
    (heading,) = (e for e in root.iter() if re.fullmatch("h[1-6]", e.tag))
    assert heading.attrib["class"] == "jp-toc-ignore"


def test_only_plain_elements_and_colours_that_follow_the_page() -> None:
    for element in card(FREED).iter():
        assert element.tag in ELEMENTS
        assert set(element.attrib) <= {"style", "role", "aria-label", "aria-hidden", "class"}
        style = element.get("style") or ""
        # A sanitizer that knows no variables takes away the colour and nothing else.
        colours = [rule for rule in style.split(";") if "#" in rule]
        assert all(rule.startswith(("color:var(", "border-color:var(")) for rule in colours)
        assert not re.search(r"background:(?!transparent)", style)


def test_hostile_text_is_text(subtests: pytest.Subtests) -> None:
    for text in HOSTILE:
        with subtests.test(text=text):
            calm, found = card(spoilt(FREED, "x")), card(spoilt(FREED, text))
            assert [(e.tag, e.get("style")) for e in found.iter()] == [
                (e.tag, e.get("style")) for e in calm.iter()
            ]
            assert html_of(spoilt(FREED, text)).encode()


def test_a_cell_shows_the_card_and_else_the_text() -> None:
    import gradviz.view.widgets.explanation

    assert FREED._repr_mimebundle_() == {"text/plain": str(FREED), "text/html": html_of(FREED)}
    assert gradviz.view.widgets.explanation is not None
