from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest

from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.view.documents.graph import graph_document
from gradviz.view.element import Element, write, write_lines
from gradviz.view.graph import highlights
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.highlight_style import OVERLAYS, rules
from gradviz.view.graph.highlights import (
    highlight_legend,
    highlighted,
    highlighted_item,
    mark_rules,
    places_of,
)
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import MARKS
from tests.view.graphs import HOSTILE, every_mark, picture, product_and_sum
from tests.view.recordings import animation_of, product

KINDS: tuple[HighlightKind, ...] = get_args(HighlightKind)
PICTURE = picture(product_and_sum())
TEXT = draw(product_and_sum())


def overlay_svg(drawn: Element, marks: Iterable[Highlight], variables: bool = True) -> str:
    marks = tuple(marks)
    sheet, *others = drawn.inside
    sheet = sheet.holding((*sheet.children, mark_rules(marks, variables=variables)))
    return write_lines(drawn.holding((sheet, *highlighted(others, marks))))


def marked(svg: str, key: str) -> ET.Element:
    """The group that stands for a node, edge, saved tensor or tensor."""
    for element in ET.fromstring(svg).iter():
        if key in ((element.get("id") or "").removeprefix("gv-"), element.get("data-id")):
            return element
    raise AssertionError(f"{key} is not in the picture")


def badges(element: ET.Element) -> list[str]:
    found = [e for e in element if (e.get("class") or "").startswith("gv-badge")]
    return ["".join(badge.itertext()) for badge in found]


def test_every_kind_has_a_look_of_its_own() -> None:
    assert set(OVERLAYS) == set(KINDS)
    assert len({mark.css for mark in OVERLAYS.values()} | set(MARKS)) == len(KINDS) + len(MARKS)
    assert len({mark.word.split()[0] for mark in OVERLAYS.values()}) == len(KINDS)


def test_a_mark_is_a_class_a_glyph_with_word_and_a_heavy_line(subtests: pytest.Subtests) -> None:
    for key in ["n1", "n1.0", "n1.saved.0", "t4"]:
        for kind in KINDS:
            with subtests.test(key=key, kind=kind):
                svg = overlay_svg(PICTURE, [Highlight(key, kind, "line 4 did it")])
                look, element = OVERLAYS[kind], marked(svg, key)
                assert look.css in (element.get("class") or "").split()
                (badge,) = badges(element)
                assert badge == (look.word if key == "n1" else look.word.split()[0])
                (title, *_) = [e.text or "" for e in element if e.tag.endswith("title")]
                assert title.startswith(f"{kind}: line 4 did it")
                if key == "n1":
                    assert (element.get("aria-label") or "").endswith(f", {kind}: line 4 did it")
                rules = svg[: svg.index("</style>")]
                widths = re.findall(rf"\.{look.css}>\.gv-card{{[^}}]*stroke-width:([\d.]+)", rules)
                assert [float(width) > 2 for width in widths] == [True]


def test_nothing_moves_for_a_mark() -> None:
    marks = [
        Highlight(key, kind) for key in ("n0", "n1", "n1.1", "n1.saved.1", "t4") for kind in KINDS
    ]
    svg = overlay_svg(PICTURE, marks)
    bare = re.sub(r'<g class="gv-badge[^"]*">.*?</g>', "", svg)
    bare = re.sub(rf" ({'|'.join(look.css for look in OVERLAYS.values())})\b", "", bare)
    bare = re.sub(rf'(aria-label="[^"]*?)(, ({"|".join(KINDS)}))+"', r'\1"', bare)
    assert bare[bare.index("</style>") :] == TEXT[TEXT.index("</style>") :]


def test_several_marks_stand_side_by_side_each_once() -> None:
    marks = [
        Highlight("n1", "refused"),
        Highlight("n1", "culprit", "a"),
        Highlight("n1", "culprit", "b"),
    ]
    element = marked(overlay_svg(PICTURE, marks), "n1")
    assert badges(element) == ["! culprit", "× refused"]
    boxes = [
        (float(rect.get("x") or 0), float(rect.get("width") or 0))
        for badge in element
        if (badge.get("class") or "").startswith("gv-badge")
        for rect in badge
        if rect.tag.endswith("rect")
    ]
    assert boxes[0][0] + boxes[0][1] <= boxes[1][0]


def test_of_what_is_new_it_is_not_said_that_it_changed() -> None:
    element = marked(
        overlay_svg(PICTURE, [Highlight("n3", "new"), Highlight("t0", "changed")]), "n3"
    )
    assert badges(element) == ["+ new"]


def test_a_leafs_tensor_is_marked_on_its_node() -> None:
    places = {
        key: one for key, one in places_of(PICTURE.inside).items() if "gv-node" in one.classes
    }
    cards = {key: one.text("data-id") for key, one in places.items() if key[0] == "t"}
    assert cards == {"t0": "n3", "t1": "n4", "t2": "n2"}
    assert badges(marked(overlay_svg(PICTURE, [Highlight("t0", "unreached")]), "n3")) == [
        "∅ unreached"
    ]
    wire = graph_document(product_and_sum(), marks=[Highlight("t0", "unreached", "it is cut off")])
    (item,) = [item for item in wire["items"] if item["id"] == "n3"]
    assert item["details"][0] == {"heading": "∅ unreached", "rows": [["why", "it is cut off"]]}


def test_an_entry_that_is_none_is_marked_at_its_stub() -> None:
    svg = overlay_svg(
        picture(every_mark(), DrawOptions(density="full")),
        [Highlight("n0.1", "cut", "detach cut it")],
    )
    (stub,) = [
        e for e in ET.fromstring(svg).iter() if "gv-cut-here" in (e.get("class") or "").split()
    ]
    assert (stub.get("class") or "").split() == ["gv-stub", "gv-cut-here"]
    assert badges(stub) == ["//"]


def test_a_part_that_is_hidden_is_marked_on_its_node_and_what_is_not_there_is_not() -> None:
    hidden = picture(product_and_sum(), DrawOptions.of(hide=["saved"]))
    svg = overlay_svg(hidden, [Highlight("n1.saved.0", "written", "x"), Highlight("n77", "new")])
    assert badges(marked(svg, "n1")) == ["≠ written"]
    assert svg.count('<g class="gv-badge') == 1


def test_without_marks_it_is_the_same_bytes() -> None:
    assert write_lines(PICTURE) == TEXT
    assert graph_document(product_and_sum(), marks=()) == graph_document(product_and_sum())


def test_what_is_not_marked_is_the_same_object_and_what_is_marked_a_new_one() -> None:
    before = [*PICTURE.inside]
    after = highlighted(before, [Highlight("n1.saved.0", "written", "add_ wrote it")])
    changed = [one.text("id") for one, now in zip(before, after, strict=True) if one is not now]
    assert changed == ["gv-n1"]
    assert write_lines(PICTURE) == TEXT
    assert highlighted(before, [Highlight("n77", "new")]) == before


def test_colours_are_variables_where_the_picture_has_them_and_plain_where_not() -> None:
    marks = [Highlight("n1", kind) for kind in KINDS]
    sheet = rules(KINDS)
    used = set(re.findall(r"var\(--gv-([a-z-]+),", sheet))
    for media in ("print", "(forced-colors:active)"):
        block = sheet[sheet.index(f"@media {media}") :]
        assert used == set(re.findall(r"--gv-([a-z-]+):", block[: block.index("\n")]))
    plain = overlay_svg(picture(product_and_sum(), variables=False), marks, variables=False)
    assert "var(" not in plain
    assert "@media" not in plain


def test_steps_of_a_player_are_marked_element_by_element() -> None:
    animation = animation_of(product())
    element = animation.elements["gv-n0"][0]
    assert element is not None
    marks = [Highlight("n0", "culprit", "add_ wrote it"), Highlight("n5", "new")]
    (now,) = highlighted([element], marks)
    assert write(now).count('class="gv-badge gv-culprit-badge"') == 1
    assert "gv-node" in now.classes
    drawn = animation.element(len(animation.changes) - 1)
    whole = overlay_svg(drawn, marks[:1])
    assert badges(marked(whole, "n0")) == ["! culprit"]


def test_the_document_tells_marks_in_legend_details_and_words_to_find() -> None:
    marks = [
        Highlight("n1", "refused", "it needs self at version 0"),
        Highlight("n1.saved.0", "written", "add_ wrote it"),
        Highlight("n1.1", "cut"),
    ]
    wire = graph_document(product_and_sum(), marks=marks, legends={"cut": "// cut by detach"})
    assert [entry["label"] for entry in wire["legend"][:3]] == [
        OVERLAYS["written"].legend,
        OVERLAYS["refused"].legend,
        "// cut by detach",
    ]
    assert wire["legend"][:3] == highlight_legend(marks, {"cut": "// cut by detach"})
    (item,) = [item for item in wire["items"] if item["id"] == "n1"]
    assert item["details"][:2] == [
        {"heading": "× refused", "rows": [["why", "it needs self at version 0"]]},
        {"heading": "≠ written", "rows": [["saved other", "add_ wrote it"]]},
    ]
    assert item["aria"].endswith(", refused: it needs self at version 0")
    assert item["find"].endswith(" refused")
    others = [item for item in wire["items"] if item["id"] != "n1"]
    assert others == [i for i in graph_document(product_and_sum())["items"] if i["id"] != "n1"]


def test_what_is_gone_is_not_counted_as_there() -> None:
    wire = graph_document(
        product_and_sum(), marks=[Highlight("n1", "gone"), Highlight("n1.0", "gone")]
    )
    assert wire["summary"].endswith("; 1 node of these is gone")
    assert list(wire["pictures"]) == [wire["density"], "full"]
    for drawn in wire["pictures"].values():
        assert "; 1 node of these is gone" in drawn[: drawn.index("<style>")]


def test_words_are_data(subtests: pytest.Subtests) -> None:
    for words in HOSTILE:
        with subtests.test(words=words):
            keys = ("n1", "n1.0", "n1.saved.0", "t0", "t4")
            svg = overlay_svg(PICTURE, [Highlight(key, "culprit", words) for key in keys])
            tags = {element.tag for element in ET.fromstring(svg).iter()}
            assert tags == {element.tag for element in ET.fromstring(TEXT).iter()} | {
                "{http://www.w3.org/2000/svg}title"
            }


def test_marks_are_looked_up_and_not_gone_through_for_every_item(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Highlight] = []

    def counted(item: Any, marks: Any) -> Any:
        seen.extend(marks)
        return highlighted_item(item, marks)

    monkeypatch.setattr(highlights, "highlighted_item", counted)
    wire = graph_document(product_and_sum())
    marks = [Highlight(item["id"], "changed", "state") for item in wire["items"]]
    graph_document(product_and_sum(), marks=marks)
    assert len(seen) == len(marks) > 3


def test_what_keeps_most_is_marked_on_the_box_that_stands_for_it() -> None:
    import torch

    import gradviz

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 300), torch.nn.ReLU(), torch.nn.Linear(300, 3))
    report = gradviz.memory(model(torch.ones(40, 2)).sum(), model)
    assert "most of it in model.2" in report.findings.title
    plain = gradviz.show(report.graph)._still
    assert report._drawn.count("■ most") >= 1
    assert report._drawn.count("gv-node") == plain.count("gv-node")
