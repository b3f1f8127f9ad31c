"""What a recording knows of the modules of a graph, and what a snapshot of it infers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

import gradviz
from gradviz.analysis.fold.placement import Placement, placement_of

CONTAINERS: Final = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


@dataclass(frozen=True)
class Judged:
    """One node: where it was made, and where it is placed."""

    name: str
    """torch's name of the node."""
    true: str | None
    """Path of the module that a recording saw it made by, ``None``: while no module ran."""
    placed: str | None
    """As in :attr:`Placement.paths`."""
    is_outside: bool
    """As in :attr:`Placement.outside`."""
    is_inferred: bool
    block: str | None
    """Path of the block that made it, ``None`` if none did."""

    @property
    def is_placed(self) -> bool:
        """Whether it is said where it was made."""
        return self.placed is not None or self.is_outside

    @property
    def is_right(self) -> bool:
        """Whether it was made where it is placed: by that module, or by one in it."""
        if self.is_outside:
            return self.placed is None and self.true is None
        return self.placed is not None and self.true is not None and _is_in(self.true, self.placed)

    @property
    def is_wrong(self) -> bool:
        """Whether it was made somewhere else."""
        return self.is_placed and not self.is_right

    @property
    def is_at_block(self) -> bool:
        """Whether it is placed rightly, and in its block if one made it."""
        return self.is_right and (self.block is None or _is_in(self.placed or "", self.block))


def judged(make: Callable[[], Any]) -> list[Judged]:
    """Each node of one forward but the leaves, in the order in which it made them.

    Args:
        make: Gives what has ``model`` and ``loss()``, as entries of the gallery do.
    """
    with _one_thread():
        built = make()
        model: nn.Module = built.model
        with gradviz.record() as recording:
            loss: Tensor = built.loss()
    seen = recording[-1].graph
    graph = gradviz.snapshot(loss)
    true = dict(_pairs(graph, seen))
    paths = (*seen.makers, *(module.path for module in graph.modules))
    blocks = _Blocks(model, {path.partition(".")[0] for path in paths if path})
    placement: Placement = placement_of(graph)
    return [
        Judged(
            graph.names[place],
            made_by,
            placement.paths[place],
            place in placement.outside,
            place in placement.inferred,
            blocks.of(made_by),
        )
        for place in graph.order
        for made_by in [seen[true[graph.nodes[place].id]].module]
    ]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute in this thread only, which is faster for small tensors."""
    count = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(count)


def _pairs(graph: gradviz.Graph, seen: gradviz.Graph) -> Iterator[tuple[str, str]]:
    """Ids in a snapshot and in a recording of the same nodes, which lead to the same ones."""
    loss = seen.tensor("loss")
    assert loss.node is not None
    found = {graph.roots[0][0]: loss.node}
    todo = list(found.items())
    while todo:
        mine, other = todo.pop()
        yield mine, other
        rows = graph[mine].next_functions, seen[other].next_functions
        for one, same in zip(*rows, strict=True):
            assert (one is None) == (same is None)
            if one is not None and same is not None and one[0] not in found:
                found[one[0]] = same[0]
                todo.append((one[0], same[0]))


class _Blocks:
    """What the blocks of a model are.

    The outermost module that has a number for its name and siblings of its own class, containers
    aside; if there is none the outermost such container; else the child of the outermost module.
    """

    def __init__(self, model: nn.Module, names: set[str]) -> None:
        self._repeated: dict[str, bool] = {}
        lists = set()
        for path, module in model.named_modules(remove_duplicate=False):
            children = {name: type(one) for name, one in module.named_children()}
            for name, kind in children.items():
                if name.isdecimal() and list(children.values()).count(kind) > 1:
                    self._repeated[".".join(filter(None, (path, name)))] = kind in CONTAINERS
            if type(module) in (nn.ModuleList, nn.ModuleDict):
                lists.add(path)
        outermost = [path for path, _ in model.named_children()] if "" in lists else [""]
        paths = (".".join(filter(None, (name, path))) for name in names for path in outermost)
        self.tops = frozenset(paths) | {"", *names}

    def of(self, path: str | None) -> str | None:
        """The block of a module by its path from a variable."""
        if path is None or path in self.tops:
            return None
        top, *parts = path.split(".")
        inside = [".".join(parts[:end]) for end in range(1, len(parts) + 1)]
        inside = [one for one in inside if f"{top}.{one}" not in self.tops]
        repeated = [one for one in inside if one in self._repeated]
        repeated.sort(key=self._repeated.__getitem__)
        return f"{top}.{(repeated or inside)[0]}"


def _is_in(path: str, module: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")
