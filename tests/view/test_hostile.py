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


@pytest.fixture(scope="module", params=list(GRAPHS.values()), ids=list(GRAPHS))
def make(request: pytest.FixtureRequest) -> Callable[[], Graph]:
    made: Callable[[], Graph] = request.param
    return made


@pytest.fixture(scope="module", params=HOSTILE, ids=range(len(HOSTILE)))
def rendered(request: pytest.FixtureRequest, make: Callable[[], Graph]) -> Rendered:
    graph = named(make(), str(request.param))
    return Rendered(
        graph,
        draw(graph),
        to_page(graph),
        to_dot(graph),
        outline(graph),
        graph_document(graph),
        graph_json(graph),
    )


@pytest.fixture(scope="module")
def plain() -> tuple[str, str]:
    """Drawing and page of a graph with plain names."""
    return draw(product_and_sum()), to_page(product_and_sum())


def test_svg_holds_drawing_elements_only(rendered: Rendered) -> None:
    root = ET.fromstring(rendered.svg)
    for element in root.iter():
        assert element.tag.removeprefix("{http://www.w3.org/2000/svg}") in ELEMENTS
        assert not [key for key in element.attrib if key.startswith("on") or "href" in key]
    assert len([e for e in root.iter() if e.tag.endswith("}style")]) == 1


def test_style_of_the_svg_is_not_touched(rendered: Rendered, plain: tuple[str, str]) -> None:
    def style(svg: str) -> str | None:
        return next(e.text for e in ET.fromstring(svg).iter() if e.tag.endswith("}style"))

    assert style(rendered.svg) == style(plain[0])


class Page(HTMLParser):
    """Collects elements, attributes and the text of each script element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))


def test_page_has_its_own_scripts_only(rendered: Rendered, plain: tuple[str, str]) -> None:
    own, page = Page(plain[1]), Page(rendered.page)
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts == [attributes for tag, attributes in own.elements if tag == "script"]
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in own.elements} | ELEMENTS
    for _, attributes in page.elements:
        assert not [key for key in attributes if key.startswith("on")]


def test_dot_has_one_statement_per_card_and_link(rendered: Rendered) -> None:
    harmless = to_dot(named(rendered.graph, "x"))
    assert len(rendered.dot.splitlines()) == len(harmless.splitlines())
    assert "label=<" not in rendered.dot


@pytest.mark.dot
@pytest.mark.skipif(not shutil.which("dot"), reason="the program dot is not installed")
def test_dot_program_reads_the_names_as_text(rendered: Rendered) -> None:
    found = ET.fromstring(run_dot(rendered.dot, "svg"))
    titles = {e.text for e in found.iter() if e.tag.endswith("}title")}
    assert {node.id for node in rendered.graph.nodes} <= titles


def test_everything_can_be_encoded_as_utf8(rendered: Rendered) -> None:
    texts = (rendered.svg, rendered.outline, rendered.dot, rendered.page, rendered.json)
    for text in (*texts, *strings(rendered.wire)):
        assert text.encode().decode() == text


def test_no_control_or_direction_character_reaches_the_reader(rendered: Rendered) -> None:
    words = strings({**rendered.wire, "json": ""})
    for text in (rendered.svg, rendered.outline, *words):
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
