from __future__ import annotations

import json
import re
import shutil
import struct
import sys
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gradviz.model import GradvizError, Graph, GraphvizNotFoundError, OptionError
from gradviz.view.export import files
from gradviz.view.export.dot import to_dot
from gradviz.view.export.files import WRITERS, save
from gradviz.view.export.page import to_page
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import LIGHT
from tests.view.graphs import chain, every_mark, product_and_sum

has_dot = pytest.mark.skipif(not shutil.which("dot"), reason="the program dot is not installed")
has_png = pytest.mark.skipif(not find_spec("resvg_py"), reason="resvg-py is not installed")


def test_svg_is_the_drawing(tmp_path: Path) -> None:
    save(product_and_sum(), tmp_path / "x.svg", DrawOptions.of("LR", hide=["values"]))
    assert (tmp_path / "x.svg").read_text("utf-8") == draw(
        product_and_sum(), DrawOptions.of("LR", hide=["values"])
    )


def test_json_reads_back(tmp_path: Path) -> None:
    save(every_mark(), tmp_path / "x.JSON")
    assert Graph.from_json((tmp_path / "x.JSON").read_text("utf-8")) == every_mark()


def test_what_holds_a_graph_is_saved_as_the_graph(tmp_path: Path) -> None:
    class Picture:
        graph = product_and_sum()

    save(Picture(), tmp_path / "x.json")
    assert Graph.from_json((tmp_path / "x.json").read_text("utf-8")) == product_and_sum()


@pytest.mark.parametrize("ending", [e for e in WRITERS if e not in (".pdf", ".png")])
def test_files_are_the_same_bytes_each_time(tmp_path: Path, ending: str) -> None:
    for name in ("a", "b"):
        save(every_mark(), tmp_path / f"{name}{ending}")
    assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


@pytest.mark.parametrize("name", ["x.gif", "x", "svg"])
def test_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"\.svg, \.png, \.pdf, \.dot, \.json, \.html"):
        save(product_and_sum(), tmp_path / name)


@has_png
def test_png_is_twice_the_size_and_has_text_without_any_font_of_the_machine(tmp_path: Path) -> None:
    save(product_and_sum(), tmp_path / "with.png")
    data = (tmp_path / "with.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    svg = ET.fromstring(draw(product_and_sum()))
    assert (width, height) == pytest.approx(
        [2 * float(svg.get(side, "")) for side in ("width", "height")], abs=2
    )
    less = DrawOptions.of(hide=["values", "formula", "grad"])
    save(product_and_sum(), tmp_path / "less.png", less)
    assert len((tmp_path / "less.png").read_bytes()) < 0.9 * len(data)


@has_png
def test_png_of_a_large_graph_is_made_smaller(tmp_path: Path) -> None:
    save(chain(400), tmp_path / "x.png")
    width, height = struct.unpack(">II", (tmp_path / "x.png").read_bytes()[16:24])
    assert width * height < 61_000_000


def test_png_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(GradvizError, match="pip install resvg-py"):
        save(product_and_sum(), tmp_path / "x.png")


def test_pdf_without_dot_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraphvizNotFoundError, match="apt-get install graphviz"):
        save(product_and_sum(), tmp_path / "x.pdf")


@pytest.mark.dot
@has_dot
def test_pdf_comes_from_dot(tmp_path: Path) -> None:
    save(every_mark(), tmp_path / "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.dot
@has_dot
def test_program_dot_can_place_the_boxes() -> None:
    ids = {
        e.get("data-id")
        for e in ET.fromstring(draw(every_mark(), DrawOptions(engine="dot"))).iter()
    }
    assert ids == {e.get("data-id") for e in ET.fromstring(draw(every_mark())).iter()}


def test_dot_has_the_cards_and_the_links() -> None:
    dot = to_dot(product_and_sum())
    statements = re.findall(r"^\t(n\d+) -> (n\d+) \[headlabel=(\w+)\]$", dot, re.M)
    assert statements == [
        ("n1", "n0", "self"),
        ("n2", "n0", "other"),
        ("n3", "n1", "self"),
        ("n4", "n1", "other"),
    ]
    assert r"AddBackward0 (root)\l" in dot
    assert "dir=back" in to_dot(product_and_sum(), DrawOptions(engine_arrows=True))
    assert "rankdir=LR" in to_dot(product_and_sum(), DrawOptions("LR"))


def test_page_is_one_file_that_loads_nothing() -> None:
    page = to_page(product_and_sum())
    without_code = re.sub(r'(?s)<script type="application/json".*?</script>', "", page)
    assert not re.findall(
        r"""(?:src|href)\s*=|url\(|@import|https?://(?!www\.w3\.org)""", without_code
    )
    assert "default-src 'none'" in page


def test_page_has_picture_and_outline_without_scripts() -> None:
    page = to_page(product_and_sum())
    assert draw(product_and_sum()) in page
    assert "gradient to self: grad × other" in page


def test_page_carries_state_and_front_end() -> None:
    page = to_page(product_and_sum(), DrawOptions(engine_arrows=True))
    state = json.loads(re.findall(r'id="gradviz-state">(.*?)</script>', page, re.S)[0])
    assert state["engine_arrows"] is True
    assert state["wire"]["items"][0]["id"] == "n0"
    code = json.loads(re.findall(r'id="gradviz-code">(.*?)</script>', page, re.S)[0])
    assert "render" in code


def test_page_without_front_end_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradviz.view.export.page.STATIC", tmp_path)
    with pytest.raises(GradvizError, match="make build"):
        to_page(product_and_sum())


def test_page_follows_the_theme() -> None:
    page = to_page(product_and_sum())
    assert "prefers-color-scheme: dark" in page
    assert LIGHT["card"] in page


@pytest.mark.parametrize(
    ("area", "scale"),
    [(1e6, 2.0), (2.5e6, 2.0), (5e6, 2**0.5), (10e6, 1.0), (60e6, 1.0), (240e6, 0.5)],
)
def test_a_large_png_is_first_less_sharp_and_then_smaller(area: float, scale: float) -> None:
    assert files._scale(area) == pytest.approx(scale)
