"""Which storages belong to a module, as parameters or buffers, and what a GPU has given out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FrameType
from typing import Any

import torch

from gradviz.capture import autograd, naming
from gradviz.capture.cuda_memory import allocated_bytes
from gradviz.capture.modules import modules_among
from gradviz.capture.tensors import Storages
from gradviz.capture.traversal import snapshot_of
from gradviz.model import Graph
from gradviz.model.devices import devices_of
from gradviz.model.memory import Belongs


def read_owned(
    loss: Any,
    model: torch.nn.Module | None,
    names: Mapping[str, torch.Tensor] | None,
    frame: FrameType | None,
) -> tuple[Graph, dict[str, Belongs], int | None]:
    """The graph behind ``loss``, and whose its storages are.

    Args:
        loss: As in :func:`gradviz.snapshot`.
        model: The module with the parameters and buffers; if not given, those of modules that
            are variables.
        names: Names that come before those found.
        frame: Frame whose variables give names.

    Returns:
        The graph; by id of a storage what modules have on it; and what the allocators of the
        GPUs report that it is on, ``None`` if it is on none.
    """
    storages = Storages()
    outputs = (loss,) if model is None else (loss, model)
    graph = snapshot_of(outputs, names, frame, storages=storages)
    with autograd.unseen():
        variables = [] if frame is None else naming.namespace(frame)
        if model is None:
            modules = [(name, parts[0].module) for name, parts in modules_among(variables)]
        else:
            modules = [(naming.name_of(model, variables), model)]
        belongs = _belongs(modules, storages)
    return graph, belongs, _allocated(graph)


def _belongs(modules: list[tuple[str, torch.nn.Module]], storages: Storages) -> dict[str, Belongs]:
    """What modules have on storages; what several of them have is no single one's."""
    found: dict[str, tuple[bool, dict[int, str]]] = {}
    for name, top in modules:
        for path, module in torch.nn.Module.named_modules(top):
            for tensor, is_parameter in _own(module):
                key = autograd.storage_of(tensor)
                if key is None:
                    continue
                number = f"s{storages.number_of(key[0], tensor)}"
                whole = ".".join(filter(None, (name, path))) or type(top).__name__
                _, paths = found.setdefault(number, (is_parameter, {}))
                paths.setdefault(id(module), whole)
    return {
        number: Belongs(
            "parameter" if is_parameter else "buffer",
            next(iter(paths.values())) if len(paths) == 1 else None,
        )
        for number, (is_parameter, paths) in found.items()
    }


def _own(module: torch.nn.Module) -> Iterator[tuple[torch.Tensor, bool]]:
    """Parameters and buffers of a module itself, and whether each is a parameter."""
    for _, parameter in torch.nn.Module.named_parameters(module, recurse=False):
        yield parameter, True
    for _, buffer in torch.nn.Module.named_buffers(module, recurse=False):
        yield buffer, False


def _allocated(graph: Graph) -> int | None:
    return allocated_bytes(devices_of(graph.tensors, graph.nodes))
