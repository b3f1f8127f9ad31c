"""How much differs between two graphs if certain nodes are paired."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias

from gradviz.analysis.diff.matching.node_keys import Side

Cost: TypeAlias = tuple[int, int, int]
_Reached: TypeAlias = frozenset[int] | None
FAR: Final = 8
"""How many nodes with a partner are told apart below one without."""


def cost_of(one: Side, other: Side, pairs: Mapping[int, int]) -> Cost:
    """How much differs: nodes, entries, roots and which leaf it is; then names; then sizes.

    Args:
        one: A graph.
        other: The other graph.
        pairs: Place in ``other`` for the place in ``one`` of each node with a partner.
    """
    cost = len(one) + len(other) - 2 * len(pairs)
    frozen = sum((mine in one.frozen) + (pairs[mine] in other.frozen) for mine in pairs)
    cost += frozen + sum(_entries(one, other, pairs)) + sum(_leaves(one, other, pairs))
    cost += sum((pairs.get(p), nr) != root for (p, nr), root in zip(one.roots, other.roots))
    named = [(p, other.named[name]) for name, p in one.named.items() if name in other.named]
    names = frozen + sum(pairs.get(mine) != theirs for mine, theirs in named)
    unlike = sum(one.unlike(mine, other, theirs) for mine, theirs in pairs.items())
    return cost, names, unlike


def _entries(one: Side, other: Side, pairs: Mapping[int, int]) -> Iterator[int]:
    """Entries that lead somewhere else, also beyond nodes that only one graph has."""
    below_one: dict[int, _Reached] = {}
    below_other: dict[int, _Reached] = {}
    if len(pairs) < max(len(one), len(other)):
        below_one = _beyond(one, pairs.keys())
        below_other = _beyond(other, set(pairs.values()))
    for mine, theirs in pairs.items():
        entries, partners = one.below[mine], other.below[theirs]
        yield abs(len(entries) - len(partners))
        for a, b in zip(entries, partners):
            if (a and (pairs.get(a[0]), a[1])) == b:
                continue
            yield 1
            if a and b and (a[0] in below_one or b[0] in below_other):
                near = below_one.get(a[0], frozenset((a[0],)))
                far = below_other.get(b[0], frozenset((b[0],)))
                known = near is not None and far is not None
                yield known and frozenset(pairs[p] for p in near or ()) != far


def _beyond(side: Side, paired: Collection[int]) -> dict[int, _Reached]:
    """For nodes without a partner the first below them with one; ``None`` if they are many."""
    found: dict[int, _Reached] = {}
    for place in side.inputs_first:
        if place in paired:
            continue
        reached: set[int] = set()
        is_many = False
        for entry in side.below[place]:
            if entry is not None:
                below = found.get(entry[0], frozenset((entry[0],)))
                is_many = is_many or below is None
                reached |= below or frozenset()
        found[place] = None if is_many or len(reached) > FAR else frozenset(reached)
    return found


def _leaves(one: Side, other: Side, pairs: Mapping[int, int]) -> Iterator[int]:
    """Values tell which leaf is which; where they are not known, names that were exchanged."""
    for mine, info in one.leaves.items():
        partner = other.leaves.get(pairs.get(mine, -1))
        if partner is None:
            continue
        if info.values is not None and partner.values is not None:
            yield 2 * (info.values != partner.values)
        elif partner.name != info.name:
            yield info.name in other.named and partner.name in one.named
