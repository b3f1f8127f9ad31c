"""How many nodes are placed, and how many rightly, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import mean
from typing import Final

from tests.placement.oracle import Judged

Rows = Mapping[str, Sequence[Judged]]

AIMS: Final[Mapping[str, float]] = {
    "at block level": 95,
    "at block level, mean of models": 95,
    "right": 99,
    "right, mean of models": 99,
}
"""Least percentages of nodes that are placed at block level, and of placements that are right."""
_WIDE: Final = 30


def percentages(rows: Rows) -> dict[str, float]:
    """What the aims are about: of all nodes, and the mean of what it is for each model."""
    every = list(chain.from_iterable(rows.values()))
    return {
        "at block level": at_block(every),
        "at block level, mean of models": mean(map(at_block, rows.values())),
        "right": right(every),
        "right, mean of models": mean(map(right, rows.values())),
    }


def at_block(nodes: Sequence[Judged]) -> float:
    """Of all nodes, how many are placed at block level, in per cent."""
    return 100 * sum(one.is_at_block for one in nodes) / len(nodes)


def right(nodes: Sequence[Judged]) -> float:
    """Of the nodes that are placed, how many are placed rightly, in per cent."""
    placed = [one for one in nodes if one.placed is not None]
    return 100 * sum(one.is_right for one in placed) / len(placed) if placed else 100.0


def table(rows: Rows, why: bool = False) -> Iterator[str]:
    """A row per model, one for all, and the aims.

    Args:
        rows: The nodes of each model.
        why: Whether nodes are listed that are wrong, or not placed at block level.
    """
    yield _row("", "nodes", "known", "inferred", "unknown", "at block", "right")
    for name, nodes in rows.items():
        yield _counts(name, nodes)
        if why:
            yield from _lacking(nodes)
    yield _counts("all", list(chain.from_iterable(rows.values())))
    for name, aim in AIMS.items():
        yield f"{name}: {percentages(rows)[name]:.1f} %, aim {aim:g} %"


def _counts(name: str, nodes: Sequence[Judged]) -> str:
    inferred = sum(one.is_inferred for one in nodes)
    unknown = sum(one.placed is None for one in nodes)
    known = len(nodes) - inferred - unknown
    shares = f"{at_block(nodes):.1f} %", f"{right(nodes):.1f} %"
    return _row(name, *map(str, (len(nodes), known, inferred, unknown)), *shares)


def _row(name: str, *cells: str) -> str:
    return f"{name:{_WIDE}}" + "".join(f"{cell:>10}" for cell in cells)


def _lacking(nodes: Sequence[Judged]) -> Iterator[str]:
    for one in nodes:
        if one.is_wrong or not one.is_at_block:
            what = "WRONG" if one.is_wrong else "not at block"
            yield f"    {what}: {one.name} of {one.true or 'no module'} is placed at {one.placed!r}"
