from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from gradviz.model import Graph, Node, ValueSummary
from gradviz.model.highlights import Highlight
from gradviz.model.run_values import RunValues
from gradviz.view.graph import drawing
from gradviz.view.graph.card_parts import PARTS
from gradviz.view.graph.geometry import PAD
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import SIZES
from gradviz.view.text import width_of
from tests.view.graphs import chain, every_mark, picture, product_and_sum, tensor

FULL = DrawOptions(density="full")
COMPACT = DrawOptions(density="compact")
SVG = "{http://www.w3.org/2000/svg}"


def draw(graph: Graph, options: DrawOptions = FULL, *, variables: bool = True) -> str:
    """Everything that a card can say, unless the options say less."""
    return drawing.draw(graph, options, variables=variables)


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def by_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [e for e in root.iter() if name in e.get("class", "").split()]


def by_id(root: ET.Element, data_id: str) -> ET.Element:
    (found,) = [e for e in root.iter() if e.get("data-id") == data_id]
    return found


def words(element: ET.Element) -> str:
    return " | ".join("".join(e.itertext()) for e in element.iter(f"{SVG}text"))


def test_root_element_says_what_is_in_the_picture() -> None:
    root = parsed(draw(product_and_sum()))
    assert root.get("class") == "gradviz-svg"
    assert root.get("role") == "group"
    assert root.get("aria-label", "").startswith("autograd graph of loss: 5 nodes, 4 edges, 3 lea")
    assert root[0].tag == f"{SVG}style"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


def test_every_node_edge_and_live_tensor_has_its_id_once() -> None:
    graph = every_mark()
    root = parsed(draw(graph))
    ids = [e.get("data-id") for e in root.iter() if e.get("data-id")]
    pockets = [
        f"{node.id}.saved.{i}"
        for node in graph.nodes
        for i, slot in enumerate(node.saved)
        if slot.state != "none"
    ]
    drawn = [n.id for n in graph.nodes] + ["t1", "t2", "t3", "t4"] + pockets
    assert sorted(map(str, ids)) == sorted(drawn)
    edges = {
        e.get("id"): (e.get("data-source"), e.get("data-target")) for e in by_class(root, "gv-edge")
    }
    assert edges == {f"gv-{e.source}.{e.slot}": (e.source, e.target) for e in graph.edges}


def test_no_id_is_used_twice_and_nothing_refers_to_one() -> None:
    svg = draw(every_mark())
    ids = re.findall(r' id="([^"]*)"', svg)
    assert len(ids) == len(set(ids))
    assert "url(" not in svg
    assert "href" not in svg


def test_kind_and_state_are_classes(subtests: pytest.Subtests) -> None:
    for data_id, classes in [
        ("n0", "gv-node gv-holds"),
        ("n1", "gv-node gv-opaque"),
        ("n2", "gv-node gv-freed"),
        ("n3", "gv-node gv-packed"),
        ("n4", "gv-node gv-leaf gv-saves-nothing"),
        ("t1", "gv-tag"),
        ("t2", "gv-tensor"),
        ("n0.saved.0", "gv-pocket gv-held"),
        ("n0.saved.1", "gv-pocket gv-modified"),
        ("n2.saved.0", "gv-pocket gv-freed"),
        ("n3.saved.0", "gv-pocket gv-packed"),
    ]:
        with subtests.test(data_id=data_id, classes=classes):
            assert by_id(parsed(draw(every_mark())), data_id).get("class") == classes


def test_state_is_also_a_word(subtests: pytest.Subtests) -> None:
    for data_id, text in [
        ("n1", "opaque"),
        ("n2", "freed"),
        ("n3", "packed"),
        ("n4", "leaf"),
        ("n4", "Σ AccumulateGrad"),
        ("n4", "hook clip"),
        ("n4", "shares storage with row"),
        ("n0.saved.1", "⚠ saved v0, now v1"),
        ("n2.saved.0", "self  freed"),
        ("n3.saved.0", "result  packed by unpack"),
        ("n0.saved.0", "other = k  () v0"),
        ("t1", "row () output 1 view v0"),
        ("t2", "does not require grad"),
        ("t2", "() float64 v0 = 1.0"),
        ("t3", "requires grad, outside the graph"),
    ]:
        with subtests.test(data_id=data_id, text=text):
            assert text in words(by_id(parsed(draw(every_mark())), data_id))


def test_state_of_a_saved_tensor_is_also_a_form(subtests: pytest.Subtests) -> None:
    for data_id, frames, bars in [
        ("n0.saved.0", 1, 1),
        ("n0.saved.1", 2, 0),
        ("n2.saved.0", 1, 0),
        ("n3.saved.0", 1, 0),
    ]:
        with subtests.test(data_id=data_id, frames=frames):
            pocket = by_id(parsed(draw(every_mark())), data_id)
            assert len(by_class(pocket, "gv-box")) == frames
            assert len(by_class(pocket, "gv-mark")) == bars


def test_none_entry_is_a_stub_with_the_word() -> None:
    (stub,) = by_class(parsed(draw(every_mark())), "gv-stub")
    assert (stub.get("data-source"), stub.get("data-slot")) == ("n0", "1")
    assert words(stub) == "other: no grad"


def test_constant_is_linked_to_the_node_that_saves_it() -> None:
    (link,) = by_class(parsed(draw(every_mark())), "gv-uses")
    assert (link.get("data-source"), link.get("data-tensor")) == ("n0", "t2")


def test_tensor_used_twice_has_two_edges() -> None:
    graph = Graph.of(
        [
            Node("n0", "MulBackward0", (("n1", 0), ("n1", 0))),
            Node("n1", "AccumulateGrad", (), variable="t0"),
        ],
        [("n0", 0)],
        [tensor(0, "x", node="n1")],
    )
    root = parsed(draw(graph))
    paths = [e[0].get("d") for e in by_class(root, "gv-edge")]
    assert len(set(paths)) == 2


def test_every_root_output_is_marked() -> None:
    root = parsed(draw(every_mark()))
    assert sorted(words(e) for e in by_class(root, "gv-root")) == [
        "root",
        "root",
        "root · output 1",
    ]


def test_switch_shows_the_arrows_of_the_engine() -> None:
    assert (
        parsed(draw(product_and_sum(), DrawOptions(engine_arrows=True))).get("class")
        == "gradviz-svg gv-engine"
    )
    for edge in by_class(parsed(draw(product_and_sum())), "gv-edge"):
        assert [e.get("class") for e in edge][1:] == [
            "gv-head gv-head-data",
            "gv-head gv-head-engine",
        ]


def test_device_is_drawn_only_when_there_are_several() -> None:
    on_cpu, on_cuda = (draw(product_and_sum(device)) for device in ("cpu", "cuda:0"))
    assert on_cpu == on_cuda
    graph = product_and_sum()
    first, second, *others = graph.tensors
    both = [replace(first, device="meta"), replace(second, device="cuda:0"), *others]
    assert "on meta" in draw(Graph.of(graph.nodes, graph.roots, both))


def test_each_part_can_be_hidden_and_shown_alone(subtests: pytest.Subtests) -> None:
    for part in PARTS:
        with subtests.test(part=part):
            everything = draw(_with_all_parts())
            assert (
                draw(_with_all_parts(), DrawOptions.of(hide=[part], density="full")) != everything
            )
            assert draw(_with_all_parts(), DrawOptions.of(show=[part], density="full")) != draw(
                _with_all_parts(), DrawOptions.of(show=[], density="full")
            )
            assert draw(_with_all_parts(), DrawOptions.of(show=PARTS, density="full")) == everything


def _with_all_parts() -> Graph:
    graph = product_and_sum()
    kept = replace(graph.nodes[1].saved[0], tensor="t5")
    nodes = [graph.nodes[0], replace(graph.nodes[1], saved=(kept,)), *graph.nodes[2:]]
    return Graph.of(nodes, graph.roots, [*graph.tensors, tensor(5, "k", requires_grad=False)])


@pytest.mark.parametrize("length", [400, 401, 1013])
def test_of_a_large_graph_the_first_400_nodes_are_drawn(length: int) -> None:
    root = parsed(draw(chain(length)))
    assert len(by_class(root, "gv-node")) == 400
    stubs = [words(e) for e in by_class(root, "gv-more")]
    more = "node" if length == 401 else "nodes"
    assert stubs == ([f"… {length - 400} more {more} not drawn"] if length > 400 else [])


def test_root_that_is_a_leaf_is_one_card() -> None:
    graph = Graph.of(
        [Node("n0", "AccumulateGrad", (), variable="t0")], [("n0", 0)], [tensor(0, "x", node="n0")]
    )
    root = parsed(draw(graph))
    assert len(by_class(root, "gv-card")) == 1
    assert len(by_class(root, "gv-root")) == 1


def test_colours_are_plain_where_variables_are_not_known() -> None:
    svg = draw(product_and_sum(), variables=False)
    assert "var(" not in svg
    assert "@media" not in svg


def wide(leaves: int) -> Graph:
    """The graph of ``torch.stack(leaves).sum()``."""
    entries = tuple((f"n{i}", 0) for i in range(2, leaves + 2))
    nodes = [Node("n0", "SumBackward0", (("n1", 0),)), Node("n1", "StackBackward0", entries)]
    nodes += [Node(key, "AccumulateGrad", ()) for key, _ in entries]
    return Graph.of(nodes, [("n0", 0)])


def shared(uses: int) -> Graph:
    """A chain with more nodes than are drawn; the last one and ``uses`` before it use a leaf."""
    nodes = [Node(f"n{i}", "AddBackward0", ((f"n{i + 1}", 0),)) for i in range(402)]
    nodes[0] = Node("n0", "AddBackward0", (("n1", 0), ("n402", 0)))
    order = [nodes[0], nodes[1], Node("n402", "AccumulateGrad", ()), *nodes[2:]]
    ids = {node.id: f"n{i}" for i, node in enumerate(order)}
    made = []
    for i, node in enumerate(order):
        used = () if i < 403 - uses else (("n402", 0),)
        entries = [] if node.name == "AccumulateGrad" else [*node.next_functions, *used]
        made.append(
            replace(node, id=f"n{i}", next_functions=tuple((ids[k], nr) for k, nr in entries))
        )
    return Graph.of(made, [("n0", 0)])


def links_of(root: ET.Element) -> dict[str | None, tuple[str | None, str | None, str]]:
    links = by_class(root, "gv-edge")
    return {e.get("id"): (e.get("data-source"), e.get("data-target"), words(e)) for e in links}


def test_links_to_nodes_that_are_not_drawn_are_one_with_their_number() -> None:
    links = links_of(parsed(draw(wide(20_001))))
    assert len(links) == 1 + 398 + 1
    assert links["gv-n1.more"] == ("n1", "more", "×19,603")
    assert links["gv-n1.397"] == ("n1", "n399", "")
    assert {said for *_, said in links.values()} == {"", "×19,603"}


def test_a_picture_grows_no_more_with_what_it_does_not_draw() -> None:
    sizes = [len(draw(wide(leaves))) for leaves in (1_000, 20_000)]
    assert sizes[1] - sizes[0] < 1_000


def test_one_link_to_a_node_that_is_not_drawn_stays_as_it_is() -> None:
    assert links_of(parsed(draw(wide(399))))["gv-n1.398"] == ("n1", "n400", "")


@pytest.mark.parametrize(("uses", "said"), [(0, ""), (3, "×4")])
def test_what_nodes_that_are_not_drawn_use_is_linked_to_their_stub(uses: int, said: str) -> None:
    root = parsed(draw(shared(uses)))
    assert links_of(root)["gv-more.n2.0"] == ("more", "n2", "")
    (stub,) = by_class(root, "gv-more")
    assert words(stub) == " | ".join(filter(None, ("… 3 more nodes not drawn", said)))


def test_a_mark_on_one_of_many_entries_is_on_its_node() -> None:
    graph = wide(1_000)
    marked = picture(graph, marks=[Highlight("n1.700", "cut")])
    classes = {element.text("data-id"): element.classes for element in marked.inside}
    assert "gv-cut-here" in classes["n1"]


@pytest.mark.parametrize("direction", ["TB", "LR"])
def test_the_number_of_entries_has_room_between_the_cards(direction: Direction) -> None:
    root = parsed(draw(wide(1_000), DrawOptions.of(direction=direction)))
    (edge,) = (e for e in by_class(root, "gv-edge") if e.get("id") == "gv-n1.more")
    (label,) = by_class(edge, "gv-port")
    rect = label.find(f"{SVG}rect")
    assert rect is not None
    box = [float(rect.get(name, "")) for name in ("x", "y", "width", "height")]
    (start,) = re.findall(
        r"[MC]([-\d.]+),([-\d.]+)", next(iter(edge.iter(f"{SVG}path"))).get("d", "")
    )[:1]
    if direction == "TB":
        assert float(start[1]) <= box[1]
    else:
        assert float(start[0]) <= box[0]


def values_of(**numbers: float) -> dict[tuple[str, int], ValueSummary]:
    """Summaries of single numbers, by node and place: ``n0_1=2.0``."""
    return {
        (key.partition("_")[0], int(key.partition("_")[2])): ValueSummary((), "float32", (value,))
        for key, value in numbers.items()
    }


def with_numbers(graph: Graph, values: RunValues, options: DrawOptions = COMPACT) -> ET.Element:
    made = drawing.GraphDrawing(graph, options, values=values)
    return parsed(made.text())


def test_the_numbers_of_a_run_are_on_boxes_and_edges() -> None:
    graph = chain(3)
    values = RunValues(values_of(n0_0=4.0, n1_0=-1.5), values_of(n0_0=2.5))
    found = with_numbers(graph, values)
    assert words(by_id(found, "n1")).split(" | ")[1] == "-1.5"
    (chip,) = by_class(found, "gv-gradient")
    assert words(chip) == "2.5"
    (edge,) = by_class(found, "gv-flow")
    assert edge.get("id") == "gv-n0.0"
    assert ".gv-gradient>rect" in drawing.GraphDrawing(graph, values=values).text()
    assert ".gv-gradient" not in draw(graph)


def test_a_value_is_at_the_right_rim_of_its_box_and_within_it() -> None:
    found = with_numbers(chain(2), RunValues(values_of(n0_0=-0.123456)))
    box = by_id(found, "n0")
    (value,) = [e for e in box.iter(f"{SVG}text") if e.text == "-0.1235"]
    (card,) = by_class(box, "gv-card")
    right = float(value.get("x", "")) + width_of("-0.1235", SIZES["text"])
    assert right == pytest.approx(float(card.get("width", "")) - PAD, abs=0.2)


def test_what_was_not_noted_or_is_hidden_or_large_is_on_no_box() -> None:
    large = {("n0", 0): ValueSummary((5,), "float32", (1.0,) * 5, norm=2.0)}
    for values in (RunValues(), RunValues(large)):
        assert words(with_numbers(chain(2), values)) == words(with_numbers(chain(2), RunValues()))
    hidden = DrawOptions(parts=frozenset(PARTS) - {"values"}, density="compact")
    shown = words(with_numbers(chain(2), RunValues(values_of(n0_0=-7.25)), hidden))
    assert "-7.25" not in shown
