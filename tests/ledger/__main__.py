"""``python -m tests.ledger`` prints how often which tool says what of the programs of the ledger.

``--each`` adds a row per program, ``--why`` what was said of those where something is missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import torch

from tests.ledger.judging import MODES, Judged, judged, share
from tests.ledger.programs import ALL

LOUD: Final[dict[str, Callable[[Judged], bool]]] = {
    "line that raises": lambda one: one.raises,
    "variable": lambda one: one.variable,
    "culprit line": lambda one: one.culprit,
    "as first cause": lambda one: one.first,
    "fix offered": lambda one: bool(one.offered),
    "first fix right": lambda one: bool(one.offered) and one.offered[0].is_right,
}
"""Columns for programs in which torch raises an error."""
SILENT: Final[dict[str, Callable[[Judged], bool]]] = {
    "told": lambda one: bool(one.told_by),
    "by explanation": lambda one: "explanation" in one.told_by,
    "by audit": lambda one: "audit" in one.told_by,
    "by memory": lambda one: "memory" in one.told_by,
    "culprit line": lambda one: one.culprit,
}
"""Columns for programs in which torch raises nothing."""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("--each", action="store_true", help="a row per program")
    parser.add_argument("--why", action="store_true", help="what was said where something is missing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for mode in MODES:
        rows = [judged(bug, mode) for bug in ALL]
        print(f"\n=== recorded {mode if mode != 'into' else 'with into=[every function and class]'}")
        loud = [one for one in rows if not one.bug.is_silent]
        silent = [one for one in rows if one.bug.is_silent]
        for words, of, columns in (("loud", loud, LOUD), ("silent", silent, SILENT)):
            print("\n" + "\n".join(table(f"{words}: family", of, columns, given.each)))
        print("\n" + "\n".join(of_fixes(rows)))
        print("\n" + "\n".join(of_accusations(rows)))
        if given.why:
            print("\n" + "\n".join(missing(rows)))


def table(
    first: str, rows: Sequence[Judged], columns: dict[str, Callable[[Judged], bool]], each: bool
) -> Iterator[str]:
    """A row per family, and one for all; with ``each`` one per program."""
    widths = [max(len(name), 12) for name in columns]
    yield "  ".join([f"{first:48}", *(f"{c:>{w}}" for c, w in zip(columns, widths))])
    for family in dict.fromkeys(one.bug.family for one in rows):
        of = [one for one in rows if one.bug.family == family]
        shares = [f"{share(of, holds):>{w}}" for holds, w in zip(columns.values(), widths)]
        yield "  ".join([f"{family:48}", *shares])
        for one in of if each else ():
            marks = [f"{'yes' if holds(one) else '-':>{w}}" for holds, w in zip(columns.values(), widths)]
            yield "  ".join([f"    {one.bug.name:44.44}", *marks])
    shares = [f"{share(rows, holds):>{w}}" for holds, w in zip(columns.values(), widths)]
    yield "  ".join([f"{'all':48}", *shares])


def of_fixes(rows: Sequence[Judged]) -> Iterator[str]:
    """How many of the fixes that were offered are right, and each that is not."""
    offered = [(one, fix) for one in rows for fix in one.offered]
    right = sum(fix.is_right for _, fix in offered)
    yield f"fixes offered {len(offered)}, right {right}, wrong {len(offered) - right}"
    for one, fix in offered:
        if not fix.is_right:
            code = " | ".join(fix.code.split("\n"))
            yield f"    {one.bug.name}: {code!r}: {fix.verdict}"


def of_accusations(rows: Sequence[Judged]) -> Iterator[str]:
    """What was said against fixed versions."""
    versions = sum(len(one.bug.fixes) for one in rows)
    accused = [(one, number, what) for one in rows for number, what in one.accused]
    count = len({(one.bug.name, number) for one, number, _ in accused})
    yield f"fixed versions {versions}, accused {count}"
    for one, number, what in accused:
        yield f"    {one.bug.name}, fixed version {number}: {what.tool}: {what.what}"


def missing(rows: Sequence[Judged]) -> Iterator[str]:
    """What was said of the programs where not everything was named."""
    for one in rows:
        columns = SILENT if one.bug.is_silent else LOUD
        absent = [name for name, holds in columns.items() if not holds(one)]
        if one.bug.is_silent:
            absent = [] if one.told_by else ["told"]
        if not absent:
            continue
        found = one.explanation
        yield f"{one.bug.family} / {one.bug.name}: no {', '.join(absent)}"
        if found is not None:
            yield f"    kind {found.kind!r}, variables {found.variables}, noticed {found.noticed}"
            yield from (f"    cause {cause.kind}: {cause.what}: {cause.at}" for cause in found.causes)
            yield from (f"    fix {fix.how} {fix.line}: {fix.code!r}" for fix in found.fixes)
            yield from (f"    unknown {words}" for words in found.unknown)


if __name__ == "__main__":
    main()
