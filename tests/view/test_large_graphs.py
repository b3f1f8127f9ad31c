"""Of a large graph only what is drawn is limited: all is found, listed, counted and saved."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import gradviz
from gradviz.model import Graph, Node, OptionError
from gradviz.model.reachability import entries
from gradviz.view.documents.graph import compress, expand, graph_document
from gradviz.view.documents.recording import recording_document
from gradviz.view.export.page import to_page
from gradviz.view.graph import extent
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.scene import LIMIT, OUTSIDE
from tests.view.graphs import chain, product_and_sum, tensor

LENGTH = LIMIT + 30
CALL = 'gradviz.show(…, focus="n400")'
"""The root of the chain has no name."""


def drawn_in(svg: str) -> set[str]:
    return set(re.findall(r'data-id="(n\d+)"', svg))


def drawn(document: dict[str, Any]) -> set[str]:
    return drawn_in(document["pictures"][document["density"]])


@pytest.fixture(scope="module")
def graph() -> Graph:
    return chain(LENGTH)


@pytest.fixture(scope="module")
def document(graph: Graph) -> dict[str, Any]:
    return graph_document(graph)


def test_everything_can_be_found_and_listed(graph: Graph, document: dict[str, Any]) -> None:
    ids = {node.id for node in graph.nodes}
    assert len(drawn(document)) == LIMIT < len(graph)
    assert ids <= {item["id"] for item in document["items"]}
    assert ids <= {row["id"] for row in document["outline"]["rows"]}
    assert f"{LENGTH} nodes" in document["summary"]


def test_what_is_not_drawn_says_so_and_has_a_name_words_and_a_row(
    document: dict[str, Any],
) -> None:
    items = {item["id"]: item for item in document["items"] if item["id"][0] == "n"}
    assert {key for key, item in items.items() if "is_drawn" not in item} == drawn(document)
    last = items[f"n{LENGTH - 1}"]
    assert last["is_drawn"] is False
    assert last["label"] == "x"
    assert {"x", "accumulategrad", last["id"]} <= set(last["find"].split())
    rows = {row["id"]: row["cells"] for row in document["outline"]["rows"]}
    assert rows[last["id"]][1] == "leaf x"


def test_the_words_say_how_much_is_drawn_and_what_to_type(document: dict[str, Any]) -> None:
    words = f"400 of {LENGTH} nodes are drawn: n0 to n399. Find, Outline and totals cover all."
    assert document["extent"] == {"words": words, "subject": "…", "example": "n400"}


def test_a_file_without_a_browser_says_it_too(graph: Graph) -> None:
    said = re.sub("<[^>]*>", " ", draw(graph)).replace("&quot;", '"')
    assert f"400 of {LENGTH} nodes are drawn: n0 to n399." in said
    assert CALL in said
    assert 'class="gv-extent"' in to_page(graph)


def test_where_all_is_drawn_nothing_is_said() -> None:
    document = graph_document(product_and_sum())
    assert "extent" not in document
    assert "gv-extent" not in draw(product_and_sum())
    assert all("is_drawn" not in item for item in document["items"])


def test_the_words_name_the_variable_that_was_shown() -> None:
    weight = torch.ones(2, requires_grad=True)
    loss = weight
    for _ in range(LIMIT):
        loss = loss.sin()
    picture = gradviz.show(loss, fold=False)
    assert picture.wire["extent"]["subject"] == "loss"
    assert 'gradviz.show(loss, focus="n400")' in picture._still.replace("&quot;", '"')
    assert str(picture) == str(gradviz.snapshot(loss))


def test_the_nodes_around_a_focus_are_drawn(graph: Graph) -> None:
    document = graph_document(graph, DrawOptions(focus="n425"))
    # The chain ends 4 nodes behind it.
    assert drawn(document) == {f"n{i}" for i in range(LENGTH - LIMIT, LENGTH)}
    assert "drawn: the nearest to n425." in document["extent"]["words"]
    assert document["extent"]["example"] == "n0"
    assert len(document["items"]) == len(graph_document(graph)["items"])


def test_a_picture_opens_at_its_focus_and_can_get_another_one(graph: Graph) -> None:
    picture = gradviz.show(graph, focus="n425", fold=False)
    assert picture.selected == "n425"
    picture.focus = "n2"
    assert picture.selected == "n2"
    assert drawn(picture.wire) == {f"n{i}" for i in range(LIMIT)}
    picture.display_graph(product_and_sum())
    assert (picture.focus, "extent" in picture.wire) == ("n2", False)
    with pytest.raises(OptionError, match=r"focus: this graph has no node 'n5'.*'n0' to 'n4'"):
        picture.focus = "n5"


@pytest.mark.parametrize("focus", ["n999", "loss", 3])
def test_a_focus_that_is_no_node_is_refused(focus: Any) -> None:
    with pytest.raises(OptionError, match="focus"):
        gradviz.show(chain(3), focus=focus)


def test_nearest_are_those_with_the_fewest_edges_between() -> None:
    chance = random.Random(7)
    for _ in range(30):
        size = chance.randint(1, 25)
        nodes = [
            Node(
                f"n{i}",
                "SinBackward0",
                tuple(
                    (f"n{chance.randrange(i + 1, size)}", 0) if i + 1 < size else None
                    for _ in range(chance.randint(0, 3))
                ),
            )
            for i in range(size)
        ]
        graph = Graph.of(nodes, [("n0", 0)])
        joined: dict[str, set[str]] = {node.id: set() for node in nodes}
        for node in nodes:
            for key in entries(node):
                joined[node.id].add(key)
                joined[key].add(node.id)
        start, count = chance.choice(nodes).id, chance.randint(1, size)
        far, ring, away = {start: 0}, [start], 0
        while ring:
            away += 1
            ring = [k for k in {k for key in ring for k in joined[key]} if k not in far]
            far |= dict.fromkeys(ring, away)
        expected = sorted(far, key=lambda key: (far[key], int(key[1:])))[:count]
        assert [f"n{i}" for i in graph.nearest(start, count)] == sorted(
            expected, key=lambda key: int(key[1:])
        )


def test_beyond_the_limit_of_the_list_the_words_say_what_is_listed(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extent, "LISTED", 410)
    document = graph_document(graph)
    assert len([row for row in document["outline"]["rows"] if row["id"][0] == "n"]) == 410
    assert document["extent"]["words"].endswith(
        "Find and Outline cover 410 nodes: n0 to n409. Totals cover all; "
        "print(gradviz.snapshot(…)) lists all."
    )
    assert f"{LENGTH} nodes" in document["summary"]


def test_a_node_that_is_not_drawn_takes_few_bytes() -> None:
    small, large = (len(json.dumps(compress(graph_document(chain(n))))) for n in (1000, 3000))
    assert large - small < 40 * 2000


def test_tensors_outside_the_graph_that_are_not_drawn_are_counted_and_found() -> None:
    infos = [tensor(i, f"x{i}", node=None) for i in range(OUTSIDE + 3)]
    graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)], infos)
    document = graph_document(graph)
    assert (
        f"60 of {OUTSIDE + 3} tensors outside the graph are drawn." in (document["extent"]["words"])
    )
    hidden = [item["id"] for item in document["items"] if item.get("is_drawn") is False]
    assert hidden == [f"t{i}" for i in range(OUTSIDE, OUTSIDE + 3)]
    assert "t62" in [row["id"] for row in document["outline"]["rows"]]


def test_a_page_has_all_of_it_without_a_kernel(graph: Graph, tmp_path: Path) -> None:
    gradviz.show(graph).save(tmp_path / "large.html")
    page = (tmp_path / "large.html").read_text("utf-8")
    assert f"n{LENGTH - 1} AccumulateGrad" in page
    gradviz.show(graph).save(tmp_path / "large.json")
    assert Graph.from_json((tmp_path / "large.json").read_text("utf-8")) == graph


def test_a_closed_picture_prints_that_it_is_closed(graph: Graph) -> None:
    picture = gradviz.show(graph)
    picture.close()
    assert str(picture) == "Picture (closed)"


def test_of_a_recording_all_nodes_are_found_and_listed_at_their_steps() -> None:
    with gradviz.record() as recording:
        x = torch.ones(2, requires_grad=True)
        loss = x
        for _ in range(LIMIT + 5):
            loss = loss.sin()
    player = gradviz.show(recording)
    document = player.wire
    nodes = len(recording.graph)
    assert nodes > LIMIT
    items: dict[str, Any] = {}
    rows: dict[str, Any] = {}
    for view in document["views"]:
        items |= view["items"]
        rows |= view["rows"]
    there = {node.id for node in recording.graph_at(-1).nodes}
    assert there <= {key for key, item in items.items() if item}
    assert there <= {key for key, row in rows.items() if row}
    assert not {key for key, item in items.items() if item and item.get("is_drawn") is False}
    # What the document does not carry the kernel has, some of it in each answer.
    insides = dict(document["fold"]["insides"]["compact"])
    folds = [one["id"] for one in document["fold"]["folds"]]
    assert len(insides) < len(folds)
    while asked := [own_id for own_id in folds if own_id not in insides]:
        answer = player._answer_to({"inside": asked})
        assert answer is not None
        insides |= json.loads(answer)["insides"]["compact"]
    cards = {card["id"] for one in insides.values() for card in one["cards"]}
    assert {node.id for node in recording.graph.nodes} <= cards
    assert "extent" not in document
    assert expand(compress(document)) == document
    last = f"n{nodes - 1}"
    around = recording_document(recording, options=DrawOptions(focus=last))
    picture = around["pictures"][around["density"]]
    assert f"gv-{last}" in picture["elements"]
    assert 'class="gv-extent"' in picture["svg"]
    assert around["extent"]["words"].startswith(f"400 of {nodes} nodes are drawn: ")
    assert around["extent"]["subject"] == "recording"
