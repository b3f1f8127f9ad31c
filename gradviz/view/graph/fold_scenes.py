"""The scene of each fold of a graph: a card per member, and what goes between them and over its
rim."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final

from gradviz.model.fold import Fold, FoldLink, FoldTree, Inside, Value
from gradviz.model.folding import Folding
from gradviz.view.boxes import NO_BOXES, Boxes, Saving
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph import cards
from gradviz.view.graph.card_parts import Card, CardContent, Density
from gradviz.view.graph.fold_cards import FoldCards
from gradviz.view.graph.layout import Link
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.placing import rim_id
from gradviz.view.graph.scene import ALL, DrawnLink, Scene, Scenes, output_port
from gradviz.view.graph_index import GraphIndex

PORTS: Final = 8
"""Values that have a port each; more have one together."""
KEPT: Final = 64
"""Insides that are kept: those of one picture. Of a wide fold one has a link per value."""


@dataclass(frozen=True, slots=True)
class Rim:
    """The values that come into a fold and go out of it, by the port that they have."""

    inputs: Mapping[Value, int]
    outputs: Mapping[Value, int]
    roots: tuple[Value, ...]
    """Roots of the graph inside; one that is not used outside has no port."""

    @property
    def input_ports(self) -> int:
        """How many ports there are where values come in."""
        return len(set(self.inputs.values()))

    @property
    def output_ports(self) -> int:
        """How many there are where they go out."""
        return len(set(self.outputs.values()))


class Insides:
    """What is in the folds of one graph, and over their rims, found once for each."""

    def __init__(self, tree: FoldTree) -> None:
        self.tree = tree
        self.inside = lru_cache(maxsize=KEPT)(self._inside)
        self.rim = lru_cache(maxsize=None)(self._rim)

    def _inside(self, fold_id: str) -> Inside:
        return self.tree.inside(self.tree[fold_id])

    def _rim(self, fold_id: str) -> Rim:
        inside = self.inside(fold_id)
        roots = frozenset(self.tree.graph.root_places)
        used = [v for v in inside.outputs if v not in roots or self._leaves(v, inside.fold)]
        own = tuple(value for value in inside.outputs if value in roots)
        return Rim(_ports(inside.inputs), _ports(used), own)

    def _leaves(self, value: Value, fold: Fold) -> bool:
        """Whether a value is used outside of a fold."""
        tree = self.tree
        for user, slot in tree.graph.users[value[0]]:
            is_inside = fold.first <= tree.positions[user] < fold.first + fold.nodes
            if not is_inside and tree.graph.targets[user][slot] == value:
                return True
        return False


def _ports(values: Sequence[Value]) -> dict[Value, int]:
    return {value: number if len(values) <= PORTS else 0 for number, value in enumerate(values)}


UNUSED: Final = 8
"""Tensors that nothing uses which are drawn, beside the whole graph."""


class FoldScenes(Scenes):
    """What is in the folds of one graph, each when it is asked for.

    Args:
        folding: The folds.
        graph_index: Their graph, with all of its nodes.
        options: What cards show.
        saving: The tensors outside the graph that may be drawn.
        words: What folds are called.
        apart: Nodes that have a box of their own, since something is said of them alone.
    """

    folding: Folding
    outside: Mapping[str, str]

    def __init__(
        self,
        folding: Folding,
        graph_index: GraphIndex,
        options: DrawOptions,
        saving: Saving,
        words: FoldFacts,
        apart: Collection[str] = (),
    ) -> None:
        super().__init__(graph_index, options, saving)
        self.folding, self.words = folding, words
        self._tree = tree = folding.tree
        boxes = Boxes.of_pairs(tree.graph, tree.pairs, lambda key: key not in apart)
        self.boxes = replace(boxes, is_tight=True)
        self.insides = Insides(folding.tree)
        members = self._members_outside()
        self._outside = {fold_id: [*keys] for fold_id, keys in members.items()}
        # The fold in which each of them is drawn; of several the last.
        self.outside = {key: fold_id for fold_id, keys in members.items() for key in keys}
        # A node of a large graph is made each time: one with many entries is asked for again.
        self._key = lru_cache(maxsize=65_536)(graph_index.graph.id_at)

    def scene(self, fold_id: str, density: Density) -> Scene:
        """What is in a fold, or in what is around the whole graph."""
        content = self.options.content(density)
        fold_cards = FoldCards(self.folding, self.graph_index, content, self.words)
        if fold_id == ALL:
            root = self._tree.root
            return Scene((fold_cards.card(root, 0, 0, self.insides.rim(root.id).roots),), ())
        inside, rim = self.insides.inside(fold_id), self.insides.rim(fold_id)
        made = self._cards(inside, fold_cards, content)
        wires = self._wires(inside, made)
        scene = self._scene(made, wires, self._outside.get(fold_id, ()), content)
        return Scene(scene.cards, scene.wires, (rim.input_ports, rim.output_ports))

    def _members_outside(self) -> dict[str, dict[str, None]]:
        """The tensors outside the graph that are drawn in each fold: beside the nodes that save
        them, and a few that nothing uses beside the whole graph."""
        found: dict[str, dict[str, None]] = {}
        unused = 0
        for key, savers in self.saving.items():
            for node_id, _ in savers:
                found.setdefault(self._tree.around(node_id)[-1].id, {})[key] = None
            if not savers and (unused := unused + 1) <= UNUSED:
                found.setdefault(self._tree.root.id, {})[key] = None
        return found

    def _cards(
        self, inside: Inside, fold_cards: FoldCards, content: CardContent
    ) -> dict[str, Card]:
        """A card per member, of a box one."""
        made: dict[str, Card] = {}
        boxes = self.boxes if content.is_brief else NO_BOXES
        crowds = self._crowds(inside, boxes)
        for member in inside.fold.members:
            if isinstance(member, Fold):
                rim = self.insides.rim(member.id)
                made[member.id] = fold_cards.card(
                    member, rim.input_ports, rim.output_ports, rim.roots
                )
            elif (key := self._key(member)) not in boxes.heads:
                node = self.graph_index.graph.nodes[member]
                made[key] = cards.node_card(node, self.graph_index, content, crowds[key], boxes)
        return made

    def _crowds(self, inside: Inside, boxes: Boxes) -> Mapping[str, set[str]]:
        """For each card of a node, the nodes whose values come from one fold or over the rim, where
        these are so many that they have one port together."""
        counts: dict[tuple[str, int | None], list[str]] = {}
        members = inside.fold.members
        for link in inside.links:
            if link.head is None or isinstance(place := members[link.head], Fold):
                continue
            if link.tail is None or isinstance(members[link.tail], Fold):
                key = self._key(place)
                ends = boxes.heads.get(key, key), link.tail
                counts.setdefault(ends, []).append(self._key(link.value[0]))
        crowds: dict[str, set[str]] = defaultdict(set)
        for (card, _), keys in counts.items():
            if len(keys) > PORTS:
                crowds[card].update(keys)
        return crowds

    def _wires(self, inside: Inside, made: dict[str, Card]) -> Iterator[DrawnLink]:
        """The links between the members, and those over the rim; links that have the same ends
        are one."""
        found: dict[Link, list[tuple[FoldLink, int, int]]] = {}
        for link in inside.links:
            if self._card(inside, link.tail, made) == self._card(inside, link.head, made):
                continue
            if (tail := self._tail(inside, link, made)) is None:
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
        first, place, slot = entries[0]
        values = {one.value for one, _, _ in entries}
        is_of_fold = link.tail in self.folding.totals
        target = link.tail if is_of_fold else self._key(first.value[0])
        source = link.head if link.head in made else ""
        own = tuple(dict.fromkeys(chain.from_iterable(self._own(inside, *one) for one in entries)))
        if link.head in made and link.head not in self.folding.totals:
            source = self._key(place)
            if made[link.head].inputs[link.head_port].count == 1:
                return DrawnLink(link, source, target, f"{source}.{slot}", slot, 1, own)
            count = len(entries)
        else:
            count = len(values)
        own_id = f"{inside.fold.id}.{link.tail}.{link.tail_port}.{link.head}.{link.head_port}"
        return DrawnLink(link, source, target, own_id, None, count, own)

    def _own(
        self, inside: Inside, link: FoldLink, place: int, slot: int
    ) -> Iterator[tuple[str, int]]:
        """The entries that a link is: of one that leads out of the fold those outside of it."""
        if slot >= 0:
            yield self._key(place), slot
            return
        tree, fold = self._tree, inside.fold
        for user, at in tree.graph.users[link.value[0]]:
            is_inside = fold.first <= tree.positions[user] < fold.first + fold.nodes
            if not is_inside and tree.graph.targets[user][at] == link.value:
                yield self._key(user), at

    def _card(self, inside: Inside, number: int | None, made: dict[str, Card]) -> str:
        """The card of a member; ``""`` of what is outside."""
        if number is None:
            return ""
        member = inside.fold.members[number]
        key = member.id if isinstance(member, Fold) else self._key(member)
        return key if key in made else self.boxes.heads[key]

    def _tail(
        self, inside: Inside, link: FoldLink, made: dict[str, Card]
    ) -> tuple[str, int] | None:
        """The card and port that a value comes from, or the place on the rim."""
        if link.tail is None:
            return rim_id("in", self.insides.rim(inside.fold.id).inputs[link.value]), 0
        card = self._card(inside, link.tail, made)
        if card in self.folding.totals:
            port = self.insides.rim(card).outputs.get(link.value)
            return None if port is None else (card, port)
        return card, output_port(made[card], link.value[1])

    def _heads(
        self, inside: Inside, link: FoldLink, made: dict[str, Card]
    ) -> Iterator[tuple[tuple[str, int], tuple[tuple[int, int], ...]]]:
        """The cards and ports that a value goes to, or the place on the rim, with the entries."""
        if link.head is None:
            port = self.insides.rim(inside.fold.id).outputs.get(link.value)
            if port is not None:
                yield (rim_id("out", port), 0), ()
            return
        card = self._card(inside, link.head, made)
        if card in self.folding.totals:
            yield (card, self.insides.rim(card).inputs[link.value]), link.entries
            return
        ports = made[card].inputs
        shared = {port.node: i for i, port in enumerate(ports) if port.count > 1}
        by_slot = {(port.node, port.slot): i for i, port in enumerate(ports)}
        for entry in link.entries:
            node = self._key(entry[0])
            yield (card, by_slot.get((node, entry[1]), shared.get(node, 0))), (entry,)
