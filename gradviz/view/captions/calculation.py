"""How a gradient was computed, with the numbers of the recording: ``1.0 × 3.0 = 3.0``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gradviz.model.derivatives import calculation_of
from gradviz.model.derivatives.arithmetic import NotComputedError, Numbers, numbers_of
from gradviz.model.derivatives.expression import Expression
from gradviz.model.events import NodeRan
from gradviz.model.records import Number, ValueSummary
from gradviz.view import formatting
from gradviz.view.captions.state import CaptionState
from gradviz.view.text import cells

ROOM: Final = 120
"""Cells of a calculation; a longer one is left out, and only its result is said."""
_MOVED: Final = frozenset(
    ("grad", "reshaped", "permuted", "swapped", "transposed", "flipped", "rolled", "with dims")
)
"""Operations after which the same numbers are there; to write them twice says nothing."""


def calculation(
    tree: Expression | None, ran: NodeRan, result: ValueSummary, state: CaptionState
) -> str | None:
    """The calculation of a gradient, if all its numbers are known and it is what torch computed.

    Args:
        tree: How the node computes the gradient, ``None`` if that is not known.
        ran: The node, with the gradients that arrived and the saved tensors it used.
        result: The gradient that torch computed.
        state: The step after the node.
    """
    if tree is None or result.values is None or _only_moves(tree):
        return None

    def known(part: Expression) -> Numbers | None:
        return _numbers_of_leaf(part, ran, state)

    computed = numbers_of(tree, known)
    if computed is None or not _agree(computed, result):
        return None
    gives = _written(_numbers(result.values, result.shape))
    whole = calculation_of(tree, lambda part: _written(known(part)), gives)
    return whole if cells(whole) <= ROOM else None


def _only_moves(tree: Expression) -> bool:
    return tree.operator in _MOVED and all(map(_only_moves, tree.operands))


def _agree(computed: Numbers, result: ValueSummary) -> bool:
    """Whether every number is the recorded one, as far as it is shown."""
    values = result.values or ()
    if computed.shape != result.shape or len(computed.values) != len(values):
        return False
    pairs = zip(computed.values, values, strict=True)
    return all(isinstance(n, float) and _shown(float(one)) == _shown(n) for one, n in pairs)


def _shown(value: float) -> str:
    return formatting.number(value + 0)  # without the sign of zero


def _written(found: Numbers | None) -> str:
    """Numbers in brackets, a pair for each dimension."""
    if found is None:
        return "?"
    words = [_shown(value) for value in found.values]
    for size in reversed(found.shape):
        rows = range(0, len(words), size or 1)
        words = [f"[{', '.join(words[at : at + size])}]" for at in rows] or ["[]"]
    return words[0]


def _numbers_of_leaf(part: Expression, ran: NodeRan, state: CaptionState) -> Numbers | None:
    """The numbers of a gradient that arrived, or of a saved tensor that no write has changed."""
    if part.operator == "grad":
        number = part.options[0] if part.options else 0
        arrived = ran.grad_outputs
        found = arrived[number] if isinstance(number, int) and number < len(arrived) else None
        return None if found is None else _numbers(found.values, found.shape)
    slot = next((slot for slot in ran.used if slot.name == part.options[0]), None)
    if slot is None or slot.saved_version is None:
        return None
    info = state.row(slot.tensor)
    version = slot.current_version if info is None else info.version
    if version != slot.saved_version:
        return None
    if info is None:
        return _numbers(slot.values, slot.shape or ())
    return _numbers(info.values, info.shape)


def _numbers(values: Sequence[Number] | None, shape: tuple[int, ...]) -> Numbers | None:
    if values is None or not all(isinstance(n, (bool, int, float)) for n in values):
        return None
    try:
        # A whole number stays one: it is the 2 of ``2 * w``.
        return Numbers(tuple(n if type(n) is int else float(n) for n in values), shape)
    except NotComputedError:
        return None
