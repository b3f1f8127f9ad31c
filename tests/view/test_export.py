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

from gradviz.model import GradvizError, Graph, GraphvizNotFoundError, Node, OptionError
from gradviz.view.export import files
from gradviz.view.export.dot import to_dot
from gradviz.view.export.files import save
from gradviz.view.export.mermaid import escaped, to_mermaid
from gradviz.view.export.page import to_page
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import LIGHT
from tests.view.graphs import HOSTILE, chain, every_mark, named, product_and_sum

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


def test_files_are_the_same_bytes_each_time(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for ending in (".svg", ".dot", ".mmd", ".json", ".html"):
        with subtests.test(ending=ending):
            for name in ("a", "b"):
                save(every_mark(), tmp_path / f"{name}{ending}")
            assert (tmp_path / f"a{ending}").read_bytes() == (tmp_path / f"b{ending}").read_bytes()


@pytest.mark.parametrize("name", ["x.gif", "x", "svg"])
def test_unknown_ending_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionError, match=r"\.svg, \.png, \.pdf, \.dot, \.mmd, \.json, \.html"):
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
    assert r"+ (root)\lAddBackward0\l" in dot
    assert "dir=back" in to_dot(product_and_sum(), DrawOptions(engine_arrows=True))
    assert "rankdir=LR" in to_dot(product_and_sum(), DrawOptions("LR"))


TEXT = r"(?:[^\W_]|[ ,.:=()/+\-_·×→…≠Σ∂∅⚠]|\#\d+;|<br/>)*"
SHAPES = r"""\[\["T"\]\]|\(\["T"\]\)|\{\{"T"\}\}|\[/"T"/\]|\["T"\]""".replace("T", TEXT)
NODE = re.compile(rf"  \w+(?:{SHAPES}):::[a-z]+")
LINK = re.compile(rf"""  \w+ (?:-->|-\.-)(?:\|"{TEXT}"\|)? \w+""")
CLASS = re.compile(r"  classDef [a-z]+ fill:#\w+,stroke:#\w+,color:#\w+(?:,stroke-[\w:. -]+)?")


def test_a_mermaid_flowchart_has_boxes_links_and_classes_whatever_the_names(
    subtests: pytest.Subtests,
) -> None:
    for name in [*HOSTILE, "end", "1. _a_ **b**", 'a"]; click n0', "- `x`"]:
        with subtests.test(name=name):
            text = to_mermaid(named(every_mark(), name))
            lines = [line for line in text.splitlines() if not re.fullmatch(r"%% [^{}%]+", line)]
            assert lines.pop(0) == "flowchart TB"
            forms = (NODE, LINK, CLASS)
            assert [line for line in lines if not any(form.fullmatch(line) for form in forms)] == []
            harmless = to_mermaid(named(every_mark(), "x"))
            assert len(text.splitlines()) == len(harmless.splitlines())


def test_a_mermaid_flowchart_has_a_shape_and_a_word_for_each_kind() -> None:
    text = to_mermaid(every_mark())
    for line in (
        'n4(["w #91;leaf#93;<br/>',
        '{{"× #91;modified#93; (root)<br/>MulBackward0<br/>',
        '[/"unbind #91;freed#93; (root)<br/>UnbindBackward0<br/>',
        'n3["exp #91;packed#93; (root)<br/>ExpBackward0<br/>',
        't2(["k<br/>1.0<br/>no gradient"]):::outside',
        "  t2 -.- n0",
        '  n1 -->|"self"| n0',
    ):
        assert line in text
    turned = to_mermaid(product_and_sum(), DrawOptions("LR", engine_arrows=True))
    assert "flowchart RL" in turned
    assert '  n0 -->|"self"| n1' in turned


def test_mermaid_is_given_entities_for_what_it_would_read(subtests: pytest.Subtests) -> None:
    for name, written in [
        ("model.fc_1", "model.fc_1"),
        ("_x__", "#95;x#95;#95;"),
        ("fa:fa-ban", "fa#58;#8288;fa-ban"),
        ("$$x$$", "#36;#8288;#36;#8288;x#36;#8288;#36;#8288;"),
        ("www.x.com", "www#46;x.com"),
        ("12) x", "#49;#50;#41; x"),
        ("ﬂ°°60¶ß", "#64258;#8288;#176;#176;60#182;#8288;#223;"),
        ("%%{init: {}}%%", "#37;#37;#123;init: #123;#125;#125;#37;#37;"),
        ("  a", "#160;#160;a"),
    ]:
        with subtests.test(name=name, written=written):
            assert escaped(name) == written


def test_text_drawings_say_what_is_not_drawn() -> None:
    for to_text, sign in ((to_dot, "// "), (to_mermaid, "%% ")):
        lines = to_text(chain(500)).splitlines()
        assert f"{sign}400 of 500 nodes are drawn: n0 to n399." in lines
    twice = [Node(f"n{i}", "MulBackward0", ((f"n{i + 1}", 0),) * 2) for i in range(300)]
    doubled = Graph.of([*twice, Node("n300", "SinBackward0", (None,))], [("n0", 0)])
    assert "%% This has 600 links" in to_mermaid(doubled)
    assert "maxEdges" not in to_mermaid(chain(20))


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


def test_a_large_png_is_first_less_sharp_and_then_smaller(subtests: pytest.Subtests) -> None:
    for area, scale in [
        (1e6, 2.0),
        (2.5e6, 2.0),
        (5e6, 2**0.5),
        (10e6, 1.0),
        (60e6, 1.0),
        (240e6, 0.5),
    ]:
        with subtests.test(area=area, scale=scale):
            assert files._scale(area) == pytest.approx(scale)
