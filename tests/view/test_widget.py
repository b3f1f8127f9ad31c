from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

import gradviz
from gradviz.model import UnknownNodeError
from gradviz.view import style
from gradviz.view.documents.digest import MIME as DIGEST
from gradviz.view.documents.graph import graph_document
from gradviz.view.widgets.base import STATIC, GraphWidget
from tests.programs import named
from tests.view.graphs import chain

ROOT = Path(__file__).resolve().parents[2]
WIRE: dict[str, Any] = json.loads(
    (ROOT / "widgets" / "tests" / "fixtures" / "loss.json").read_text("utf-8")
)
VIEW = "application/vnd.jupyter.widget-view+json"


def bundle_of(widget: GraphWidget) -> dict[str, Any]:
    data, _metadata = widget._repr_mimebundle_()
    assert isinstance(data, dict)
    return data


def test_the_bundle_serves_notebooks_terminals_and_readers_without_a_kernel() -> None:
    bundle = bundle_of(GraphWidget(wire=WIRE))
    assert set(bundle) == {VIEW, DIGEST, "text/html", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"] == WIRE["text"]
    assert bundle["image/svg+xml"] == WIRE["pictures"]["normal"]
    encoded = re.fullmatch(
        r'<img alt="([^"]*)" style="[^"]*" src="data:image/svg\+xml;base64,([^"]*)">',
        bundle["text/html"],
    )
    assert encoded is not None
    assert encoded[1] == WIRE["summary"]
    assert base64.b64decode(encoded[2]).decode() == WIRE["pictures"]["normal"]


def test_the_bundle_is_the_same_bytes_apart_from_the_model_id() -> None:
    bundles = [bundle_of(GraphWidget(wire=WIRE)) for _ in range(2)]
    models = {bundle.pop(VIEW)["model_id"] for bundle in bundles}
    assert len(models) == 2
    assert bundles[0] == bundles[1]


def test_no_form_of_the_widget_shows_an_address() -> None:
    widget = GraphWidget(wire=WIRE)
    shown = [repr(widget), str(widget), repr(GraphWidget())]
    shown += [str(value) for mime, value in bundle_of(widget).items() if mime != VIEW]
    for text in shown:
        assert not re.search(r"\b0x[0-9a-f]{6,}", text)
        assert widget.model_id not in text


def test_words_in_the_image_are_no_markup() -> None:
    summary = '"><script>alert(1)</script>'
    html = bundle_of(GraphWidget(wire={**WIRE, "summary": summary}))["text/html"]
    assert "<script" not in html
    assert html.count('"') == 6


def test_a_lone_surrogate_does_not_stop_the_bundle() -> None:
    bundle = bundle_of(GraphWidget(wire={**WIRE, "pictures": {"normal": "<svg>\ud800</svg>"}}))
    assert "data:image/svg+xml" in bundle["text/html"]


def test_a_widget_without_a_graph_has_a_bundle_too() -> None:
    bundle = bundle_of(GraphWidget())
    assert set(bundle) == {VIEW, "text/plain"}


@pytest.mark.parametrize("chosen", ["n0", "t2", ""])
def test_nodes_and_tensors_can_be_selected(chosen: str) -> None:
    widget = GraphWidget(wire=WIRE, selected=chosen)
    assert widget.selected == chosen


def test_selecting_what_is_not_there_lists_what_is() -> None:
    widget = GraphWidget(wire=WIRE, selected="n1")
    with pytest.raises(UnknownNodeError, match=r"no node or tensor 'n99'.*it has: n0, n1, n2"):
        widget.selected = "n99"
    assert widget.selected == "n1"


def test_a_new_graph_keeps_the_selection_only_if_it_has_it() -> None:
    widget = GraphWidget(wire=WIRE, selected="n4")
    widget.wire = {**WIRE, "title": "again"}
    assert widget.selected == "n4"
    widget.wire = {**WIRE, "items": [], "outline": {"columns": [], "rows": []}}
    assert widget.selected == ""


@pytest.mark.parametrize(("trait", "value"), [("theme", "pink"), ("height", -1), ("wire", [])])
def test_a_trait_refuses_what_it_cannot_mean(trait: str, value: object) -> None:
    with pytest.raises(gradviz.OptionError):
        GraphWidget(**{trait: value})


def test_a_selection_made_in_the_browser_arrives() -> None:
    widget = GraphWidget(wire=WIRE)
    seen: list[str] = []
    widget.observe(lambda change: seen.append(change["new"]), "selected")
    content = {"data": {"method": "update", "state": {"selected": "n2"}, "buffer_paths": []}}
    widget._handle_msg({"content": content, "buffers": []})
    assert seen == ["n2"]


def test_what_is_sent_of_a_graph_is_small_and_says_all_of_it() -> None:
    wire = graph_document(chain(50))
    widget = GraphWidget(wire=wire)
    state = widget.get_state()
    code = {"_esm", "_css", "_front_end"}
    assert len(json.dumps({k: v for k, v in state.items() if k not in code})) < 40_000
    assert widget.wire == wire
    assert list(state["wire"]) == ["format", "deflate"]
    assert json.loads(zlib.decompress(base64.b64decode(state["wire"]["deflate"]))) == wire
    other = GraphWidget()
    other.set_state({"wire": state["wire"]})
    assert other.wire == wire


def test_what_is_sent_of_a_transformer_layer_is_small() -> None:
    built = named("transformer").build()
    picture = gradviz.show(*built.outputs, names=built.names)
    # All widgets share the code and the style sheet, whatever they show.
    own = {k: v for k, v in picture.get_state().items() if k not in ("_esm", "_css", "_front_end")}
    assert len(picture.graph) > 50
    assert len(json.dumps(own).encode()) < 60_000  # three densities


def test_the_same_graph_is_sent_as_the_same_bytes() -> None:
    states = [GraphWidget(wire=json.loads(json.dumps(WIRE))).get_state("wire") for _ in range(2)]
    assert states[0] == states[1]


@pytest.mark.parametrize("wire", [WIRE, {}, {"format": 1, "svg": "<svg>\ud800 \u2202 \0</svg>"}])
def test_nothing_is_lost_on_the_way(wire: dict[str, Any]) -> None:
    other = GraphWidget()
    other.set_state(GraphWidget(wire=wire).get_state("wire"))
    assert other.wire == wire


def test_a_picture_that_is_not_compressed_is_taken_too() -> None:
    widget = GraphWidget()
    widget.set_state({"wire": WIRE})
    assert widget.wire == WIRE


@pytest.mark.parametrize(
    ("rule", "colours"),
    [(".gradviz-root", style.LIGHT), (".gradviz-root[data-theme=dark]", style.DARK)],
    ids=["light", "dark"],
)
def test_the_stylesheet_has_the_colours_of_the_palette(rule: str, colours: dict[str, str]) -> None:
    sheet = (STATIC / "widget.css").read_text("utf-8")
    [block] = re.findall(rf"(?:^|}}){re.escape(rule)}{{([^}}]*--gv-[^}}]*)}}", sheet)
    assert dict(re.findall(r"--gv-([a-z-]+): ?(#\w+)", block)) == colours


def test_the_built_module_imports_and_fetches_nothing_and_can_be_inlined() -> None:
    for name in ("widget.js", "widget.css"):
        text = (STATIC / name).read_text("utf-8")
        addresses = set(re.findall(r"https?:[^\"'`) ]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        loads = r"</script|</style|\bimport[ ({*]|\bfetch\(|eval\(|XMLHttpRequest|WebSocket|url\(h"
        assert not re.search(loads, text)
    # It travels with each picture: there is no room for a layout engine or a library of widgets.
    assert len((STATIC / "widget.js").read_bytes()) < 195_000
