"""Contenders take turns; times are kept per round, so that ratios are of neighbours."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@contextmanager
def no_collector() -> Iterator[None]:
    """Run the garbage collector now and not again before the block ends."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(work: Callable[[], Any]) -> float:
    """CPU time of the process for one call; the result is dropped after the clock stopped."""
    start = time.process_time()
    result = work()
    elapsed = time.process_time() - start
    del result
    return elapsed


@dataclass
class Times:
    """Seconds of each contender, round by round."""

    rounds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, elapsed: float) -> None:
        self.rounds.setdefault(name, []).append(elapsed)

    def best(self, name: str) -> float:
        return min(self.rounds[name])

    def median(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def ratio(self, name: str, floor: str) -> dict[str, float]:
        """``best``: of the fastest times. ``median``: of the ratios within each round."""
        pairs = zip(self.rounds[name], self.rounds[floor])
        return {
            "best": self.best(name) / self.best(floor),
            "median": statistics.median(mine / theirs for mine, theirs in pairs),
        }
