"""Differences in sentences: one per node or tensor, or in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from gradviz.analysis.diff.unmatched import IN_GRAPH, KEPT
from gradviz.model.diff import Difference
from gradviz.model.report import Column, Table
from gradviz.model.sentence import listed

MANY: Final = 5
"""Names that a sentence lists before it counts them."""
_Thing: TypeAlias = tuple[str, str]
"""Name and id of a node or tensor: two nodes may have one name."""
_ORDER: Final = (
    "new",
    "gone",
    *(f"tensor {how} only {when}" for when in ("after", "before") for how in (IN_GRAPH, KEPT)),
)
COLUMNS: Final = (
    Column("name", help="torch's name of the node, name of the tensor, or line of the code"),
    Column("of", help="what the fact is about"),
    Column("fact", help="what differs; 'in the graph': only one of the two graphs has it"),
    Column("before"),
    Column("after"),
)


def thing_by_thing(
    differences: Iterable[Difference], tidy: Callable[[str], str] = str
) -> list[str]:
    """A sentence per node or tensor: ``"a: version 0 → 1; values 1.0 → 2.0"``.

    Args:
        differences: What differs.
        tidy: Makes text of the user's program fit to be shown.
    """
    told: dict[tuple[str, str], list[str]] = {}
    for found in differences:
        name = tidy(found.name)
        if found.is_whole:
            number = f"{found.after_id} " if found.subject == "node" and found.after_id else ""
            told[f"{_heading(found)}: {number}{name}", found.before_id or found.after_id] = []
            continue
        key = (found.after_id or found.before_id).partition(".")[0]
        change = f"{tidy(found.fact)} {tidy(found.before)} → {tidy(found.after)}"
        told.setdefault((f"{key} {name}" if key[:1] == "n" else name, key), []).append(change)
    return [f"{name}: {'; '.join(facts)}" if facts else name for (name, _), facts in told.items()]


def in_short(differences: Sequence[Difference]) -> Iterator[str]:
    """New and gone nodes and tensors, then each change with all nodes and tensors it is about."""
    wholes: dict[str, list[str]] = {}
    for found in differences:
        if found.is_whole:
            wholes.setdefault(_heading(found), []).append(found.name)
    for heading in sorted(wholes, key=_ORDER.index):
        yield f"{heading}: {_listed(wholes[heading])}"
    changes: dict[tuple[str, str], list[_Thing]] = {}
    for found in differences:
        if not found.is_whole:
            thing = found.name, (found.after_id or found.before_id).partition(".")[0]
            changes.setdefault((found.fact, found.change), []).append(thing)
    kinds = Counter(fact for fact, _ in changes)
    told: dict[tuple[_Thing, ...], list[str]] = {}
    for (fact, change), things in changes.items():
        if kinds[fact] <= MANY:
            told.setdefault(tuple(things), []).append(f"{fact} {change}")
    for fact, count in kinds.items():
        if count > MANY:
            group = [thing for key, things in changes.items() if key[0] == fact for thing in things]
            told.setdefault(tuple(group), []).append(f"{fact} differs")
    for those, facts in told.items():
        yield f"{_listed(name for name, _ in those)}: {'; '.join(facts)}"


def _heading(found: Difference) -> str:
    """What a sentence about something in one of the two graphs begins with."""
    if found.subject == "node":
        return found.kind
    return f"tensor {found.fact} only {'after' if found.kind == 'new' else 'before'}"


def _listed(names: Iterable[str]) -> str:
    counted = Counter(names)
    words = [f"{name} ({n} times)" if n > 1 else name for name, n in counted.items()]
    return listed(words, MANY)


def table_of(differences: Sequence[Difference], ids: Sequence[str]) -> Table:
    """A row per difference.

    Args:
        differences: What differs.
        ids: Per difference the id in the picture, ``""`` if it has none.
    """
    rows = tuple(
        (_named(d, key), d.subject, d.fact, d.before, d.after)
        for d, key in zip(differences, ids, strict=True)
    )
    return Table("differences", COLUMNS, rows, tuple(ids))


def _named(found: Difference, key: str) -> str:
    node = key.partition(".")[0]
    return f"{node} {found.name}" if node[:1] == "n" else found.name
