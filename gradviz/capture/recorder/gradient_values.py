"""Numbers of the gradients that a backward hands on from node to node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import EllipsisType
from typing import Any, Final

from gradviz.capture import autograd
from gradviz.capture.naming import is_tensor
from gradviz.capture.values import summarise
from gradviz.model import ValueSummary

_MOST: Final = 1_000
"""How many are remembered."""


class GradientValues:
    """Reads each gradient once, as long as it exists and is not written.

    What one node gives the next one gets; a view of it, and the ``.grad`` that a leaf has taken it
    as, have the same numbers in the same memory.

    Args:
        values: Whether numbers are read.
    """

    def __init__(self, values: bool) -> None:
        self._values = values
        self._known: dict[Any, tuple[autograd.TensorRef, int, ValueSummary]] = {}

    def forget(self) -> None:
        """What was read may have been written since, in a way that versions do not show."""
        self._known.clear()

    def of(self, gradients: Iterable[Any]) -> tuple[ValueSummary | None, ...]:
        """Summaries of tensors; ``None`` for anything else."""
        given = tuple(gradients)
        if not self._values:
            return tuple([summarise(one, False) if is_tensor(one) else None for one in given])
        found = tuple([self._find(one) for one in given])
        if ... not in found:
            return found  # type: ignore[return-value]
        with autograd.arithmetic():
            return tuple([self._read(one) for one in given])

    def _find(self, value: Any) -> ValueSummary | None | EllipsisType:
        """The summary if it is known."""
        if not is_tensor(value):
            return None
        numbers = autograd.numbers_in(value)
        ref, version, summary = self._known.get(numbers, (None, None, None))
        known = None if ref is None else ref()
        if known is None or summary is None:
            return ...
        if not version == autograd.version_of(value) == autograd.version_of(known):
            return ...
        shape = autograd.shape_of(value)
        return summary if summary.shape == shape else replace(summary, shape=shape)

    def _read(self, value: Any) -> ValueSummary | None:
        found = self._find(value)
        if not isinstance(found, EllipsisType):
            return found
        summary, version = summarise(value), autograd.version_of(value)
        if autograd.backward_is_running() and version is not None:
            if len(self._known) > _MOST:
                self._known.clear()
            numbers = autograd.numbers_in(value)
            if numbers is not None:
                self._known[numbers] = autograd.TensorRef(value), version, summary
        return summary
