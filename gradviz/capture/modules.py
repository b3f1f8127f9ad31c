"""The modules whose parameters and buffers are in a graph, by their paths from a variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from gradviz.capture import contents, naming
from gradviz.model.records import ModuleInfo

NamedModule = tuple[str, torch.nn.Module]


def modules_among(variables: list[tuple[str, Any]]) -> Iterator[NamedModule]:
    """The modules that variables lead to, each once by its best name, without those in them."""
    seen: set[int] = set()
    for name, module in naming.named_modules(variables):
        if id(module) not in seen:  # one that was found is not looked for by longer names
            seen.update(id(part.module) for part in contents.parts_of(module))
            yield name, module


def module_infos(modules: Iterable[NamedModule], ids: Mapping[int, str]) -> tuple[ModuleInfo, ...]:
    """The modules that have tensors of a graph, themselves or in the modules in them.

    Args:
        modules: The outermost ones with their names.
        ids: Id in the graph of each of its tensors, by ``id()`` of the tensor.

    Returns:
        A module before those in it; one that has several paths by the first of them.
    """
    found: list[ModuleInfo] = []
    seen: set[int] = set()
    for name, top in modules:
        rows: list[ModuleInfo] = []
        for part in contents.parts_of(top):
            if id(part.module) in seen:
                continue
            seen.add(id(part.module))
            path = ".".join(filter(None, (name, part.path.removesuffix("."))))
            parameters, buffers = (
                tuple(ids[id(tensor)] for _, tensor in some if id(tensor) in ids)
                for some in (part.parameters, part.buffers)
            )
            kind = type(part.module).__name__
            rows.append(ModuleInfo(path, kind, (*parameters, *buffers), buffers))
        found += _with_tensors(rows)
    return tuple(found)


def _with_tensors(rows: list[ModuleInfo]) -> list[ModuleInfo]:
    """Those that have tensors themselves or in the modules in them, which come after them."""
    kept: list[ModuleInfo] = []
    for row in reversed(rows):
        inside = f"{row.path}." if row.path else ""
        if row.tensors or (kept and kept[-1].path.startswith(inside)):
            kept.append(row)
    return kept[::-1]
