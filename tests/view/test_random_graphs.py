from __future__ import annotations

from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradviz.model import Graph
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph.card_parts import DENSITIES, PARTS, CardContent, Density
from gradviz.view.graph.cards import node_card
from gradviz.view.graph.drawing import draw
from gradviz.view.graph.geometry import PAD, CardFrame, measure
from gradviz.view.graph.layout import lay_out, spines
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph_index import GraphIndex
from gradviz.view.outlines.graph import COLUMNS, outline
from gradviz.view.text import width_of
from tests.view.graphs import graphs, rows_of, scene_of

MANY = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@MANY
@given(graphs(), st.sampled_from(["TB", "LR"]), st.sampled_from(DENSITIES))
def test_any_graph_is_drawn_with_every_id_once(
    graph: Graph, direction: Any, density: Density
) -> None:
    root = ET.fromstring(draw(graph, DrawOptions(direction, density=density)))
    drawn = [e for e in root.iter() if e.get("data-id")]
    refer = [e for e in drawn if "gv-ref" in (e.get("class") or "").split()]
    ids = [e.get("data-id") for e in drawn if e not in refer]
    assert len(ids) == len(set(ids))
    assert {e.get("data-id") for e in refer} <= set(ids)
    assert {n.id for n in graph.nodes} <= set(ids)
    edges = [e for e in root.iter() if e.get("class") == "gv-edge"]
    assert len(edges) == len(graph.edges)
    stubs = [e for e in root.iter() if e.get("class") == "gv-stub"]
    assert len(stubs) == (graph.counts["none edges"] if density != "compact" else 0)


@MANY
@given(graphs(), st.sampled_from(["TB", "LR"]), st.sampled_from(DENSITIES))
def test_boxes_never_overlap_and_stay_in_the_picture(
    graph: Graph, direction: Any, density: Density
) -> None:
    frames, layout = _placed(graph, direction, density)
    corners = {frame.box.id: (frame, *layout.places[frame.box.id]) for frame in frames}
    for frame, x, y in corners.values():
        assert 0 <= x <= layout.width - frame.box.width + 0.2
        assert 0 <= y <= layout.height - frame.box.height + 0.2
    for (a, ax, ay), (b, bx, by) in combinations(corners.values(), 2):
        apart = (
            ax + a.box.width <= bx + 0.2
            or bx + b.box.width <= ax + 0.2
            or ay + a.box.height <= by + 0.2
            or by + b.box.height <= ay + 0.2
        )
        assert apart, (a.card.id, b.card.id)


@MANY
@given(graphs(), st.sampled_from(["TB", "LR"]), st.sampled_from(DENSITIES))
def test_text_fits_its_card(graph: Graph, direction: Any, density: Density) -> None:
    for frame in _placed(graph, direction, density)[0]:
        for block, top in zip(frame.card.blocks, frame.tops, strict=True):
            assert block.width + 2 * PAD <= frame.width + 0.11
            assert top + block.height <= frame.height + 0.11
        widths = [port.width for port in (*frame.card.inputs, *frame.card.outputs)]
        assert all(width <= frame.box.width + 0.11 for width in widths)
        for word, _ in frame.card.chips:
            title = frame.card.blocks[0].width
            assert title + width_of(word, 11) + 12 <= frame.width


@MANY
@given(graphs())
def test_everything_about_a_graph_is_the_same_twice(graph: Graph) -> None:
    again = Graph.from_json(graph.to_json())
    assert outline(again) == outline(graph)
    assert draw(again) == draw(graph)
    assert graph_document(again) == graph_document(graph)


@MANY
@given(graphs())
def test_table_has_a_cell_for_every_column_and_a_row_for_every_id(graph: Graph) -> None:
    found = rows_of(graph)
    assert all(len(row) == len(COLUMNS) for row in found.values())
    assert {node.id for node in graph.nodes} <= set(found)


def _placed(graph: Graph, direction: Any, density: Density) -> tuple[list[CardFrame], Any]:
    scene = scene_of(graph, density)
    links = [wire.link for wire in scene.wires]
    spine = spines([card.id for card in scene.cards], links)
    frames = [measure(card, direction, spine.get(card.id, -1)) for card in scene.cards]
    return frames, lay_out([frame.box for frame in frames], links, direction)


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("shown", [PARTS, (), ("saved",)])
def test_cards_have_a_title_whatever_is_hidden(shown: tuple[str, ...], density: Density) -> None:
    from tests.view.graphs import every_mark

    graph = every_mark()
    graph_index = GraphIndex.of(graph)
    content = CardContent(density, frozenset(shown))
    for node in graph.nodes:
        assert node_card(node, graph_index, content).blocks[0].kind == "title"
