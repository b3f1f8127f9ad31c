from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.teach.run_diff import LEGENDS, RunDiff, run_diff
from gradviz.view.documents.graph import graph_document
from gradviz.view.element import write_lines
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.highlight_style import OVERLAYS
from tests.view.graphs import picture


def graph_of(
    a: float = 2.0,
    b_requires_grad: bool = True,
    detach: bool = False,
    retain_grad: bool = False,
    hook: bool = False,
    exp: bool = False,
    backward: bool = False,
    add_: bool = False,
) -> gradviz.Graph:
    """The graph of (a * b) + c, in many variants."""
    tensors = {
        "a": torch.tensor(a, requires_grad=True),
        "b": torch.tensor(3.0, requires_grad=b_requires_grad),
        "c": torch.tensor(1.0, requires_grad=True),
    }
    y = tensors["a"] * tensors["b"]
    if detach:
        y = y.detach()
    if retain_grad:
        y.retain_grad()
    if hook:
        y.register_hook(double)
    out = y + tensors["c"]
    if exp:
        out = out.exp()
    if add_:
        with torch.no_grad():
            tensors["b"].add_(1)
    if backward:
        out.backward()
    return gradviz.snapshot(out, names={**tensors, "y": y, "out": out})


def double(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * 2


BEFORE = graph_of()


def test_the_same_program_leaves_nothing_to_tell() -> None:
    changes = run_diff(BEFORE, graph_of())
    assert not changes
    assert changes.marks == ()


def test_a_new_leaf_is_told_with_the_edge_to_it_and_what_is_saved_for_it() -> None:
    changes = run_diff(graph_of(b_requires_grad=False), BEFORE)
    assert changes.sentences == [
        "new: n4 leaf b",
        "n1 MulBackward0: other leads to None → leaf b; saved self nothing → held v0 a",
        "b: requires_grad False → True",
    ]
    saved = BEFORE["n1"].saved
    place = next(i for i, slot in enumerate(saved) if slot.name == "self")
    b = BEFORE.tensor("b").id
    assert {(mark.id, mark.kind) for mark in changes.marks} == {
        ("n4", "new"),
        ("n1.1", "new"),
        ("n1", "changed"),
        (f"n1.saved.{place}", "new"),
        (b, "changed"),
    }


def test_what_is_gone_is_told() -> None:
    changes = run_diff(BEFORE, graph_of(detach=True))
    assert changes.sentences[:4] == [
        "gone: MulBackward0",
        "gone: leaf a",
        "gone: leaf b",
        "n0 AddBackward0: self leads to MulBackward0 → None",
    ]
    assert "new" not in {mark.kind for mark in changes.marks}


def test_a_change_is_told_in_a_sentence(subtests: pytest.Subtests) -> None:
    for changed, sentence in [
        (graph_of(hook=True), "y: hooks none → hook double"),
        (graph_of(retain_grad=True), "y: retains_grad False → True"),
        (graph_of(a=2.5), "a: values 2.0 → 2.5"),
        (graph_of(backward=True), "a: .grad None → 3.0"),
        (
            graph_of(backward=True),
            "n1 MulBackward0: state holds → freed; saved other held v0 b → freed; "
            "saved self held v0 a → freed",
        ),
        (graph_of(add_=True), "b: version 0 → 1; values 3.0 → 4.0"),
        (
            graph_of(add_=True),
            "n1 MulBackward0: saved other held v0 b → modified ⚠ saved v0, now v1 b",
        ),
        (graph_of(exp=True), "new: n0 ExpBackward0"),
        (graph_of(exp=True), "n1 AddBackward0: root output 0 → none"),
    ]:
        with subtests.test(changed=changed, sentence=sentence):
            assert sentence in run_diff(BEFORE, changed).sentences


def test_whatever_is_different_is_told_in_both_directions() -> None:
    variants = [
        graph_of(**{option: True})
        for option in ("detach", "retain_grad", "hook", "exp", "backward", "add_")
    ]
    for variant in variants:
        assert run_diff(BEFORE, variant)
        assert run_diff(variant, BEFORE)
        marks = run_diff(BEFORE, variant).marks
        assert {mark.id for mark in marks} <= known_places(variant)


def known_places(graph: gradviz.Graph) -> set[str]:
    edges = {f"{edge.source}.{edge.slot}" for edge in graph.edges}
    saved = {f"{n.id}.saved.{i}" for n in graph.nodes for i in range(len(n.saved))}
    return edges | saved | {n.id for n in graph.nodes} | {t.id for t in graph.tensors}


def test_an_edge_to_another_node_of_the_same_name_says_another() -> None:
    def chain(length: int) -> gradviz.Graph:
        x = torch.tensor(1.0, requires_grad=True)
        out = x
        for _ in range(length):
            out = out.sin()
        return gradviz.snapshot(out, names={"x": x, "out": out})

    assert run_diff(chain(2), chain(3)).sentences[:2] == [
        "new: n1 SinBackward0",
        "n0 SinBackward0: self leads to SinBackward0 → another SinBackward0; "
        "values of saved self 0.8415 → 0.7456",
    ]


def test_what_is_marked_is_drawn_with_class_glyph_and_word_and_nothing_moves() -> None:
    after = graph_of(retain_grad=True, backward=True)
    changes = run_diff(graph_of(b_requires_grad=False), after)
    plain = draw(after)
    svg = write_lines(picture(after, marks=changes.marks))
    assert {mark.kind for mark in changes.marks} == {"new", "changed"}
    for kind in ("new", "changed"):
        assert svg.count(OVERLAYS[kind].css) > 1
        assert f">{OVERLAYS[kind].word}</text>" in svg
    bare = re.sub(r'<g class="gv-badge">.*?</g>| gv-(new|changed)\b', "", svg)
    bare = re.sub(r'(aria-label="[^"]*?)(, (new|changed)(: [^",]*)?)+"', r'\1"', bare)
    bare = re.sub(r"<title>(?:(?:new|changed): [^<]*?(?:\n|(?=</title>)))+", "<title>", bare)
    bare = bare.replace("<title></title>", "")
    assert bare[bare.index("</style>") :] == plain[plain.index("</style>") :]


def test_without_changes_the_picture_is_the_same_bytes() -> None:
    assert not RunDiff()
    assert graph_document(BEFORE, marks=RunDiff().marks, legends=LEGENDS) == graph_document(BEFORE)


def test_the_document_tells_changes_in_legend_and_details() -> None:
    after = graph_of(backward=True)
    wire = graph_document(after, marks=run_diff(BEFORE, after).marks, legends=LEGENDS)
    assert wire["legend"][0] == {
        "class": "gv-changed",
        "label": "Δ changed since the run before",
    }
    node = next(item for item in wire["items"] if item["id"] == "n1")
    assert node["aria"].endswith(", changed")
    assert node["details"][0]["heading"] == "Δ changed"
    assert ["saved self", "held v0 a → freed"] in node["details"][0]["rows"]


def test_names_are_data_in_marks_too() -> None:
    hostile = '"><script>alert(1)</script>'
    x = torch.tensor(1.0, requires_grad=True)
    before = gradviz.snapshot(x * 2, names={hostile: x})
    out = x * 2
    out.backward()
    after = gradviz.snapshot(out, names={hostile: x})
    marks = run_diff(before, after).marks
    svg = write_lines(picture(after, marks=marks))
    assert "<script" not in svg
    ET.fromstring(svg)
