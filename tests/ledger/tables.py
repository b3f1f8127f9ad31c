"""How often gradviz names what is wrong with the programs of the ledger, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import torch

from tests.ledger.bug import Bug
from tests.ledger.judging import Judged, judged
from tests.ledger.programs import ALL
from tests.ledger.running import Mode

Columns: TypeAlias = Mapping[str, Callable[[Judged], bool]]
LOUD: Final[Columns] = MappingProxyType(
    {
        "line that raises": lambda one: one.raises,
        "variable": lambda one: one.variable,
        "culprit line": lambda one: one.culprit,
        "as first cause": lambda one: one.first,
        "fix offered": lambda one: bool(one.offered),
    }
)
"""Columns for programs in which torch raises an error."""
SILENT: Final[Columns] = MappingProxyType(
    {
        "told": lambda one: bool(one.told_by),
        "by explanation": lambda one: "explanation" in one.told_by,
        "by audit": lambda one: "audit" in one.told_by,
        "by memory": lambda one: "memory" in one.told_by,
        "culprit line": lambda one: one.culprit,
    }
)
"""Columns for programs in which torch raises nothing."""
_FIRST: Final = 46
_WIDE: Final = 16


AIMS: Final[Mapping[str, int]] = MappingProxyType(
    {"line that raises": 100, "variable": 85, "culprit line": 80, "fix offered": 60}
)
"""Least percentages of the programs that raise an error, recorded as they come."""


def percentages(mode: Mode, columns: Columns, is_silent: bool = False) -> dict[str, float]:
    """Of how many of all programs, in per cent, each column holds."""
    rows = [judged(bug, mode) for bug in ALL if bug.is_silent == is_silent]
    return {name: 100 * sum(map(holds, rows)) / len(rows) for name, holds in columns.items()}


def report(mode: Mode, each: bool = False, why: bool = False, only: str = "") -> str:
    """The tables of one way of recording."""
    torch.set_num_threads(1)
    rows = [judged(bug, mode) for bug in ALL if only in f"{bug.family} / {bug.name}"]
    how = "as it comes" if mode == "as it comes" else "without following calls"
    return "\n".join([f"\n=== recorded {how}", *_lines(rows, each, why)])


def _lines(rows: Sequence[Judged], each: bool, why: bool) -> Iterator[str]:
    loud = [one for one in rows if not one.bug.is_silent]
    silent = [one for one in rows if one.bug.is_silent]
    yield from ("", *table("loud", loud, LOUD, each), "", *table("silent", silent, SILENT, each))
    yield from ("", *of_fixes(rows), "", *of_accusations(rows))
    if why:
        yield from ("", *missing(rows))


def table(name: str, rows: Sequence[Judged], columns: Columns, each: bool) -> Iterator[str]:
    """A row per family, and one for all; with ``each`` one per program."""
    yield _row(name, [*columns, "fixes right", "accused"])
    for family in dict.fromkeys(one.bug.family for one in rows):
        of = [one for one in rows if one.bug.family == family]
        yield _row(f"  {family}", _shares(of, columns))
        for one in of if each else ():
            marks = ["yes" if holds(one) else "-" for holds in columns.values()]
            yield _row(f"    {one.bug.name}", [*marks, *_counts([one])])
    yield _row("  all", _shares(rows, columns))


def _row(first: str, cells: Sequence[str]) -> str:
    return f"{first:{_FIRST}.{_FIRST}}" + "".join(f"{cell:>{_WIDE}}" for cell in cells)


def _shares(rows: Sequence[Judged], columns: Columns) -> list[str]:
    return [
        *(_share(sum(map(holds, rows)), len(rows)) for holds in columns.values()),
        *_counts(rows),
    ]


def _counts(rows: Sequence[Judged]) -> list[str]:
    """Fixes that are right of those offered, and fixed versions that are accused."""
    offered = [fix for one in rows for fix in one.offered]
    accused = {(one.bug, number) for one in rows for number, _ in one.accused}
    versions = sum(len(one.bug.fixes) for one in rows)
    return [
        _share(sum(fix.is_right for fix in offered), len(offered)),
        f"{len(accused)}/{versions}",
    ]


def _share(count: int, of: int) -> str:
    return f"{count}/{of} {100 * count // of:3d} %" if of else "-"


def of_fixes(rows: Sequence[Judged]) -> Iterator[str]:
    """Each fix that was offered and is not right."""
    wrong = [(one, fix) for one in rows for fix in one.offered if not fix.is_right]
    yield f"fixes that are not right: {len(wrong)}"
    for one, fix in wrong:
        code = " | ".join(fix.code.split("\n"))
        yield f"    {one.bug.name}: {code!r}: {fix.verdict}"


def of_accusations(rows: Sequence[Judged]) -> Iterator[str]:
    """What was said against fixed versions."""
    accused = [(one.bug, number, what) for one in rows for number, what in one.accused]
    yield f"said against fixed versions: {len(accused)}"
    for bug, number, what in accused:
        yield f"    {bug.name}, fixed version {number}: {what.tool}: {what.what}"


def missing(rows: Sequence[Judged]) -> Iterator[str]:
    """What was said of the programs where not everything was named."""
    for one in rows:
        absent = _absent(one)
        if not absent:
            continue
        yield f"{one.bug.family} / {one.bug.name}: no {', '.join(absent)}"
        yield from _places(one.bug)
        found = one.explanation
        if found is not None:
            yield f"    kind {found.kind!r}, variables {found.variables}, noticed {found.noticed}"
            yield from (
                f"    cause {cause.kind}: {cause.what}: {cause.at}" for cause in found.causes
            )
            yield from (f"    fix {fix.how} {fix.line}: {fix.code!r}" for fix in found.fixes)
            yield from (f"    unknown {words}" for words in found.unknown)


def _absent(one: Judged) -> list[str]:
    if one.bug.is_silent:
        return [] if one.told_by else ["tool"]
    return [name for name, holds in LOUD.items() if name != "as first cause" and not holds(one)]


def _places(bug: Bug) -> Iterator[str]:
    for mark in ("culprit", "raises"):
        for number, text in bug.places(mark):
            yield f"    {mark} {number}: {text}"
