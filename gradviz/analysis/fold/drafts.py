"""Folds while they are made: members can still be put together, ids come last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gradviz.model.fold import Fold, FoldKind, Member


@dataclass(slots=True, eq=False)
class Draft:
    """A fold without an id."""

    kind: FoldKind
    members: list[DraftMember]
    path: str = ""
    type: str = ""
    times: int = 0
    head: int | None = None
    equal: bool = True
    leaves: list[int] = field(default_factory=list)
    """Places of the leaves that are members, too."""

    @property
    def nodes(self) -> Iterator[int]:
        """Places of all nodes that are in it, in the order of the forward, without leaves."""
        return nodes_of(self.members)


DraftMember: TypeAlias = "int | Draft"


def nodes_of(members: Iterable[DraftMember]) -> Iterator[int]:
    """Places of the nodes that are members, or in folds that are."""
    todo = list(members)[::-1]
    while todo:
        one = todo.pop()
        if isinstance(one, int):
            yield one
        else:
            todo += reversed(one.members)


def finished(root: Draft) -> Fold:
    """The folds, numbered and counted."""
    number = 0
    position = 0

    def finish(draft: Draft) -> Fold:
        nonlocal number, position
        own, number, first = number, number + 1, position
        members: list[Member] = []
        for one in (*draft.leaves, *draft.members):
            if isinstance(one, int):
                position += 1
                members.append(one)
            else:
                members.append(finish(one))
        return Fold(
            id=f"f{own}",
            kind=draft.kind,
            members=tuple(members),
            nodes=position - first,
            first=first,
            path=draft.path,
            type=draft.type,
            times=draft.times,
            head=draft.head,
            equal=draft.equal,
        )

    return finish(root)


def chunked(
    members: Sequence[DraftMember], most: int, size: int, times: bool = False
) -> list[DraftMember]:
    """At most ``most`` members: more are put into parts of ``size``, and these into parts again.

    Args:
        members: Nodes and folds.
        most: How many may be side by side.
        size: How many a part has.
        times: Whether the members are equal parts, which the parts count.
    """
    found = list(members)
    counts = [1] * len(found)
    while len(found) > most:
        parts: list[DraftMember] = []
        sums = []
        for at in range(0, len(found), size):
            sums.append(sum(counts[at : at + size]))
            parts.append(Draft("part", found[at : at + size], times=sums[-1] if times else 0))
        found, counts = parts, sums
    return found
