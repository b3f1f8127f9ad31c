"""Seconds an import takes: torch, then gradviz on top of it, then what its functions load."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, times
from benchmarks.timing import Times, seconds

STAGES = {
    "torch": "import torch",
    "gradviz": "import gradviz",
    "gradviz.reading": "the first snapshot or record",
    "gradviz.api": "the first show",
    "gradviz.reports": "the first audit, memory or compare",
}
"""Modules in the order in which they are imported, and what imports them."""


def run(quick: bool) -> dict[str, Any]:
    """Measure in processes of their own; the first warms the caches and is not counted."""
    found = Times()
    for number in range(2 if quick else 6):
        answer = in_process("importing", "measure")
        if isinstance(answer, Crash):
            return {"failed": answer.text}
        if number:
            for name, elapsed in answer.items():
                found.add(name, elapsed)
    return {
        name: {
            "best": found.best(name),
            "median": found.median(name),
            "to torch": found.ratio(name, "torch"),
        }
        for name in STAGES
    }


def measure() -> dict[str, float]:
    """Seconds of each import, after those before it."""
    return {name: seconds(lambda name=name: import_module(name)) for name in STAGES}  # type: ignore[misc]


def tables(found: dict[str, Any]) -> list[Table]:
    """The results as a table."""
    title = "Import: seconds, best / median, each after those above it"
    if "failed" in found:
        return [Table(title, [], [], (found["failed"],))]
    rows = [
        [what, times(found[name], 3), times(found[name]["to torch"])]
        for name, what in STAGES.items()
    ]
    remarks = ("import gradviz is to cost at most 0.1 s more than torch, on a quiet machine",)
    return [Table(title, ["", "seconds", "to torch"], rows, remarks)]
