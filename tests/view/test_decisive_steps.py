from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from gradviz.model import Recording
from gradviz.model.events import Write
from gradviz.model.explanation import Explanation
from gradviz.view.animation.decisive_steps import candidates, decisive_steps
from gradviz.view.export.filmstrip import GAP, PAD, PAGE
from gradviz.view.graph.options import DEFAULT
from gradviz.view.widgets.player import Player
from tests.view.explanations import FREED, SILENT, explained
from tests.view.graphs import tensor
from tests.view.recordings import ALL, Script, animation_of, product
from tests.view.test_filmstrip import SVG, frames


def strip(recording: Recording, step: int | None = None) -> str:
    svg = Player(recording, step=step)._repr_mimebundle_()[0]["image/svg+xml"]
    assert isinstance(svg, str)
    return svg


def chosen(recording: Recording, step: int | None = None) -> list[int]:
    wanted = candidates(recording, step, DEFAULT.parts)
    return decisive_steps(animation_of(recording), wanted)


def texts(svg: str) -> list[str]:
    return ["".join(text.itertext()) for text in ET.fromstring(svg).iter(f"{SVG}text")]


def test_end_of_the_forward_first_gradient_of_a_leaf_and_end() -> None:
    recording = product()
    kinds = [recording.records[i].kind for i in chosen(recording)]
    assert kinds == ["line", "node", "line"]
    forward, decisive, end = chosen(recording)
    assert recording.records[forward + 1].kind == "backward"
    filled = [
        t.id for t in recording.all_steps[decisive].tensors if t.grad is not None and t.is_leaf
    ]
    assert len(filled) == 1
    assert not [t for t in recording.all_steps[decisive - 3].tensors if t.grad is not None]
    assert animation_of(recording).at(end) == animation_of(recording).at(len(recording.records) - 1)


def test_the_error_is_decisive_and_the_culprit_takes_a_free_place() -> None:
    recording = explained(SILENT, FREED)
    assert recording.at_error is not None
    assert chosen(recording) == [culprit(SILENT), culprit(FREED), recording.at_error.index]


def culprit(explanation: Explanation) -> int | None:
    at = explanation.causes[0].at
    return at.step if at else None


def test_a_step_that_was_chosen_is_the_decisive_one() -> None:
    assert 14 in chosen(product(), 14)
    assert any(text.startswith("step 9 of 13") for text in texts(strip(product(), 9)))


def test_without_backward_the_first_write_is_decisive() -> None:
    script = Script("x = torch.ones(2)\nx.add_(1)\ny = x\n")
    script.step("start")
    script.step("line", 1, tensor(0, "x"))
    wrote = Write("add_", ("t0",), "x", "s0", 0, 1)
    script.step("line", 2, tensor(0, "x", version=1), events=(wrote,))
    script.step("line", 3, tensor(1, "y"))
    assert chosen(script.end()) == [2, 3]


def test_a_picture_is_there_once() -> None:
    script = Script("x = torch.ones(2)\npass\npass\n")
    script.step("start")
    script.step("line", 1, tensor(0, "x"))
    script.step("line", 2)
    script.step("line", 3)
    assert chosen(script.end()) == [1]


def test_what_is_gone_at_the_end_is_shown_as_it_was() -> None:
    script = Script("x = torch.ones(2)\ndel x\n")
    script.step("start")
    script.step("line", 1, tensor(0, "x"))
    script.step("line", 2, gone=("t0",))
    assert chosen(script.end()) == [1]
    assert " ".join(texts(strip(script.end()))).endswith(
        "no autograd graph at any step; 2 steps: run the cell to step through them"
    )


def test_a_recording_of_nothing_says_so() -> None:
    svg = strip(Recording.empty())
    assert texts(svg) == ["no autograd graph at any step"]
    assert frames(svg) == []


@pytest.mark.parametrize("name", ALL)
def test_pictures_are_cropped_to_what_exists_and_placed_on_a_page(name: str) -> None:
    assert_a_picture_is_cropped_to_what_exists_and_has_its_natural_size(name)
    assert_pictures_are_side_by_side_if_they_fit_on_a_page_and_never_overlap(name)


def assert_a_picture_is_cropped_to_what_exists_and_has_its_natural_size(name: str) -> None:
    recording = ALL[name]
    animation = animation_of(recording)
    pictures = [frame.find(f"{SVG}svg") for frame in frames(strip(recording))]
    for step, picture in zip(chosen(recording), pictures, strict=True):
        assert picture is not None
        left, top, width, height = map(float, (picture.get("viewBox") or "").split())
        assert (width, height) == (float(picture.get("width", 0)), float(picture.get("height", 0)))
        assert len(picture) == len(animation.there(step)) > 0
        corners = [
            tuple(map(float, re.findall(r"-?[\d.]+", card.get("transform") or "")))
            for card in picture
            if card.get("transform")
        ]
        assert all(left <= x <= left + width and top <= y <= top + height for x, y in corners)
        assert min(x for x, _ in corners) - left < 40
        assert min(y for _, y in corners) - top < 40


def assert_pictures_are_side_by_side_if_they_fit_on_a_page_and_never_overlap(name: str) -> None:
    svg = strip(ALL[name])
    rows: dict[float, list[tuple[float, float]]] = {}
    for frame in frames(svg):
        picture = frame.find(f"{SVG}svg")
        assert picture is not None
        x, y, width = (float(picture.get(name, 0)) for name in ("x", "y", "width"))
        rows.setdefault(y, []).append((x, x + width))
    for row in rows.values():
        assert all(end < start for (_, end), (start, _) in pairwise(row))
        assert len(row) == 1 or row[-1][1] <= PAGE - 2 * PAD
    ends = [row[-1][1] for row in rows.values()]
    starts = [row[0][1] for row in rows.values()]
    for end, width in zip(ends, starts[1:], strict=False):
        assert end + GAP + width > PAGE - 2 * PAD


def test_every_picture_says_its_step_its_line_and_what_happened() -> None:
    recording = product()
    said = texts(strip(recording))
    last = len(recording)
    assert said[0] == f"step 5 of {last} · line 5: out2 = out1 + c"
    assert said[1] == recording[5].caption == "Makes +: 1 node."
    assert said[-1] == f"{last} steps: run the cell to step through them"


def test_an_error_is_said_with_its_reason() -> None:
    words = " ".join(texts(strip(explained(SILENT, FREED))))
    assert "Raises RuntimeError: " in words


def test_the_ground_is_opaque_so_that_words_are_readable_on_every_page() -> None:
    root = ET.fromstring(strip(product()))
    ground = next(root.iter(f"{SVG}rect"))
    assert ground.get("class") == "gv-paper"
    assert (ground.get("width"), ground.get("height")) == (root.get("width"), root.get("height"))
    assert "var(" not in strip(product())
