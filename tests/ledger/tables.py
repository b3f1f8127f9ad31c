"""How often gradviz names what is wrong with the programs of the ledger, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias

from tests.ledger.bug import Bug
from tests.ledger.judging import Judged, judged
from tests.ledger.programs import ALL
from tests.ledger.running import Mode

Columns: TypeAlias = Mapping[str, Callable[[Judged], bool]]
LOUD: Final[Columns] = MappingProxyType(
    {
        "kind named": lambda one: one.kind and one.raises,
        "line that raises": lambda one: one.raises,
        "variable": lambda one: one.variable,
        "culprit line": lambda one: one.culprit,
        "as first cause": lambda one: one.first,
        "fix offered": lambda one: bool(one.offered),
        "a fix is right": lambda one: any(fix.is_right for fix in one.offered),
    }
)
"""Columns for programs in which torch raises an error."""
SILENT: Final[Columns] = MappingProxyType(
    {
        "told": lambda one: bool(one.told_by),
        "by explain()": lambda one: one.is_told,
        "by audit": lambda one: "audit" in one.told_by,
        "by memory": lambda one: "memory" in one.told_by,
        "culprit line": lambda one: one.culprit,
        "fix offered": lambda one: bool(one.offered),
        "a fix is right": lambda one: any(fix.is_right for fix in one.offered),
    }
)
"""Columns for programs in which torch raises nothing."""
_FIRST: Final = 46
_WIDE: Final = 17


class Aim(NamedTuple):
    """What is wanted of all realistic programs together, recorded as they come."""

    name: str
    bound: int
    """Least percentage; or, of a count, the most there may be."""
    of: Literal["loud", "silent", "count"]
    measure: Callable[[Judged], float]
    """Whether it holds for a program; or how many there are."""
    kept: int | None = None
    """What must not be lost while the bound is not reached; ``None`` where it is."""

    def value(self, rows: Sequence[Judged]) -> float:
        """What is reached."""
        realistic = _realistic(rows)
        if self.of == "count":
            return sum(map(self.measure, realistic))
        of = [one for one in realistic if one.bug.is_silent == (self.of == "silent")]
        return 100 * sum(map(self.measure, of)) / max(len(of), 1)

    def is_reached(self, rows: Sequence[Judged]) -> bool:
        """Whether it is."""
        value = self.value(rows)
        return value <= self.bound if self.of == "count" else value >= self.bound

    def __str__(self) -> str:
        return self.name


AIMS: Final[tuple[Aim, ...]] = (
    Aim("errors: kind named", 98, "loud", LOUD["kind named"]),
    Aim("errors: line that raises", 100, "loud", LOUD["line that raises"]),
    Aim("errors: variable", 85, "loud", LOUD["variable"]),
    Aim("errors: culprit line", 80, "loud", LOUD["culprit line"]),
    Aim("errors: a fix is right", 70, "loud", LOUD["a fix is right"]),
    Aim("silent faults: told by explain()", 85, "silent", SILENT["by explain()"]),
    Aim("fixes that are not right", 0, "count", lambda one: len(one.harmful)),
    Aim("fixed versions that are accused", 0, "count", lambda one: one.accused_versions),
)


def _realistic(rows: Sequence[Judged]) -> list[Judged]:
    """Those that are written without looking at what is said of them."""
    return [one for one in rows if not one.bug.explained]


def rows_of(mode: Mode, only: str = "") -> list[Judged]:
    """What is said of all programs, or of those with a part of their family or name."""
    return [judged(bug, mode) for bug in ALL if only in f"{bug.family} / {bug.name}"]


def report(mode: Mode, each: bool = False, why: bool = False, only: str = "") -> str:
    """The tables of one way of recording."""
    rows = rows_of(mode, only)
    how = "as it comes" if mode == "as it comes" else "without following calls"
    lines = [f"\n=== recorded {how}", *_lines(rows, each, why)]
    return "\n".join([*lines, "", *of_aims(rows)] if mode == "as it comes" else lines)


def _lines(rows: Sequence[Judged], each: bool, why: bool) -> Iterator[str]:
    loud = [one for one in _realistic(rows) if not one.bug.is_silent]
    silent = [one for one in _realistic(rows) if one.bug.is_silent]
    explained = [one for one in rows if one.bug.explained]
    yield from ("", *table("loud", loud, LOUD, each), "", *table("silent", silent, SILENT, each))
    yield from ("", *table("loud, written to be explained", explained, LOUD, each))
    yield from ("", *of_fixes(rows), "", *of_accusations(rows))
    if why:
        yield from ("", *missing(rows))


def table(name: str, rows: Sequence[Judged], columns: Columns, each: bool) -> Iterator[str]:
    """A row per family, and one for all; with ``each`` one per program."""
    yield _row(name, [*columns, "harmful", "accused"])
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
    """Fixes that are not right of those offered, and fixed versions that are accused."""
    offered = sum(len(one.offered) for one in rows)
    accused = sum(one.accused_versions for one in rows)
    versions = sum(len(one.bug.fixes) for one in rows)
    return [f"{sum(len(one.harmful) for one in rows)}/{offered}", f"{accused}/{versions}"]


def _share(count: int, of: int) -> str:
    return f"{count}/{of} {100 * count // of:3d} %" if of else "-"


def of_fixes(rows: Sequence[Judged]) -> Iterator[str]:
    """Each fix that was offered and is not right."""
    wrong = [(one, fix) for one in rows for fix in one.harmful]
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


def of_aims(rows: Sequence[Judged]) -> Iterator[str]:
    """What is reached in total, and what is wanted."""
    realistic = _realistic(rows)
    loud = sum(not one.bug.is_silent for one in realistic)
    silent = len(realistic) - loud
    yield f"in total, of {loud} programs with an error and {silent} with a silent fault"
    for aim in AIMS:
        unit, most = ("", "at most") if aim.of == "count" else (" %", "at least")
        reached = "" if aim.is_reached(rows) else ": not reached"
        yield (
            f"  {aim.name:34}{int(aim.value(rows)):4d}{unit:2}   {most} {aim.bound}{unit}{reached}"
        )


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
        return [] if one.is_told else ["explanation"]
    return [name for name, holds in LOUD.items() if name != "as first cause" and not holds(one)]


def _places(bug: Bug) -> Iterator[str]:
    for mark in ("culprit", "raises"):
        for number, text in bug.places(mark):
            yield f"    {mark} {number}: {text}"
