"""All programs of the ledger."""

from __future__ import annotations

from typing import Final

from tests.ledger.bug import ALL as _ALL
from tests.ledger.bug import Bug
from tests.ledger.programs import (
    everyday,
    explained_cuts,
    explained_freed,
    explained_others,
    explained_starts,
    explained_writes,
    functions,
    gradients_and_optimizers,
    graph_freed,
    higher_derivatives,
    hooks,
    leaf_written,
    leaves_and_numpy,
    no_graph,
    not_finite,
    other_errors,
    saved_tensor_written,
    silent_cuts,
    silent_layers,
    silent_losses,
    silent_not_finite,
    silent_numbers,
    silent_parameters,
    silent_steps,
    silent_training,
    views_written,
)

MODULES: Final = (
    everyday,
    explained_cuts,
    explained_freed,
    explained_others,
    explained_starts,
    explained_writes,
    functions,
    gradients_and_optimizers,
    graph_freed,
    higher_derivatives,
    hooks,
    leaf_written,
    leaves_and_numpy,
    no_graph,
    not_finite,
    other_errors,
    saved_tensor_written,
    silent_cuts,
    silent_layers,
    silent_losses,
    silent_not_finite,
    silent_numbers,
    silent_parameters,
    silent_steps,
    silent_training,
    views_written,
)
"""Where they are written; importing them puts them in the list."""
ALL: Final[tuple[Bug, ...]] = tuple(_ALL)
"""In the order of these modules."""
