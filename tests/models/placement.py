"""Which module made each node, found by hooks of torch's modules and without a recording.

Sequence numbers count up while a forward makes nodes, so a node belongs to the module that ran
when its number was given.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tests.truth.walk import all_nodes, root_of


@dataclass
class Entered:
    """From which sequence number on which module ran."""

    numbers: list[int] = field(default_factory=list)
    modules: list[str | None] = field(default_factory=list)
    """Its path in the model, ``""`` for the model itself; ``None``: no module ran."""

    def now_runs(self, path: str | None) -> None:
        self.numbers.append(torch._C._autograd._get_sequence_nr())
        self.modules.append(path)

    def module_of(self, node: Any) -> str | None:
        """The innermost module that ran when the node was made."""
        place = bisect_right(self.numbers, node._sequence_nr())
        return self.modules[place - 1] if place else None


@contextmanager
def noting_modules(model: nn.Module) -> Iterator[Entered]:
    """Notes which modules of a model run in the block, by hooks that are removed after it."""
    noted, running, handles = Entered(), [None], []
    for path, module in model.named_modules():

        def enters(*_: Any, path: str = path) -> None:
            running.append(path)  # type: ignore[arg-type]
            noted.now_runs(path)

        def leaves(*_: Any) -> None:
            running.pop()
            noted.now_runs(running[-1])

        handles.append(module.register_forward_pre_hook(enters))
        handles.append(module.register_forward_hook(leaves, always_call=True))
    try:
        yield noted
    finally:
        for handle in handles:
            handle.remove()


def placed(model: nn.Module, loss: Callable[[], Tensor]) -> tuple[Tensor, dict[Any, str | None]]:
    """The loss of one forward, and of each node behind it the path of the module that made it.

    ``AccumulateGrad`` is left out: no forward makes it.
    """
    with noting_modules(model) as noted:
        root = loss()
    nodes = all_nodes([root_of(root)[0]])
    made = [node for node in nodes if not hasattr(node, "variable")]
    return root, {node: noted.module_of(node) for node in made}
