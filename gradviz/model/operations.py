"""What a person calls the operation of a node."""

from __future__ import annotations

import re
from typing import Final

from gradviz.model.records import Node

SIGNS: Final = {
    "add": "+",
    "addmm": "@ +",
    "bmm": "@",
    "div": "÷",
    "dot": "@",
    "mm": "@",
    "mul": "×",
    "mv": "@",
    "neg": "-",
    "sub": "-",
    "t": "transpose",
}
"""How operations are written; all others are called what torch calls them."""
_WORD: Final = re.compile("[A-Z]?[a-z]+[0-9]*D?|[A-Z0-9]+(?![a-z])")
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
    if not is_backward or not number.isdigit():  # of a custom Function, or of no operation
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
    """
    stem, is_backward, number = name.partition("Backward")
    if not is_backward or not number.isdigit():  # of a custom Function, or of no operation
        return stem or name
    found = SIGNS.get(operation_of(name))
    if found is not None:
        return found
    words = [word.lower() for word in _WORD.findall(stem)]
    if "attention" in words:
        return "attention"
    ends = [at for at, word in enumerate(words) if at and word in ("for", "with")]
    words = words[: min(ends, default=len(words))]
    return " ".join(word for word in words if word not in _OF_TORCH) or stem
