"""All programs of the ledger."""

from __future__ import annotations

from typing import Final

from tests.ledger.bug import ALL as _ALL
from tests.ledger.bug import Bug
from tests.ledger.programs import (
    graph_freed,
    leaf_written,
    no_graph,
    other_errors,
    saved_tensor_written,
    silent_cuts,
    silent_parameters,
    silent_steps,
)

MODULES: Final = (
    graph_freed,
    leaf_written,
    no_graph,
    other_errors,
    saved_tensor_written,
    silent_cuts,
    silent_parameters,
    silent_steps,
)
"""Where they are written; importing them puts them in the list."""
ALL: Final[tuple[Bug, ...]] = tuple(_ALL)
"""In the order of these modules."""
