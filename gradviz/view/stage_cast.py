"""Who is on stage when: the cards and links of every step, made anew only where they change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from gradviz.model.facts import Node
from gradviz.model.recording import Recording
from gradviz.view import cards, sentences
from gradviz.view import cuts as cutting
from gradviz.view.blocks import Card, Port
from gradviz.view.cuts import Cut
from gradviz.view.drawing import OUTSIDE
from gradviz.view.moments import LIMIT, Moment, moments
from gradviz.view.progress import Flow, Progress, progress
from gradviz.view.stage_places import Life
from gradviz.view.stage_told import Teller, Told
from gradviz.view.text import shorten

MORE: Final = "more"
"""Key of the stub for nodes that are not drawn."""
Look = TypeVar("Look")


class Track(Generic[Look]):
    """How one thing looks from step to step; ``None`` where it does not exist."""

    def __init__(self) -> None:
        self.looks: dict[Look, int] = {}
        """Each look once, with its number from 0."""
        self.turns: list[tuple[int, Look | None]] = []
        """Steps at which it begins to look so."""

    @property
    def now(self) -> Look | None:
        """How it looks at the last step that was told."""
        return self.turns[-1][1] if self.turns else None

    def put(self, step: int, look: Look | None) -> None:
        """From ``step`` on it looks so."""
        if look == self.now:
            return
        if look is not None:
            self.looks.setdefault(look, len(self.looks))
        self.turns.append((step, look))

    def life(self, steps: int) -> Life:
        """First and last step at which it exists, of so many steps."""
        there = [i for i, (_, look) in enumerate(self.turns) if look is not None]
        last = there[-1] + 1
        return self.turns[there[0]][0], self.turns[last][0] - 1 if last < len(self.turns) else steps


@dataclass(frozen=True, slots=True)
class Thread:
    """One link of the union of all steps."""

    source: str
    """Node that holds the entry, or that saved."""
    target: str
    """Card that it comes from."""
    slot: int | None
    """Place in ``next_functions``; ``None`` for a tensor saved from outside."""
    output: int
    """Port of the target."""
    port: int
    """Port of the source."""
    key: str


@dataclass(frozen=True, slots=True)
class EdgeLook:
    """How a link looks at a step."""

    pill: bool = False
    """Whether the card that it comes from has a pill there."""
    flow: Flow | None = None


class Cast:
    """Cards and links of a recording with their looks, not yet placed.

    Args:
        recording: What is shown.
        parts: Parts of cards, as :func:`gradviz.view.blocks.choose` gives them.
    """

    def __init__(self, recording: Recording, parts: frozenset[str]) -> None:
        self.parts = parts
        self.nodes: tuple[Node, ...] = recording.graph.nodes[:LIMIT]
        self.hidden = max(0, len(recording.graph) - LIMIT)
        outside, saves = _outside(recording, {n.variable for n in self.nodes}, parts)
        self.cards: dict[str, Track[Card]] = {key: Track() for key in outside}
        self.cards |= {node.id: Track() for node in self.nodes}
        if self.hidden:
            self.cards[MORE] = Track()
        self.inputs, entries = _ways_in(self.nodes, saves)
        self.links: dict[Thread, Track[EdgeLook]] = {}
        self.summaries: list[str] = []
        self.told: list[Told] = []
        """What the browser is told at each step."""
        self._teller = Teller()
        self._cuts: dict[str, dict[Cut, None]] = {}
        self._threads: dict[str, list[Thread]] = {}
        self._play(recording, entries)

    def _play(self, recording: Recording, entries: dict[tuple[str, str], int]) -> None:
        before = Progress()
        for step, moment, touched in moments(recording):
            place = progress(recording, step.index)
            if not self.links:
                self._string(moment, entries)
            self.told.append(self._teller.told(step, moment, touched))
            for cut in cutting.cuts(step.events, moment):
                home = self._home(cut.tensor, moment)
                self._cuts.setdefault(home, {})[cut] = None
                touched.add(home)
            touched |= {k for k, _ in before.nodes.items() ^ place.nodes.items()}
            flowing = {k for k in {*before.edges, *place.edges}
                       if before.edges.get(k) != place.edges.get(k)}  # fmt: skip
            for key in touched & self.cards.keys():
                self.cards[key].put(step.index, self._card(key, moment, place))
            if self.hidden:
                there = len(moment.rows) > sum(node.id in moment.rows for node in self.nodes)
                stub = cards.more_card(self.hidden) if there else None
                self.cards[MORE].put(step.index, stub)
            near = touched | {node for node, _ in flowing}
            for thread in dict.fromkeys(t for key in near for t in self._threads.get(key, ())):
                look = self._look(thread, moment, place)
                self.links[thread].put(step.index, look)
            self.summaries.append(sentences.of_graph(moment))
            before = place

    def _string(self, moment: Moment, entries: dict[tuple[str, str], int]) -> None:
        """All links of the union."""
        used = moment.used_outputs
        found = []
        for node in self.nodes:
            for slot, entry in enumerate(node.next_functions):
                if entry is None:
                    continue
                drawn = entry[0] in self.cards
                output = used[entry[0]].index(entry[1]) if drawn else 0
                target = entry[0] if drawn else MORE
                found.append(Thread(node.id, target, slot, output, slot, f"{node.id}.{slot}"))
        for (node_id, tensor), port in entries.items():
            found.append(Thread(node_id, tensor, None, 0, port, f"{node_id}.{tensor}"))
        for thread in found:
            self.links[thread] = Track()
            for end in (thread.source, thread.target):
                self._threads.setdefault(end, []).append(thread)

    def _home(self, tensor: str, moment: Moment) -> str:
        return moment.leaf_node.get(tensor) or moment.tensors[tensor].node or tensor

    def _card(self, key: str, moment: Moment, place: Progress) -> Card | None:
        """The card as it stands at a moment."""
        made: Card | None = None
        if key[0] == "t":
            if not moment.is_outside(key):
                return None
            made = cards.tensor_card(moment.tensors[key], moment, self.parts)
        elif (node := moment.rows.get(key)) is not None:
            made = cards.node_card(node, moment, self.parts)
        elif (variable := moment.waiting(key)) is not None:
            made = cards.waiting_leaf_card(key, variable, moment, self.parts)
        if made is None:
            return None
        status = place.nodes.get(key, "")
        alive = tuple(cut for cut in self._cuts.get(key, ()) if cut.tensor in moment.tensors)
        return replace(
            made,
            css=f"{made.css} gv-{status}" if status else made.css,
            status=status,
            aria=f"{made.aria}, {status}" if status else made.aria,
            blocks=(*made.blocks, *cutting.blocks(alive)),
            inputs=self.inputs.get(key, ()),
        )

    def _look(self, thread: Thread, moment: Moment, place: Progress) -> EdgeLook | None:
        node = moment.rows.get(thread.source)
        if node is None:
            return None
        tail = self.cards[thread.target].now
        if thread.slot is None:
            saved = dict(moment.saved_by.get(thread.target, ()))
            return EdgeLook() if tail is not None and thread.source in saved else None
        if node.next_functions[thread.slot] is None:
            return None
        ports = tail.outputs if tail is not None else ()
        pill = thread.output < len(ports) and bool(ports[thread.output].label)
        return EdgeLook(pill, place.edges.get((thread.source, thread.slot)))


def _outside(
    recording: Recording, leaves: Collection[str | None], parts: frozenset[str]
) -> tuple[list[str], dict[tuple[str, str], str]]:
    """Tensors that have a card of their own at some step, and which nodes save them where."""
    history, last = recording.history, len(recording)

    def is_shown(key: str) -> bool:
        rows = (row for row in history.tensor_rows(key, last) if row.node is None)
        return any("constants" in parts or row.requires_grad for row in rows)

    chosen = [key for key in history.tensor_ids if key not in leaves and is_shown(key)][:OUTSIDE]
    saves: dict[tuple[str, str], str] = {}
    for key in history.node_ids:
        for node in reversed(history.node_rows(key, last)):
            for slot in node.saved:
                known = slot.tensor or slot.view_of
                if known in chosen and known is not None:
                    saves.setdefault((key, known), slot.name)
    return chosen, saves


def _ways_in(
    nodes: tuple[Node, ...], saves: Mapping[tuple[str, str], str]
) -> tuple[dict[str, tuple[Port, ...]], dict[tuple[str, str], int]]:
    """Input ports of each node, and the one where each tensor from outside enters."""
    ports = {node.id: list(cards.inputs_of(node)) for node in nodes}
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


def lives_of(
    tracks: Mapping[str, Track[Card]], steps: int
) -> Iterator[tuple[str, tuple[int, int]]]:
    """When each card is there."""
    for key, track in tracks.items():
        if track.looks:
            yield key, track.life(steps)
