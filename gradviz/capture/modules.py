"""The modules whose parameters and buffers are in a graph, by their paths from a variable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gradviz.capture import contents, naming
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
        A module before those in it; one that has several paths by the first of them.
    """
    found: list[ModuleInfo] = []
    seen: set[int] = set()
    for name, parts in modules:
        kept: list[ModuleInfo] = []
        prefix = f"{name}." if name else ""
        rows: list[tuple[str, contents.Part]] = []
        for part in parts:
            if id(part.module) not in seen:
                seen.add(id(part.module))
                rows.append(((prefix + part.path)[:-1], part))
        for path, part in reversed(rows):  # those in a module come before it
            own = (*part.parameters, *part.buffers) if part.parameters or part.buffers else ()
            tensors = tuple([ids[id(tensor)] for _, tensor in own if id(tensor) in ids])
            if tensors or (kept and kept[-1].path.startswith(f"{path}." if path else "")):
                kept.append(ModuleInfo(path, type(part.module).__name__, tensors))
        found += reversed(kept)
    return tuple(found)
