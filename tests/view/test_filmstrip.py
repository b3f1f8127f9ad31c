from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.model import OptionError
from gradviz.view.captions.caption import caption
from gradviz.view.export.animated.graph import subjects
from gradviz.view.export.filmstrip import PAGE
from gradviz.view.style import LIGHT
from gradviz.view.widgets.player import Player
from tests.view.graphs import HOSTILE
from tests.view.recordings import ALL, Script, loop, product

SVG = "{http://www.w3.org/2000/svg}"


def frames(svg: str) -> list[ET.Element]:
    root = ET.fromstring(svg)
    return [item for item in root.iter(f"{SVG}g") if item.get("role") == "img" and item.find(
        f"{SVG}svg") is not None]  # fmt: skip


def test_a_strip_shows_the_steps_that_were_asked_for() -> None:
    strip = Player(product()).filmstrip([1, 4, -1])
    captions = [frame.get("aria-label") for frame in frames(strip._repr_svg_())]
    assert captions == [str(caption(product(), i)) for i in (1, 4, 22)]
    assert str(strip).split("\n")[1].startswith("  4  line 4: Makes ×")


def test_without_steps_it_shows_the_stops_of_the_player_else_lines_and_nodes() -> None:
    assert len(frames(Player(product(), stops=[4, 6]).filmstrip()._repr_svg_())) == 2
    assert len(frames(Player(product()).filmstrip()._repr_svg_())) == 11


@pytest.mark.parametrize("name", ALL)
def test_pictures_are_those_of_the_player_for_the_eye_alone(name: str) -> None:
    player = Player(ALL[name])
    (frame,) = frames(player.filmstrip([-1], columns=1)._repr_svg_())
    (picture,) = frame.iter(f"{SVG}svg")
    last = len(ALL[name].records) - 1
    whole = ET.fromstring(player._pictures([last]).svg(last))
    drawn = [e for e in whole.findall(f"{SVG}g") if e.get("class") != "gv-absent"]
    assert [*map(seen, picture)] == [*map(seen, drawn)]
    assert not any(name in e.attrib for e in picture.iter() for name in ("id", "data-id", "role"))


def seen(element: ET.Element) -> object:
    """What the eye sees of an element."""
    unseen = f"{SVG}title", "gv-head gv-head-engine"
    inside = (e for e in element if not {e.tag, e.get("class")} & {*unseen})
    facts = {
        name: value
        for name, value in element.items()
        if name not in ("id", "role") and not name.startswith(("data-", "aria-"))
    }
    return element.tag, facts, (element.text or "").strip(), [*map(seen, inside)]


def test_pictures_stand_in_columns_and_do_not_overlap() -> None:
    svg = Player(product()).filmstrip(range(1, 9), columns=3)._repr_svg_()
    boxes = []
    for frame in frames(svg):
        inner = frame.find(f"{SVG}svg")
        assert inner is not None
        x, y, w, h = (float(inner.get(n, 0)) for n in ("x", "y", "width", "height"))
        boxes.append((x, y, x + w, y + h))
    assert len({box[0] for box in boxes}) == 3
    assert len({box[1] for box in boxes}) == 3
    for number, (x0, y0, x1, y1) in enumerate(boxes):
        assert x1 <= 1200
        for a0, b0, a1, b1 in boxes[:number]:
            assert x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0


@pytest.mark.parametrize("ending", [".svg", ".png", ".html"])
def test_a_strip_is_saved_the_same_bytes_each_time(ending: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        Player(loop()).filmstrip([1, 3]).save(tmp_path / f"{name}{ending}")
    one, two = (tmp_path / f"{name}{ending}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!doctype html>"}
    assert one.read_bytes().startswith(starts[ending])


def test_the_html_holds_the_svg() -> None:
    strip = Player(loop()).filmstrip([1])
    assert strip._repr_svg_() in strip._repr_html_()


def test_names_in_captions_are_no_markup(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            script = Script(name.replace("\n", " "))
            script.step("start")
            script.step("line", 1)
            svg = Player(script.end()).filmstrip([1])._repr_svg_()
            assert len(frames(svg)) == 1
            assert "<script" not in svg


def test_what_cannot_be_shown_is_refused(subtests: pytest.Subtests) -> None:
    for stops, columns, words in [
        ([99], None, "no step 99"),
        ("12", None, r"must list steps: stops=\[1, 'backward', -1\]"),
        ([1], 0, "must be a number from 1 to 12: columns=3"),
        ([1], 2.0, "must be a number"),
        ([1] * 61, None, "61 pictures would be too long"),
    ]:
        with subtests.test(stops=stops, columns=columns), pytest.raises(OptionError, match=words):
            Player(product()).filmstrip(stops, columns)  # type: ignore[arg-type]


def test_an_ending_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"a filmstrip can be saved as \.svg, \.png, \.html"):
        Player(product()).filmstrip([1]).save(tmp_path / "strip.bmp")


def wide() -> Player:
    """A graph that is wider than a page, and higher than a picture of a strip."""
    leaves = [torch.full((3,), float(n), requires_grad=True) for n in range(6)]
    with gradviz.record() as recording:
        total = torch.stack([leaf.exp().exp().exp().exp().exp() for leaf in leaves]).sum()
        total.backward()
    return Player(recording)


def test_a_picture_larger_than_a_page_shows_the_part_that_its_step_is_about() -> None:
    player = wide()
    svg = ET.fromstring(player._still)
    width = float(svg.get("width", "0"))
    pictures = [e for e in svg.iter(f"{SVG}svg") if e is not svg]
    assert width <= PAGE < player._few.size[0]
    steps = player._decisive
    assert len(pictures) == len(steps) > 1
    for step, picture in zip(steps, pictures, strict=True):
        left, top, across, high = map(float, picture.get("viewBox", "").split())
        assert (across, high) == (float(picture.get("width", "")), float(picture.get("height", "")))
        about = subjects(player.recording, player._few, [step])[0][0]
        assert left <= about.x
        assert about.x + about.width <= left + across
        assert top <= about.y
        assert about.y + about.height <= top + high
    assert "where an edge fades, the graph goes on" in player._still


def test_a_picture_that_fits_on_a_page_is_whole_and_nothing_fades() -> None:
    svg = Player(product())._still
    assert "fades" not in svg
    ground = next(e for e in ET.fromstring(svg).iter(f"{SVG}rect"))
    assert ground.get("class") == "gv-paper"
    assert f".gv-paper{{fill:{LIGHT['card']}}}" in svg
