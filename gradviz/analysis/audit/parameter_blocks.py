"""Parameters of a model in blocks: totals of modules, with the worst of what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

from gradviz.analysis.row_blocks import NamedRows
from gradviz.model.audit import ModuleAudit, ParameterAudit
from gradviz.model.formatting import plural
from gradviz.model.report import Block, Cell, RowMember

ANSWER: Final[dict[bool | None, str]] = {True: "yes", False: "no", None: "unknown"}
_MEANT: Final = ("frozen", "integer")
"""Reasons that somebody has chosen."""
_FINE: Final = 6


class ParameterBlocks(NamedRows):
    """What is known of the rows of a table of parameters.

    Args:
        rows: What was found, one per parameter.
        has_grads: Whether the table has the columns of ``.grad``.
        has_optimizer: Whether it has those of an optimizer.
        has_elements: Whether it has the column of the number of elements.
    """

    def __init__(
        self,
        rows: Sequence[ParameterAudit],
        has_grads: bool,
        has_optimizer: bool,
        has_elements: bool = True,
    ) -> None:
        super().__init__([row.name for row in rows])
        self._rows = rows
        self._has_grads = has_grads
        self._has_optimizer = has_optimizer
        self._has_elements = has_elements

    def alike(self, row: int) -> Hashable:
        """Shape, and everything that is found about a parameter but its numbers."""
        one = self._rows[row]
        found = (one.reached, one.gets_gradient, one.reason, one.at, one.stale, one.updated)
        return (one.shape, one.dtype, _severity(one), one.grad is None, *found)

    def rank(self, rows: Sequence[int]) -> tuple[int, int]:
        """The worst first, then the largest."""
        found = [self._rows[row] for row in rows]
        return min(map(_severity, found)), -sum(one.elements for one in found)

    def cells(self, label: str, rows: Sequence[int]) -> tuple[Cell, ...]:
        """Totals; the reasons of all parameters that get no gradient."""
        return tuple(self._cells(label, ModuleAudit(label, tuple(self._rows[i] for i in rows))))

    def _cells(self, label: str, found: ModuleAudit) -> Iterator[Cell]:
        rows = found.parameters
        yield label
        yield _answers(row.gets_gradient for row in rows)
        yield _reasons(rows)
        yield plural(len(rows), "parameter")
        if self._has_elements:
            yield found.elements
        yield _answers(row.reached for row in rows)
        if self._has_grads:
            grads = [row.grad for row in rows if row.grad is not None]
            yield found.norm
            for count in ("zeros", "nan", "inf"):
                numbers = [getattr(grad, count) for grad in grads]
                yield sum(numbers) if numbers and None not in numbers else None
            yield _answers(row.stale for row in rows if row.grad is not None)
        if self._has_optimizer:
            yield _answers(row.updated for row in rows)
            yield "; ".join(words for words, _ in Counter(row.update for row in rows).most_common())


def fine_together(
    rows: Sequence[ParameterAudit], has_grads: bool, has_optimizer: bool
) -> tuple[RowMember, ...]:
    """Few rows, those with which nothing is wrong in one closed block after the others.

    Args:
        rows: What was found, one per parameter.
        has_grads: As above.
        has_optimizer: As above.

    Returns:
        Nothing where a block would not make it shorter: nothing is wrong with any, or with one.
    """
    fine = [place for place, row in enumerate(rows) if _is_fine(row)]
    if len(fine) in (0, 1, len(rows)):
        return ()
    facts = ParameterBlocks(rows, has_grads, has_optimizer, has_elements=False)
    cells = facts.cells(f"{len(fine)} where nothing is wrong", fine)
    others = (place for place in range(len(rows)) if place not in fine)
    return (*others, Block(cells, tuple(fine)))


def _is_fine(row: ParameterAudit) -> bool:
    return _severity(row) == _FINE and row.updated is not False and not row.partly


def _severity(row: ParameterAudit) -> int:
    """0 is what most has to be looked at."""
    grad = row.grad
    if row.gets_gradient is False and row.reason not in _MEANT:
        return 0
    if grad is not None and grad.is_finite is False:
        return 1
    if grad is not None and grad.is_zero:
        return 2
    if row.gets_gradient is None:
        return 3
    if row.stale:
        return 4
    return _FINE if row.gets_gradient else 5


def _answers(found: Iterator[bool | None]) -> str:
    """``"yes"`` where it is so of all, else of how many."""
    counts = Counter(found)
    if len(counts) < 2:
        return "".join(ANSWER[answer] for answer in counts)
    words = f"{counts[True]:,} of {counts.total():,}"
    return f"{words}, {counts[None]:,} unknown" if counts[None] else words


def _reasons(rows: Sequence[ParameterAudit]) -> str:
    """Why some get no gradient, what was not meant first; of several how often each."""
    counts = Counter(row.reason for row in rows if row.reason)
    if len(counts) < 2:
        return "".join(counts)
    found = sorted(counts.items(), key=lambda one: (one[0] in _MEANT, -one[1]))
    return ", ".join(f"{reason} ×{count:,}" for reason, count in found)
