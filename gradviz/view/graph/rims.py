"""Where values go over the rim of a fold: the ports of its box, and of the frame around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gradviz.model.fold import Fold, FoldTree, Inside, Value

PORTS: Final = 8
"""Values that have a port each; more have one together."""
KEPT: Final = 64
"""Insides that are kept: those of one picture. Of a wide fold one has a link per value."""


@dataclass(frozen=True, slots=True)
class Rim:
    """The values that come into a fold and go out of it, by the port that they have."""

    inputs: Mapping[Value, int]
    outputs: Mapping[Value, int]
    roots: tuple[Value, ...]
    """Roots of the graph inside; one that is not used outside has no port."""

    @property
    def input_ports(self) -> int:
        """How many ports there are where values come in."""
        return len(set(self.inputs.values()))

    @property
    def output_ports(self) -> int:
        """How many there are where they go out."""
        return len(set(self.outputs.values()))


class Insides:
    """What is in the folds of one graph, and over their rims, found once for each."""

    def __init__(self, tree: FoldTree) -> None:
        self.tree = tree
        self.inside = lru_cache(maxsize=KEPT)(self._inside)
        self.rim = lru_cache(maxsize=None)(self._rim)

    def _inside(self, fold_id: str) -> Inside:
        return self.tree.inside(self.tree[fold_id])

    def _rim(self, fold_id: str) -> Rim:
        inside = self.inside(fold_id)
        roots = frozenset(self.tree.graph.root_places)
        used = [v for v in inside.outputs if v not in roots or self._leaves(v, inside.fold)]
        own = tuple(value for value in inside.outputs if value in roots)
        return Rim(_ports(inside.inputs), _ports(used), own)

    def _leaves(self, value: Value, fold: Fold) -> bool:
        """Whether a value is used outside of a fold."""
        tree = self.tree
        for user, slot in tree.users[value[0]]:
            is_inside = fold.first <= tree.positions[user] < fold.first + fold.nodes
            if not is_inside and tree.graph.targets[user][slot] == value:
                return True
        return False


def _ports(values: Sequence[Value]) -> dict[Value, int]:
    return {value: number if len(values) <= PORTS else 0 for number, value in enumerate(values)}
