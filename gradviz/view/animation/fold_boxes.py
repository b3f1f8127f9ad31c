"""The boxes and headers of folds at every step of a recording: what is in them, and what backward
and the step do there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from gradviz.model.fold import Fold, FoldTotals, Value
from gradviz.model.folding import FoldedSteps, Folding
from gradviz.model.recording import Step
from gradviz.view import formatting
from gradviz.view.animation.backward_progress import BackwardProgress
from gradviz.view.animation.fresh_items import FreshItems
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.fold_words import is_of_loop, title
from gradviz.view.graph.card_parts import Card, Density, Line, Status
from gradviz.view.graph.drawn_scenes import Variants
from gradviz.view.graph.fold_cards import FoldCards
from gradviz.view.graph.fold_scenes import FoldScenes
from gradviz.view.graph_index import GraphIndex
from gradviz.view.step_index import StepIndex

FIRST: Final[tuple[Status, ...]] = ("raised", "now", "next")
"""What is said of a fold in which a node is that, the most important first."""


class StepFoldCards(FoldCards):
    """Makes the cards of folds at one step: the numbers that change are in a line of their own."""

    def _lines(self, fold: Fold) -> Iterator[Line]:
        words = self.words
        yield Line(words.counts(fold), "gv-muted")
        facts = (words.elements(fold), words.gradients(fold))
        if line := formatting.join(facts):
            yield Line(line, "gv-muted")


CONSTANT: Final = frozenset(
    ("id", "fold", "module", "nodes", "leaves", "elements", "parts", "module inferred")
)
"""What is the same of a fold at every step."""


class RecordedFacts(FoldFacts):
    """What is in the folds of a recording at every step."""

    def _label(self, fold: Fold) -> str:
        # Its graph belongs to no one tensor.
        return title(self._folding.tree, fold)

    def facts(self, fold: Fold) -> tuple[str, ...]:
        """All of its nodes."""
        return (formatting.plural(fold.nodes, "node"),)

    def rows(self, fold: Fold) -> list[list[str]]:
        """What is known of it; its card says what a step does in it."""
        return [row for row in super().rows(fold) if row[0] in CONSTANT]


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
            return FoldFacts.facts(self, fold)
        nodes = formatting.plural(totals.nodes, "node")
        if totals.nodes < fold.nodes:
            nodes = f"{totals.nodes:,} of {formatting.plural(fold.nodes, 'node')}"
        done = self._done.get(fold.id, 0)
        if fold.id in self._running:
            here = f"ran node {done:,} of {totals.nodes:,}"
            return (here, *filter(None, self.memory(totals)))
        ran = f"{done:,} ran" if 0 < done < totals.nodes else ""
        return tuple(filter(None, (nodes, ran, *self.memory(totals))))


class FoldBoxes:
    """Goes from step to step and keeps the boxes and headers of folds.

    Args:
        steps: The folds.
        scenes: What is in them.
        cards: Per density the variants of all cards.
        shown: The folds of which there is an inside.
    """

    def __init__(
        self,
        steps: FoldedSteps,
        scenes: FoldScenes,
        cards: Mapping[Density, dict[str, Variants[Card]]],
        shown: Collection[str],
    ) -> None:
        self._folding, self._changes, self.scenes = steps.folding, steps.totals, scenes
        self.words = scenes.words
        """What is said of folds at every step."""
        self._cards = cards
        tree = self._tree = steps.folding.tree
        self.around = {
            tree.graph.nodes[place].id: (*(one.id for one in tree.around(fold.id)), fold.id)
            for fold in tree
            for place in fold.places
        }
        """The folds that each node is in, the whole graph first."""
        self.heads: dict[str, Variants[tuple[str, ...]]] = {key: Variants() for key in shown}
        """What the header of each open fold says of it."""
        self.turns: list[str] = []
        """Per step the turn of an outermost loop in which something was last made or run, by its
        fold; before that the first one, ``""`` if there is none."""
        self._of_loops = {one.id for one in tree if is_of_loop(tree, one)}
        # A box says the same in each density: it is drawn once.
        made = list(cards.values())
        for fold in tree:
            if fold.id in made[0]:
                for one in made:
                    one[fold.id] = made[0][fold.id]
        self._labels: dict[str, str] = {}
        self._roots: dict[str, dict[tuple[str, int], Value]] = {}
        self._totals: dict[str, FoldTotals] = {}
        self._states: dict[str, Status] = {}
        """What was last said of each node in backward."""
        self._counts: dict[str, Counter[Status]] = {one.id: Counter() for one in tree}
        """The same, counted by fold."""
        self._done: dict[str, int] = {}
        self._known: set[str] = set()
        self._fresh: set[str] = set()
        """Folds in which the step has made something."""
        self._changed: set[str] = set()
        """Folds of which something may have changed since the last step that was drawn."""

    def advance(
        self,
        step: Step,
        step_index: StepIndex,
        progress: BackwardProgress,
        fresh: FreshItems,
        touched: Collection[str],
    ) -> None:
        """Go on to a step.

        Args:
            step: The step.
            step_index: The nodes and tensors after it.
            progress: Where backward is.
            fresh: What it has made.
            touched: Nodes of which something else may be said.
        """
        self._totals.update(totals := self._changes[step.index])
        self._changed |= totals.keys() | self._fresh
        for node in touched:
            status, before = progress.nodes.get(node, ""), self._states.get(node, "")
            if status != before:
                self._states[node] = status
                for fold_id in self.around.get(node, ()):
                    self._counts[fold_id][before] -= 1
                    self._counts[fold_id][status] += 1
        homes = {step_index.leaf_node.get(key, key) for key in fresh.made}
        homes |= {
            info.node for key in fresh.made if (info := step_index.tensors.get(key)) and info.node
        }
        self._fresh = {fold_id for key in homes for fold_id in self.around.get(key, ())}
        self._known |= {one for one in totals if totals[one].nodes}
        running = (node for node in touched if progress.nodes.get(node) in ("now", "raised"))
        self._put_turn(homes or running)

    def _put_turn(self, nodes: Iterable[str]) -> None:
        """The turn of the nodes that a step has made or run; of several turns the last one."""
        found = dict[str, None]()
        for node in nodes:
            around = (one for one in self.around.get(node, ()) if one in self._of_loops)
            found |= dict.fromkeys(islice(around, 1))
        before = self.turns[-1] if self.turns else ""
        now = max(found, key=lambda one: self._tree[one].first, default=before)
        if now and not before:
            self.turns = [now] * len(self.turns)
        self.turns.append(now)

    def draw(
        self,
        step: int,
        step_index: StepIndex,
        touched: Iterable[str],
    ) -> None:
        """Draw the cards and headers of the folds in which something has changed.

        Args:
            step: The place of the step.
            step_index: The nodes and tensors after it.
            touched: Nodes of which something else may be said since the last step that was drawn.
        """
        changed, self._changed = self._changed | self._fresh, set()
        changed.update(chain.from_iterable(self.around.get(node, ()) for node in touched))
        for fold_id in changed:
            counts = self._counts[fold_id]
            self._done[fold_id] = sum(counts[one] for one in ("done", "now", "raised"))
        folding = replace(self._folding, totals=self._totals)
        running = [fold_id for fold_id in changed if self._counts[fold_id]["now"]]
        words = StepFoldFacts(folding, step_index, self._done, running, self._known, self._labels)
        options, some = self.scenes.options, next(iter(self._cards.values()))
        # A box says the same of what is in it, however much other cards say.
        boxes = StepFoldCards(folding, step_index, options.content("compact"), words)
        for fold_id in changed:
            fold = self._tree[fold_id]
            if fold_id in some:
                self._put_box(step, fold, boxes, words, step_index)
            if fold_id in self.heads:
                self.heads[fold_id].put(step, words.facts(fold))

    def _put_box(
        self,
        step: int,
        fold: Fold,
        draw: FoldCards,
        words: StepFoldFacts,
        step_index: StepIndex,
    ) -> None:
        rim = self.scenes.insides.rim(fold.id)
        own = self._roots_in(fold.id)
        now_roots = ((key, nr) for key, numbers in step_index.roots.items() for nr in numbers)
        roots = tuple(own[one] for one in now_roots if one in own)
        roots = roots if len(roots) == 1 else ()  # of several, those inside say it
        card = draw.card(fold, rim.input_ports, rim.output_ports, roots)
        # A tensor below the title would make the box higher at this step alone.
        blocks = tuple(one for one in card.blocks if one.kind != "tag" or one.beside)
        card = self._at_step(fold, replace(card, blocks=blocks), words)
        next(iter(self._cards.values()))[fold.id].put(step, card)

    def _roots_in(self, fold_id: str) -> Mapping[tuple[str, int], Value]:
        """The outputs inside of a fold that are roots at some step, by node and output number."""
        if fold_id not in self._roots:
            nodes, roots = self._tree.graph.nodes, self.scenes.insides.rim(fold_id).roots
            self._roots[fold_id] = {(nodes[place].id, nr): (place, nr) for place, nr in roots}
        return self._roots[fold_id]

    def _at_step(self, fold: Fold, card: Card, words: StepFoldFacts) -> Card:
        """The card of a fold with what the step does to it."""
        card = replace(card, aria="")
        if not words.is_made(fold):
            return replace(card, css=f"{card.css} gv-unmade", chip="")
        status = self._status(fold)
        if fold.id in self._fresh:
            status = status or "new"
            card = replace(card, css=f"{card.css} gv-made")
        if not status:
            return card
        return replace(card, css=f"{card.css} gv-{status}", status=status)

    def _status(self, fold: Fold) -> Status:
        counts = self._counts[fold.id]
        for one in FIRST:
            if counts[one]:
                return one
        nodes = self._totals[fold.id].nodes
        return "done" if nodes and counts["done"] >= nodes else ""
