"""Pictures put together from insides: nothing overlaps, links end on their ports, what stays keeps
its order, and closing a fold restores what was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradviz.view.documents.folds import inside_data
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.composition import compose
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.placing import DrawnInside
from gradviz.view.graph.routes import Stretch
from tests.view.crossings import points_along
from tests.view.documents import as_text
from tests.view.folds import blocks, drawing_of, folded_graphs

COMPACT: Density = "compact"
DIRECTIONS: tuple[Direction, ...] = ("TB", "LR")
NEAR = 0.16
"""Places and sizes are rounded to a tenth of a pixel."""


def overlap(one: Any, other: Any) -> bool:
    across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return across > NEAR and down > NEAR


def is_inside(one: Any, outer: Any) -> bool:
    return (
        one.x >= outer.x - NEAR
        and one.y >= outer.y - NEAR
        and one.x + one.width <= outer.x + outer.width + NEAR
        and one.y + one.height <= outer.y + outer.height + NEAR
    )


def boxes_of(composed: DrawnInside) -> dict[str, Any]:
    """Cards and frames by id."""
    cards: dict[str, Any] = {card.id: card for card in composed.cards}
    return cards | {frame.id: frame for frame in composed.frames}


def opened_sets(drawing: GraphDrawing, choose: Callable[[int], bool]) -> set[str]:
    """Folds that are open: each together with those around it."""
    opened: set[str] = set()
    for number, fold in enumerate(drawing.tree):
        above = drawing.tree.above(fold.id)
        if above is None or (above.id in opened and choose(number)):
            opened.add(fold.id)
    return opened


@settings(max_examples=40)
@given(folded_graphs(), st.randoms(use_true_random=False), st.sampled_from(DIRECTIONS))
def test_no_two_boxes_overlap_and_frames_hold_what_is_in_them(
    graph: Any, random: Any, direction: Direction
) -> None:
    folding, drawing = drawing_of(graph, options=DrawOptions(direction=direction))
    opened = opened_sets(drawing, lambda _: random.random() < 0.6)
    composed = drawing[COMPACT].composed(opened)
    frames = {frame.id: frame for frame in composed.frames}
    assert set(frames) == opened - {"f0"}
    for one, other in combinations(composed.cards, 2):
        assert not overlap(one, other), (one.id, other.id)
    for card in composed.cards:
        if card.id[0] not in "nf" or card.card.refers:
            continue
        around = {fold.id for fold in folding.tree.around(card.id)}
        for key, frame in frames.items():
            assert is_inside(card, frame) if key in around else not overlap(card, frame)
    for card in boxes_of(composed).values():
        assert card.x >= -NEAR
        assert card.x + card.width <= composed.width + NEAR
        assert card.y >= -NEAR
        assert card.y + card.height <= composed.height + NEAR


@settings(max_examples=40)
@given(folded_graphs(), st.randoms(use_true_random=False), st.sampled_from(DIRECTIONS))
def test_every_link_ends_on_its_ports(graph: Any, random: Any, direction: Direction) -> None:
    _, drawing = drawing_of(graph, options=DrawOptions(direction=direction))
    opened = opened_sets(drawing, lambda _: random.random() < 0.6)
    composed = drawing[COMPACT].composed(opened)
    boxes = boxes_of(composed)
    across = 1 if direction == "TB" else 0
    for link in composed.links:
        for (key, _), point, at_end in (
            (link.tail, link.points[0], True),
            (link.head, link.points[-1], False),
        ):
            if not key:
                continue
            box = boxes[key]
            corner, size = ((box.x, box.width), (box.y, box.height))[across]
            rim = corner + size if at_end else corner
            assert point[across] == pytest.approx(rim, abs=NEAR), (link.wire.key, key)
            corner, size = ((box.x, box.width), (box.y, box.height))[1 - across]
            assert corner - NEAR <= point[1 - across] <= corner + size + NEAR


def over(drawing: GraphDrawing, fold_id: str, opened: set[str]) -> list[str]:
    """Links of one inside that run over a box in it, or leave it."""
    inside = drawing[COMPACT].inside(fold_id)
    direction = drawing.options.direction
    composed = compose(fold_id, opened, drawing[COMPACT].inside, direction)
    boxes = boxes_of(composed)
    beside = [(card.id, boxes[card.id]) for card in inside.cards]
    found = []
    for link in composed.links[: len(inside.links)]:
        places = points_along(link.points)
        found += [
            f"{link.tail} to {link.head} runs over {key}"
            for key, box in beside
            if any(
                box.x + NEAR < x < box.x + box.width - NEAR
                and box.y + NEAR < y < box.y + box.height - NEAR
                for x, y in places
            )
        ]
        if not all(
            -NEAR <= x <= composed.width + NEAR and -NEAR <= y <= composed.height + NEAR
            for x, y in places
        ):
            found.append(f"{link.tail} to {link.head} leaves {fold_id}")
    return found


@settings(max_examples=60)
@given(folded_graphs(), st.randoms(use_true_random=False), st.sampled_from(DIRECTIONS))
def test_no_link_runs_over_a_box(graph: Any, random: Any, direction: Direction) -> None:
    """Not even over those that it joins: links are below boxes, and what is below is not seen."""
    _, drawing = drawing_of(graph, options=DrawOptions(direction=direction))
    opened = opened_sets(drawing, lambda _: random.random() < 0.6)
    for fold_id in opened:
        assert over(drawing, fold_id, opened) == []


@settings(max_examples=25)
@given(folded_graphs(), st.randoms(use_true_random=False))
def test_links_go_on_where_they_cross_a_frame(graph: Any, random: Any) -> None:
    """Inside an open fold a value comes from the port where it arrives at the frame."""
    folding, drawing = drawing_of(graph)
    opened = opened_sets(drawing, lambda _: random.random() < 0.6)
    composed = drawing[COMPACT].composed(opened)
    into: dict[str, set[int]] = {}
    for link in composed.links:
        if link.head[0] in opened:
            into.setdefault(link.head[0], set()).add(link.head[1])
    for fold_id in opened - {"f0"}:
        inside = drawing[COMPACT].inside(fold_id)
        starts = {link.tail[1] for link in inside.links if not link.tail[0]}
        assert starts == set(range(len(inside.inputs)))
        assert into.get(fold_id, set()) == starts
    assert folding.tree.root.id in opened


@settings(max_examples=25)
@given(folded_graphs(), st.randoms(use_true_random=False))
def test_opening_keeps_the_order_of_the_others(graph: Any, random: Any) -> None:
    """What was beside or below something in an inside stays there, whatever is open."""
    _, drawing = drawing_of(graph)
    opened = opened_sets(drawing, lambda _: random.random() < 0.6)
    now = boxes_of(drawing[COMPACT].composed(opened))
    for fold_id in opened:
        was = drawing[COMPACT].inside(fold_id).cards
        for one, other in permutations(was, 2):
            if one.x + one.width <= other.x:
                assert now[one.id].x + now[one.id].width <= now[other.id].x + NEAR
            if one.y + one.height <= other.y:
                assert now[one.id].y + now[one.id].height <= now[other.id].y + NEAR


def test_closing_a_fold_restores_the_same_bytes() -> None:
    folding, drawing = drawing_of(blocks(), None if len(blocks()) > 40 else 1)

    def text(opened: Iterable[str]) -> str:
        composed = drawing[COMPACT].composed(set(opened))
        assert isinstance(composed, DrawnInside)
        return drawing[COMPACT].svg() + repr(composed)

    before = text({"f0"})
    for fold in folding.tree.root.folds:
        assert text({"f0", fold.id}) != before
        assert text({"f0"}) == before


def test_a_stretch_grows_only_where_it_must() -> None:
    stretch = Stretch(100.0, [(20.0, 40.0, 50.0), (30.0, 60.0, 10.0)])
    assert [stretch(at) for at in (0.0, 20.0, 40.0, 60.0, 100.0)] == [0.0, 20.0, 70.0, 90.0, 130.0]


def test_a_stretch_without_needs_is_the_identity() -> None:
    stretch = Stretch(80.0, [])
    assert [stretch(at) for at in (-4.0, 0.0, 33.0, 80.0, 90.0)] == [-4.0, 0.0, 33.0, 80.0, 90.0]


# The same algorithm in the browser reads these files, too.


def result(drawing: GraphDrawing, opened: set[str], root: str) -> dict[str, Any]:
    """What is asked for, and what is put together."""
    direction = drawing.options.direction
    composed = compose(root, opened, drawing[COMPACT].inside, direction)
    return {
        "root": root,
        "opened": sorted(opened, key=lambda key: int(key[1:])),
        "expected": {
            "width": rounded(composed.width),
            "height": rounded(composed.height),
            "cards": [placed(card) for card in composed.cards],
            "frames": [placed(frame) for frame in composed.frames],
            "links": [
                {"id": link.wire.key, "points": [[rounded(x), rounded(y)] for x, y in link.points]}
                for link in composed.links
            ],
            "inputs": [*map(rounded, composed.inputs)],
            "outputs": [*map(rounded, composed.outputs)],
        },
    }


def placed(box: Any) -> dict[str, Any]:
    place = {name: rounded(getattr(box, name)) for name in ("x", "y", "width", "height")}
    return {"id": box.id, **place}


def rounded(value: float) -> float:
    return round(value, 2) + 0.0


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_both_sides_put_pictures_together_alike(
    check_golden: Callable[[str, str], None], direction: Direction
) -> None:
    folding, drawing = drawing_of(blocks(3), options=DrawOptions(direction=direction))
    tree = folding.tree
    deepest = max(tree, key=lambda fold: len(tree.around(fold.id)))
    nested = {fold.id for fold in tree.around(deepest.id)} | {deepest.id}
    block = tree.root.folds[0].id
    insides = {}
    for fold in tree:
        data = inside_data(drawing[COMPACT].inside(fold.id))
        insides[fold.id] = {**data, "cards": [{**card, "markup": ""} for card in data["cards"]]}
    pictures = {
        "closed": result(drawing, {"f0"}, "f0"),
        "one": result(drawing, {"f0", block}, "f0"),
        "nested": result(drawing, nested, "f0"),
        "all": result(drawing, {fold.id for fold in tree}, "f0"),
        "focused": result(drawing, nested, block),
    }
    document = {"direction": direction, "insides": insides, "pictures": pictures}
    check_golden(f"composition/{direction}.json", as_text(document))
