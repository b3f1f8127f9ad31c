"""Gradients that are wrong although torch raised nothing, found in what the recording saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from gradviz.analysis.explaining.silent_broadcast import broadcasts
from gradviz.analysis.explaining.silent_hidden import hidden_writes
from gradviz.analysis.explaining.silent_lost import lost_gradients
from gradviz.analysis.explaining.silent_nodeless import nodeless_writes
from gradviz.analysis.explaining.silent_norms import moving_norms
from gradviz.analysis.explaining.silent_rebound import rebound_parameters
from gradviz.analysis.explaining.silent_stale import stale_gradients
from gradviz.analysis.explaining.silent_trail import Trail
from gradviz.model.explanation import Explanation
from gradviz.model.recording import Recording

_FAMILIES: Final[tuple[Callable[[Trail], Iterator[Explanation]], ...]] = (
    hidden_writes,
    nodeless_writes,
    broadcasts,
    rebound_parameters,
    stale_gradients,
    moving_norms,
    lost_gradients,
)


def silent_in(recording: Recording) -> Iterator[Explanation]:
    """One explanation per fault, in the order of the steps at which they do their harm.

    A fault in a loop is told once: the first time it does harm.
    """
    trail = Trail(recording)
    found = [one for family in _FAMILIES for one in family(trail)]
    told = set()
    for one in sorted(found, key=lambda e: (e.step is None, e.step or 0)):
        culprit, noticed = one.cause.at if one.cause else None, one.noticed
        key = (
            one.kind,
            one.variables,
            culprit and (culprit.code, culprit.line),
            noticed and (noticed.code, noticed.line),
        )
        if key not in told:
            told.add(key)
            yield one
