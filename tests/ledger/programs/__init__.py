"""All programs of the ledger."""

from __future__ import annotations

from typing import Final

from tests.ledger.bug import ALL as _ALL
from tests.ledger.bug import Bug
from tests.ledger.programs import graph_freed, leaf_written, no_graph, saved_tensor_written

ALL: Final[tuple[Bug, ...]] = tuple(_ALL)
EVERY: Final = (graph_freed, leaf_written, no_graph, saved_tensor_written)
