"""Which links Graphviz has to route: all of them, unless long ones would take it too long."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A link from an output port of one box to an input port of another."""

    tail: str
    tail_port: int
    head: str
    head_port: int


def near(boxes: Sequence[str], links: Sequence[Link], room: int) -> list[int]:
    """Places of the shortest links, by ranks they cross, that together fit into ``room``.

    A link that is the shortest one of either of its boxes is always among them, so that every
    box is placed by a link.

    Examples:
        >>> links = [Link("a", 0, "b", 0), Link("b", 0, "c", 0), Link("a", 0, "c", 1)]
        >>> near("abc", links, 3), near("abc", links, 4)
        ([0, 1], [0, 1, 2])
    """
    rank = _ranks(boxes, links)
    spans = [max(1, rank[link.head] - rank[link.tail]) for link in links]
    if sum(spans) <= room:
        return list(range(len(links)))
    chosen: set[int] = set()
    seen: set[str] = set()
    for i in sorted(range(len(links)), key=spans.__getitem__):
        ends = {links[i].tail, links[i].head}
        if not ends <= seen or spans[i] <= room:
            chosen.add(i)
            room -= spans[i]
            seen |= ends
    return sorted(chosen)


def depths(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Length of the longest path to each box from a box without inputs.

    Examples:
        >>> depths("abc", [Link("a", 0, "b", 0), Link("b", 0, "c", 0), Link("a", 0, "c", 1)])
        {'a': 0, 'b': 1, 'c': 2}
    """
    following: dict[str, list[str]] = {box: [] for box in boxes}
    missing = dict.fromkeys(boxes, 0)
    for link in links:
        following[link.tail].append(link.head)
        missing[link.head] += 1
    found = dict.fromkeys(boxes, 0)
    ready = deque(box for box in boxes if not missing[box])
    while ready:
        box = ready.popleft()
        for head in following[box]:
            found[head] = max(found[head], found[box] + 1)
            missing[head] -= 1
            if not missing[head]:
                ready.append(head)
    return found


def spines(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """The input port of each box on its only longest path, where there is one.

    An output below that port keeps a long chain straight.

    Examples:
        >>> spines("abc", [Link("a", 0, "b", 0), Link("b", 0, "c", 0), Link("a", 0, "c", 1)])
        {'b': 0, 'c': 0}
    """
    depth = depths(boxes, links)
    inputs: dict[str, list[tuple[int, int]]] = {}
    for link in links:
        inputs.setdefault(link.head, []).append((depth[link.tail], link.head_port))
    found = {}
    for box, ways in inputs.items():
        deepest = max(ways)[0]
        ports = [port for way, port in ways if way == deepest]
        if len(ports) == 1:
            found[box] = ports[0]
    return found


def _ranks(boxes: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Depths, with a box without inputs just before its first use."""
    rank = depths(boxes, links)
    first: dict[str, int] = {}
    for link in links:
        first[link.tail] = min(first.get(link.tail, rank[link.head]), rank[link.head])
    heads = {link.head for link in links}
    return rank | {box: before - 1 for box, before in first.items() if box not in heads}
