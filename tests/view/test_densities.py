"""What cards say in each density, and what they never do not say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, get_args
from xml.etree import ElementTree as ET

import pytest
import torch

import gradviz
from gradviz.model import Graph, OptionError
from gradviz.model.operations import words_of
from gradviz.view.animation.animation import Animations
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph.card_lines import DEFAULTS
from gradviz.view.graph.card_parts import DENSITIES, PARTS, Card, Density
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.options import DrawOptions
from tests.view.graphs import chain, every_mark, product_and_sum, scene_of
from tests.view.recordings import ALL, product


def card_of(svg: str, key: str) -> ET.Element:
    return next(e for e in ET.fromstring(svg).iter() if e.get("id") == f"gv-{key}")


def words(svg: str, key: str) -> list[str]:
    texts = (e for e in card_of(svg, key).iter() if e.tag.endswith("text"))
    return ["".join(e.itertext()) for e in texts]


def height(svg: str, key: str) -> float:
    return next(
        float(e.get("height", 0)) for e in card_of(svg, key).iter() if e.get("class") == "gv-card"
    )


def said_on(card: Card) -> set[str]:
    """Words and numbers, without the brackets and commas of lists."""
    lines = [line.whole for block in card.blocks for line in block.lines]
    return {word.strip("[],") for line in lines for word in line.split()}


def drawn(graph: Graph, density: Density, **options: Any) -> str:
    return draw(graph, DrawOptions.of(density=density, **options))


def scaled() -> Graph:
    x = torch.tensor([[1.0, -2.0], [3.0, 40.0]], requires_grad=True)
    k = torch.ones(2, 2)
    loss = ((x * k) * 2 + x).sum()
    loss.backward(retain_graph=True)
    return gradviz.snapshot(loss, names={"x": x, "k": k, "loss": loss})


SCALED = scaled()


def test_a_picture_opens_compact_above_six_cards() -> None:
    few, many = graph_document(product_and_sum()), graph_document(chain(7))
    cards = scene_of(product_and_sum()).cards
    assert (len(cards), few["density"], many["density"]) == (5, "normal", "compact")
    assert list(few["pictures"]) == ["normal", "full"]
    assert list(many["pictures"]) == ["compact", "full"]
    full = graph_document(chain(7), DrawOptions(density="full"))
    assert (full["density"], list(full["pictures"])) == ("full", ["normal", "full"])


def test_of_a_recording_places_count_not_what_was_at_them_before() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with gradviz.record() as recording:
        for _ in range(3):
            (w * w).sum().backward()
    assert len(recording.graph) == 7
    assert Animations(recording).opening == "normal"


def test_a_density_that_does_not_exist_is_refused(subtests: pytest.Subtests) -> None:
    for density in ["dense", None, 3, "FULL"]:
        with (
            subtests.test(density=density),
            pytest.raises(OptionError, match="must be 'auto', 'compact', 'normal' or 'full'"),
        ):
            gradviz.show(SCALED, density=density)


def test_a_density_has_all_that_the_one_before_has() -> None:
    """Every word of a compact card is on the normal one, all of that on the full one, which is
    called by torch's name alone."""
    for graph in (SCALED, every_mark()):
        called = {word for node in graph.nodes for word in words_of(node.name).split()}
        called |= {"no", "gradient"}  # the full card says: does not require grad
        said = [
            {card.id: said_on(card) for card in scene_of(graph, density).cards}
            for density in DENSITIES
        ]
        for less, more in pairwise(said):
            for key, found in less.items():
                assert found - {"…"} - called <= more[key], key


def test_compact_cards_are_small() -> None:
    svg = drawn(SCALED, "compact")
    # The root has a pill, n3 is the leaf.
    assert [height(svg, node.id) for node in SCALED.nodes] == [52, 46, 46, 22, 46]


def test_compact_leaves_out_operands_and_entries_that_are_none() -> None:
    svg = drawn(SCALED, "compact")
    assert not any({"self", "other"} & set(words(svg, key)) for key in ("n1", "n2", "n3"))
    assert any("no grad" in word for word in words(drawn(SCALED, "normal"), "n2"))


@pytest.mark.parametrize("density", DENSITIES)
def test_what_is_wrong_is_on_every_card(density: Density) -> None:
    svg = drawn(every_mark(), density)
    ids = {e.get("data-id"): e.get("class") for e in ET.fromstring(svg).iter()}
    graph = every_mark()
    for node in graph.nodes:
        for place, slot in enumerate(node.saved):
            if slot.state == "modified":
                assert "gv-modified" in str(ids[f"{node.id}.saved.{place}"])
        slots = [str(ids.get(f"{node.id}.saved.{place}")) for place, _ in enumerate(node.saved)]
        if node.state in ("freed", "packed", "opaque"):
            is_said = any(f"gv-{node.state}" in css.split() for css in slots)
            assert is_said or node.state in words(svg, node.id)


def test_defaults_and_accumulators_are_on_the_full_card_alone() -> None:
    for density in DENSITIES:
        svg = drawn(SCALED, density)
        assert ("alpha=1" in words(svg, "n1")) == (density == "full")
        assert ("Σ AccumulateGrad" in svg) == (density == "full")


def test_every_default_is_one_of_torch() -> None:
    found: dict[str, set[Any]] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            for argument in schema.arguments:
                if argument.has_default_value():
                    value = argument.default_value
                    values = value if isinstance(value, list) else [value]
                    found.setdefault(argument.name, set()).update(values)
    assert {name for name, value in DEFAULTS.items() if value not in found[name]} == set()


def test_a_version_is_said_once_something_was_written() -> None:
    w = torch.ones(2, requires_grad=True)
    calm = gradviz.snapshot((w * w).sum(), names={"w": w})
    with torch.no_grad():
        w.add_(0.0)
    written = gradviz.snapshot((w * w).sum(), names={"w": w})
    leaf = {one: next(n.id for n in one.nodes if n.variable) for one in (calm, written)}
    said = {
        (name, density): any("v1" in word or "v0" in word for word in words(svg, leaf[graph]))
        for name, graph in (("calm", calm), ("written", written))
        for density in DENSITIES
        for svg in [drawn(graph, density)]
    }
    assert said == {
        ("calm", "compact"): False,
        ("calm", "normal"): False,
        ("calm", "full"): True,
        ("written", "compact"): False,
        ("written", "normal"): True,
        ("written", "full"): True,
    }


def test_saved_numbers_have_their_value() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    y = x * 2
    graph = gradviz.snapshot(y, names={"x": x})
    (slot,) = [slot for slot in graph["n0"].saved if slot.state == "held"]
    assert (slot.name, slot.values) == ("other", (2,))
    assert "other = 2" in words(drawn(graph, "normal"), "n0")
    assert "saved other = 2" in str(graph)
    assert Graph.from_json(graph.to_json()) == graph


def test_a_matrix_looks_like_one() -> None:
    leaf = next(n.id for n in SCALED.nodes if n.variable)
    for density in ("normal", "full"):
        found = words(drawn(SCALED, density), leaf)
        assert "= [[1.0, -2.0]," in found
        assert "[3.0, 40.0]]" in [word.replace("\xa0", "") for word in found]


@pytest.mark.parametrize("density", DENSITIES)
def test_hidden_constants_leave_no_trace_in_the_drawing(density: Density) -> None:
    svg = drawn(SCALED, density, hide=["constants"])
    root = ET.fromstring(svg)
    said = " ".join("".join(e.itertext()) for e in root.iter() if e.tag.endswith(("text", "title")))
    assert "no grad" not in said
    assert "does not require grad" not in said
    assert "= k" not in said
    assert "other = 2" not in said
    classes = {name for e in root.iter() for name in (e.get("class") or "").split()}
    assert not {"gv-stub", "gv-tensor", "gv-uses"} & classes
    assert str(SCALED) == str(gradviz.show(SCALED, hide=["constants"]))


def test_what_is_asked_for_is_in_every_density_and_what_is_hidden_in_none(
    subtests: pytest.Subtests,
) -> None:
    for part in PARTS:
        for density in DENSITIES:
            with subtests.test(part=part, density=density):
                asked = DrawOptions.of(show=[part], density=density).content(density)
                hidden = DrawOptions.of(hide=[part], density=density).content(density)
                assert part in asked
                assert part not in hidden
                assert draw(SCALED, DrawOptions.of(show=[part], density=density))


def test_show_saved_shows_them_compact_too() -> None:
    assert "other = 2" in words(drawn(SCALED, "compact", show=["saved"]), "n2")
    assert "other = 2" not in words(drawn(SCALED, "compact"), "n2")


def test_cards_exist_at_the_same_steps_in_every_density(subtests: pytest.Subtests) -> None:
    for name in ALL:
        with subtests.test(name=name):
            animations = Animations(ALL[name])
            for step in range(len(ALL[name])):
                there = [{k for k, e in a.there(step).items()} for a in animations.values()]
                assert there[0] == there[1]


def test_a_widget_is_saved_in_the_density_that_is_shown(tmp_path: Any) -> None:
    picture = gradviz.show(SCALED, density="compact")
    assert (picture.density, picture.shown_density) == ("compact", "compact")
    picture.save(tmp_path / "one.svg")
    picture.density = "full"
    picture.save(tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_text("utf-8") == picture.wire["pictures"]["compact"]
    assert (tmp_path / "two.svg").read_text("utf-8") == picture.wire["pictures"]["full"]
    assert gradviz.show(SCALED).density == "auto"


def test_a_player_is_saved_in_the_density_that_is_shown(tmp_path: Any) -> None:
    player = gradviz.show(product(), density="compact", step=4)
    player.save(tmp_path / "one.svg")
    shown = player._pictures([player.step]).svg(player.step)
    assert (tmp_path / "one.svg").read_text("utf-8") == shown
    assert get_args(Density) == DENSITIES
