"""Differences in sentences: all of them thing by thing, or in short."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from gradviz.model.comparing import Difference
from gradviz.model.findings import Column, Table

MANY: Final = 5
"""Names that a sentence lists before it counts them."""
COLUMNS: Final = (
    Column("name", help="torch's name of the node, name of the tensor, or line of the code"),
    Column("of", help="what the fact is about"),
    Column("fact", help="what is not the same; exists: it is only in one of the two"),
    Column("before"),
    Column("after"),
)


def thing_by_thing(
    differences: Iterable[Difference], tidy: Callable[[str], str] = str
) -> list[str]:
    """A sentence per node or tensor: ``"a: version 0 → 1; value 1.0 → 2.0"``.

    Args:
        differences: What differs.
        tidy: Makes text of the user's program fit to be shown.
    """
    told: dict[tuple[str, str], list[str]] = {}
    for found in differences:
        name = tidy(found.name)
        if found.fact == "exists":
            number = f"{found.after_id} " if found.subject == "node" and found.after_id else ""
            number = "tensor " if found.subject == "tensor" else number
            told[f"{found.kind}: {number}{name}", found.before_id] = []
            continue
        key = (found.after_id or found.before_id).partition(".")[0]
        change = f"{tidy(found.fact)} {tidy(found.before)} → {tidy(found.after)}"
        told.setdefault((f"{key} {name}" if key[:1] == "n" else name, key), []).append(change)
    return [f"{name}: {'; '.join(facts)}" if facts else name for (name, _), facts in told.items()]


def in_short(differences: Sequence[Difference]) -> Iterator[str]:
    """New and gone nodes and tensors, then each change with everything it happened to."""
    for kind in ("new", "gone"):
        for subject, heading in (("node", kind), ("tensor", f"{kind} tensor")):
            names = [
                d.name
                for d in differences
                if d.fact == "exists" and (d.kind, d.subject) == (kind, subject)
            ]
            if names:
                yield f"{heading}: {_listed(names)}"
    changes: dict[tuple[str, str], list[str]] = {}
    kinds: Counter[str] = Counter()
    for found in differences:
        if found.fact != "exists":
            changes.setdefault((found.fact, found.change), []).append(found.name)
    kinds.update(fact for fact, _ in changes)
    told: dict[str, list[str]] = {}
    for (fact, change), names in changes.items():
        if kinds[fact] <= MANY:
            told.setdefault(_listed(names), []).append(f"{fact} {change}")
    for fact, count in kinds.items():
        if count > MANY:
            names = [name for (one, _), group in changes.items() if one == fact for name in group]
            told.setdefault(_listed(names), []).append(f"{fact} differs")
    yield from (f"{names}: {'; '.join(facts)}" for names, facts in told.items())


def _listed(names: Iterable[str]) -> str:
    counted = Counter(names)
    words = [f"{name} ({n} times)" if n > 1 else name for name, n in counted.items()]
    more = f" and {len(words) - MANY} more" if len(words) > MANY else ""
    return ", ".join(words[:MANY]) + more


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
