from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from gradviz.view.graph.layout import Layout, LayoutBox, Link, lay_out
from gradviz.view.graph.layout_program import render


def chain(length: int) -> tuple[list[LayoutBox], list[Link]]:
    boxes = [LayoutBox(f"b{i}", 80, 30) for i in range(length)]
    return boxes, [Link(a.id, 0, b.id, 0) for a, b in pairwise(boxes)]


@pytest.mark.parametrize(("direction", "axis"), [("TB", 1), ("LR", 0)])
def test_links_run_in_the_direction(direction: str, axis: int) -> None:
    boxes, links = chain(4)
    layout = lay_out(boxes, links, direction)  # type: ignore[arg-type]
    assert [layout.places[box.id][axis] for box in boxes] == sorted(
        layout.places[box.id][axis] for box in boxes
    )


def test_links_end_exactly_on_their_ports() -> None:
    boxes = [LayoutBox("a", 60, 20), LayoutBox("b", 90, 40, inputs=3)]
    layout = lay_out(boxes, [Link("a", 0, "b", 2)])
    (ax, ay), (bx, by) = layout.places["a"], layout.places["b"]
    assert layout.paths[0][0] == pytest.approx((ax + 30, ay + 20), abs=0.11)
    assert layout.paths[0][-1] == pytest.approx((bx + 75, by), abs=0.11)


def test_output_leaves_below_the_input_named_as_spine() -> None:
    boxes = [
        LayoutBox("a", 60, 20),
        LayoutBox("b", 90, 40, inputs=3, spine=2),
        LayoutBox("c", 60, 20),
    ]
    layout = lay_out(boxes, [Link("a", 0, "b", 2), Link("b", 0, "c", 0)])
    assert layout.paths[1][0][0] == pytest.approx(layout.places["b"][0] + 75, abs=0.11)


def test_boxes_without_links_stand_in_rows_below() -> None:
    boxes, links = chain(2)
    loose = [LayoutBox(f"x{i}", 200, 30) for i in range(7)]
    layout = lay_out([*boxes, *loose], links)
    lowest = max(layout.places[box.id][1] for box in boxes)
    assert all(layout.places[box.id][1] > lowest for box in loose)
    assert len({layout.places[box.id][1] for box in loose}) > 1


def test_nothing_to_place_is_an_empty_layout() -> None:
    assert lay_out([], []).places == {}


def test_threads_can_lay_out_at_the_same_time() -> None:
    def work(length: int) -> Layout:
        render.cache_clear()
        return lay_out(*chain(length))

    lengths = [2, 30, 3, 40] * 3
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, lengths))
    assert [len(layout.places) for layout in found] == lengths


def test_long_links_do_not_slow_the_layout() -> None:
    boxes, links = chain(400)
    boxes = [LayoutBox(box.id, 80, 30, inputs=2) for box in boxes] + [LayoutBox("shared", 80, 30)]
    links += [Link("shared", 0, box.id, 1) for box in boxes[:-1]]
    layout = lay_out(boxes, links)
    assert all(layout.paths)


def test_positions_do_not_depend_on_the_process() -> None:
    code = (
        "from tests.view.test_layout import chain; from gradviz.view.graph.layout import lay_out;"
        "print(lay_out(*chain(9)))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": "123", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == f"{lay_out(*chain(9))}\n"
