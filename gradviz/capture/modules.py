"""The modules whose parameters and buffers are in a graph, by their paths from a variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from gradviz.capture import autograd, contents, naming
from gradviz.model.records import ModuleInfo

NamedParts = tuple[str, list[contents.Part]]
"""Name of a module and its parts, itself first."""


def modules_among(variables: list[tuple[str, Any]]) -> Iterator[NamedParts]:
    """The modules that variables lead to, each once by its best name, without those in them."""
    seen: set[int] = set()
    for name, module in naming.named_modules(variables):
        if id(module) not in seen:  # one that was found is not looked for by longer names
            parts = contents.parts_of(module)
            seen.update(id(part.module) for part in parts)
            yield name, parts


def module_infos(modules: Iterable[NamedParts], ids: Mapping[int, str]) -> tuple[ModuleInfo, ...]:
    """The modules that have tensors of a graph, themselves or in the modules in them.

    Args:
        modules: The outermost ones with their names.
        ids: Id in the graph of each of its tensors, by ``id()`` of the tensor.

    Returns:
        A module before those in it; one that has several paths by the first of them. In them also
        the modules that never have tensors, such as activations.
    """
    found: list[ModuleInfo] = []
    seen: set[int] = set()
    for name, parts in modules:
        rows: list[tuple[ModuleInfo, bool]] = []
        prefix = f"{name}." if name else ""
        for part in parts:
            if id(part.module) in seen:
                continue
            seen.add(id(part.module))
            path = (prefix + part.path)[:-1]
            parameters, buffers = (
                tuple([ids[id(tensor)] for _, tensor in some if id(tensor) in ids]) if some else ()
                for some in (part.parameters, part.buffers)
            )
            has_own = any(one is not None for _, one in (*part.parameters, *part.buffers))
            info = ModuleInfo(
                path,
                type(part.module).__name__,
                (*parameters, *buffers),
                buffers,
                is_container=not contents.may_run(part.module),
            )
            rows.append((info, has_own))
        found += _with_tensors(rows)
    return tuple(found)


def _with_tensors(rows: list[tuple[ModuleInfo, bool]]) -> list[ModuleInfo]:
    """Those that have tensors of the graph, those around them, and in these those without any.

    Args:
        rows: A module before those in it, and whether it has tensors itself, of the graph or not.
    """
    inside: dict[str, tuple[bool, bool]] = {}
    for row, has_own in reversed(rows):
        is_in_graph, has_any = inside.get(row.path, (False, False))
        mine = is_in_graph or bool(row.tensors), has_any or has_own
        above = row.path.rpartition(".")[0]
        known = inside.get(above, (False, False))
        inside[row.path] = mine
        inside[above] = known[0] or mine[0], known[1] or mine[1]
    kept: dict[str, ModuleInfo] = {}
    for number, (row, _) in enumerate(rows):
        is_in_graph, has_any = inside[row.path]
        is_inside = not has_any and row.path.rpartition(".")[0] in kept
        if is_in_graph or (is_inside and number):
            kept[row.path] = row
    return list(kept.values())


def parameter_shapes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    """The parameters of a module by path; one that has no shape yet is left out."""
    return {
        path: autograd.shape_of(tensor)
        for path, tensor in torch.nn.Module.named_parameters(module)
        if not torch.nn.parameter.is_lazy(tensor)
    }
