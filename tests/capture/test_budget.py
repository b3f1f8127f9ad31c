"""How many numbers one look reads, counted in elements."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.capture import statistics, values
from gradviz.capture.values import BUDGET, LEAST
from tests.each import each

MANY = 80
"""More gradients than one look reads, however small they are."""


def with_gradients(count: int, size: int) -> tuple[Tensor, list[Tensor]]:
    leaves = [torch.ones(size, requires_grad=True) for _ in range(count)]
    loss = sum((leaf.sum() for leaf in leaves), torch.zeros(()))
    loss.backward(retain_graph=True)
    return loss, leaves


def read(graph: gradviz.Graph) -> list[bool]:
    """Whether each gradient was read, leaves in the order of their nodes."""
    return [not info.grad.is_unread for info in graph.leaves if info.grad is not None]


@each(
    ("size", "most"),
    [(10, (BUDGET - 1) // LEAST), (2 * LEAST, (BUDGET - 1) // (2 * LEAST)), (BUDGET + 1, 0)],
)
def test_gradients_are_read_up_to_a_number_of_elements(size: int, most: int) -> None:
    loss, _leaves = with_gradients(MANY, size)  # whose value is one element
    assert read(gradviz.snapshot(loss)) == [True] * most + [False] * (MANY - most)
    assert read(gradviz.snapshot(loss, values=True)) == [True] * MANY


def test_without_values_nothing_is_read_and_nothing_says_unread() -> None:
    loss, _leaves = with_gradients(2, 3)
    leaf = gradviz.snapshot(loss, values=False).leaves[0]
    assert leaf.values is None
    assert leaf.grad is not None
    assert (leaf.grad.values, leaf.grad.is_unread, leaf.is_unread) == (None, False, False)


def test_what_is_not_read_costs_no_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    loss, _leaves = with_gradients(MANY, 10)
    calls: list[int] = []

    def statistics_of(own: Tensor, zeros: bool) -> statistics.Statistics | None:
        calls.append(own.numel())
        return statistics.statistics_of(own, zeros)

    monkeypatch.setattr(values, "statistics_of", statistics_of)
    gradviz.snapshot(loss)
    assert len(calls) == (BUDGET - 1) // LEAST


def test_numbers_of_saved_tensors_count_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "BUDGET", 3)
    y = torch.ones(4, requires_grad=True)
    for number in (2.0, 3.0, 4.0, 5.0):
        y = y * number
    slots = [node.saved[0] for node in gradviz.snapshot(y).nodes if node.saved]
    found = [(slot.values, slot.is_unread) for slot in slots]
    assert found == [((5.0,), False), ((4.0,), False), ((3.0,), False), (None, True)]


def test_a_picture_says_what_was_not_read_and_how_to_read_it() -> None:
    loss, leaves = with_gradients(1, BUDGET + 1)
    words = "not read: values=True reads it"
    picture = gradviz.show(loss, names={"w": leaves[0]})
    assert f".grad {words}" in str(picture)
    assert words in picture.wire["pictures"][picture.wire["density"]]
    assert words not in str(gradviz.show(loss, values=True))


def test_a_graph_with_unread_numbers_comes_back_from_json() -> None:
    graph = gradviz.snapshot(with_gradients(MANY, 10)[0])
    assert gradviz.Graph.from_json(graph.to_json()) == graph


def test_an_unread_gradient_is_no_difference() -> None:
    loss, _leaves = with_gradients(MANY, 10)
    both = gradviz.snapshot(loss), gradviz.snapshot(loss, values=True)
    assert not gradviz.compare(*both).findings


def test_values_apply_to_live_tensors_only() -> None:
    graph = gradviz.snapshot(with_gradients(1, 1)[0])
    with pytest.raises(gradviz.OptionError, match="values= applies to live tensors"):
        gradviz.show(graph, values=True)
