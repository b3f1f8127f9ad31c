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
    "right": 99,
}
"""Least percentages of nodes that are placed at block level, and of placements that are right."""
_WIDE: Final = 30


def percentages(rows: Rows) -> dict[str, float]:
    """What the aims are about: of all nodes, and the mean of what it is for each model.

    Nodes that code outside of all modules made are not placed at block level, since only a
    recording can know that they were. So of small models it is a smaller part.
    """
    every = list(chain.from_iterable(rows.values()))
    in_blocks = [one for one in every if one.block is not None]
    return {
        "at block level": at_block(every),
        "at block level, mean of models": mean(map(at_block, rows.values())),
        "at block level, of nodes that blocks made": at_block(in_blocks),
        "right": right(every),
        "right, mean of models": mean(map(right, rows.values())),
    }


def at_block(nodes: Sequence[Judged]) -> float:
    """Of all nodes, how many are placed at block level, in per cent."""
    return 100 * sum(one.is_at_block for one in nodes) / len(nodes) if nodes else 100.0


def right(nodes: Sequence[Judged]) -> float:
    """Of the nodes that are placed, how many are placed rightly, in per cent."""
    placed = [one for one in nodes if one.is_placed]
    return 100 * sum(one.is_right for one in placed) / len(placed) if placed else 100.0


def table(title: str, rows: Rows, why: bool = False) -> Iterator[str]:
    """A row per model, one for all, and the aims.

    Args:
        title: What the models are.
        rows: The nodes of each model.
        why: Whether nodes are listed that are wrong, or not placed at block level.
    """
    yield _row(title, "nodes", "outside", "placed", "unknown", "at block", "right")
    for name, nodes in rows.items():
        yield _counts(name, nodes)
        if why:
            yield from _lacking(nodes)
    yield _counts("all", list(chain.from_iterable(rows.values())))
    for name, found in percentages(rows).items():
        yield f"{name}: {found:.1f} %" + (f", aim {AIMS[name]:g} %" if name in AIMS else "")


def _counts(name: str, nodes: Sequence[Judged]) -> str:
    outside = sum(one.true is None for one in nodes)
    placed = sum(one.is_placed for one in nodes)
    unknown = len(nodes) - placed
    shares = f"{at_block(nodes):.1f} %", f"{right(nodes):.1f} %"
    return _row(name, *map(str, (len(nodes), outside, placed, unknown)), *shares)


def _row(name: str, *cells: str) -> str:
    return f"{name:{_WIDE}}" + "".join(f"{cell:>10}" for cell in cells)


def _lacking(nodes: Sequence[Judged]) -> Iterator[str]:
    for one in nodes:
        if one.is_wrong or not one.is_at_block:
            what = "WRONG" if one.is_wrong else "not at block"
            yield f"    {what}: {one.name} of {one.true or 'no module'} is placed at {one.placed!r}"
