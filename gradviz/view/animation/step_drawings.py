"""The cards and links of every step, not yet placed; made anew only where they change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any, Generic, TypeVar

from gradviz.model.progress import counted
from gradviz.model.recording import Recording, Step
from gradviz.model.records import Node
from gradviz.view import aria
from gradviz.view.animation.backward_progress import BackwardProgress, EdgeGradient
from gradviz.view.animation.fresh_items import FreshItems
from gradviz.view.animation.shared_places import Life, share_nodes, share_tensors
from gradviz.view.animation.step_items import StepItems, StepItemsWriter
from gradviz.view.graph import cards, cut_stubs
from gradviz.view.graph.card_parts import (
    DENSITIES,
    MORE,
    Block,
    Card,
    Density,
    Port,
    Status,
    thinned,
)
from gradviz.view.graph.cut_stubs import CutStub
from gradviz.view.graph.drawing import OUTSIDE
from gradviz.view.graph.extent import Extent, extent_of
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.references import reference_card
from gradviz.view.graph_index import places_of
from gradviz.view.step_index import LIMIT, StepIndex, step_indexes
from gradviz.view.text import shorten

Look = TypeVar("Look")


class Variants(Generic[Look]):
    """The variants of one item over the steps; ``None`` where it does not exist."""

    def __init__(self) -> None:
        self.looks: dict[Look, int] = {}
        """Each variant once, with its number from 0."""
        self.changes: list[tuple[int, Look | None]] = []
        """Steps at which a variant begins."""

    @property
    def now(self) -> Look | None:
        """The variant at the last added step."""
        return self.changes[-1][1] if self.changes else None

    def put(self, step: int, look: Look | None) -> None:
        """Set the variant from ``step`` on."""
        if look == self.now:
            return
        if look is not None:
            self.looks.setdefault(look, len(self.looks))
        self.changes.append((step, look))

    def existed(self, step: int) -> bool:
        """Whether there was a variant at a step."""
        looks = (look for at, look in reversed(self.changes) if at <= step)
        return next(looks, None) is not None

    def life(self, steps: int) -> Life:
        """First and last step at which it exists, of so many steps."""
        there = [i for i, (_, look) in enumerate(self.changes) if look is not None]
        last = there[-1] + 1
        return self.changes[there[0]][0], self.changes[last][0] - 1 if last < len(
            self.changes
        ) else steps


@dataclass(frozen=True, slots=True)
class LinkKey:
    """One link of the union of all steps."""

    source: str
    """Card of the node that holds the entry, or that saved."""
    target: str
    """Card that it comes from."""
    slot: int | None
    """Place in ``next_functions``, of several entries the first; ``None`` for a tensor saved from
    outside and for entries of nodes that are not drawn."""
    output: int
    """Port of the target."""
    port: int
    """Port of the source."""
    key: str
    count: int = 1
    """How many entries of a node that is drawn it is."""

    @property
    def is_edge(self) -> bool:
        """Whether it is an entry of ``next_functions``."""
        return self.slot is not None or self.source == MORE


@dataclass(frozen=True, slots=True)
class LinkLook:
    """One variant of a link."""

    flow: EdgeGradient | None = None
    count: int = 1
    """How many entries of ``next_functions`` it is."""
    is_new: bool = False
    """Whether the step has made it."""


class UnplacedDrawing:
    """Cards and links of a recording with their variants, not yet placed.

    Args:
        recording: What is shown.
        options: How it is drawn.
        densities: The densities that cards are made for. Links are the same in all of them.
    """

    _limit: int = LIMIT
    """How many nodes are drawn."""

    def __init__(
        self,
        recording: Recording,
        options: DrawOptions,
        densities: Collection[Density] = DENSITIES,
    ) -> None:
        self.steps = len(recording.records)
        self._contents = {density: options.content(density) for density in densities}
        graph, self._focus = recording.graph, options.focus
        places = places_of(graph, LIMIT, options.focus)
        self.nodes: tuple[Node, ...] = tuple(map(graph.nodes.__getitem__, places))
        self.hidden = len(graph) - len(self.nodes)
        every = outside_of(recording, graph.leaf_nodes, options.parts)
        outside = every[:OUTSIDE]
        saves = saves_of(recording, outside)
        self._outside = len(outside), len(every)
        keys = [*outside, *(node.id for node in self.nodes), *([MORE] if self.hidden else ())]
        self.cards: dict[Density, dict[str, Variants[Card]]] = {
            density: {key: Variants() for key in keys} for density in densities
        }
        self._some_cards = next(iter(self.cards.values()))
        """Those of one density: in all of them a card exists at the same steps, with the same
        outputs."""
        drawn = {node.id for node in self.nodes}
        content = next(iter(self._contents.values()))
        ports = {n.id: cards.inputs_of(n, drawn.__contains__, content) for n in self.nodes}
        self.inputs, entries = _ways_in(ports, saves)
        """All input ports of each node; a density may leave some out."""
        self._kept: dict[Density, dict[str, dict[int, Port]]] = {}
        self.links: dict[LinkKey, Variants[LinkLook]] = {}
        self.extent: Extent
        """How much of the graph of all steps is drawn."""
        self.summaries: list[str] = []
        self.step_items: list[StepItems] = []
        """The rows for the browser at each step."""
        self._writer = StepItemsWriter()
        self._cuts: dict[str, dict[CutStub, None]] = {}
        self._bare: dict[Density, dict[str, Card | None]] = {key: {} for key in densities}
        """The cards without what backward and the step do."""
        self._blocks: dict[Block, Block] = {}
        """Blocks that are equal are one object."""
        self._link_keys: dict[str, list[LinkKey]] = {}
        self._play(recording, entries)

    def _play(self, recording: Recording, entries: dict[tuple[str, str], int]) -> None:
        progress, fresh = BackwardProgress(recording), FreshItems(recording)
        steps = step_indexes(recording, self._focus, self._limit)
        for step, step_index, touched in counted(steps, "steps drawn", len(recording.records), 1):
            moved, flowing = progress.advance(step.index)
            if not step.index:
                self.extent = extent_of(step_index, self._outside, "recording", "recording")
                self._begin(step_index, entries)
            self.step_items.append(self._writer.step_items(step, step_index, touched))
            for cut in cut_stubs.cuts(step.events, step_index):
                home = self._home(cut.tensor, step_index)
                self._cuts.setdefault(home, {})[cut] = None
                touched.add(home)
            for density, found in self._bare.items():
                for key in touched & self._some_cards.keys():
                    found[key] = self._card(key, step_index, density)
            touched |= moved | fresh.begin(step.index)
            for density, made in self.cards.items():
                for key in touched & made.keys():
                    card = _in_backward(self._bare[density].get(key), progress.nodes.get(key, ""))
                    made[key].put(step.index, fresh.marked(card, made[key]))
            if self.hidden:
                hidden, uses = step_index.hidden_now, step_index.hidden_uses_now
                stub = cards.more_card(hidden, uses) if hidden else None
                for made in self.cards.values():
                    made[MORE].put(step.index, stub)
            near = touched | flowing
            for link_key in dict.fromkeys(t for key in near for t in self._link_keys.get(key, ())):
                look = self._look(link_key, step_index, progress)
                self.links[link_key].put(step.index, fresh.marked_link(look, self.links[link_key]))
            self.summaries.append(aria.of_graph(step_index))
            self._end_step(step, step_index, progress, fresh, touched)

    def _begin(self, step_index: StepIndex, entries: dict[tuple[str, str], int]) -> None:
        """At the first step."""
        self._string(step_index, entries)
        self._thin()

    def _end_step(
        self,
        step: Step,
        step_index: StepIndex,
        progress: BackwardProgress,
        fresh: FreshItems,
        touched: set[str],
    ) -> None:
        """What is drawn besides nodes and tensors."""

    def _string(self, step_index: StepIndex, entries: dict[tuple[str, str], int]) -> None:
        """All links of the union."""
        used = step_index.used_outputs
        found = []
        for node in self.nodes:
            for place, port in enumerate(self.inputs[node.id]):
                entry = node.next_functions[port.slot] if port.slot >= 0 else None
                if entry is None:
                    continue
                drawn = entry[0] in self._some_cards
                output = used[entry[0]].index(entry[1]) if drawn else 0
                target = entry[0] if drawn else MORE
                key = f"{node.id}.{port.slot if port.count == 1 else MORE}"
                link_key = LinkKey(node.id, target, port.slot, output, place, key, port.count)
                found.append(link_key)
        for place, (target, output_nr) in enumerate(step_index.hidden_uses):
            output = used[target].index(output_nr)
            key = f"{MORE}.{target}.{output_nr}"
            found.append(LinkKey(MORE, target, None, output, place, key))
        for (node_id, tensor), place in entries.items():
            found.append(LinkKey(node_id, tensor, None, 0, place, f"{node_id}.{tensor}"))
        for link_key in found:
            self.links[link_key] = Variants()
            for end in (link_key.source, link_key.target):
                self._link_keys.setdefault(end, []).append(link_key)

    def _thin(self) -> None:
        """Choose the input ports of each density."""
        linked: dict[str, set[int]] = {}
        for link_key in self.links:
            linked.setdefault(link_key.source, set()).add(link_key.port)
        for density, content in self._contents.items():
            self._kept[density] = {
                key: thinned(ports, linked.get(key, ()), content)
                for key, ports in self.inputs.items()
            }

    def port(self, link_key: LinkKey, density: Density) -> int:
        """The place of a link's port among those that a density has."""
        kept = self._kept[density].get(link_key.source)
        return link_key.port if kept is None else list(kept).index(link_key.port)

    @cached_property
    def places(self) -> dict[str, str]:
        """For each card, the card whose place it shares."""
        there = {key: one for key, one in self._some_cards.items() if one.looks}
        lives = dict(lives_of(there, self.steps))
        nodes = [node for node in self.nodes if node.id in there]
        ports = {
            node.id: (
                tuple(port.label for port in self.inputs[node.id]),
                tuple(port.slot for port in _some(there[node.id]).outputs),
            )
            for node in nodes
        }
        place = share_nodes(nodes, lives, ports)
        forms: dict[str, object | None] = {}
        for key in there:
            if key[0] == "t":
                title = _some(there[key]).blocks[0].lines[0].text
                uses = {(place[t.source], t.port) for t in self.links if t.target == key}
                forms[key] = (title, frozenset(uses)) if title != key else None
        return place | share_tensors(forms, lives) | {MORE: MORE}

    @property
    def seen(self) -> int:
        """How many places there are; of the cards at one place one is seen."""
        there = (key for key, one in self._some_cards.items() if one.looks)
        return len({self.places[key] for key in there})

    def _home(self, tensor: str, step_index: StepIndex) -> str:
        return step_index.leaf_node.get(tensor) or step_index.tensors[tensor].node or tensor

    def _card(self, key: str, step_index: StepIndex, density: Density) -> Card | None:
        """The card at the current step, without what backward does."""
        made: Card | None = None
        content = self._contents[density]
        if key[0] == "t":
            if not step_index.is_outside(key):
                return None
            made = cards.tensor_card(step_index.tensors[key], step_index, content)
        elif (node := step_index.rows.get(key)) is not None:
            made = cards.node_card(node, step_index, content)
        elif (variable := step_index.waiting(key)) is not None:
            made = cards.waiting_leaf_card(key, variable, step_index, content)
        if made is None:
            return None
        alive = tuple(cut for cut in self._cuts.get(key, ()) if cut.tensor in step_index.tensors)
        return replace(
            made,
            blocks=tuple(
                self._blocks.setdefault(b, b) for b in (*made.blocks, *cut_stubs.blocks(alive))
            ),
            inputs=tuple(self._kept[density].get(key, {}).values()),
        )

    def _look(
        self, link_key: LinkKey, step_index: StepIndex, progress: BackwardProgress
    ) -> LinkLook | None:
        tail = self._some_cards[link_key.target].now
        if link_key.source == MORE:
            count = step_index.hidden_uses_now[link_key.port]
            return LinkLook(count=count) if count and tail is not None else None
        node = step_index.rows.get(link_key.source)
        if node is None:
            return None
        if link_key.slot is None:
            saved = dict(step_index.saved_by.get(link_key.target, ()))
            return LinkLook() if tail is not None and link_key.source in saved else None
        if node.next_functions[link_key.slot] is None:
            return None
        if link_key.count > 1:  # their gradients are not one gradient
            return LinkLook(count=link_key.count)
        return LinkLook(progress.edges.get((link_key.source, link_key.slot)))


def most_at_once(recording: Recording, focus: str = "") -> int:
    """How many of the nodes that are drawn exist at most at one step: so many places there are at
    least."""
    graph = recording.graph
    drawn = {graph.nodes[place].id for place in places_of(graph, LIMIT, focus)}
    there, most = set[str](), 0
    for step in recording.records:
        for key, node in step.changes.nodes:
            if node is None:
                there.discard(key)
            elif key in drawn:
                there.add(key)
        most = max(most, len(there))
    return most


def _in_backward(card: Card | None, status: Status) -> Card | None:
    """A card that says where backward is."""
    if card is None or not status:
        return card
    css, said = f"{card.css} gv-{status}", f"{card.aria}, {status}"
    return replace(card, css=css, status=status, aria=said)


def reference_variants(
    card: Variants[Card], head: str, links: Iterable[Variants[LinkLook]]
) -> Variants[Card]:
    """The variants of a reference: it exists while its tensor's card and one of its links do.

    Args:
        card: The card that it refers to.
        head: The card that it is beside.
        links: The links that leave from it.
    """
    made: Variants[Card] = Variants()
    for step, (tensor, *using) in merged([card, *links]):
        is_used = any(look is not None for look in using)
        made.put(step, reference_card(tensor, head) if tensor is not None and is_used else None)
    return made


def merged(sources: Sequence[Variants[Any]]) -> Iterator[tuple[int, list[Any]]]:
    """The steps at which one of these begins a variant, with the variants of all of them then."""
    changes = [(step, i, look) for i, one in enumerate(sources) for step, look in one.changes]
    now: list[Any] = [None] * len(sources)
    for step, group in groupby(sorted(changes, key=itemgetter(0)), itemgetter(0)):
        for _, i, look in group:
            now[i] = look
        yield step, now.copy()


def outside_of(recording: Recording, leaves: Collection[str], parts: frozenset[str]) -> list[str]:
    """Tensors that may have a card of their own at some step."""
    history, last = recording.history, len(recording.records)

    def is_shown(key: str) -> bool:
        rows = (row for row in history.tensor_rows(key, last) if row.node is None)
        return any("constants" in parts or row.requires_grad for row in rows)

    return [key for key in history.tensor_ids if key not in leaves and is_shown(key)]


def saves_of(recording: Recording, chosen: Collection[str]) -> dict[tuple[str, str], str]:
    """Which nodes save these tensors, and in which slot."""
    history, last = recording.history, len(recording.records)
    saves: dict[tuple[str, str], str] = {}
    for key in history.node_ids:
        for node in reversed(history.node_rows(key, last)):
            for slot in node.saved:
                known = slot.tensor or slot.view_of
                if known in chosen and known is not None:
                    saves.setdefault((key, known), slot.name)
    return saves


def _ways_in(
    inputs: Mapping[str, tuple[Port, ...]], saves: Mapping[tuple[str, str], str]
) -> tuple[dict[str, tuple[Port, ...]], dict[tuple[str, str], int]]:
    """Input ports of each node, and the one where each tensor from outside enters.

    Args:
        inputs: A port per entry of ``next_functions``, by node.
        saves: The slot in which a node saves a tensor from outside, by both.
    """
    ports = {key: list(row) for key, row in inputs.items()}
    entries: dict[tuple[str, str], int] = {}
    for (node_id, tensor), name in saves.items():
        if node_id not in ports:
            continue
        row, stub = ports[node_id], f"{shorten(name, 14)}: no grad"
        there = [i for i, port in enumerate(row) if port.css == "gv-stub" and port.label == stub]
        if not there:
            there = [len(row)]
            row.append(Port(shorten(name, 14), "gv-port gv-extra", -1))
        entries[node_id, tensor] = there[0]
    return {key: tuple(row) for key, row in ports.items()}, entries


def _some(variants: Variants[Look]) -> Look:
    return next(iter(variants.looks))


def lives_of(
    all_variants: Mapping[str, Variants[Card]], steps: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    """When each card exists."""
    for key, variants in all_variants.items():
        if variants.looks:
            yield key, variants.life(steps)
