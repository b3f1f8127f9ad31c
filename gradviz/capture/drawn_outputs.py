"""The graph behind tensors, and behind the tensors that they are views of."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch

from gradviz.capture import autograd
from gradviz.capture.roots import split
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph
from gradviz.model.drawn_output import DrawnOutput


def drawn_outputs(
    outputs: Any, names: Mapping[str, torch.Tensor] | None, frame: FrameType | None
) -> tuple[Graph, tuple[DrawnOutput, ...]]:
    """The graph behind tensors and their bases, and where each of them is in it.

    Args:
        outputs: A tensor, or lists, tuples and dicts of them.
        names: Names that come before those found.
        frame: Frame whose variables give names.
    """
    tensors = [tensor for _, tensor in split([outputs])[0]]
    with autograd.unseen():
        bases = [None if autograd.is_dead(t) else autograd.base_of(t) for t in tensors]
    rooted = [base for base in bases if base is not None and base.requires_grad]
    graph = snapshot_of([*tensors, *rooted], names, frame)
    roots = iter(graph.roots)
    found = [_drawn(tensor, next(roots)) for tensor in tensors]
    below = [
        None if base is None else _drawn(base, next(roots) if base.requires_grad else None)
        for base in bases
    ]
    return graph, tuple(
        DrawnOutput(one.shape, one.root, one.is_leaf, base)
        for one, base in zip(found, below, strict=True)
    )


def _drawn(tensor: torch.Tensor, root: tuple[str, int] | None) -> DrawnOutput:
    with autograd.unseen():
        is_leaf = tensor.grad_fn is None
        return DrawnOutput(tuple(autograd.shape_of(tensor) or ()), root, is_leaf)
