"""Read what a count of memory needs: a graph, and what the allocators of GPUs have given out."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

import torch

from gradviz.capture.cuda_memory import allocated_bytes
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph
from gradviz.model.devices import devices_of


def read_kept(
    loss: Any,
    model: torch.nn.Module | None,
    names: Mapping[str, torch.Tensor] | None,
    frame: FrameType | None,
) -> tuple[Graph, int | None]:
    """The graph behind ``loss`` with its modules, and what is allocated on the GPUs it is on.

    Args:
        loss: As in :func:`gradviz.snapshot`.
        model: The module with the parameters and buffers; if not given, the modules that are
            variables.
        names: Names that come before those found.
        frame: Frame whose variables give names.

    Returns:
        The graph; and what the allocators of the GPUs report, ``None`` if it is on none.
    """
    graph = snapshot_of((loss,) if model is None else (loss, model), names, frame)
    return graph, allocated_bytes(devices_of(graph.tensors, graph.nodes))
