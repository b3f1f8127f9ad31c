"""Everything that is known to be wrong with some code, and what its graph keeps: one result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, overload

from gradviz.model.explanation import Explanation
from gradviz.model.presentation import Displayed
from gradviz.model.report import Report

if TYPE_CHECKING:
    from gradviz.model.recording import Recording

_NONE: Final = Explanation()


class Explanations(Displayed, Sequence[Explanation]):
    """What :func:`gradviz.explain` returns: explanations, the most important first, and reports.

    The first is that of the error which left the code, if one did; then come faults without an
    error, errors that the code caught, and last what is only worth a look. Fields of the first can
    be read from the whole: ``found.kind``, ``found.fixes``. It is true if anything is explained.

    Args:
        explanations: In this order.
        reports: What else is known: the audit of the last loss, the memory of the graph.
    """

    def __init__(
        self, explanations: Iterable[Explanation] = (), reports: Sequence[Report] = ()
    ) -> None:
        self._explanations = tuple(explanations)
        self._reports = tuple(reports)

    @property
    def first(self) -> Explanation:
        """The most important one; an empty one if there is none."""
        return self._explanations[0] if self._explanations else _NONE

    @property
    def reports(self) -> tuple[Report, ...]:
        """The audit of the last loss, and the memory that the graph keeps, as far as known."""
        return self._reports

    @property
    def recording(self) -> Recording | None:
        """The recording that all of it was read from."""
        return self.first.recording

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Explanation]: ...
    def __getitem__(self, index: int | slice) -> Explanation | Sequence[Explanation]:
        return self._explanations[index]

    def __len__(self) -> int:
        return len(self._explanations)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.first, name)

    def __repr__(self) -> str:
        return f"<Explanations: {', '.join(one.kind for one in self) or 'none'}>"
