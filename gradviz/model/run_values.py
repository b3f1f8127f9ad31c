"""The numbers that went through a graph in one run, which the graph itself does not keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradviz.model.records import ValueSummary


@dataclass(frozen=True, slots=True)
class RunValues:
    """What nodes made in the forward, and the gradients that they passed on in the last backward.

    What was not seen is not in it.
    """

    outputs: Mapping[tuple[str, int], ValueSummary] = field(default_factory=dict)
    """Outputs with few numbers, by the id of the node and the number of the output."""
    gradients: Mapping[tuple[str, int], ValueSummary | None] = field(default_factory=dict)
    """Gradients by edge: the id of the node, and the place in its ``next_functions``."""
