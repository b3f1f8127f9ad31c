"""Which saved tensors a node reads, and whether other values change its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gradviz.model.records import Node, Number, SavedTensor

_NEEDED_FOR: Final = {
    ("ConvolutionBackward0", "input"): (1,),
    ("ConvolutionBackward0", "weight"): (0,),
    ("NativeBatchNormBackward0", "weight"): (0,),
    ("NativeLayerNormBackward0", "weight"): (0,),
    ("NativeGroupNormBackward0", "weight"): (0,),
}
"""Slots that only the gradients of some inputs need, by the places of these inputs."""
_NEVER: Final = frozenset({("NativeLayerNormBackward0", "bias")})
"""Slots whose values no gradient depends on."""
_STATISTICS: Final = frozenset({"running_mean", "running_var"})


def reads_values(node: Node, slot: SavedTensor) -> bool:
    """Whether the values in a slot can change a gradient that this node hands on."""
    key = (node.name, slot.name)
    if key in _NEVER or slot.nbytes == 0:
        return False
    if slot.name in _STATISTICS:  # in training the batch's own statistics are used
        return dict(node.attributes).get("training") is False
    entries = _NEEDED_FOR.get(key)
    if entries is None:
        return True
    following = node.next_functions
    return any(at < len(following) and following[at] is not None for at in entries)


def looks_at_pattern(node: Node) -> bool:
    """Whether it only counts on which side of 0, or of a limit, saved values are, as in relu."""
    return node.name in _PATTERNS


def same_pattern(node: Node, before: Sequence[Number], after: Sequence[Number]) -> bool:
    """Whether other values give the same gradient, as they do in relu while signs stay."""
    if len(before) != len(after) or not all(map(_is_real, (*before, *after))):
        return False
    return _pattern(node, before) == _pattern(node, after)


def _pattern(node: Node, values: Sequence[Number]) -> list[tuple[int, ...]]:
    limits = [0.0]
    if node.name in _LIMITS:
        found = [dict(node.attributes).get(name) for name in _LIMITS[node.name]]
        limits = [float(x) for x in found if isinstance(x, (int, float))]
    return [tuple((x > limit) - (x < limit) for limit in limits) for x in map(float, values)]


_LIMITS: Final = {
    "ClampBackward1": ("min", "max"),
    "ClampMinBackward0": ("min",),
    "ClampMaxBackward0": ("max",),
    "HardtanhBackward0": ("min_val", "max_val"),
    "ThresholdBackward0": ("threshold",),
}
_PATTERNS: Final = frozenset({"ReluBackward0", "LeakyReluBackward0", "AbsBackward0", *_LIMITS})


def _is_real(value: Number) -> bool:
    return isinstance(value, (bool, int, float))
