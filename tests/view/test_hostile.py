from __future__ import annotations

import shutil
import unicodedata
from collections.abc import Iterator
from html.parser import HTMLParser
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


@pytest.fixture(params=HOSTILE, ids=range(len(HOSTILE)))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=list(GRAPHS.values()), ids=list(GRAPHS))
def graph(request: pytest.FixtureRequest, name: str) -> Graph:
    return named(request.param(), name)


def test_svg_holds_drawing_elements_only(graph: Graph) -> None:
    root = ET.fromstring(draw(graph))
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        assert not [key for key in element.attrib if key.startswith("on") or "href" in key]
    assert len([e for e in root.iter() if e.tag.endswith("}style")]) == 1


def test_style_of_the_svg_is_not_touched(graph: Graph, name: str) -> None:
    def style(svg: str) -> str | None:
        return next(e.text for e in ET.fromstring(svg).iter() if e.tag.endswith("}style"))

    assert style(draw(graph)) == style(draw(product_and_sum()))


class Page(HTMLParser):
    """Collects elements, attributes and the text of each script element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_page_has_its_own_scripts_only(graph: Graph) -> None:
    plain, page = Page(to_page(product_and_sum())), Page(to_page(graph))
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts == [attributes for tag, attributes in plain.elements if tag == "script"]
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in plain.elements} | ELEMENTS
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]


def test_dot_has_one_statement_per_card_and_link(graph: Graph) -> None:
    dot = to_dot(graph)
    assert len(dot.splitlines()) == len(to_dot(named(graph, "x")).splitlines())
    assert "label=<" not in dot


@pytest.mark.dot
@pytest.mark.skipif(not shutil.which("dot"), reason="the program dot is not installed")
def test_dot_program_reads_the_names_as_text(graph: Graph) -> None:
    found = ET.fromstring(run_dot(to_dot(graph), "svg"))
    titles = {e.text for e in found.iter() if e.tag.endswith("}title")}
    assert {node.id for node in graph.nodes} <= titles


def test_everything_can_be_encoded_as_utf8(graph: Graph) -> None:
    texts = (draw(graph), outline(graph), to_dot(graph), to_page(graph), graph_json(graph))
    for text in (*texts, *strings(graph_document(graph))):
        assert text.encode().decode() == text


def test_no_control_or_direction_character_reaches_the_reader(graph: Graph) -> None:
    for text in (draw(graph), outline(graph), *strings({**graph_document(graph), "json": ""})):
        found = {unicodedata.category(sign) for sign in set(text) - set("\n\u2068\u2069")}
        assert not found & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def strings(data: object) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        yield from strings([*data, *data.values()])
    elif isinstance(data, (list, tuple)):
        for item in data:
            yield from strings(item)
