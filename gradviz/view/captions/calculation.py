"""How a gradient was computed, with the numbers of the recording: ``1.0 × 3.0 = 3.0``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from gradviz.model.derivatives import calculation_of
from gradviz.model.derivatives.arithmetic import NotComputedError, Numbers, numbers_of
from gradviz.model.derivatives.expression import Expression
from gradviz.model.events import NodeRan
from gradviz.model.records import Number, ValueSummary
from gradviz.view import formatting
from gradviz.view.captions.precision import SHOWN, precision
from gradviz.view.captions.state import CaptionState
from gradviz.view.text import cells

ROOM: Final = 120
"""Cells of a calculation; a longer one is left out, and only its result is said."""
_ALL: Final = 17
"""Digits with which every float is itself."""
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
    if tree is None or result.values is None or only_moves(tree):
        return None

    def known(part: Expression, digits: int = _ALL) -> Numbers | None:
        found = _numbers_of_leaf(part, ran, state)
        return None if found is None else replace(found, values=_rounded(found.values, digits))

    as_printed = _with_few_digits(tree)

    def printed(digits: int) -> tuple[float, ...] | None:
        found = numbers_of(as_printed, lambda part: known(part, digits))
        return None if found is None or found.shape != result.shape else found.values

    fits = precision(printed, result.values)
    if fits is None:
        return None
    gives = formatting.nested(result.values, result.shape)
    whole = calculation_of(
        tree, lambda part: _written(known(part), fits.digits), gives, fits.is_exact
    )
    return whole if cells(whole) <= ROOM else None


def only_moves(tree: Expression) -> bool:
    """Whether a gradient has the same numbers as the one that arrived, at other places."""
    return tree.operator in _MOVED and all(map(only_moves, tree.operands))


def _with_few_digits(tree: Expression) -> Expression:
    """The expression with its constants as they are printed."""
    if tree.operator == "number" and isinstance(tree.options[0], float):
        return replace(tree, options=_rounded(tree.options[:1], SHOWN))  # type: ignore[arg-type]
    return replace(tree, operands=tuple(map(_with_few_digits, tree.operands)))


def _rounded(values: tuple[float, ...], digits: int) -> tuple[float, ...]:
    return tuple(float(f"{n:.{digits}g}") if isinstance(n, float) else n for n in values)


def _written(found: Numbers | None, digits: int) -> str:
    return "?" if found is None else formatting.nested(found.values, found.shape, digits)


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
        return Numbers(tuple(values), shape)  # type: ignore[arg-type]
    except NotComputedError:
        return None
