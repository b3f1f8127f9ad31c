"""Which calls of modules made each node, and the lists of modules between these calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

from gradviz.analysis.fold.module_paths import parts_of
from gradviz.model.graph import Graph

Maker: TypeAlias = "tuple[tuple[str, int], ...] | str"
"""The calls that made a node, the outermost first; or the path of its module, where it is not known
which call of it that was."""
_ONCE: Final = frozenset(
    (
        *("Linear", "Bilinear", "Embedding", "EmbeddingBag", "PReLU"),
        *("Conv1d", "Conv2d", "Conv3d"),
        *("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"),
        *("BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
        *("LayerNorm", "GroupNorm", "RMSNorm"),
    )
)
"""Classes of torch that use each of their parameters once per call."""


class Level(NamedTuple):
    """A module that runs, or a list of modules in it that has those that do."""

    key: Hashable
    """The same for nodes that one call made."""
    path: str
    """Path of the module."""
    is_call: bool | None
    """Whether it is a call that a recording saw; ``None``: it may be several, or none."""


class Calls:
    """The calls around each node.

    Args:
        graph: The graph.
        paths: By place the path of the module, where no call is known.
    """

    def __init__(self, graph: Graph, paths: Sequence[str | None]) -> None:
        self._graph = graph
        self.keys: list[Maker] = [
            calls or path or "" for calls, path in zip(graph.calls, paths, strict=True)
        ]
        """What made each node, by place."""
        self._levels: dict[Maker, Sequence[Level]] = {"": ()}

    def levels(self, place: int) -> Sequence[Level]:
        """The calls around a node and the lists between them, the outermost first."""
        maker = self.keys[place]
        found = self._levels.get(maker)
        if found is None:
            seen = [*_of_path(maker)] if isinstance(maker, str) else [*_of_calls(maker)]
            found = self._levels[maker] = seen
        return found

    def count(self, level: Level, places: Iterable[int]) -> int | None:
        """How many calls of a module made some nodes; 0 if only modules in it were called.

        Without a recording this is known of classes of torch that use each of their parameters once
        per call.
        """
        if level.is_call is not None:
            return int(level.is_call)
        module = self._graph.modules_by_path.get(level.path)
        if module is None or module.is_container:
            return None if module is None else 0
        if module.type not in _ONCE:
            return None
        variables, targets = self._graph.variables, self._graph.targets
        entries = (entry for place in places for entry in targets[place] if entry is not None)
        uses = Counter(variables[entry[0]] for entry in entries)
        return max((uses[key] for key in module.tensors), default=0) or None


def _of_path(path: str) -> Iterable[Level]:
    for prefix in accumulate(parts_of(path), "{}.{}".format):
        yield Level((None, prefix), prefix, None)


def _of_calls(calls: tuple[tuple[str, int], ...]) -> Iterable[Level]:
    """Calls, and between a module and one that it calls the lists in which that one is."""
    above, around = "", None
    for path, number in calls:
        parts, start = parts_of(path), len(parts_of(above))
        if start and not path.startswith(f"{above}."):  # it is registered elsewhere
            start = len(parts) - 1
        for depth in range(start + 1, len(parts)):
            prefix = ".".join(parts[:depth])
            yield Level((around, prefix), prefix, False)
        yield Level(number, path, True)
        above, around = path, number
