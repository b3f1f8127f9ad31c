"""What looks at a graph: the floor, gradviz, and torchviz where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from torch import Tensor

import gradviz

Look = Callable[[Tensor], Any]
HAS_TORCHVIZ = importlib.util.find_spec("torchviz") is not None


def bare(output: Tensor) -> tuple[list[str], list[tuple[int, int, int]]]:
    """The floor: names and edges, followed in a loop."""
    place = {output.grad_fn: 0}
    nodes: list[Any] = [output.grad_fn]
    names: list[str] = []
    edges: list[tuple[int, int, int]] = []
    for at, node in enumerate(nodes):
        names.append(node.name())
        for following, number in node.next_functions:
            if following is not None:
                if following not in place:
                    place[following] = len(nodes)
                    nodes.append(following)
                edges.append((at, place[following], number))
    return names, edges


def snapshot(output: Tensor) -> gradviz.Graph:
    """Every fact."""
    return gradviz.snapshot(output)


def make_dot(output: Tensor) -> object:
    """torchviz, plain."""
    from torchviz import make_dot

    return make_dot(output)


def make_dot_saved(output: Tensor) -> object:
    """torchviz with saved tensors and attributes."""
    from torchviz import make_dot

    return make_dot(output, show_saved=True, show_attrs=True)


OURS: dict[str, Look] = {"bare": bare, "snapshot": snapshot}
TORCHVIZ: dict[str, Look] = {"make_dot": make_dot, "make_dot saved": make_dot_saved}


def make_safe(output: Tensor) -> None:
    """Let a deep graph that somebody walked be freed without a crash (capture/deep_graphs)."""
    snapshot(output)


def lift_recursion_limit() -> None:
    sys.setrecursionlimit(10_000_000)
