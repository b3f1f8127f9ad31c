from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import gradviz
from gradviz.model import OptionError, Recording, UnknownNodeError
from gradviz.view.captions.details import details
from gradviz.view.documents.digest import MIME as DIGEST
from gradviz.view.documents.graph import expand
from gradviz.view.outlines.recording import recording_outline
from gradviz.view.widgets.player import Player
from tests.view.graphs import HOSTILE, named
from tests.view.recordings import ALL, Script, animation_of, product, texts_of

VIEW = "application/vnd.jupyter.widget-view+json"


def bundle_of(player: Player) -> dict[str, Any]:
    data, _metadata = player._repr_mimebundle_()
    assert isinstance(data, dict)
    return data


def state_of(page: str) -> dict[str, Any]:
    found = re.search(r'id="gradviz-state">(.*?)</script>', page)
    assert found is not None
    state: dict[str, Any] = json.loads(found[1])
    return state


def test_opens_where_the_forward_is_done_or_at_the_error_or_where_it_is_told_to() -> None:
    assert Player(product()).step == 5
    assert Player(ALL["second"]).step == len(ALL["second"]) == 15
    assert Player(product(), step=-2).step == 12
    assert Player(product(), step="7.1").step == "7.1"
    assert Player(product(), step="backward").step == 6


def test_a_step_can_be_counted_from_the_end() -> None:
    player = Player(product())
    player.step = -1
    assert player.step == 13


def test_a_step_can_be_named() -> None:
    player = Player(product())
    for step, number in (("MulBackward0", 9), ("line:5", 5), ("8.2", "8.2"), ("7", 7)):
        player.step = step
        assert player.step == number


@pytest.mark.parametrize("step", [14, -15, "7.9"])
def test_a_step_that_does_not_exist_is_refused_and_nothing_changes(step: int | str) -> None:
    player = Player(product())
    with pytest.raises(OptionError, match="it has the steps 0 to 13"):
        player.step = step
    assert player.step == 5


@pytest.mark.parametrize(("trait", "value"), [("step", 1.5), ("detail", 2), ("speed", 0)])
def test_a_trait_refuses_what_it_cannot_mean(trait: str, value: object) -> None:
    with pytest.raises(OptionError):
        setattr(Player(product()), trait, value)


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="this recording has no step 99"):
        Player(product(), step=99)


def test_the_bundle_serves_notebooks_terminals_and_readers_without_a_kernel() -> None:
    player = Player(product())
    bundle = bundle_of(player)
    assert set(bundle) == {VIEW, DIGEST, "text/html", "image/svg+xml", "text/plain"}
    assert bundle["text/plain"] == recording_outline(product()) == str(player)
    assert re.findall(r"step \d+ of \d+", bundle["image/svg+xml"]) == [
        "step 5 of 13", "step 8 of 13", "step 12 of 13",
    ]  # fmt: skip
    encoded = re.search(r"base64,([^\"]*)", bundle["text/html"])
    assert encoded is not None
    assert base64.b64decode(encoded[1]).decode() == bundle["image/svg+xml"]


def test_the_bundle_is_the_same_bytes_apart_from_the_model_id() -> None:
    bundles = [bundle_of(Player(product())) for _ in range(2)]
    assert len({bundle.pop(VIEW)["model_id"] for bundle in bundles}) == 2
    assert bundles[0] == bundles[1]


def test_what_was_recorded_can_be_selected() -> None:
    player = Player(product())
    for key in ("n0", "n1", "t3", ""):
        player.selected = key
        assert player.selected == key
    with pytest.raises(UnknownNodeError, match="no node or tensor 'n99'"):
        player.selected = "n99"


def test_a_step_made_in_the_browser_arrives() -> None:
    player = Player(product())
    seen: list[int] = []
    player.observe(lambda change: seen.append(change["new"]), "step")
    content = {"data": {"method": "update", "state": {"step": 7}, "buffer_paths": []}}
    player._handle_msg({"content": content, "buffers": []})
    assert seen == [7]


def test_the_state_of_a_widget_stays_small() -> None:
    state = Player(ALL["hooked"]).get_state()
    own = {k: v for k, v in state.items() if k not in ("_esm", "_css", "_front_end")}
    assert len(json.dumps(own)) < 30_000  # three densities


def test_files_are_the_same_bytes_each_time(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for ending in [".svg", ".png", ".json", ".html"]:
        with subtests.test(ending=ending):
            for name in ("one", "two"):
                Player(product()).save(tmp_path / f"{name}{ending}")
            assert (tmp_path / f"one{ending}").read_bytes() == (
                tmp_path / f"two{ending}"
            ).read_bytes()


def test_pictures_are_saved_of_the_step_that_is_shown(tmp_path: Path) -> None:
    player = Player(product())
    player.step = "MulBackward0"
    player.engine_arrows = True
    player.save(tmp_path / "step.svg")
    svg = (tmp_path / "step.svg").read_text("utf-8")
    assert svg == player._pictures([14]).svg(14, engine_arrows=True)
    assert "gradviz-svg gv-engine" in svg
    player.save(tmp_path / "step.png")
    assert (tmp_path / "step.png").read_bytes().startswith(b"\x89PNG")


def test_json_reads_back(tmp_path: Path) -> None:
    Player(product()).save(tmp_path / "recording.json")
    text = (tmp_path / "recording.json").read_text("utf-8")
    assert Recording.from_json(text) == product()


def test_the_page_has_the_whole_player_at_the_step_that_is_shown(tmp_path: Path) -> None:
    player = Player(ALL["hooked"])
    player.step, player.detail = "10.3", True
    place = ALL["hooked"]["10.3"].index
    player.save(tmp_path / "player.html")
    page = (tmp_path / "player.html").read_text("utf-8")
    state = state_of(page)
    assert (state["step"], state["detail"], state["speed"]) == ("10.3", True, 1.0)
    assert list(state["wire"]) == ["format", "deflate"]
    wire = expand(state["wire"])
    assert wire["views"] == player.wire["views"]
    assert Recording.from_json(wire["json"]) == ALL["hooked"]
    assert f"step {ALL['hooked'].numbers.number(place)} of {len(ALL['hooked'])}" in page
    assert len(page) < 400_000


def seeded() -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(2, 1)
    linear(torch.ones(1, 2)).sum().backward()


def made_before() -> None:
    BEFORE.backward()


def in_a_function() -> None:
    def step(w: torch.Tensor) -> None:
        (w * w).backward()

    step(torch.tensor(2.0, requires_grad=True))


def no_longer_there() -> None:
    product = torch.tensor(2.0, requires_grad=True) * 2
    del product


def nothing() -> None:
    pass


BEFORE = torch.tensor(2.0, requires_grad=True).exp()
OPENED: dict[Callable[[], None], tuple[int | str, int]] = {
    seeded: ("1.3", 5),
    made_before: (0, 2),
    in_a_function: ("1.3.1", 2),
    no_longer_there: ("1.1", 2),
    nothing: (1, 0),
}
"""Where the recording of each opens, and how many nodes are there."""


def lines_of(program: Callable[[], None]) -> Recording:
    with gradviz.record([program]) as recording:
        program()
    return recording


@pytest.mark.dot
@pytest.mark.parametrize("program", OPENED)
def test_no_file_is_a_blank_sheet(program: Callable[[], None], tmp_path: Path) -> None:
    recording = lines_of(program)
    player = Player(recording)
    assert (player.step, len(recording[player.step].graph)) == OPENED[program]
    for ending in (".svg", ".png", ".pdf"):
        player.save(tmp_path / f"step{ending}")
    svg = (tmp_path / "step.svg").read_text("utf-8")
    said = re.findall(r"<text[^>]*>([^<]+)", svg)
    names = [node.name for node in recording[player.step].graph.nodes]
    titles = re.findall(r"<title>([^<]+)", svg)  # of the other nodes in a box
    words = {word for text in (*said, *titles) for word in text.split()}
    assert {"AccumulateGrad"}.issuperset({*names} - words)
    assert names or said == ["empty autograd graph"]
    with Image.open(tmp_path / "step.png") as picture:
        assert len(picture.convert("L").getcolors() or ()) > 10  # letters have soft rims


@pytest.mark.dot
def test_a_step_is_saved_as_pdf(tmp_path: Path) -> None:
    Player(product()).save(tmp_path / "step.pdf")
    assert (tmp_path / "step.pdf").read_bytes().startswith(b"%PDF")


def test_an_ending_that_is_not_known_is_refused(tmp_path: Path) -> None:
    words = r"a recording can be saved as \.html, \.svg, \.png, \.pdf, \.json, \.gif, \.apng"
    with pytest.raises(OptionError, match=words):
        Player(product()).save(tmp_path / "player.bmp")


def test_names_are_no_markup_anywhere(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name in HOSTILE:
        with subtests.test(name=name):
            graph = named(product().graph, name)
            script = Script(f"x = 1  # {name}")
            script.step("start")
            script.step("line", 1, *graph.nodes, *graph.tensors, roots=graph.roots)
            player = Player(script.end())
            bundle = bundle_of(player)
            drawn = texts_of(animation_of(player.recording)).values()
            looks = [look for looks in drawn for look in looks]
            for text in (*looks, bundle["image/svg+xml"], bundle["text/html"]):
                assert "<script" not in text
                assert "<b>" not in text
            player.save(tmp_path / "page.html")
            page = (tmp_path / "page.html").read_text("utf-8")
            assert page.count("<script") == 3
            assert details(script.end(), 1)
