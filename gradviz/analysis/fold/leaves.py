"""Leaves: each is in the innermost fold in which all nodes are that use it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final, TypeAlias

from gradviz.analysis.fold.drafts import Boxes, Draft, DraftMember, chunked, drafts_in
from gradviz.model.graph import Graph

LEAVES: Final = 8
"""Leaves of a fold that are its members; more are one fold."""

Above: TypeAlias = dict[Draft, tuple[int, Draft]]
"""Per fold how many folds are around it, and the innermost of these."""


def put_leaves(graph: Graph, root: Draft, boxes: Boxes) -> None:
    """Put every leaf into its fold.

    A leaf that several calls of one module use is in the first of them. Of turns of a loop none is
    the one that has it: it is beside them.
    """
    around: list[Draft] = [root] * len(graph)
    above: Above = {root: (0, root)}
    for draft in drafts_in(root):
        for one in draft.members:
            if isinstance(one, int):
                for place in boxes[one]:
                    around[place] = draft
            else:
                above[one] = above[draft][0] + 1, draft
    users = _users(graph, around)
    leaves: dict[Draft, list[int]] = {}
    for place, variable in enumerate(graph.variables):
        if variable is not None:
            mine = users.get(place, [root])
            common = reduce(lambda one, other: _common(one, other, above), mine)
            leaves.setdefault(_first_call(mine, common, above), []).append(place)
    for draft, places in leaves.items():
        draft.leaves = _together(places, bool(draft.members))


def _users(graph: Graph, around: Sequence[Draft]) -> dict[int, list[Draft]]:
    """The folds of the nodes that use each leaf, in the order of the forward."""
    found: dict[int, list[Draft]] = {}
    variables = graph.variables
    for place in graph.order:
        for entry in graph.targets[place]:
            if entry is not None and variables[entry[0]] is not None:
                found.setdefault(entry[0], []).append(around[place])
    return found


def _first_call(users: Sequence[Draft], common: Draft, above: Above) -> Draft:
    """The fold of a leaf: of several calls of the innermost module that uses it the first one.

    Args:
        users: The folds in which it is used, in the order of the forward.
        common: The innermost fold around all of them.
        above: The fold around each, and how many there are.
    """
    if common.times:
        return common
    first, *others = (_calls(user, common, above) for user in dict.fromkeys(users))
    same = (fold for path, fold in first.items() if all(path in one for one in others))
    return next(same, common)


def _calls(user: Draft, common: Draft, above: Above) -> dict[str, Draft]:
    """The calls that a fold is in, below another fold, by the paths of their modules."""
    found: dict[str, Draft] = {}
    while user is not common:
        if user.kind == "module":
            found.setdefault(user.path, user)
        user = above[user][1]
    return found


def _common(one: Draft, other: Draft, above: Above) -> Draft:
    """The innermost fold that both are in."""
    while one is not other:
        if above[one][0] < above[other][0]:
            one, other = other, one
        one = above[one][1]
    return one


def _together(places: list[int], is_beside: bool) -> list[DraftMember]:
    """The leaves of a fold; many that are beside other members are one fold."""
    many = len(places) > LEAVES and is_beside
    return [Draft("leaves", chunked(places))] if many else [*places]
