from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.model.memory import (
    KIND_WORDS,
    KINDS,
    Curve,
    CurvePoint,
    HeldStorage,
    Holder,
    Memory,
    UnknownSave,
)
from gradviz.view.export.files import svg_to_png
from gradviz.view.figures import curve as curves
from gradviz.view.figures import icicle as icicles
from gradviz.view.figures.curve_runs import LEFT, RIGHT, WIDTH, Grid
from gradviz.view.figures.icicle import HEAD, SMALLEST, place
from gradviz.view.figures.icicle_parts import parts_of
from gradviz.view.figures.memory import figures_of
from gradviz.view.text import EM, cells
from tests.view.graphs import HOSTILE

NS = "{http://www.w3.org/2000/svg}"


def icicle(memory: Memory, variables: bool = True) -> str:
    return icicles.icicle(memory).svg(variables=variables)


def curve(memory: Memory, variables: bool = True) -> str:
    figure = curves.curve(memory)
    assert figure is not None
    return figure.svg(variables=variables)


def made_of(storages: list[HeldStorage], **facts: Any) -> Memory:
    """A count in which each node is in a module of its own number modulo three."""
    keys = dict.fromkeys(node for one in storages for node in one.nodes)
    nodes = tuple(holder(key, "ExpBackward0", storages, (key,)) for key in keys)
    groups: dict[str, list[str]] = {}
    for key in keys:
        groups.setdefault(f"model.layers.{int(key[1:]) % 3}", []).append(key)
    modules = tuple(holder(name, name, storages, tuple(inside)) for name, inside in groups.items())
    defaults: dict[str, Any] = {"modules": modules, "nodes": nodes}
    return Memory("memory", (), (), None, tuple(storages), **(defaults | facts))


def holder(key: str, name: str, storages: list[HeldStorage], nodes: tuple[str, ...]) -> Holder:
    kept = [one for one in storages if set(one.nodes) & set(nodes)]
    own = [one.nbytes for one in kept if one.owner in nodes]
    return Holder(key, name, sum(n.nbytes for n in kept), sum(own), 0, (0, 0, 0, 0), 1, nodes)


def held(number: int, nbytes: int, kind: Any = "activation", name: str = "") -> HeldStorage:
    return HeldStorage(f"s{number}", nbytes, kind, name, ((f"n{number}", "result"),))


@st.composite
def memories(draw: st.DrawFn) -> Memory:
    sizes = draw(st.lists(st.integers(0, 10**9), min_size=1, max_size=30))
    kinds = st.sampled_from(KINDS)
    storages = [
        HeldStorage(
            f"s{i}", size, draw(kinds), "", ((f"n{draw(st.integers(0, 6))}", f"tensors[{i}]"),)
        )
        for i, size in enumerate(sizes)
    ]
    return made_of(storages)


# --- boxes ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(memories(), st.booleans())
def test_areas_are_shares_of_the_bytes_and_nothing_overlaps(memory: Memory, bare: bool) -> None:
    if bare:
        memory = made_of(list(memory.storages), modules=())
    total, levels = parts_of(memory)
    boxes, widths = place(total, levels)
    assert len(widths) == (4 if bare else 5)
    if not memory.total:
        assert boxes == []
        return
    scale = boxes[0].height / memory.total
    for box in boxes:
        assert abs(box.height - box.part.nbytes * scale) <= 0.11
    columns: dict[float, list[Any]] = {}
    for box in boxes:
        columns.setdefault(box.x, []).append(box)
    for column in columns.values():
        for above, below in pairwise(column):
            assert round(above.y + above.height, 1) <= below.y
        assert round(sum(box.height for box in column), 1) <= boxes[0].height + 0.01
        assert column[0].y >= HEAD
    # Only small boxes are drawn as one, and the first three columns leave no byte out.
    assert sum(box.part.nbytes for box in boxes if box.x == boxes[1].x) == memory.total
    assert all("gv-rest" not in box.part.kind or box.part.parts == [] for box in boxes)


def test_small_parts_are_one_box_that_says_how_many() -> None:
    memory = made_of([held(0, 10**6), *(held(3 * i, 10) for i in range(1, 40))], modules=())
    total, levels = parts_of(memory)
    boxes, _ = place(total, levels)
    (rest,) = [box for box in boxes if "gv-rest" in box.part.kind]
    assert (rest.part.label, rest.part.nbytes) == ("39 more", 390)
    assert rest.height < SMALLEST


def test_two_saves_of_one_node_with_the_same_words_are_two_boxes() -> None:
    twins = [HeldStorage(f"s{i}", 100, "activation", "x", (("n0", "self"),)) for i in (0, 1)]
    total, levels = parts_of(made_of(twins))
    assert [box.part.label for box in place(total, levels)[0]][-2:] == ["self = x", "self = x"]


# --- text -----------------------------------------------------------------------------------


def groups(svg: str) -> Iterator[ET.Element]:
    yield from ET.fromstring(svg).iter(f"{NS}g")


def number(item: ET.Element, name: str) -> float:
    return float(item.get(name, "0"))


def right_of(text: ET.Element) -> tuple[float, float]:
    wide = cells(text.text or "") * EM * 11
    x = number(text, "x")
    return (x - wide, x) if text.get("text-anchor") == "end" else (x, x + wide)


def assert_labels_are_inside(svg: str) -> int:
    labels = 0
    width, height = map(float, svg.split('viewBox="0 0 ')[1].split('"')[0].split())
    for group in groups(svg):
        (box,) = group.findall(f"{NS}rect")
        title = group.find(f"{NS}title")
        if title is None:  # the legend
            continue
        assert (title.text or "").strip()
        left, top = number(box, "x"), number(box, "y")
        right, bottom = left + number(box, "width"), top + number(box, "height")
        assert right <= width
        assert bottom <= height
        ends = []
        for text in group.findall(f"{NS}text"):
            start, end = right_of(text)
            assert left < start
            assert end <= right + 0.1
            assert top + 9 <= number(text, "y") <= bottom
            ends.append((number(text, "y"), start, end))
            labels += 1
        for (y, _, end), (other, start, _) in pairwise(ends):
            assert other > y or start > end
    return labels


@settings(max_examples=30, deadline=None)
@given(memories())
def test_labels_are_inside_their_boxes_and_every_box_has_a_tooltip(memory: Memory) -> None:
    labels = assert_labels_are_inside(icicle(memory))
    assert labels > 1 or not memory.total


def test_hostile_names_stay_text(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            storages = [
                HeldStorage("s0", 500, "parameter", name, (("n0", name), ("n1", name))),
                HeldStorage("s1", 500, "activation", name, (("n1", name),)),
            ]
            nodes = tuple(holder(key, name, storages, (key,)) for key in ("n0", "n1"))
            memory = made_of(
                storages, nodes=nodes, modules=(holder(name, name, storages, ("n0", "n1")),)
            )
            svg = icicle(memory)
            assert_labels_are_inside(svg)
            assert "<script" not in svg
            assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\ufffe\uffff\ud800-\udfff]", svg)


def test_what_a_tooltip_says() -> None:
    memory = made_of(
        [HeldStorage("s0", 400, "input", "x", (("n4", "mat1"), ("n7", "self"), ("n8", "other")))]
    )
    titles = [g.findtext(f"{NS}title") for g in groups(icicle(memory))]
    assert titles[:5] == [
        "kept for backward: 400 B",
        "not computed: 400 B",
        "not computed › model.layers.1: 400 B",
        "not computed › model.layers.1 › n4 ExpBackward0: 400 B",
        "not computed › model.layers.1 › n4 ExpBackward0 › mat1 = x: 400 B"
        "; also saved by n7 self, n8 other",
    ]


def test_the_picture_is_one_image_that_says_what_it_shows() -> None:
    unknown = (UnknownSave("n9", "self", "packed by f"),)
    memory = made_of([held(1, 3 << 20, "parameter"), held(2, 1 << 20)], unknown=unknown)
    root = ET.fromstring(icicle(memory))
    assert root.get("role") == "img"
    said = root.get("aria-label") or ""
    assert "4.0 MiB kept for backward" in said
    assert "parameters 3.0 MiB, activations 1.0 MiB" in said
    assert "n1 ExpBackward0 3.0 MiB, n2 ExpBackward0 1.0 MiB" in said
    assert "1 saved tensor whose size is not known" in said
    assert "1 saved tensor whose size" in " ".join(t.text or "" for t in root.iter(f"{NS}text"))


def test_kinds_are_told_by_words_and_dashes_without_colour() -> None:
    svg = icicle(made_of([held(i, 100, kind) for i, kind in enumerate(KINDS)]))
    dashes = [re.findall(rf"\.gv-{kind}>path{{([^}}]*)}}", svg)[0] for kind in KINDS]
    patterns = {re.sub(r"stroke:var\([^)]*\);?", "", rule) for rule in dashes}
    assert len(patterns) == len(KINDS)
    words = [text.text for text in ET.fromstring(svg).iter(f"{NS}text")]
    assert all(f"{word} 100 B" in words for word in KIND_WORDS.values())


@pytest.mark.parametrize("draw", [icicle, curve])
def test_figures_are_the_same_bytes_and_become_png(draw: Any) -> None:
    memory = made_of([held(1, 300, "parameter"), held(2, 100)], step=1, curve=climb([4, 8, 2]))
    assert draw(memory) == draw(memory)
    assert "forced-colors:active" in draw(memory)
    plain = draw(memory, variables=False)
    assert not re.search(r"var\(|@media|\$|ui-monospace", plain)
    assert svg_to_png(plain)[:4] == b"\x89PNG"


# --- the curve ------------------------------------------------------------------------------


def climb(amounts: list[int], beside: Any = None, lines: Any = None, code: str = "") -> Curve:
    points = tuple(
        CurvePoint(
            i,
            0 if lines is None else int(lines[i] < 0),
            i if lines is None else abs(lines[i]),
            code,
            f"y = f({i})",
            amount,
            None if beside is None else beside[i],
            i,
        )
        for i, amount in enumerate(amounts)
    )
    return Curve(points, max(range(len(amounts)), key=lambda i: (amounts[i], -i)), "allocated")


def heights(svg: str, name: str = "gv-kept") -> list[tuple[float, float]]:
    """Where each step of a curve begins, and how high it is."""
    (way,) = re.findall(rf'class="{name}" d="M([\d.]+) ([^"]*)"', svg)
    x, found = float(way[0]), []
    for sign, value in [("V", way[1].split("H")[0]), *re.findall(r"([HV])([\d.]+)", way[1])]:
        if sign == "H":
            x = float(value)
        else:
            found.append((x, float(value)))
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=40))
def test_the_curve_is_as_high_as_what_is_kept(amounts: list[int]) -> None:
    svg = curve(made_of([held(0, 1)], step=0, curve=climb(amounts)))
    ET.fromstring(svg)
    drawn = heights(svg)
    base = float(re.findall(r'gv-axis" d="M[\d.]+ [\d.]+V([\d.]+)', svg)[0])
    scale = 130 / (max(amounts) or 1)
    wide = (WIDTH - LEFT - RIGHT) / len(amounts)
    for i, amount in enumerate(amounts):
        middle = LEFT + (i + 0.5) * wide
        height = base - [y for x, y in drawn if x <= middle][-1]
        assert abs(height - amount * scale) <= 0.11


def texts(svg: str) -> list[str]:
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{NS}text")]


def test_peak_and_counted_step_are_marked_in_words() -> None:
    shown = texts(curve(made_of([held(0, 1)], step=3, curve=climb([1, 50_000, 20_000, 8]))))
    assert "peak: 48.8 KiB at step 1, line 1" in shown
    assert "counted: 8 B at step 3, line 3" in shown


def test_the_steps_of_backward_leave_room_for_lines() -> None:
    points = climb([1] * 104, lines=[1, 2, 3, *[-4] * 100, 4]).points
    grid = Grid(points)
    assert grid.start(0) == LEFT
    assert grid.start(104) == round(WIDTH - RIGHT, 1)
    assert grid.start(103) - grid.start(3) == pytest.approx((WIDTH - LEFT - RIGHT) * 2 / 3, abs=0.2)


def test_the_allocator_has_a_panel_of_its_own() -> None:
    svg = curve(made_of([held(0, 1)], step=0, curve=climb([1, 2], beside=[None, 1 << 30])))
    assert "torch.cuda.memory_allocated()" in texts(svg)
    assert "1.0 GiB" in texts(svg)
    assert len(heights(svg, "gv-beside")) == 1
    assert "torch.cuda" not in curve(made_of([held(0, 1)], step=0, curve=climb([1, 2])))


def test_numbers_of_lines_stand_under_the_curve_and_are_taken_together_where_it_is_crowded() -> (
    None
):
    shown = texts(curve(made_of([], step=0, curve=climb([1, 2, 3], lines=[4, 5, 9]))))
    assert {"4", "5", "9"} <= set(shown)
    crowded = [1, 2, 3] * 60 + [-7] * 40 + [7]
    shown = texts(curve(made_of([], step=0, curve=climb([1] * 221, lines=crowded))))
    assert {"1–3", "7 backward"} <= set(shown)
    assert "2" not in shown


def test_lines_of_other_files_have_no_number_under_the_curve() -> None:
    svg = curve(made_of([], step=0, curve=climb([1, 2, 3], lines=[40, 50, 60], code="net.py")))
    assert not {"40", "50", "60"} & set(texts(svg))
    assert "step 1, net.py line 50: y = f(1)" in svg


def test_hostile_code_stays_text(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            point = CurvePoint(0, 0, 1, name, name, 4, None, 0)
            svg = curve(made_of([], step=0, curve=Curve((point,), 0, "live")))
            ET.fromstring(svg)
            assert "<script" not in svg


# --- which figures there are ----------------------------------------------------------------


def test_a_graph_has_an_icicle_and_a_recording_its_curve_before_it() -> None:
    one = [held(0, 400)]
    assert [caption for caption, _ in figures_of(made_of(one))] == ["Nodes that keep the 400 B"]
    recorded = figures_of(made_of(one, step=0, curve=climb([400])))
    assert [caption for caption, _ in recorded] == [
        "Bytes kept for backward after every step",
        "Nodes that keep the 400 B at step 0",
    ]
    assert figures_of(made_of([])) == ()
