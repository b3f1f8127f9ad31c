"""Where cards are before the first node is made."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import TypeAlias

import pytest
import torch
from torch import nn

import gradviz
from gradviz.view.animation.animation import Animation
from gradviz.view.element import Element
from gradviz.view.graph.card_parts import DENSITIES, Density
from gradviz.view.graph.options import DrawOptions
from tests.view.recordings import ALL

Frame: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def perceptron() -> gradviz.Recording:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    inputs, targets = torch.randn(16, 3), torch.randn(16, 1)
    with gradviz.record() as recording:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
    return recording


RECORDING = perceptron()


def frames(animation: Animation, step: int) -> dict[str, Frame]:
    """The cards that are drawn at a step."""
    found = {}
    for key, element in animation.there(step).items():
        card = next((one for one in element.inside if "gv-card" in one.classes), None)
        if card is not None and element.attributes.get("role") == "img":
            left, top = corner(element)
            width, height = (float(str(card.attributes[side])) for side in ("width", "height"))
            found[key] = left, top, left + width, top + height
    return found


def corner(element: Element) -> tuple[float, float]:
    x, y = re.findall(r"[-\d.]+", element.text("transform"))
    return float(x), float(y)


def first_node(recording: gradviz.Recording) -> int:
    return next(step.index for step in recording.all_steps if step.graph.nodes)


@pytest.mark.parametrize("direction", ["TB", "LR"])
@pytest.mark.parametrize("density", DENSITIES)
def test_before_the_first_node_all_cards_are_near_each_other(
    density: Density, direction: str
) -> None:
    animation = Animation(RECORDING, DrawOptions(direction), density=density)  # type: ignore[arg-type]
    for step in range(first_node(RECORDING)):
        there = frames(animation, step).values()
        assert len(there) == 6
        left, top, right, bottom = (f(edge) for f, edge in zip((min, min, max, max), zip(*there)))
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in there)
        assert area > 0.6 * (right - left) * (bottom - top)
        assert left >= 0 <= top
        assert (right, bottom) <= animation.size
        for one, other in combinations(there, 2):
            assert (
                one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            )


def test_the_cards_go_to_the_graph_when_its_first_node_is_made_and_never_again() -> None:
    animation = Animation(RECORDING)
    made = first_node(RECORDING)
    moved = [
        step
        for step, (before, after) in enumerate(
            pairwise(frames(animation, step) for step in range(len(RECORDING.records))), 1
        )
        if any(before[key][:2] != after[key][:2] for key in before.keys() & after.keys())
    ]
    assert moved == [made]


def test_the_picture_of_a_step_is_cropped_to_where_the_cards_are_then() -> None:
    animation = Animation(RECORDING)
    opening, later = animation.extent(0), animation.extent(first_node(RECORDING))
    assert opening is not None
    assert later is not None
    assert opening[2] * opening[3] * 3 < later[2] * later[3]
    left, top, width, height = opening
    for x0, y0, x1, y1 in frames(animation, 0).values():
        assert left <= x0 < x1 <= left + width
        assert top <= y0 < y1 <= top + height


@pytest.mark.parametrize("name", ["product", "second", "hooked", "loop"])
def test_cards_that_are_near_each_other_in_the_graph_do_not_move(name: str) -> None:
    animation = Animation(ALL[name])
    places: dict[str, set[tuple[float, float]]] = {}
    for step in range(len(ALL[name].records)):
        for key, frame in frames(animation, step).items():
            places.setdefault(key, set()).add(frame[:2])
    assert all(len(found) == 1 for found in places.values())
