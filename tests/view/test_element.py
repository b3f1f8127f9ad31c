"""SVG as elements: what stands in them is escaped, and nothing reads SVG or CSS as text."""

from __future__ import annotations

import ast
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import gradviz.view
from gradviz.view.element import Element, all_of, classes_of, style, write, write_lines
from tests.view.graphs import HOSTILE, every_mark, picture

VIEW = Path(gradviz.view.__file__).parent


def test_words_in_an_attribute_and_inside_stay_words(subtests: pytest.Subtests) -> None:
    for words in HOSTILE:
        with subtests.test(words=words):
            element = Element("g", {"aria-label": words}, (Element("text", {}, (words,)), words))
            root = ET.fromstring(write(element))
            assert [one.tag for one in root.iter()] == ["g", "text"]
            assert ([*root.attrib], [*root[0].attrib]) == (["aria-label"], [])
            assert root[0].text == root[0].tail
            assert root.get("aria-label") == (root[0].text or "").replace("\n", " ")


def test_a_style_sheet_cannot_end_its_element() -> None:
    assert write(style('.a>.b{font-family:"x"}')) == '<style>.a>.b{font-family:"x"}</style>'
    with pytest.raises(ValueError, match="could end its element"):
        write(style("</style><script>"))


def test_attributes_keep_their_order_and_lengths_have_one_decimal() -> None:
    element = Element("rect", {"y": 2.0, "x": -0.25, "class": None, "rx": 7.55, "id": ""})
    assert write(element) == '<rect y="2" x="-0.2" rx="7.5" id=""/>'
    assert (element.length("y"), element.length("rx"), element.length("ry")) == (2.0, 7.5, 0.0)
    assert write(element.changed({"y": None, "z": "1"})) == '<rect x="-0.2" rx="7.5" id="" z="1"/>'
    assert write(Element("g", {}, ("",))) == "<g></g>"


def test_elements_are_gone_through_in_the_order_they_are_written() -> None:
    drawn = picture(every_mark())
    order = [one.tag.partition("}")[2] for one in ET.fromstring(write_lines(drawn)).iter()]
    assert [one.tag for one in all_of([drawn])] == order
    assert "gradviz-svg" in classes_of([drawn])
    assert "gradviz-svg" not in classes_of(drawn.inside)


def test_changes_make_another_element() -> None:
    before = Element("g", {"class": "a b"}, ("x",))
    assert before.changed({"class": "c"}).holding(("y",)) == Element("g", {"class": "c"}, ("y",))
    assert before == Element("g", {"class": "a b"}, ("x",))
    assert before.classes == ["a", "b"]


OF_OTHER_TEXT = {
    "documents/report_json.py": "surrogates in JSON",
    "documents/digest.py": "rules that sanitize outputs",
    "documents/graph.py": "surrogates in JSON",
    "export/mermaid.py": "what Mermaid would read as markup in a name",
    "fold_words.py": "numbers in paths of modules",
}
"""Modules of the view with a regular expression, and what it is for."""


def test_no_regular_expression_reads_svg_or_css() -> None:
    found = {
        path.relative_to(VIEW).as_posix()
        for path in VIEW.rglob("*.py")
        for item in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(item, ast.Import) and any(alias.name == "re" for alias in item.names)
    }
    assert found == set(OF_OTHER_TEXT)


def test_only_one_module_writes_tags_of_svg() -> None:
    """Angle brackets in texts of the view belong to HTML or to names in brackets."""
    tags = ("svg", "g", "rect", "path", "text", "tspan", "title", "polygon")
    found = [
        f"{path.name}:{item.lineno} {item.value!r}"
        for path in sorted(VIEW.rglob("*.py"))
        for item in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and item.value.lstrip().startswith(tuple(f"<{tag}{end}" for tag in tags for end in " >"))
    ]
    assert found == []
