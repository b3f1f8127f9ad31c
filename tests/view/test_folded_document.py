"""What the browser gets of a folded graph, and what the kernel answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from gradviz.analysis.fold.folding import folding_of
from gradviz.model import Graph
from gradviz.model.errors import OptionError, UnknownNodeError
from gradviz.view.documents.fold_answers import FoldAnswers
from gradviz.view.documents.folds import LIMIT, PAGE, WIDGET, FoldDocument, Room
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.extent import SCREEN
from gradviz.view.graph.options import DrawOptions
from gradviz.view.widgets.picture import Picture
from tests.view.documents import check_document
from tests.view.folds import blocks, drawing_of
from tests.view.graphs import chain, product_and_sum

SMALL = Room(2, 1_000_000, 5, 3)


def document(graph: Graph, fold: object = None, room: Room = WIDGET) -> dict[str, Any]:
    folding = folding_of(graph, fold)
    assert folding is not None
    folded = GraphDrawing(folding.tree.graph, folding=folding)
    return graph_document(graph, folded=folded, insides=room)


def picture(graph: Graph, fold: object = None) -> Picture:
    return Picture(graph, fold=lambda shown: folding_of(shown, fold))


def ask(shown: Picture, **question: object) -> dict[str, Any]:
    answer = shown._answer_to(question)
    assert answer is not None
    found: dict[str, Any] = json.loads(answer)
    return found


def test_the_document_of_a_folded_model(check_golden: Callable[[str, str], None]) -> None:
    wire = document(blocks(3), 1)
    for insides in wire["fold"]["insides"].values():
        for inside in insides.values():
            inside["header"] = ""
            for card in inside["cards"]:
                card["markup"] = ""
    check_document(check_golden, "wire/folded", wire)


def test_small_graphs_are_not_folded_and_large_ones_are() -> None:
    assert folding_of(chain(40)) is None
    assert folding_of(chain(41)) is not None
    assert folding_of(chain(4000), False) is None


def test_every_item_says_in_which_fold_it_is() -> None:
    graph = blocks(9)
    wire = document(graph)
    folds = {fold["id"]: fold for fold in wire["fold"]["folds"]}
    for item in wire["items"]:
        assert item["fold"] in folds or item["id"] == "f0"
        assert "is_drawn" not in item
    kinds = {item["id"]: item["kind"] for item in wire["items"]}
    assert {key for key, kind in kinds.items() if kind == "fold"} == set(folds)
    assert all(node.id in kinds for node in graph.nodes)
    above = [fold for fold in folds.values() if fold["id"] != "f0"]
    assert all(fold["above"] in folds for fold in above)


def test_what_is_open_at_first_is_always_there() -> None:
    wire = document(blocks(9), 5, SMALL)
    for insides in wire["fold"]["insides"].values():
        assert {"", *wire["fold"]["opened"]} <= set(insides)


def test_where_there_is_no_room_a_fold_says_what_it_needs() -> None:
    wire = document(blocks(9), 1, SMALL)
    fold = wire["fold"]
    assert fold["limit"] == LIMIT
    here = {key for insides in fold["insides"].values() for key in insides}
    assert {one["id"]: one["has_inside"] for one in fold["folds"]} == {
        one["id"]: one["id"] in here for one in fold["folds"]
    }
    assert document(blocks(9), 1, PAGE)["fold"]["limit"] == ""


def test_totals_and_text_are_those_of_the_whole_graph() -> None:
    graph = blocks(20)
    folded, flat = document(graph), graph_document(graph)
    assert (folded["summary"], folded["text"]) == (flat["summary"], flat["text"])
    rows = {row["id"]: row for row in flat["outline"]["rows"]}
    assert {row["id"]: row for row in folded["outline"]["rows"]} == rows


def test_of_many_nodes_a_few_are_listed_and_that_is_said() -> None:
    wire = document(chain(3000))
    rows = [row["id"] for row in wire["outline"]["rows"]]
    assert 1000 <= len(rows) < 1200
    assert f"Outline lists {len(rows):,} of 3,000 nodes" in wire["extent"]["words"]
    assert "2,600 more nodes not listed" in wire["text"]


def test_without_a_module_the_picture_says_by_what_it_is_folded() -> None:
    wire = document(chain(60))
    assert "folded by repeated structure" in wire["fold"]["note"]
    assert "folded by" in wire["pictures"]["compact"].replace("\n", " ")
    assert document(blocks(12))["fold"]["note"] == ""


@pytest.mark.parametrize("layers", [3, 12, 40])
def test_a_model_opens_on_one_screen(layers: int) -> None:
    folding = folding_of(blocks(layers), None if layers > 9 else True)
    assert folding is not None
    drawing = GraphDrawing(folding.tree.graph, folding=folding)
    composed = drawing["compact"].composed(drawing["compact"].opened)
    assert 1 < drawing.boxes <= 12
    assert (composed.width <= SCREEN[0], composed.height <= SCREEN[1]) == (True, True)


def test_the_same_graph_has_the_same_document() -> None:
    assert json.dumps(document(blocks(12))) == json.dumps(document(blocks(12)))


def test_the_kernel_answers_with_an_inside_in_every_density() -> None:
    graph = blocks(12)
    shown = picture(graph)
    folding = folding_of(graph)
    assert folding is not None
    for fold in folding.tree:
        answer = ask(shown, inside=[fold.id])
        assert set(answer["insides"]) == {"compact", "full"}
        assert all(fold.id in insides for insides in answer["insides"].values())
        keys = {card["id"] for card in answer["insides"]["compact"][fold.id]["cards"]}
        items = {item["id"]: item for item in answer["items"]}
        members = {key for key in keys if "ref" not in key and key[0] in "nf"}
        assert members <= set(items)
        assert all(items[key]["details"] for key in members)


def test_an_answer_is_what_a_larger_document_has() -> None:
    shown, whole = picture(blocks(12)), document(blocks(12), None, PAGE)
    answer = ask(shown, inside=["f5"])
    for density, insides in answer["insides"].items():
        for key, inside in insides.items():
            assert whole["fold"]["insides"][density][key] == inside


def test_find_finds_nodes_that_are_not_listed() -> None:
    shown = picture(chain(3000))
    answer = ask(shown, find="sinbackward0")
    assert len([item for item in answer["items"] if item["kind"] == "node"]) == 200
    assert answer["more"] == 2799
    around = {fold["id"] for fold in answer["folds"]}
    assert all(item["fold"] in around for item in answer["items"] if item["kind"] == "node")
    assert ask(shown, find="nothing like that")["items"] == []


def test_find_finds_a_node_by_its_id_and_nodes_by_their_module() -> None:
    shown = picture(blocks(12))
    found = ask(shown, find="n40")["items"]
    assert [item["id"] for item in found if item["kind"] != "fold"] == ["n40"]
    answer = ask(shown, find="model.h.7 backward0")
    assert answer["more"] == 0
    nodes = [item for item in answer["items"] if item["kind"] == "node"]
    assert nodes
    assert all("h.7" in item["find"] for item in nodes)
    listed = {item["id"]: item["find"] for item in shown.wire["items"]}
    assert all(listed.get(item["id"], item["find"]) == item["find"] for item in nodes)


def test_several_insides_are_answered_in_one_density() -> None:
    shown = picture(blocks(12))
    ids = ["f3", "f5", "f7"]
    answer = ask(shown, inside=ids)
    assert {density: set(found) for density, found in answer["insides"].items()} == {
        "compact": set(ids)
    }
    cards = {card["id"] for one in answer["insides"]["compact"].values() for card in one["cards"]}
    members = {key for key in cards if "ref" not in key and key[0] in "nf"}
    assert members <= {item["id"] for item in answer["items"]}


def test_a_question_about_no_fold_is_an_error_and_other_questions_are_for_others() -> None:
    _, drawing = drawing_of(blocks())
    with pytest.raises(UnknownNodeError, match="f999"):
        FoldAnswers(drawing).inside(["f999"], "compact")
    shown = picture(blocks(12))
    assert shown._answer_to({"else": 1}) is None
    assert shown._answer_to("animation") is None
    assert picture(product_and_sum())._answer_to({"inside": "f0"}) is None


def test_a_focus_opens_the_folds_around_it() -> None:
    shown = picture(blocks(12))
    folding = folding_of(shown.graph)
    assert folding is not None
    shown.focus = "n30"
    around = {fold.id for fold in folding.tree.around("n30")}
    assert around <= set(shown.wire["fold"]["opened"])
    assert shown.selected == "n30"
    assert 'data-id="n30"' in shown._still
    with pytest.raises(OptionError, match="focus: this graph has no node 'n9999'"):
        shown.focus = "n9999"


def test_another_graph_in_the_same_place_is_folded_if_it_is_large() -> None:
    shown = picture(blocks(12))
    assert "fold" in shown.wire
    shown.display_graph(product_and_sum())
    assert "fold" not in shown.wire
    shown.display_graph(blocks(13))
    assert "fold" in shown.wire


def test_densities_that_are_not_sent_can_be_drawn() -> None:
    shown = picture(blocks(12))
    compact = shown._still
    shown.density = "full"
    assert shown._still != compact
    assert "<svg" in shown._still


def test_one_box_for_all() -> None:
    wire = document(blocks(3), 0)
    assert wire["fold"]["opened"] == []
    assert 'data-id="f0"' in wire["pictures"]["compact"]


def test_insides_of_a_document_are_plain_data() -> None:
    folding, drawing = drawing_of(blocks(3), options=DrawOptions(direction="LR"))
    found = FoldDocument(drawing, PAGE)
    assert set(found.insides["compact"]) == {"", *(fold.id for fold in folding.tree)}
    assert found.fields["fold"]["direction"] == "LR"
    json.dumps(found.fields, allow_nan=False)
