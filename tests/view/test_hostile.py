from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from gradviz.model import Graph
from gradviz.view.documents.graph import graph_document, graph_json
from gradviz.view.export.dot import to_dot
from gradviz.view.export.page import to_page
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.layout_program import run_dot
from gradviz.view.outlines.graph import outline
from tests.view.graphs import HOSTILE, every_mark, named, product_and_sum

GRAPHS = {"product": product_and_sum, "every mark": every_mark}
ELEMENTS = {"svg", "style", "g", "title", "rect", "path", "polygon", "text", "tspan"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A graph in which everything has a hostile name, in every form that a reader gets."""

    graph: Graph
    svg: str
    page: str
    dot: str
    outline: str
    wire: dict[str, Any]
    json: str


@pytest.fixture(scope="module")
def plain() -> tuple[str, str]:
    """Drawing and page of a graph with plain names."""
    return draw(product_and_sum()), to_page(product_and_sum())


@pytest.mark.parametrize("make", GRAPHS.values(), ids=list(GRAPHS))
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_is_text_in_every_form(
    make: Callable[[], Graph], name: str, plain: tuple[str, str]
) -> None:
    rendered = render(named(make(), name))
    assert_svg_holds_drawing_elements_and_its_own_style(rendered.svg, plain[0])
    assert_page_has_its_own_scripts_only(rendered.page, plain[1])
    assert_dot_has_one_statement_per_card_and_link(rendered)
    texts = (rendered.svg, rendered.outline, rendered.dot, rendered.page, rendered.json)
    for text in (*texts, *strings(rendered.wire)):
        assert text.encode().decode() == text
    words = strings({**rendered.wire, "json": ""})
    for text in (rendered.svg, rendered.outline, *words):
        found = {unicodedata.category(sign) for sign in set(text) - set("\n\u2068\u2069")}
        assert not found & {"Cc", "Cf", "Cs", "Zl", "Zp"}, "no control or direction character"


def render(graph: Graph) -> Rendered:
    return Rendered(
        graph,
        draw(graph),
        to_page(graph),
        to_dot(graph),
        outline(graph),
        graph_document(graph),
        graph_json(graph),
    )


def assert_svg_holds_drawing_elements_and_its_own_style(svg: str, plain: str) -> None:
    elements = list(ET.fromstring(svg).iter())
    for element in elements:
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        assert not [key for key in element.attrib if key.startswith("on") or "href" in key]
    styles = [element.text for element in elements if element.tag.endswith("}style")]
    assert styles == [e.text for e in ET.fromstring(plain).iter() if e.tag.endswith("}style")]
    assert len(styles) == 1


class Page(HTMLParser):
    """Collects elements, attributes and the text of each script element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def assert_page_has_its_own_scripts_only(text: str, plain: str) -> None:
    own, page = Page(plain), Page(text)
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts == [attributes for tag, attributes in own.elements if tag == "script"]
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in own.elements} | ELEMENTS
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]


def assert_dot_has_one_statement_per_card_and_link(rendered: Rendered) -> None:
    harmless = to_dot(named(rendered.graph, "x"))
    assert len(rendered.dot.splitlines()) == len(harmless.splitlines())
    assert "label=<" not in rendered.dot


@pytest.mark.dot
@pytest.mark.skipif(not shutil.which("dot"), reason="the program dot is not installed")
def test_dot_program_reads_the_names_as_text(subtests: pytest.Subtests) -> None:
    for make in GRAPHS.values():
        for name in HOSTILE:
            with subtests.test(name=name):
                graph = named(make(), name)
                found = ET.fromstring(run_dot(to_dot(graph), "svg"))
                titles = {e.text for e in found.iter() if e.tag.endswith("}title")}
                assert {node.id for node in graph.nodes} <= titles


def strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        yield from strings([*data, *data.values()])
    elif isinstance(data, (list, tuple)):
        for item in data:
            yield from strings(item)
