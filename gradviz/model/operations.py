"""What a person calls the operation of a node."""

from __future__ import annotations

import re
from typing import Final

from gradviz.model.records import Node

SIGNS: Final = {
    "add": "+",
    "addmm": "@ +",
    "binary_cross_entropy": "BCE",
    "binary_cross_entropy_with_logits": "BCE with logits",
    "bmm": "@",
    "div": "÷",
    "dot": "@",
    "mm": "@",
    "mul": "×",
    "mv": "@",
    "rsub": "-",
    "sub": "-",
    "linalg_vector_norm": "norm",
    "t": "transpose",
    "to_copy": "to",
}
"""How operations are written; all others are called what torch calls them."""
VIEWS: Final = frozenset(
    f"{name}Backward0"
    for name in (
        *("View", "UnsafeView", "ReshapeAlias", "Alias", "T", "Transpose", "Permute", "Expand"),
        *("Squeeze", "Unsqueeze", "ToCopy", "Clone", "Unflatten", "Movedim", "SwapAxes"),
    )
) | {f"SqueezeBackward{number}" for number in range(1, 6)}
"""Nodes of views, of contiguous copies and of casts: the same numbers in another form."""
_WORDS: Final = re.compile("(?<=[a-zA-Z0-9])(?=[A-Z][a-z])")
_OF_TORCH: Final = frozenset(("alias", "native", "cudnn", "mkldnn", "miopen", "thnn", "unsafe"))
"""Words that say which of torch's implementations it is."""


def operation_of(node: Node | str) -> str:
    """``exp`` of ``ExpBackward0``.

    Examples:
        >>> operation_of("LogSoftmaxBackward0"), operation_of("MineBackward")
        ('log_softmax', 'Mine')
    """
    name = node if isinstance(node, str) else node.name
    stem, is_backward, number = name.partition("Backward")
    if not is_backward or not number[:1].isdigit():  # of a custom Function, or of no operation
        return stem
    parts = "".join(f"_{c.lower()}" if c.isupper() else c for c in stem)
    return parts.lstrip("_")


def words_of(name: str) -> str:
    """The operation of a node in words that people use; torch's own name where it has none.

    Args:
        name: torch's name of the node.

    Examples:
        >>> words_of("MulBackward0"), words_of("NativeBatchNormBackward0")
        ('×', 'batch norm')
        >>> words_of("ScaledDotProductFlashAttentionForCpuBackward0"), words_of("MineBackward")
        ('attention', 'Mine')
        >>> words_of("BinaryCrossEntropyWithLogitsBackward0"), words_of("Log1PBackward0")
        ('BCE with logits', 'log1p')
    """
    stem, _, number = name.rpartition("Backward")
    if not number[:1].isdigit():  # of a custom Function, or of no operation
        return name.removesuffix("Backward") or name
    found = SIGNS.get(operation_of(name))
    if found is not None:
        return found
    words = _WORDS.sub(" ", stem).lower().split()
    if "attention" in words:
        return "attention"
    return " ".join(word for word in words if word not in _OF_TORCH) or stem
