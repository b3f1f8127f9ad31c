"""The inside of one fold, laid out and drawn alone: what pictures of folded graphs consist of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from gradviz.model.fold import Fold, FoldLink, Inside, Value
from gradviz.model.folding import Folding
from gradviz.view.graph import cards
from gradviz.view.graph.card_parts import Card, CardContent, Density
from gradviz.view.graph.drawing import DrawnLink, output_port, referenced, thin, way_in
from gradviz.view.graph.fold_cards import FoldCards
from gradviz.view.graph.fold_header import header_width
from gradviz.view.graph.geometry import measure
from gradviz.view.graph.inside_layout import DrawnInside, InsideScene, placed, rim_id
from gradviz.view.graph.layout_links import Link
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.rims import PORTS, Insides
from gradviz.view.graph_index import GraphIndex

OUTSIDE: Final = 8
"""Tensors that nothing uses which are drawn, beside the whole graph."""
KEPT: Final = 256
"""How many drawn insides are kept: of a large graph thousands may be asked for, one by one."""
BOX: Final = ""
"""Id of what is around the whole graph: one box for all of it."""


class InsideDrawings:
    """Draws the insides of the folds of one graph, each when it is asked for.

    Args:
        folding: The folds.
        graph_index: Their graph, with all of its nodes.
        options: How cards are drawn.
        insides: What is in the folds.
    """

    def __init__(
        self,
        folding: Folding,
        graph_index: GraphIndex,
        options: DrawOptions,
        insides: Insides | None = None,
    ) -> None:
        self._folding = folding
        self._tree = folding.tree
        self._index = graph_index
        self._options = options
        self.insides = insides or Insides(folding.tree)
        self._outside = self._members_outside()
        self.outside_folds = {key: fold for fold, keys in self._outside.items() for key in keys}
        """The fold in which each tensor outside the graph is drawn; of several the last."""
        self.drawn = lru_cache(maxsize=KEPT)(self._drawn)
        # A node of a large graph is made each time: one with many entries is asked for again.
        self._key = lru_cache(maxsize=65_536)(self._id_of)

    def _drawn(self, fold_id: str, density: Density) -> DrawnInside:
        direction = self._options.direction
        return placed(
            self.scene(fold_id, density),
            self._options,
            lambda card, spine: measure(card, direction, spine),
        )

    def scene(self, fold_id: str, density: Density) -> InsideScene:
        """What is in a fold, or in what is around the whole graph, in one density."""
        content = self._options.content(density)
        fold_cards = FoldCards(self._folding, self._index, content)
        if fold_id == BOX:
            root = self._tree.root
            return InsideScene((fold_cards.card(root, 0, 0, self.insides.rim(root.id).roots),), ())
        fold = self._tree[fold_id]
        made = self._cards(self.insides.inside(fold_id), fold_cards, content)
        wires = [*self._wires(self.insides.inside(fold_id), made)]
        outside = [self._index.tensors[key] for key in self._outside.get(fold_id, ())]
        for info in outside:
            for node_id, name in self._savers(info.id):
                if node_id in made:
                    port = way_in(made, node_id, name)
                    wires.append(DrawnLink(Link(info.id, 0, node_id, port), node_id, info.id))
        nodes = {key: card for key, card in made.items() if key not in self._folding.totals}
        wires = thin(nodes, wires, content)
        made |= nodes
        tensors = [cards.tensor_card(info, self._index, content) for info in outside]
        shown, links = referenced((*tensors, *made.values()), wires)
        rim = self.insides.rim(fold_id)
        ports = (rim.input_ports, rim.output_ports)
        words = fold_cards.words
        room = header_width(words.label(fold), words.facts(fold))
        return InsideScene(shown, links, ports, room if fold is not self._tree.root else 0.0)

    def _savers(self, tensor_id: str) -> Iterable[tuple[str, str]]:
        """The nodes that save a tensor outside the graph, each with the name of the slot."""
        return self._index.saved_by.get(tensor_id, ())

    def _members_outside(self) -> dict[str, list[str]]:
        return outside_members(self._folding, self._index, self._options)

    def _cards(
        self, inside: Inside, fold_cards: FoldCards, content: CardContent
    ) -> dict[str, Card]:
        """A card per member."""
        made: dict[str, Card] = {}
        crowds = _crowds(inside)
        for number, member in enumerate(inside.fold.members):
            if isinstance(member, Fold):
                rim = self.insides.rim(member.id)
                made[member.id] = fold_cards.card(
                    member, rim.input_ports, rim.output_ports, rim.roots
                )
            else:
                node = self._index.graph.nodes[member]
                hidden = frozenset(self._key(value[0]) for value in crowds.get(number, ()))
                made[node.id] = cards.node_card(node, self._index, content, hidden)
        return made

    def _wires(self, inside: Inside, made: dict[str, Card]) -> Iterator[DrawnLink]:
        """The links between the members, and those over the rim; links that have the same ends
        are one."""
        found: dict[Link, list[tuple[FoldLink, int, int]]] = {}
        for link in inside.links:
            tail = self._tail(inside, link, made)
            if tail is None:
                continue
            for head, entries in self._heads(inside, link, made):
                found.setdefault(Link(*tail, *head), []).extend(
                    (link, *entry) for entry in entries or ((-1, -1),)
                )
        for ends, same in found.items():
            yield self._wire(inside, ends, same, made)

    def _wire(
        self,
        inside: Inside,
        link: Link,
        entries: Sequence[tuple[FoldLink, int, int]],
        made: dict[str, Card],
    ) -> DrawnLink:
        first, _, slot = entries[0]
        values = {one.value for one, _, _ in entries}
        target = link.tail if link.tail in made else self._key(first.value[0])
        if link.head in made and link.head not in self._folding.totals:
            card = made[link.head]
            if card.inputs[link.head_port].count == 1:
                return DrawnLink(link, link.head, target, f"{link.head}.{slot}", slot)
            count = len(entries)
        else:
            count = len(values)
        own_id = f"{inside.fold.id}.{link.tail}.{link.tail_port}.{link.head}.{link.head_port}"
        source = link.head if link.head in made else ""
        return DrawnLink(link, source, target, own_id, None, count)

    def _tail(
        self, inside: Inside, link: FoldLink, made: dict[str, Card]
    ) -> tuple[str, int] | None:
        """The card and port that a value comes from, or the place on the rim."""
        if link.tail is None:
            return rim_id("in", self.insides.rim(inside.fold.id).inputs[link.value]), 0
        member = inside.fold.members[link.tail]
        if isinstance(member, Fold):
            port = self.insides.rim(member.id).outputs.get(link.value)
            return None if port is None else (member.id, port)
        node_id = self._key(member)
        return node_id, output_port(made[node_id], link.value[1])

    def _heads(
        self, inside: Inside, link: FoldLink, made: dict[str, Card]
    ) -> Iterator[tuple[tuple[str, int], tuple[tuple[int, int], ...]]]:
        """The cards and ports that a value goes to, or the place on the rim, with the entries."""
        if link.head is None:
            port = self.insides.rim(inside.fold.id).outputs.get(link.value)
            if port is not None:
                yield (rim_id("out", port), 0), ()
            return
        member = inside.fold.members[link.head]
        if isinstance(member, Fold):
            yield (member.id, self.insides.rim(member.id).inputs[link.value]), link.entries
            return
        node_id = self._key(member)
        ports = made[node_id].inputs
        shared = next((i for i, port in enumerate(ports) if port.count > 1), 0)
        by_slot = {port.slot: i for i, port in enumerate(ports)}
        for entry in link.entries:
            yield (node_id, by_slot.get(entry[1], shared)), (entry,)

    def _id_of(self, place: int) -> str:
        return self._index.graph.id_at(place)


def outside_members(
    folding: Folding, graph_index: GraphIndex, options: DrawOptions
) -> dict[str, list[str]]:
    """The tensors outside the graph that are drawn in each fold: beside the nodes that save them,
    and a few that nothing uses beside the whole graph."""
    tree = folding.tree
    every = "constants" in options.parts
    found: dict[str, dict[str, None]] = {}
    unused = 0
    for info in graph_index.outside:
        if not (every or info.requires_grad):
            continue
        savers = graph_index.saved_by.get(info.id, ())
        for node_id, _ in savers:
            found.setdefault(tree.around(node_id)[-1].id, {})[info.id] = None
        if not savers and (unused := unused + 1) <= OUTSIDE:
            found.setdefault(tree.root.id, {})[info.id] = None
    return {fold_id: list(keys) for fold_id, keys in found.items()}


def _crowds(inside: Inside) -> dict[int, list[Value]]:
    """Of each node among the members, the values that come from one fold or over the rim, where
    these are so many that they have one port together."""
    counts: dict[tuple[int, int | None], list[Value]] = {}
    members = inside.fold.members
    for link in inside.links:
        if link.head is None or isinstance(members[link.head], Fold):
            continue
        if link.tail is None or isinstance(members[link.tail], Fold):
            counts.setdefault((link.head, link.tail), []).append(link.value)
    crowds: dict[int, list[Value]] = {}
    for (head, _), values in counts.items():
        if len(values) > PORTS:
            crowds.setdefault(head, []).extend(values)
    return crowds
