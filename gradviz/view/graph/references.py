"""References: small cards beside the nodes that use a tensor which many nodes use.

The tensor has its own card beside the first of them. An edge of the others joins a reference
instead; which leaf it leads to stays in the edge.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from gradviz.view.graph.card_parts import Block, Card, Line, Port
from gradviz.view.graph.layout_links import Link, depths
from gradviz.view.style import SIZES
from gradviz.view.text import cells, shorten

FEW: Final = 2
"""Nodes that use a tensor and are all joined to its own card."""
ROOM: Final = 16
"""Characters of a name."""


def used_often(uses: Iterable[tuple[str, str]]) -> set[str]:
    """The tensors that get references, of pairs of a tensor and a node that uses it.

    Examples:
        >>> used_often([("w", "n0"), ("w", "n1"), ("w", "n1")])
        set()
        >>> used_often(("w", node) for node in ("n0", "n1", "n2"))
        {'w'}
    """
    nodes: dict[str, set[str]] = {}
    for tensor, node in uses:
        nodes.setdefault(tensor, set()).add(node)
    return {tensor for tensor, using in nodes.items() if len(using) > FEW}


def references(links: Sequence[Link], often: Collection[str]) -> dict[Link, str]:
    """The links that leave from a reference, with the id of the reference.

    Args:
        links: All links.
        often: The boxes of tensors that are used often.

    Examples:
        >>> links = [Link("w", 0, head, 0) for head in "abc"] + [Link("c", 0, "b", 1)]
        >>> references(links, {"w"}).values()
        dict_values(['w.ref.b', 'w.ref.c'])
    """
    if not often:
        return {}
    depth = depths([*dict.fromkeys(end for link in links for end in (link.tail, link.head))], links)
    first: dict[str, str] = {}
    for link in links:
        head = first.setdefault(link.tail, link.head)
        if depth[link.head] < depth[head]:
            first[link.tail] = link.head
    return {
        link: reference_id(link.tail, link.head)
        for link in links
        if link.tail in often and link.head != first[link.tail]
    }


def reference_id(tail: str, head: str) -> str:
    """The id of the reference to one card beside another."""
    return f"{tail}.ref.{head}"


def reference_card(card: Card, head: str) -> Card:
    """The reference to a card beside the card ``head``."""
    name = card.blocks[0].lines[0].text
    line = Line(shorten(name, ROOM), "gv-name", SIZES["text"], icon="ref")
    kind = "gv-ref" if card.tensor else "gv-ref gv-outside"
    return Card(
        id=reference_id(card.id, head),
        css=f"{kind} gv-{card.status}" if card.status else kind,
        blocks=(Block("title", (line,)),),
        title=name if cells(name) > ROOM else "",
        aria=f"reference to {name}",
        outputs=(Port(),),
        tensor=card.tensor,
        refers=card.id,
    )
