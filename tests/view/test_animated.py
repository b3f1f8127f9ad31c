from __future__ import annotations

import re
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.model import GradvizError, OptionError, Recording
from gradviz.view.animation.still import bare
from gradviz.view.captions.caption import caption
from gradviz.view.element import write
from gradviz.view.export.animated import graph
from gradviz.view.export.animated.drawing import FrameDrawing, frame_drawing
from gradviz.view.export.animated.frames import Frames, frames_of
from gradviz.view.export.animated.parts import Window, of_frame
from gradviz.view.export.animated.svg import animated_svg
from gradviz.view.style import SIZES
from gradviz.view.widgets.player import Player
from tests.view.graphs import HOSTILE
from tests.view.recordings import ALL, Script, animation_of, loop, product

SVG = "{http://www.w3.org/2000/svg}"
has_pillow = pytest.mark.skipif(not find_spec("PIL"), reason="Pillow is not installed")
has_png = pytest.mark.skipif(not find_spec("resvg_py"), reason="resvg-py is not installed")


def drawn(recording: Recording, **options: Any) -> tuple[FrameDrawing, Frames]:
    frames = frames_of(recording, options.pop("steps", ()), options.pop("seconds", None))
    return frame_drawing(recording, animation_of(recording), frames, **options), frames


def spoilt() -> Recording:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with suppress(RuntimeError), gradviz.record() as recording:
        h = w.exp()
        h.add_(1)
        h.sum().backward()
    return recording


def training_step() -> Recording:
    """What a first example shows others: one step of training of an MLP."""
    torch.manual_seed(0)
    with gradviz.record() as recording:
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
        opt = torch.optim.SGD(net.parameters(), 0.5)
        x, y = torch.randn(32, 4), torch.randint(3, (32,))
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
    return recording


def long_code(lines: int) -> Recording:
    script = Script("\n".join(f"x{n} = {n}" for n in range(1, lines + 1)))
    script.step("start")
    for n in range(1, lines + 1):
        script.step("line", n)
    return script.end()


# ------------------------------------------------------------------ what is drawn


@pytest.mark.parametrize("name", ALL)
def test_every_frame_has_the_graph_of_its_step_and_is_shown_for_its_time(name: str) -> None:
    assert_every_frame_has_the_graph_of_its_step(name)
    assert_the_animated_svg_shows_each_frame_for_its_time(name)


def assert_every_frame_has_the_graph_of_its_step(name: str) -> None:
    recording = ALL[name]
    drawing, frames = drawn(recording)
    window = next(part for part in drawing.parts if isinstance(part, Window))
    for i, step in enumerate(frames.steps):
        here = [write(element) for element in of_frame(window.inside.parts, i)]
        graph = drawing.animation.drawn(step)
        assert here == [write(bare(e)) for e in graph if "gv-absent" not in e.classes]


def texts(element: ET.Element) -> Iterator[str]:
    for text in element.iter(f"{SVG}text"):
        yield "".join(text.itertext())


def seen_at(svg: str, seconds: float) -> list[str]:
    """The words that are visible at a time, as the rules of the file say."""
    root = ET.fromstring(svg)
    sheet = root.findtext(f"{SVG}style") or ""
    whole = float(re.findall(r"\.gv-timed\{animation:([\d.]+)s", sheet)[0])
    visible = {}
    for name, body in re.findall(r"@keyframes (gv-f\d+)\{((?:[\d.]+%\{[^}]*\})*)\}", sheet):
        rules = re.findall(r"([\d.]+)%\{visibility:(\w+)\}", body)
        assert rules[0][0] == "0"
        past = [value for at, value in rules if float(at) <= 100 * seconds / whole]
        visible[name] = past[-1] == "visible"

    def walk(element: ET.Element) -> Iterator[str]:
        css = (element.get("class") or "").split()
        if any(visible.get(name) is False for name in css):
            return
        if element.tag == f"{SVG}text":
            yield "".join(element.itertext())
        for child in element:
            if element.tag != f"{SVG}text":
                yield from walk(child)

    return list(walk(root))


def assert_the_animated_svg_shows_each_frame_for_its_time(name: str) -> None:
    drawing, frames = drawn(ALL[name])
    svg = animated_svg(drawing, frames)
    for i, (start, length) in enumerate(zip(frames.starts, frames.seconds, strict=True)):
        still = list(texts(ET.fromstring(drawing.svg(i))))
        assert seen_at(svg, start + 0.01 * length) == still
        assert seen_at(svg, start + 0.99 * length) == still


def test_each_element_is_in_the_file_once() -> None:
    drawing, frames = drawn(product())
    svg = animated_svg(drawing, frames)
    seen = {
        write(bare(look))
        for key, looks in drawing.animation.elements.items()
        for number, look in enumerate(looks)
        if look and any(drawing.animation.at(step)[key] == number for step in frames.steps)
    }
    assert all(svg.count(element) == 1 for element in seen)


def test_it_is_one_file_without_script_ids_and_addresses() -> None:
    drawing, frames = drawn(spoilt())
    svg = animated_svg(drawing, frames)
    root = ET.fromstring(svg)
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        *("svg", "style", "g", "rect", "path", "polygon", "circle", "text", "tspan"),
    }
    attributes = {name for e in root.iter() for name in e.attrib}
    assert not {"id", "href", "tabindex"} & attributes
    assert not [name for name in attributes if name.startswith(("on", "data-"))]
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org)", svg)
    assert root.get("role") == "img"
    assert "step by step" in (root.get("aria-label") or "")


def test_the_current_line_is_marked_and_the_culprit_is_named_where_it_is_noticed() -> None:
    drawing, frames = drawn(spoilt())
    words = [list(texts(ET.fromstring(drawing.svg(i)))) for i in range(len(frames))]
    assert ["! culprit" in found for found in words] == [False] * (len(frames) - 1) + [True]
    assert "× raised" in words[-1]
    assert any(line.startswith("Fix") for line in words[-1])
    assert "h = h.add(1)" in words[-1]
    classes = [re.findall(r'class="(gv-line-\w+)"', drawing.svg(i)) for i in range(len(frames))]
    assert all(found == ["gv-line-now"] for found in classes[:-1])
    assert sorted(classes[-1]) == ["gv-line-culprit", "gv-line-raised"]


def test_where_nothing_may_move_the_decisive_frame_is_seen() -> None:
    drawing, frames = drawn(spoilt())
    assert frames.still == len(frames) - 1
    svg = animated_svg(drawing, frames)
    hidden = set(re.findall(r"\.(gv-f\d+)\{visibility:hidden\}", svg))
    root = ET.fromstring(svg)
    still = [
        "".join(text.itertext()) for text in _outside(root, hidden) if text.tag == f"{SVG}text"
    ]
    assert still == list(texts(ET.fromstring(drawing.svg(frames.still))))
    calm = re.findall(r"@media print,\(prefers-reduced-motion:reduce\)\{(.*)\}", svg)[0]
    assert ".gv-timed{animation:none!important}" in calm


def _outside(element: ET.Element, hidden: set[str]) -> Iterator[ET.Element]:
    if hidden & set((element.get("class") or "").split()):
        return
    yield element
    for child in element:
        yield from _outside(child, hidden)


def test_long_code_scrolls_to_the_line_and_is_never_cut() -> None:
    drawing, frames = drawn(long_code(55))
    code = [part for part in drawing.parts if isinstance(part, Window)][1]
    assert {f"x{n} = {n}" for n in range(1, 56)} <= set(texts(ET.fromstring(drawing.svg(0))))
    for i in range(len(frames)):
        top = 18.0 * i + code.inside.offsets[i][1]
        assert 0 <= top <= code.size[1] - 18


@pytest.mark.parametrize("shape", ["wide", "square"])
def test_the_whole_graph_of_a_training_step_is_in_frame_and_never_moves(
    tmp_path: Path, shape: str
) -> None:
    player = Player(training_step())
    player.save(tmp_path / "x.svg", animated=True, shape=shape)
    svg = (tmp_path / "x.svg").read_text("utf-8")
    assert 'class="gv-fade"' not in svg
    frames = frames_of(player.recording, ())
    pictures = player._pictures(frames.steps)
    drawing = frame_drawing(player.recording, pictures, frames, shape=shape)
    window = next(part for part in drawing.parts if isinstance(part, Window))
    assert len(set(window.inside.offsets)) == 1
    (x, y), whole = window.inside.offsets[0], graph.extent(pictures, frames.steps)
    width, height = (side / window.scale for side in window.size)
    assert 0 <= whole.x + x <= whole.x + whole.width + x <= width
    assert 0 <= whole.y + y <= whole.y + whole.height + y <= height
    assert window.scale * min(SIZES.values()) >= 11


def test_a_square_frame_has_its_code_above_the_graph_and_its_caption_below() -> None:
    recording = training_step()
    drawing, frames = drawn(recording, shape="square")
    assert set(drawing.size) == {640}
    windows = [part for part in drawing.parts if isinstance(part, Window)]
    picture, code = windows
    assert (code.corner[1] + code.size[1], picture.size[0]) == (picture.corner[1] - 10, 640)
    for i, step in enumerate(frames.steps):
        page = ET.fromstring(drawing.svg(i))
        said = [text for text in page.iter(f"{SVG}text") if text.get("class") == "gv-caption"]
        assert " ".join("".join(text.itertext()) for text in said) == str(caption(recording, step))
        assert all(float(text.get("y", 0)) > picture.corner[1] + picture.size[1] for text in said)
    assert drawn(spoilt(), shape="square")[0].size[1] >= 640
    assert set(drawn(Recording.empty(), shape="square")[0].size) == {640}


def network(width: int) -> Recording:
    """Layers beside each other, each with a leaf of its own."""
    leaves = [torch.full((3,), float(n), requires_grad=True) for n in range(width)]
    with gradviz.record() as recording:
        loss = torch.stack([leaf.exp() for leaf in leaves]).sum()
        loss.backward()
    return recording


def test_what_a_step_is_about_is_whole_in_the_window_of_its_frame() -> None:
    drawing, frames = drawn(network(6))
    recording, window = network(6), next(part for part in drawing.parts if isinstance(part, Window))
    room = [side / window.scale for side in window.size]
    assert drawing.animation.size[0] > room[0]
    about = graph.subjects(recording, drawing.animation, frames.steps)
    seen = 0
    for i, boxes in enumerate(about):
        if recording.records[frames.steps[i]].node is None:
            continue
        box = boxes[0]
        left, top = (box[side] + window.inside.offsets[i][side] for side in (0, 1))
        assert left >= 0 <= top
        assert left + box.width <= room[0]
        assert top + box.height <= room[1]
        seen += 1
    assert seen > 10


def test_where_the_graph_goes_on_the_window_fades() -> None:
    drawing, frames = drawn(network(6))
    counts = [drawing.svg(i).count('class="gv-fade"') for i in range(len(frames))]
    assert min(counts) > 0
    whole = Recording.empty()
    assert 'class="gv-fade"' not in drawn(whole)[0].svg(0)


def test_the_smallest_text_of_the_graph_can_be_read() -> None:
    for recording in (network(4), product()):
        window = next(part for part in drawn(recording)[0].parts if isinstance(part, Window))
        assert window.scale * min(SIZES.values()) >= 11


def test_a_long_line_is_wrapped_with_all_its_words() -> None:
    line = "result = first_function(one, two) + second_function(three, four, five) * weight"
    script = Script(line)
    script.step("start")
    script.step("line", 1)
    drawing, _ = drawn(script.end())
    shown = [text for text in texts(ET.fromstring(drawing.svg(0))) if text.strip() in line]
    assert max(map(len, shown)) <= 38
    assert "".join(shown).replace(" ", "") == line.replace(" ", "")


def test_names_are_no_markup(subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            script = Script(name.replace("\n", " "))
            script.step("start")
            script.step("line", 1)
            drawing, frames = drawn(script.end())
            tags = {
                e.tag.removeprefix(SVG) for e in ET.fromstring(animated_svg(drawing, frames)).iter()
            }
            assert tags <= {"svg", "style", "g", "rect", "path", "circle", "text"}


def test_a_recording_of_nothing_is_one_frame() -> None:
    drawing, frames = drawn(Recording.empty())
    assert len(frames) == 1
    assert "step 0 of 0" in animated_svg(drawing, frames)


# ------------------------------------------------------------- which steps, how long


def test_frames_are_the_steps_that_the_player_counts() -> None:
    frames = frames_of(product(), ())
    levels = [record.level for record in product().records]
    assert frames.steps == tuple(i for i, level in enumerate(levels) if i and level < 2)
    assert frames.numbers == frames.passed == tuple(range(1, frames.of + 1))


def test_sub_steps_have_numbers_of_their_own_and_the_place_of_the_step_around_them() -> None:
    recording = product()
    frames = frames_of(recording, [recording[at].index for at in (0, "8.2", -1)])
    assert frames.numbers == (0, "8.2", 13)
    assert frames.passed == (0, 8, 13)
    assert frames.of == 13


def test_what_goes_wrong_and_the_end_stay_longer() -> None:
    recording = spoilt()
    frames = frames_of(recording, (), 1.0)
    explained = recording.explanation
    assert explained is not None
    culprit = next(i for i in frames.steps if recording.records[i].line == explained.line)
    times = dict(zip(frames.steps, frames.seconds, strict=True))
    assert times.pop(culprit) == 2.0
    assert times.pop(frames.steps[-1]) == 3.0
    assert set(times.values()) == {1.0}


def test_a_time_that_is_none_is_refused(subtests: pytest.Subtests) -> None:
    for seconds in [0, -1, 61, float("nan"), "2", True]:
        with (
            subtests.test(seconds=seconds),
            pytest.raises(OptionError, match=r"seconds=.* must be a number from 0\.1 to 60"),
        ):
            frames_of(product(), (), seconds)


def test_a_shape_that_is_none_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for shape in ["round", 1, "", True]:
        with (
            subtests.test(shape=shape),
            pytest.raises(OptionError, match=r"shape=.* must be 'wide' or 'square'"),
        ):
            Player(product()).save(tmp_path / "x.gif", shape=shape)  # type: ignore[arg-type]


def test_a_long_recording_needs_a_choice(tmp_path: Path) -> None:
    player = Player(long_code(61))
    with pytest.raises(OptionError, match=r"61 steps would be too long .* stops=range\(1, 61\)"):
        player.save(tmp_path / "x.svg", animated=True)
    player.save(tmp_path / "x.svg", animated=True, stops=range(1, 61))
    assert "step 60 of 61" in (tmp_path / "x.svg").read_text()


# ------------------------------------------------------------------------- files


def test_a_plain_svg_is_one_step(tmp_path: Path) -> None:
    player = Player(product())
    player.save(tmp_path / "x.svg")
    assert "@keyframes" not in (tmp_path / "x.svg").read_text()


def test_options_of_animations_are_refused_elsewhere(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    options: tuple[dict[str, Any], ...] = (
        *({"stops": [1]}, {"seconds": 2}, {"animated": True}, {"shape": "square"}),
    )
    refused = [(option, ending) for option in options for ending in ("svg", "png", "html", "json")]
    refused.remove(({"animated": True}, "svg"))
    for option, ending in refused:
        with (
            subtests.test(option=option, ending=ending),
            pytest.raises(OptionError, match=r"animated=True\), or \.gif, \.apng"),
        ):
            Player(product()).save(tmp_path / f"x.{ending}", **option)


@pytest.mark.parametrize(
    "ending", ["svg", pytest.param("apng", marks=has_png), pytest.param("gif", marks=has_pillow)]
)
def test_the_same_recording_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    for name in ("one", "two"):
        Player(loop()).save(tmp_path / f"{name}.{ending}", animated=True, stops=[1, 2, -1])
    one, two = (tmp_path / f"{name}.{ending}" for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = 8
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        kind, data = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        (check,) = struct.unpack(">I", png[at + 8 + length : at + 12 + length])
        assert check == zlib.crc32(kind + data)
        yield kind, data
        at += length + 12


@has_png
def test_an_apng_has_every_frame_and_loops(tmp_path: Path) -> None:
    Player(spoilt()).save(tmp_path / "x.apng", seconds=1)
    found = list(chunks((tmp_path / "x.apng").read_bytes()))
    frames = frames_of(spoilt(), (), 1)
    (animated,) = (data for kind, data in found if kind == b"acTL")
    assert struct.unpack(">II", animated) == (len(frames), 0)
    controls = [struct.unpack(">IIIIIHHBB", data) for kind, data in found if kind == b"fcTL"]
    assert [one[5] / one[6] for one in controls] == list(frames.seconds)
    assert len({one[1:3] for one in controls}) == 1
    numbers = [
        struct.unpack(">I", data[:4])[0] for kind, data in found if kind in (b"fcTL", b"fdAT")
    ]
    assert numbers == list(range(len(numbers)))
    width, height = controls[0][1:3]
    first = b"".join(data for kind, data in found if kind == b"IDAT")
    others = b"".join(data[4:] for kind, data in found if kind == b"fdAT")
    unpack = zlib.decompressobj()
    assert len(zlib.decompress(first)) == height * (4 * width + 1)
    assert len(unpack.decompress(others)) == height * (4 * width + 1)


@has_pillow
def test_a_gif_has_every_frame_and_loops(tmp_path: Path) -> None:
    from PIL import Image

    Player(spoilt()).save(tmp_path / "x.gif", seconds=1)
    frames = frames_of(spoilt(), (), 1)
    image: Any
    with Image.open(tmp_path / "x.gif") as image:
        assert image.info["loop"] == 0
        times, pictures = [], set()
        for number in range(image.n_frames):
            image.seek(number)
            times.append(image.info["duration"] / 1000)
            shown = image.convert("RGB")
            pictures.add(shown.tobytes())
            assert max(shown.getcolors(shown.width * shown.height))[1] == (255, 255, 255)
    assert times == list(frames.seconds)
    assert len(pictures) == len(frames)


@has_pillow
def test_a_gif_of_a_training_step_is_small_enough_to_be_sent(tmp_path: Path) -> None:
    Player(training_step()).save(tmp_path / "x.gif")
    assert (tmp_path / "x.gif").stat().st_size <= 500_000


def test_gif_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(GradvizError, match=r"pip install pillow.*\.apng"):
        Player(product()).save(tmp_path / "x.gif")


# ----------------------------------------------------------------- asked by the menu


def asked(player: Player, monkeypatch: pytest.MonkeyPatch, message: object) -> list[Any]:
    sent: list[Any] = []
    monkeypatch.setattr(
        player, "send", lambda content, buffers=None: sent.append((content, buffers))
    )
    player._handle_msg(
        {"content": {"data": {"method": "custom", "content": message}}, "buffers": []}
    )
    return sent


def test_the_menu_gets_the_file_that_save_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = Player(product())
    player.save(tmp_path / "x.svg", animated=True)
    ((answer, files),) = asked(player, monkeypatch, {"ask": "animation", "number": "7"})
    assert answer == {"answer": "7", "error": ""}
    assert files == [(tmp_path / "x.svg").read_bytes()]


@has_pillow
def test_the_menu_gets_a_gif_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    player = Player(spoilt())
    player.save(tmp_path / "x.gif")
    ((_, files),) = asked(player, monkeypatch, {"ask": "gif", "number": "7"})
    assert files == [(tmp_path / "x.gif").read_bytes()]


def test_the_menu_gets_the_reason_why_there_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    ((answer, files),) = asked(
        Player(long_code(70)), monkeypatch, {"ask": "animation", "number": "7"}
    )
    assert "too long to watch" in answer["error"]
    assert files is None


@pytest.mark.parametrize("message", [None, "animation", {}, {"ask": "x"}, [1]])
def test_other_messages_are_not_answered(message: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(Player(product()), monkeypatch, message) == []
