"""What is done with a large graph takes a bounded number of bytes for each of its nodes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import gradviz
from gradviz.analysis.fold.tree import fold_tree
from gradviz.model import Graph

SIZES = 11_000, 22_000
"""Above those of which all :class:`Node` objects are kept; one twice the other, as dictionaries
grow."""
KILOBYTE = 1_000


def chain(size: int) -> Tensor:
    y = torch.ones(4, requires_grad=True)
    for _ in range(size):
        y = y * 1.0001
    return y


def find(graph: Graph) -> Callable[[], object]:
    picture = gradviz.show(graph)
    return lambda: picture._answer_to({"find": "mul"})


def read_back(graph: Graph) -> Callable[[], object]:
    text = graph.to_json()
    return lambda: Graph.from_json(text)


WORK: dict[str, Callable[[Graph], Callable[[], object]]] = {
    "fold": lambda graph: lambda: fold_tree(graph),
    "outline": lambda graph: lambda: str(graph),
    "to JSON": lambda graph: graph.to_json,
    "from JSON": read_back,
    "find": find,
    "memory": lambda graph: lambda: gradviz.memory(graph),
    "show": lambda graph: lambda: gradviz.show(graph),
}


def peak(work: Callable[[], object]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WORK)
def test_work_takes_at_most_a_kilobyte_more_for_each_node_more(name: str) -> None:
    graphs = [gradviz.snapshot(chain(size)) for size in SIZES]
    WORK[name](graphs[0])()  # what is imported, compiled and kept once
    small, large = (peak(WORK[name](graph)) for graph in graphs)
    assert (large - small) / (SIZES[1] - SIZES[0]) < KILOBYTE
