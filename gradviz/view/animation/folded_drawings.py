"""The cards and links of a folded recording at every step: those of nodes, and those of folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from gradviz.model.fold import Fold, FoldTotals, Value
from gradviz.model.folding import FoldedSteps, Folding
from gradviz.model.recording import Recording, Step
from gradviz.view import formatting
from gradviz.view.animation.backward_progress import BackwardProgress, EdgeGradient
from gradviz.view.animation.fresh_items import FreshItems
from gradviz.view.animation.step_drawings import (
    LinkKey,
    LinkLook,
    UnplacedDrawing,
    Variants,
    outside_of,
    reference_variants,
    saves_of,
)
from gradviz.view.animation.step_items import StepItemsWriter
from gradviz.view.element import Element, write_pieces
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.fold_words import is_of_loop, title
from gradviz.view.graph.card_parts import Card, Density, Line, Port, Status
from gradviz.view.graph.card_svg import DrawnBlocks
from gradviz.view.graph.drawing import OUTSIDE, DrawnLink
from gradviz.view.graph.fold_cards import FoldCards
from gradviz.view.graph.fold_header import header
from gradviz.view.graph.geometry import CardFrame
from gradviz.view.graph.inside_layout import InsideScene
from gradviz.view.graph.insides import BOX, InsideDrawings
from gradviz.view.graph.insides import OUTSIDE as UNUSED
from gradviz.view.graph.layout_links import Link
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.references import reference_id
from gradviz.view.graph_index import GraphIndex
from gradviz.view.step_index import StepIndex
from gradviz.view.whole_index import WholeIndex

CARDS: Final = 3_000
"""Cards of all insides that a recording has, at most; the insides of open folds it always has."""
FIRST: Final[tuple[Status, ...]] = ("raised", "now", "next")
"""What is said of a fold in which a node is that, the most important first."""


class StepInsides(InsideDrawings):
    """What is in the folds of the graph of all steps.

    Args:
        folding: The folds.
        graph_index: The graph of all steps.
        options: How cards are drawn.
        outside: Tensors outside the graph that have a card at some step.
        saves: The nodes that save them at some step, with the name of the slot.
    """

    def __init__(
        self,
        folding: Folding,
        graph_index: GraphIndex,
        options: DrawOptions,
        outside: Sequence[str],
        saves: Mapping[tuple[str, str], str],
    ) -> None:
        self._saving: dict[str, list[tuple[str, str]]] = {key: [] for key in outside}
        for (node, tensor), name in saves.items():
            self._saving[tensor].append((node, name))
        self.entries: dict[str, tuple[tuple[str, int], ...]] = {}
        """Per link the entries of ``next_functions`` that it is: node and slot."""
        super().__init__(folding, graph_index, options)

    def _members_outside(self) -> dict[str, list[str]]:
        found: dict[str, dict[str, None]] = {}
        unused = 0
        for key, savers in self._saving.items():
            if key not in self._index.tensors:
                continue
            for node, _ in savers:
                found.setdefault(self._tree.around(node)[-1].id, {})[key] = None
            is_seen = not savers and self._index.tensors[key].requires_grad
            unused += is_seen
            if is_seen and unused <= UNUSED:
                found.setdefault(self._tree.root.id, {})[key] = None
        return {fold_id: list(keys) for fold_id, keys in found.items()}

    def _savers(self, tensor_id: str) -> Iterable[tuple[str, str]]:
        return self._saving.get(tensor_id, ())

    def _wire(self, inside, link: Link, entries, made) -> DrawnLink:  # type: ignore[no-untyped-def]
        wire = super()._wire(inside, link, entries, made)
        found: dict[tuple[str, int], None] = {}
        for fold_link, place, slot in entries:
            if slot >= 0:
                found[self._key(place), slot] = None
            else:
                found |= dict.fromkeys(self._beyond(inside.fold, fold_link.value))
        self.entries[wire.key] = tuple(found)
        return wire

    def _beyond(self, fold: Fold, value: tuple[int, int]) -> Iterator[tuple[str, int]]:
        """The entries outside of a fold that a value goes to."""
        tree = self._tree
        for user, slot in tree.users[value[0]]:
            is_inside = fold.first <= tree.positions[user] < fold.first + fold.nodes
            if not is_inside and tree.graph.targets[user][slot] == value:
                yield self._key(user), slot


class StepFoldCards(FoldCards):
    """Makes the cards of folds at one step: the numbers that change are in a line of their own."""

    def _lines(self, fold: Fold) -> Iterator[Line]:
        words = self.words
        yield Line(words.counts(fold), "gv-muted")
        facts = (words.elements(fold), words.gradients(fold))
        if line := formatting.join(facts):
            yield Line(line, "gv-muted")


class RecordedFacts(FoldFacts):
    """What is in the folds of a recording: its graph belongs to no one tensor."""

    def label(self, fold: Fold) -> str:
        """What it is called, seen from the fold that it is in."""
        return title(self._folding.tree, fold)


class StepFoldFacts(RecordedFacts):
    """What is in the folds at one step.

    Args:
        folding: The folds, with their totals at the step.
        graph_index: The graph at the step.
        done: How many nodes of each fold have run in this backward.
        running: Folds in which a node runs at the step.
        known: Folds of which nodes have existed.
        labels: What folds are called.
    """

    def __init__(
        self,
        folding: Folding,
        graph_index: GraphIndex,
        done: Mapping[str, int],
        running: Collection[str],
        known: set[str],
        labels: dict[str, str],
    ) -> None:
        super().__init__(folding, graph_index)
        self._done, self._running = done, running
        self._known, self._labels = known, labels

    def label(self, fold: Fold) -> str:
        """What it is called, seen from the fold that it is in."""
        if fold.id not in self._labels:
            self._labels[fold.id] = super().label(fold)
        return self._labels[fold.id]

    def is_made(self, fold: Fold) -> bool:
        """Whether something of it exists."""
        totals = self._folding.totals[fold.id]
        return bool(totals.nodes or (fold.kind == "leaves" and totals.leaves))

    def facts(self, fold: Fold) -> tuple[str, ...]:
        """Nodes and saved bytes at the step, and how many of them have run."""
        totals = self._folding.totals[fold.id]
        if not self.is_made(fold):
            all_nodes = formatting.plural(fold.nodes, "node")
            state = "gone" if fold.id in self._known else "not made yet"
            return all_nodes, state
        if fold.kind == "leaves":
            return super().facts(fold)
        nodes = formatting.plural(totals.nodes, "node")
        if totals.nodes < fold.nodes:
            nodes = f"{totals.nodes:,} of {formatting.plural(fold.nodes, 'node')}"
        done = self._done.get(fold.id, 0)
        if fold.id in self._running:
            here = f"ran node {done:,} of {totals.nodes:,}"
            return (here, *filter(None, self.memory(totals)))
        ran = f"{done:,} ran" if 0 < done < totals.nodes else ""
        return tuple(filter(None, (nodes, ran, *self.memory(totals))))


@dataclass(slots=True)
class _FoldsNow:
    """The folds at the step that is played."""

    totals: dict[str, FoldTotals]
    states: dict[str, Status]
    """What was last said of each node in backward."""
    counts: dict[str, Counter[Status]]
    """The same, counted by fold."""
    done: dict[str, int]
    known: set[str]
    fresh: set[str]
    """Folds in which the step has made something."""


class FoldedUnplaced(UnplacedDrawing):
    """Cards and links of a folded recording with their variants, not yet placed.

    Args:
        recording: What is shown.
        steps: Its folds.
        options: How it is drawn.
        densities: The densities that cards are made for.
    """

    def __init__(
        self,
        recording: Recording,
        steps: FoldedSteps,
        options: DrawOptions,
        densities: Sequence[Density],
    ) -> None:
        graph = recording.graph
        self.recording = recording
        self.folding, self._totals, self._options = steps.folding, steps.totals, options
        self.steps, self.hidden, self._focus = len(recording.records), 0, ""
        self._limit = len(graph)
        self.nodes = ()
        self._contents = {density: options.content(density) for density in densities}
        every = outside_of(recording, graph.leaf_nodes, options.parts)
        outside = every[:OUTSIDE]
        tree = self.folding.tree
        index = WholeIndex(graph)
        self.words = RecordedFacts(self.folding, index)
        """What its folds are called."""
        self.insides = StepInsides(
            self.folding, index, options, outside, saves_of(recording, outside)
        )
        self._outside = len(self.insides.outside_folds), len(every)
        self.shown = tuple(self._chosen())
        """Ids of the folds whose insides there are."""
        self.is_whole = len(self.shown) == len(tree)
        self.scenes: dict[Density, dict[str, InsideScene]] = {
            density: {key: self.insides.scene(key, density) for key in (BOX, *self.shown)}
            for density in densities
        }
        self.around = {
            graph.nodes[place].id: (*(one.id for one in tree.around(fold.id)), fold.id)
            for fold in tree
            for place in fold.places
        }
        self.heads: dict[str, Variants[tuple[str, ...]]] = {key: Variants() for key in self.shown}
        """What the header of each open fold says of it."""
        self.frames: dict[tuple[int, int], list[CardFrame]] = {}
        """Frames of the variants of a card, by the ``id()`` of these and its place on the longest
        path: densities share those of boxes."""
        self.drawn: dict[int, tuple[Element, ...]] = {}
        """The elements of cards, by the ``id()`` of their frames."""
        self.blocks: DrawnBlocks = {}
        self._drawn_headers: dict[str, tuple[Element | None, ...]] = {}
        self._written: dict[int, tuple[Element, tuple[str, ...]]] = {}
        self._written_parts: dict[int, str] = {}
        self._labels: dict[str, str] = {}
        self._last: dict[str, object] = {}
        self._roots: dict[str, dict[tuple[str, int], Value]] = {}
        self._boxes: dict[str, Variants[Card]] = {}
        """The cards of folds, but of those with views: the same in every density."""
        self.cards, self._kept = {}, {}
        self.links, self._link_keys = {}, {}
        self._references: dict[str, tuple[str, str]] = {}
        for density in densities:
            self._put_scenes(density)
        self.turns: list[str] = []
        """Per step the turn of an outermost loop in which something was last made or run, by its
        fold; before that the first one, ``""`` if there is none."""
        self._of_loops = {one.id for one in tree if is_of_loop(tree, one)}
        self._some_cards = next(iter(self.cards.values()))
        self.summaries, self.step_items = [], []
        self._writer = StepItemsWriter()
        self._cuts, self._blocks = {}, {}
        self._bare = {key: {} for key in densities}
        self._now = _FoldsNow({}, {}, {one.id: Counter() for one in tree}, {}, set(), set())
        self._play(recording, {})
        self._refer()

    def label(self, fold_id: str) -> str:
        """What a fold is called."""
        return self.words.label(self.folding.tree[fold_id])

    def drawn_header(self, fold_id: str) -> tuple[Element | None, ...]:
        """What the header of an open fold says, in each of its variants."""
        if fold_id not in self._drawn_headers:
            attributes = {"id": f"gv-header-{fold_id}", "class": "gv-facts"}
            label, heads = self.label(fold_id), self.heads[fold_id]
            drawn = (Element("g", attributes, header(label, words)) for words in heads.looks)
            self._drawn_headers[fold_id] = (*drawn, None)
        return self._drawn_headers[fold_id]

    def written(self, look: Element | None) -> tuple[str, ...]:
        """An element as text in pieces; nothing if it does not exist."""
        if look is None:
            return ()
        if (known := self._written.get(id(look))) is None:
            known = look, tuple(write_pieces(look, self._written_parts))
            self._written[id(look)] = known
        return known[1]

    def _chosen(self) -> Iterator[str]:
        """The folds whose insides there are: the open ones, then the outer ones first."""
        tree, ids = self.folding.tree, self.folding.opening.ids
        room = CARDS
        level = [tree.root]
        while level:
            for fold in level:
                if fold.id in ids or len(fold.members) <= room:
                    room -= len(fold.members)
                    yield fold.id
            level = [inner for fold in level for inner in fold.folds]

    def _put_scenes(self, density: Density) -> None:
        """The cards and links of all insides, and the ports that they have."""
        made: dict[str, Variants[Card]] = {}
        ports = self._kept[density] = {}
        tree = {fold.id: fold for fold in self.folding.tree}
        for scene in self.scenes[density].values():
            for card in scene.cards:
                is_box = card.id in tree and tree[card.id].head is None
                made[card.id] = (
                    self._boxes.setdefault(card.id, Variants()) if is_box else Variants()
                )
                ports[card.id] = dict(enumerate(card.inputs))
            for wire in scene.wires:
                self._put_wire(wire)
        self.cards[density] = made

    def _put_wire(self, wire: DrawnLink) -> None:
        key = link_key(wire)
        if key in self.links:
            return
        self.links[key] = Variants()
        if wire.link.tail == reference_id(wire.target, wire.link.head):
            self._references[wire.link.tail] = (wire.target, wire.link.head)
        entries = self.insides.entries.get(wire.key, ())
        ends = {wire.source, wire.target} if not wire.is_edge else {node for node, _ in entries}
        for end in ends:
            self._link_keys.setdefault(end, []).append(key)

    def _begin(self, step_index: StepIndex, entries: dict[tuple[str, str], int]) -> None:
        """At the first step nothing is left to do."""

    def _look(
        self, link_key: LinkKey, step_index: StepIndex, progress: BackwardProgress
    ) -> LinkLook | None:
        if not link_key.is_edge:
            saved = dict(step_index.saved_by.get(link_key.target, ()))
            there = step_index.is_outside(link_key.target)
            return LinkLook() if there and link_key.source in saved else None
        entries = self.insides.entries[link_key.key]
        alive = [
            (node, slot)
            for node, slot in entries
            if (row := step_index.rows.get(node)) is not None
            and row.next_functions[slot] is not None
        ]
        if not alive:
            return None
        flows = [flow for one in alive if (flow := progress.edges.get(one)) is not None]
        if not flows:
            return LinkLook()
        return LinkLook(EdgeGradient(None, all(flow.arrived for flow in flows)))

    def _end_step(
        self,
        step: Step,
        step_index: StepIndex,
        progress: BackwardProgress,
        fresh: FreshItems,
        touched: set[str],
    ) -> None:
        now, changed = self._now, set(self._now.fresh)
        totals = self._totals[step.index]
        now.totals.update(totals)
        changed |= totals.keys()
        for node in touched:
            status, before = progress.nodes.get(node, ""), now.states.get(node, "")
            around = self.around.get(node, ())
            if status != before:
                now.states[node] = status
                for fold_id in around:
                    now.counts[fold_id][before] -= 1
                    now.counts[fold_id][status] += 1
            changed |= set(around)
        homes = {step_index.leaf_node.get(key, key) for key in fresh.made}
        homes |= {
            info.node for key in fresh.made if (info := step_index.tensors.get(key)) and info.node
        }
        now.fresh = {fold_id for key in homes for fold_id in self.around.get(key, ())}
        changed |= now.fresh
        running = (node for node in touched if progress.nodes.get(node) in ("now", "raised"))
        self._put_turn(homes or running)
        self._put_folds(step, step_index, changed)

    def _put_turn(self, nodes: Iterable[str]) -> None:
        """The turn of the nodes that a step has made or run; of several turns the last one."""
        tree, found = self.folding.tree, dict[str, None]()
        for node in nodes:
            around = (one for one in self.around.get(node, ()) if one in self._of_loops)
            found |= dict.fromkeys(islice(around, 1))
        before = self.turns[-1] if self.turns else ""
        now = max(found, key=lambda one: tree[one].first, default=before)
        if now and not before:
            self.turns = [now] * len(self.turns)
        self.turns.append(now)

    def _put_folds(self, step: Step, step_index: StepIndex, changed: set[str]) -> None:
        """The cards and headers of the folds that a step changes."""
        now, tree = self._now, self.folding.tree
        for fold_id in changed:
            counts = now.counts[fold_id]
            now.done[fold_id] = sum(counts[one] for one in ("done", "now", "raised"))
        folding = replace(self.folding, totals=now.totals)
        running = [fold_id for fold_id in changed if now.counts[fold_id]["now"]]
        words = StepFoldFacts(folding, step_index, now.done, running, now.known, self._labels)
        draw = {
            density: FoldCards(folding, step_index, self._contents[density], words)
            for density in self.cards
        }
        # A box says the same of what is in it, however much other cards say.
        box_content = self._options.content("compact")
        boxes = StepFoldCards(folding, step_index, box_content, words)
        for fold_id in changed:
            fold = tree[fold_id]
            if fold_id in self._boxes:
                self._put_box(step, fold, boxes, words, step_index)
            for density, made in self.cards.items():
                if fold_id in made and fold.head is not None:
                    made[fold_id].put(
                        step.index, self._views_card(fold, draw[density], density, words)
                    )
            if fold_id in self.heads:
                self.heads[fold_id].put(step.index, words.facts(fold))
        now.known |= {one for one in changed if now.totals[one].nodes}

    def _put_box(
        self,
        step: Step,
        fold: Fold,
        draw: FoldCards,
        words: StepFoldFacts,
        step_index: StepIndex,
    ) -> None:
        rim, now = self.insides.insides.rim(fold.id), self._now
        own = self._roots_in(fold.id)
        now_roots = ((key, nr) for key, numbers in step_index.roots.items() for nr in numbers)
        roots = tuple(own[one] for one in now_roots if one in own)
        roots = roots if len(roots) == 1 else ()  # of several, those inside say it
        status = self._status(fold)
        key = (now.totals[fold.id], now.done[fold.id], status, fold.id in now.fresh, roots)
        if not roots and self._last.get(fold.id) == key:
            return
        self._last[fold.id] = key
        card = draw.card(fold, rim.input_ports, rim.output_ports, roots)
        # A tensor below the title would make the box higher at this step alone.
        blocks = tuple(one for one in card.blocks if one.kind != "tag" or one.beside)
        card = replace(card, blocks=blocks)
        self._boxes[fold.id].put(step.index, self._at_step(fold, card, words))

    def _roots_in(self, fold_id: str) -> Mapping[tuple[str, int], Value]:
        """The outputs inside of a fold that are roots at some step, by node and output number."""
        if fold_id not in self._roots:
            nodes = self.folding.tree.graph.nodes
            roots = self.insides.insides.rim(fold_id).roots
            self._roots[fold_id] = {(nodes[place].id, nr): (place, nr) for place, nr in roots}
        return self._roots[fold_id]

    def _views_card(
        self, fold: Fold, draw: FoldCards, density: Density, words: StepFoldFacts
    ) -> Card | None:
        """The card of a node with its views; none while the node does not exist."""
        assert fold.head is not None
        node = self.folding.tree.graph.nodes[fold.head].id
        if (card := self._bare[density].get(node)) is None:
            return None
        rim = self.insides.insides.rim(fold.id)
        card = draw.views_card(fold, card)
        ports = ((Port(),) * rim.input_ports, (Port(),) * rim.output_ports)
        return self._at_step(fold, replace(card, inputs=ports[0], outputs=ports[1]), words)

    def _at_step(self, fold: Fold, card: Card, words: StepFoldFacts) -> Card:
        """The card of a fold with what the step does to it."""
        card = replace(card, aria="")
        if not words.is_made(fold):
            return replace(card, css=f"{card.css} gv-unmade", chip="")
        status = self._status(fold)
        if fold.id in self._now.fresh:
            status = status or "new"
            card = replace(card, css=f"{card.css} gv-made")
        if not status:
            return card
        return replace(card, css=f"{card.css} gv-{status}", status=status)

    def _status(self, fold: Fold) -> Status:
        counts = self._now.counts[fold.id]
        for one in FIRST:
            if counts[one]:
                return one
        nodes = self._now.totals[fold.id].nodes
        return "done" if nodes and counts["done"] >= nodes else ""

    def _refer(self) -> None:
        """The variants of references: each exists while its tensor and its link do."""
        for own_id, (tensor, head) in self._references.items():
            leaving = [
                variants
                for key, variants in self.links.items()
                if key.target == tensor and key.source == head
            ]
            for made in self.cards.values():
                made[own_id] = reference_variants(made[tensor], head, leaving)


def link_key(wire: DrawnLink) -> LinkKey:
    """What a link is, also one to a tensor outside the graph."""
    own_id = wire.key or f"{wire.source}.{wire.target}"
    return LinkKey(wire.source, wire.target, 0 if wire.is_edge else None, 0, 0, own_id)
