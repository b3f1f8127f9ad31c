"""Folds while they are made: members can still be put together, ids come last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.model.fold import Fold, FoldKind, Member

MOST: Final = 24
"""Members of a fold, beside its leaves."""
PART: Final = 12
"""Members of a part, into which the members of a fold are put that would have more."""
_SHIFT: Final = 3
"""By how many members a part may be longer or shorter, so that few values go between parts."""


@dataclass(slots=True, eq=False)
class Draft:
    """A fold without an id."""

    kind: FoldKind
    members: list[DraftMember]
    path: str = ""
    type: str = ""
    calls: int | None = None
    times: int = 0
    equal: bool = True
    leaves: Sequence[DraftMember] = ()
    """Leaves that are members, too, or their fold."""
    first: int = -1
    """Position of its first node, see :class:`~gradviz.analysis.fold.structure.Structure`."""
    size: int = 0
    """How many nodes are in it, without leaves."""
    shape: int = -1
    """A number that folds of equal structure have in common."""
    outgoing: Sequence[Entry] = ()
    """Entries that lead to nodes before it."""


DraftMember: TypeAlias = "int | Draft"
"""A box, by the place of the node that it is called by, or a fold."""
Boxes: TypeAlias = Mapping[int, Sequence[int]]
"""The nodes of each box, by the one that it is called by: places, in the order of the forward."""
Entry: TypeAlias = tuple[int, int, int, int]
"""Position of a node, slot, position of the node that it leads to, and which output of that."""


def nodes_of(members: Iterable[DraftMember], boxes: Boxes) -> Iterator[int]:
    """Places of the nodes that are in members, or in folds that are, without leaves."""
    todo = list(members)[::-1]
    while todo:
        one = todo.pop()
        if isinstance(one, int):
            yield from boxes[one]
        else:
            todo += reversed(one.members)


def drafts_in(root: Draft) -> Iterator[Draft]:
    """A fold and those in it, a fold before those in it."""
    todo = [root]
    while todo:
        draft = todo.pop()
        yield draft
        todo += (one for one in reversed(draft.members) if isinstance(one, Draft))


def finished(root: Draft, boxes: Boxes) -> Fold:
    """The folds, numbered and counted, with the nodes of boxes side by side."""
    number = position = 0
    open_folds: list[_Open] = [_Open(root, 0, 0)]
    while True:
        top = open_folds[-1]
        for one in top.rest:
            if isinstance(one, int):
                nodes = boxes.get(one, (one,))
                position += len(nodes)
                top.members += nodes
            else:
                number += 1
                open_folds.append(_Open(one, number, position))
                break
        else:
            fold = open_folds.pop().fold(position)
            if not open_folds:
                return fold
            open_folds[-1].members.append(fold)


class _Open:
    """A fold whose members are numbered at the moment."""

    __slots__ = ("draft", "first", "members", "number", "rest")

    def __init__(self, draft: Draft, number: int, first: int) -> None:
        self.draft, self.number, self.first = draft, number, first
        self.rest = iter((*draft.leaves, *draft.members))
        self.members: list[Member] = []

    def fold(self, end: int) -> Fold:
        draft = self.draft
        return Fold(
            id=f"f{self.number}",
            kind=draft.kind,
            members=tuple(self.members),
            nodes=end - self.first,
            first=self.first,
            path=draft.path,
            type=draft.type,
            calls=draft.calls,
            times=draft.times,
            equal=draft.equal,
        )


def chunked(members: Sequence[DraftMember]) -> list[DraftMember]:
    """At most :data:`MOST` members: more are put into parts, and these into parts again."""
    found = list(members)
    while len(found) > MOST:
        found = [Draft("part", found[at : at + PART]) for at in range(0, len(found), PART)]
    return found


def chunked_turns(turns: Sequence[DraftMember]) -> list[DraftMember]:
    """The same of equal parts; parts of them count how many they have."""
    found, counts = list(turns), [1] * len(turns)
    while len(found) > MOST:
        starts = range(0, len(found), PART)
        counts = [sum(counts[at : at + PART]) for at in starts]
        parts = (found[at : at + PART] for at in starts)
        found = [Draft("part", part, times=count) for part, count in zip(parts, counts)]
    return found


def cut_where_narrow(members: Sequence[DraftMember], widths: Sequence[int]) -> list[DraftMember]:
    """The same of members between which more or fewer values go: parts end where there are few.

    Args:
        members: Nodes and folds.
        widths: How many values go from before each of them to it and those behind it.
    """
    found, kept = list(members), list(widths)
    while len(found) > MOST:
        cuts = [0]
        while len(found) - cuts[-1] > PART + _SHIFT:
            middle = cuts[-1] + PART
            near = range(middle - _SHIFT, middle + _SHIFT + 1)
            cuts.append(min(near, key=lambda at: (kept[at], abs(at - middle))))
        ends = [*cuts[1:], len(found)]
        found = [Draft("part", found[a:b]) for a, b in zip(cuts, ends)]
        kept = [kept[at] for at in cuts]
    return found
