"""The scenes of a recording: cards and links at every step, made anew only where they change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, islice
from typing import Final, TypeVar

from gradviz.model.fold import FoldTree
from gradviz.model.folding import FoldedSteps
from gradviz.model.ids import by_number
from gradviz.model.progress import counted
from gradviz.model.recording import Recording, Step
from gradviz.view import aria
from gradviz.view.animation.backward_progress import BackwardProgress
from gradviz.view.animation.fold_boxes import FoldBoxes, RecordedFacts
from gradviz.view.animation.fresh_items import FreshItems
from gradviz.view.animation.saved_outside import saving_in
from gradviz.view.animation.shared_places import share_nodes, share_tensors
from gradviz.view.animation.step_items import StepItems, StepItemsWriter
from gradviz.view.boxes import Boxes
from gradviz.view.element import Element
from gradviz.view.explanations.fields import explained
from gradviz.view.fold_words import is_of_loop
from gradviz.view.graph import card_svg, cards, cut_stubs
from gradviz.view.graph.card_parts import MORE, Block, Card, Density, LinkLook, Status
from gradviz.view.graph.columns import fit_columns
from gradviz.view.graph.cut_stubs import CutStub
from gradviz.view.graph.drawn_scenes import DrawnScenes, Variants
from gradviz.view.graph.fold_scenes import FoldScenes
from gradviz.view.graph.geometry import CardFrame
from gradviz.view.graph.layout import Point
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.scene import (
    ALL,
    OUTSIDE,
    DrawnLink,
    Scene,
    WholeScenes,
    reference_card,
)
from gradviz.view.graph_index import GraphIndex, places_of
from gradviz.view.step_index import LIMIT, StepIndex, step_indexes
from gradviz.view.whole_index import WholeIndex

CARDS: Final = 3_000
"""Cards of all insides of a recording, at most; the insides of open folds there are always."""
Look = TypeVar("Look")


class PlayedScenes(DrawnScenes):
    """The scenes of a recording with the variants of their cards and links.

    Args:
        recording: What is shown.
        options: How it is drawn.
        densities: The densities that cards are made for.
        folded: Its folds; if not given it is drawn whole, up to a limit.
        drawn: The steps that are drawn, in order; if not given all.
        shown: The folds of which there is an inside; or how many cards there may be in insides,
            beside those in the folds that are open at first.

    There is nothing in it until :meth:`play` has ended.
    """

    is_played = True
    kept = None
    subject = "recording"

    def __init__(
        self,
        recording: Recording,
        options: DrawOptions,
        densities: Collection[Density],
        folded: FoldedSteps | None = None,
        drawn: Sequence[int] | None = None,
        shown: Sequence[str] | int = CARDS,
    ) -> None:
        self.recording, self.steps = recording, len(recording.records)
        self.is_whole = drawn is None
        """Whether all steps are drawn."""
        self.drawn_steps: Sequence[int] = range(self.steps) if drawn is None else drawn
        """The steps that are drawn."""
        graph, saving = recording.graph, saving_in(recording, options.parts)
        self.shown: tuple[str, ...] = ()
        """Ids of the folds whose insides there are."""
        if folded is None:
            whole = WholeScenes(GraphIndex.of(graph, LIMIT, options.focus), options, saving)
            fit_columns(whole, self.marked)
            super().__init__(whole)
        else:
            index, first = WholeIndex(graph), islice(saving.items(), OUTSIDE)
            seen = {
                key: savers
                for key, savers in first
                if key in index.tensors and (savers or index.tensors[key].requires_grad)
            }
            words = RecordedFacts(folded.folding, index)
            scenes = FoldScenes(folded.folding, index, options, seen, words)
            super().__init__(scenes, words)
            self.shown = tuple(self._chosen(shown) if isinstance(shown, int) else shown)
        self.tensors_outside = len(saving)
        self._raw = {
            density: {key: self.source.scene(key, density) for key in self.fold_ids}
            for density in densities
        }
        self.cards: dict[Density, dict[str, Variants[Card]]] = {
            density: {card.id: Variants() for one in scenes.values() for card in one.cards}
            for density, scenes in self._raw.items()
        }
        """The variants of cards, by density and id."""
        self._inputs = {
            density: {card.id: card.inputs for one in scenes.values() for card in one.cards}
            for density, scenes in self._raw.items()
        }
        self._some_cards = next(iter(self.cards.values()))
        """Those of one density: in all of them a card exists at the same steps, with the same
        outputs."""
        self.links: dict[str, Variants[LinkLook]] = {}
        self._near: dict[str, dict[str, DrawnLink]] = {}
        """By node and tensor the links that may change with it."""
        for wire in (w for ones in self._raw.values() for one in ones.values() for w in one.wires):
            self.links[wire.own_id] = Variants()
            ends = [node for node, _ in wire.entries] or [wire.source, wire.target]
            for end in ends:
                self._near.setdefault(end, {})[wire.own_id] = wire
        self.boxes: FoldBoxes | None = None
        """The boxes of folds."""
        if folded is not None:
            self.boxes = FoldBoxes(folded, scenes, self.cards, self.shown)
        self._summaries: dict[int, str] = {}
        self.step_items: dict[int, StepItems] = {}
        """The rows for the browser at each step that is drawn: what is new since the one before."""
        self._writer = StepItemsWriter()
        self._cuts: dict[str, dict[CutStub, None]] = {}
        self._described = set[str]().union(*self.cards.values())
        """What a card is made of."""
        self._bare: dict[Density, dict[str, Card | None]] = {key: {} for key in densities}
        """The cards without what backward and the step do."""
        self._blocks: dict[Block, Block] = {}
        """Blocks that are equal are one object."""
        self._drawn_blocks: card_svg.DrawnBlocks = {}
        self._frames: dict[object, Mapping[Variants[Card], tuple[CardFrame, ...]]] = {}
        self._drawn: dict[int, tuple[Element, ...]] = {}
        steps = set(self.drawn_steps)
        self.explained = {at: one for at, one in explained(recording).items() if at in steps}
        self._made: dict[Density, dict[str, Scene]] = {}

    @property
    def fold_ids(self) -> Sequence[str]:
        """The folds of which there is a scene, with what is around everything."""
        return (ALL, *self.shown)

    def knows(self, fold_id: str) -> bool:
        """Whether there is a scene of a fold."""
        return fold_id in self.fold_ids

    def _chosen(self, room: int) -> Iterator[str]:
        """The folds whose insides there are: those that may be open at first; then turns of loops
        with what is around them, which steps open; then all others, the outer ones first."""
        folding = self.source.folding
        assert folding is not None
        tree = folding.tree
        turns = [one for one in tree if is_of_loop(tree, one)] if folding.is_automatic else []
        around = (fold for turn in turns for fold in (*tree.around(turn.id), turn))
        opened = folding.opening.ids | set(self._around_marks(tree))
        for fold in dict.fromkeys(
            (*map(tree.__getitem__, by_number(opened)), *around, *tree.by_depth())
        ):
            if fold.id in opened or tree.cards(fold) <= room:
                room -= 0 if fold.id in opened else tree.cards(fold)
                yield fold.id

    def _around_marks(self, tree: FoldTree) -> Iterator[str]:
        """The folds around what explanations point at."""
        for key in self.marked:
            if tree.graph.place_of(key) is not None:
                yield from (fold.id for fold in tree.around(key))

    @cached_property
    def marked(self) -> Sequence[str]:
        """The nodes that explanations point at, at any step, and the tensors that no node made."""
        leaves = self.recording.graph.leaf_nodes
        marks = chain.from_iterable(one.marks for one in self.recording.explanations)
        keys = (mark.id.partition(".")[0] for mark in marks)
        return list(dict.fromkeys(leaves.get(key, key) for key in keys))

    # ------------------------------------------------------------------ what pictures ask for

    def summary(self, step: int) -> str:
        """A sentence about the graph at a step that is drawn."""
        return self._summaries[step]

    def scene(self, fold_id: str, density: Density) -> Scene:
        """What is in a fold at any step, with references."""
        return self._made[density][fold_id]

    def card(self, card: Card, density: Density) -> Variants[Card]:
        """The variants of a card of a scene."""
        return self.cards[density][card.id]

    def link(self, own_id: str) -> Variants[LinkLook]:
        """The variants of a link of a scene."""
        return self.links[own_id]

    def head(self, fold_id: str) -> Variants[tuple[str, ...]]:
        """What the header of an open fold says."""
        assert self.boxes is not None
        return self.boxes.heads[fold_id]

    def around(self, key: str) -> tuple[str, ...]:
        """The folds that a node, or the node of a leaf, is in."""
        node = self.recording.graph.leaf_nodes.get(key, key)
        return () if self.boxes is None else self.boxes.around.get(node, ())

    def frames(
        self, group: tuple[Variants[Card], ...], spine: int, gap: float, room: Point = (0.0, 0.0)
    ) -> Mapping[Variants[Card], tuple[CardFrame, ...]]:
        """The frames of cards that share a place, measured once: densities share boxes of folds."""
        key = group, spine, gap, room
        if key not in self._frames:
            self._frames[key] = super().frames(group, spine, gap, room)
        return self._frames[key]

    def drawn(self, frames: tuple[CardFrame, ...]) -> tuple[Element, ...]:
        """The variants of a card, drawn once."""
        if id(frames) not in self._drawn:
            direction, blocks = self.source.options.direction, self._drawn_blocks
            self._drawn[id(frames)] = tuple(
                card_svg.card(frame, (0.0, 0.0), direction, blocks) for frame in frames
            )
        return self._drawn[id(frames)]

    @property
    def seen(self) -> int:
        """How many places there are; of the cards at one place one is seen."""
        density, cards = next(iter(self.cards.items()))
        place = self._places(density).get
        return len({place(key, key) for key, one in cards.items() if one.looks})

    # ------------------------------------------------------------------ from step to step

    def play(self) -> Iterator[None]:
        """Go through the steps, and draw those that are drawn."""
        recording, drawn, last = (
            self.recording,
            set(self.drawn_steps),
            max(self.drawn_steps, default=-1),
        )
        progress, fresh = BackwardProgress(recording), FreshItems(recording)
        is_whole = self.boxes is None
        focus, limit = (self.graph_index.focus, LIMIT) if is_whole else ("", len(recording.graph))
        touched, moved, flowing = set[str](), set[str](), set[str]()
        for step, step_index, changed in counted(
            step_indexes(recording, focus, limit), "steps drawn", self.steps, 1
        ):
            statuses, gradients = progress.advance(step.index)
            moved |= statuses | fresh.begin(step.index)
            flowing |= gradients
            touched |= changed
            for cut in cut_stubs.cuts(step.events, step_index):
                home = self._home(cut.tensor, step_index)
                self._cuts.setdefault(home, {})[cut] = None
                touched.add(home)
            if self.boxes is not None:
                self.boxes.advance(step, step_index, progress, fresh, changed | statuses)
            if step.index in drawn:
                self._draw(step, step_index, progress, fresh, touched, moved, flowing)
                touched, moved, flowing = set(), set(), set()
                yield
            if step.index == last:
                break
        for density, scenes in self._raw.items():
            yield
            self._made[density] = {key: self._finished(one, density) for key, one in scenes.items()}
        yield

    def _draw(
        self,
        step: Step,
        step_index: StepIndex,
        progress: BackwardProgress,
        fresh: FreshItems,
        touched: set[str],
        moved: set[str],
        flowing: set[str],
    ) -> None:
        """Draw a step.

        Args:
            step: The step.
            step_index: The nodes and tensors after it.
            progress: Where backward is.
            fresh: What it has made.
            touched: Ids whose description may have changed since the last step that was drawn.
            moved: Those of which backward or the step may say something else.
            flowing: Nodes with edges of which the gradients may be others.
        """
        self.step_items[step.index] = self._writer.step_items(step_index, touched)
        heads = self.source.boxes.heads
        touched |= {heads[key] for key in touched & heads.keys()}
        for density, found in self._bare.items():
            for key in touched & self._described:
                found[key] = self._card(key, step_index, density)
        touched |= moved
        touched.update(heads[key] for key in moved & heads.keys())
        for density, made in self.cards.items():
            for key in touched & made.keys():
                card = self._bare[density].get(key)
                status = _status(card, progress)
                made[key].put(step.index, fresh.marked(_in_backward(card, status), made[key]))
        if MORE in self._some_cards:
            hidden, uses = step_index.hidden_now, step_index.hidden_uses_now
            stub = cards.more_card(hidden, uses) if hidden else None
            for made in self.cards.values():
                made[MORE].put(step.index, stub)
        near = chain.from_iterable(self._near.get(key, {}).items() for key in touched | flowing)
        for own_id, wire in dict(near).items():
            look = self._look(wire, step_index, progress)
            ends = {wire.source, wire.target, *(node for node, _ in wire.entries)}
            self.links[own_id].put(step.index, fresh.marked_link(look, self.links[own_id], ends))
        self._summaries[step.index] = aria.of_graph(step_index)
        if self.boxes is not None:
            self.boxes.draw(step.index, step_index, touched)

    def _home(self, tensor: str, step_index: StepIndex) -> str:
        return step_index.leaf_node.get(tensor) or step_index.tensors[tensor].node or tensor

    def _card(self, key: str, step_index: StepIndex, density: Density) -> Card | None:
        """The card at the current step, without what backward does."""
        made: Card | None = None
        content, boxes = self.source.options.content(density), self.source.boxes
        others = boxes.members.get(key, ()) if content.is_brief else ()
        if others and self.recording.graph[key].variable:
            made = cards.leaves_card(key, step_index, content, boxes)
        elif key[0] == "t":
            if not step_index.is_outside(key):
                return None
            made = cards.tensor_card(step_index.tensors[key], step_index, content, boxes)
        elif (node := step_index.rows.get(key)) is not None:
            made = cards.node_card(node, step_index, content, boxes=boxes)
        elif (variable := step_index.waiting(key)) is not None:
            made = cards.waiting_leaf_card(key, variable, step_index, content, boxes)
        if made is None:
            return None
        cuts = chain.from_iterable(self._cuts.get(one, ()) for one in (key, *others))
        alive = tuple(cut for cut in cuts if cut.tensor in step_index.tensors)
        return replace(
            made,
            blocks=tuple(
                self._blocks.setdefault(b, b) for b in (*made.blocks, *cut_stubs.blocks(alive))
            ),
            inputs=self._inputs[density].get(key, ()),
        )

    def _look(
        self, wire: DrawnLink, step_index: StepIndex, progress: BackwardProgress
    ) -> LinkLook | None:
        if not wire.is_edge:
            saved = dict(step_index.saved_by.get(wire.target, ()))
            there = step_index.is_outside(wire.target)
            return LinkLook() if there and wire.source in saved else None
        if wire.source == MORE:
            count = step_index.hidden_uses_now[wire.link.head_port]
            return LinkLook() if count and wire.target in step_index.rows else None
        alive = [
            (node, slot)
            for node, slot in wire.entries
            if (row := step_index.rows.get(node)) is not None
            and row.next_functions[slot] is not None
        ]
        if not alive:
            return None
        flows = [flow for one in alive if (flow := progress.edges.get(one)) is not None]
        is_whole = self.boxes is None
        if not flows or (is_whole and wire.count > 1):  # their gradients are not one gradient
            return LinkLook()
        arrived = all(flow.arrived for flow in flows)
        return LinkLook("gv-flowed" if arrived else "gv-flow", flows[0] if is_whole else None)

    # ------------------------------------------------------------------ after all steps

    def _finished(self, scene: Scene, density: Density) -> Scene:
        """A scene without what exists at no step, with references and shared places."""
        made = self.cards[density]
        there = tuple(card for card in scene.cards if made[card.id].looks)
        wires = tuple(wire for wire in scene.wires if self.links[wire.own_id].looks)
        scene = replace(scene, cards=there, wires=wires, places=self._places(density)).referred()
        for card in (card for card in scene.cards if card.refers):
            leaving = [wire for wire in scene.wires if wire.link.tail == card.id]
            links = [self.links[wire.own_id] for wire in leaving]
            made[card.id] = _reference(made[card.refers], leaving[0].link.head, links)
        return scene

    def _places(self, density: Density) -> Mapping[str, str]:
        """For each card, the card whose place it shares; with folds each has its own."""
        if self.boxes is not None:
            return {}
        scene, cards = self._raw[density][ALL], self.cards[density]
        there = {key: one for key, one in cards.items() if one.looks}
        lives = {key: one.life(self.steps) for key, one in there.items()}
        ports: dict[str, object] = {
            card.id: (
                tuple(port.label for port in card.inputs),
                tuple(port.slot for port in _some(there[card.id]).outputs),
            )
            for card in scene.cards
            if card.id in there
        }
        for card in scene.cards:
            if card.id in there:
                lives |= dict.fromkeys(card.others, lives[card.id])
                ports |= dict.fromkeys(card.others)
        nodes = [node for node in self.graph_index.nodes if node.id in lives]
        place = share_nodes(nodes, lives, ports)
        forms: dict[str, object | None] = {}
        for key in (key for key in there if key[0] == "t"):
            title = _some(there[key]).blocks[0].lines[0].text
            leaving = (wire.link for wire in scene.wires if wire.target == key)
            users = [(link.head, link.head_port) for link in leaving]
            uses = frozenset((place[key], port) for key, port in users if key in place)
            forms[key] = (title, uses) if title != key else None
        return place | share_tensors(forms, lives)


def most_at_once(recording: Recording, focus: str = "") -> int:
    """How many of the boxes that are drawn exist at most at one step: so many places there are at
    least."""
    graph = recording.graph
    drawn = {graph.nodes[place].id for place in places_of(graph, LIMIT, focus)}
    drawn -= Boxes.of(graph, is_drawn=drawn.__contains__).heads.keys()
    there, most = set[str](), 0
    for step in recording.records:
        for key, node in step.changes.nodes:
            if node is None:
                there.discard(key)
            elif key in drawn:
                there.add(key)
        most = max(most, len(there))
    return most


def _status(card: Card | None, progress: BackwardProgress) -> Status:
    """Where backward is on a card: a box has run once none of its nodes runs later."""
    if card is None:
        return ""
    nodes = (card.id, *card.others)
    found = [progress.nodes.get(key, "") for key in nodes]
    for one in ("raised", "now", "next"):
        if one in found:
            return one
    has_run = "done" in found and (len(found) == 1 or not progress.run_later(nodes))
    return "done" if has_run else ""


def _in_backward(card: Card | None, status: Status) -> Card | None:
    """A card that says where backward is."""
    if card is None or not status:
        return card
    css, said = f"{card.css} gv-{status}", f"{card.aria}, {status}"
    return replace(card, css=css, status=status, aria=said)


def _reference(
    card: Variants[Card], head: str, links: Sequence[Variants[LinkLook]]
) -> Variants[Card]:
    """The variants of a reference: it exists while its tensor's card and one of its links do.

    Args:
        card: The card that it refers to.
        head: The card that it is beside.
        links: The links that leave from it.
    """
    made: Variants[Card] = Variants()
    changes: Sequence[Sequence[tuple[int, object]]] = [one.changes for one in links]
    for step in sorted({step for one in (card.changes, *changes) for step, _ in one}):
        tensor, is_used = card.at(step), any(link.existed(step) for link in links)
        made.put(step, reference_card(tensor, head) if tensor is not None and is_used else None)
    return made


def _some(variants: Variants[Look]) -> Look:
    return next(iter(variants.looks))
