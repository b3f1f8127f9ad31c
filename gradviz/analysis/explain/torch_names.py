"""Names of nodes and saved tensors, and a gradient in a few words."""

from __future__ import annotations

from typing import Final

from gradviz.model.formatting import number, shape
from gradviz.model.records import SavedTensor, ValueSummary

SELECTING: Final = frozenset(
    {
        "bincount", "cross_entropy", "embedding", "embedding_bag", "gather", "index_add",
        "index_select", "nll_loss", "one_hot", "scatter", "scatter_add", "take",
        "take_along_dim",
    }
)  # fmt: skip
"""Functions of torch that take ids: which row, which class."""


def gradient_words(found: ValueSummary | None) -> str:
    """A gradient in a few words."""
    if found is None:
        return "None"
    if found.values is None:
        return f"a gradient of shape {shape(found.shape)}"
    if not found.shape and len(found.values) == 1:
        return number(found.values[0])
    return f"[{', '.join(map(number, found.values))}]"


def is_result(slot: SavedTensor) -> bool:
    """Whether a slot has the result of the operation, not an input."""
    return slot.name.startswith(("result", "output"))
