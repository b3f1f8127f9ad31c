"""Leaves: each is in the innermost fold in which all nodes are that use it."""

from __future__ import annotations

from typing import Final

from gradviz.analysis.fold.drafts import Draft, chunked, drafts_in
from gradviz.model.graph import Graph

LEAVES: Final = 8
"""Leaves of a fold that are its members; more are one fold."""


def put_leaves(graph: Graph, root: Draft) -> None:
    """Put every leaf into its fold, which is none of views: views are no place of their own."""
    around: list[Draft] = [root] * len(graph)
    above: dict[Draft, tuple[int, Draft]] = {root: (0, root)}
    home = {root: root}
    for draft in drafts_in(root):
        depth, outer = above[draft]
        is_of_views = draft.kind == "views" or home[outer] is not outer
        inner = home[draft] = home[outer] if is_of_views else draft
        for one in draft.members:
            if isinstance(one, int):
                around[one] = inner
            else:
                above[one] = depth + 1, draft
    shared: dict[int, Draft] = {}
    variables = graph.variables
    for place, row in enumerate(graph.targets):
        for entry in row:
            if entry is not None and variables[entry[0]] is not None:
                leaf, mine = entry[0], around[place]
                shared[leaf] = _common(shared.get(leaf, mine), mine, above)
    leaves: dict[Draft, list[int]] = {}
    for place, variable in enumerate(variables):
        if variable is not None:
            leaves.setdefault(shared.get(place, root), []).append(place)
    for draft, places in leaves.items():
        many = len(places) > LEAVES and bool(draft.members)
        draft.leaves = [Draft("leaves", chunked(places))] if many else places


def _common(one: Draft, other: Draft, above: dict[Draft, tuple[int, Draft]]) -> Draft:
    """The innermost fold that both are in."""
    while one is not other:
        if above[one][0] < above[other][0]:
            one, other = other, one
        one = above[one][1]
    return one
