"""All steps of a recording as one picture: one layout, and for every element what it looks like
at each step.

The picture of a step and what the browser shows at that step are made of the same elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Final

from gradviz.model.marks import Mark
from gradviz.model.recording import Recording
from gradviz.view import marks, stage_marks
from gradviz.view.blocks import Card
from gradviz.view.element import Element, style, svg, write, write_around
from gradviz.view.explanation_fields import explained
from gradviz.view.geometry import Frame, measure, together
from gradviz.view.layout import Direction, Layout, Point, lay_out
from gradviz.view.layout_engine import Engine
from gradviz.view.layout_links import Link, spines
from gradviz.view.options import DEFAULT, DrawOptions
from gradviz.view.stage_cast import Cast, EdgeLook, Thread, Track, lives_of
from gradviz.view.stage_explained import mark_rules, marked, marks_in
from gradviz.view.stage_places import share_nodes, share_tensors
from gradviz.view.stage_told import Told
from gradviz.view.style import css

EMPTY: Final = Layout(320.0, 60.0, {}, ())
"""Of a recording that knows no node and no tensor."""


class Stage:
    """The pictures of all steps of a recording.

    Args:
        recording: What is shown.
        options: How it is drawn.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.
    """

    def __init__(self, recording: Recording, options: DrawOptions = DEFAULT) -> None:
        self.direction: Direction = options.direction
        self._cast = Cast(recording, options.parts)
        self._steps = len(recording.facts)
        self._cards = {key: track for key, track in self._cast.cards.items() if track.looks}
        self._links = {t: track for t, track in self._cast.links.items() if track.looks}
        self._place = self._share()
        self._frames = self._measure()
        self._layout, self._paths = self._lay_out(options.engine)
        self.elements: dict[str, tuple[Element | None, ...]] = dict(self._elements())
        """Each element in every way it looks, by id; ``None``: it is not there."""
        self.turns: list[dict[str, int]] = [{} for _ in range(self._steps)]
        """Per step the elements that look another way than before, and which."""
        self._turn()
        self.marks: dict[int, tuple[Mark, ...]] = {}
        """What explanations point at, by the step at which it was noticed."""
        for step, group in explained(recording).items():
            drawn = self._there(step)
            self.marks[step] = marks_in(drawn, group)
            self._mark(step, marked(drawn, self.marks[step]))

    @property
    def summaries(self) -> list[str]:
        """A sentence about the graph at each step."""
        return self._cast.summaries

    @property
    def told(self) -> list[Told]:
        """What the browser is told at each step, without marks."""
        return self._cast.told

    def svg(self, step: int, *, engine_arrows: bool = False, variables: bool = True) -> str:
        """The complete picture of one step, the same bytes for the same recording."""
        sheet = write(style(self.css(variables, engine_arrows)))
        drawn = (
            self.written[key][number] or write(stage_marks.absent(key))
            for key, number in self.at(step).items()
        )
        picture = svg(self.size, self.summaries[step], engine_arrows, ())
        return write_around(picture, (sheet, *drawn))

    @cached_property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The elements as text, each written once for all steps; ``""``: it is not there."""
        return {
            key: tuple("" if look is None else write(look) for look in looks)
            for key, looks in self.elements.items()
        }

    def css(self, variables: bool = True, engine_arrows: bool = False) -> str:
        """The style sheet of the pictures of all steps."""
        sheet = css(variables=variables, engine_arrows=engine_arrows, steps=True)
        return sheet + mark_rules(self.drawn_marks, variables=variables)

    @property
    def drawn_marks(self) -> tuple[Mark, ...]:
        """The marks that are drawn at any step."""
        return tuple(mark for marks in self.marks.values() for mark in marks)

    @property
    def size(self) -> Point:
        """Width and height of the picture, the same at all steps."""
        return self._layout.width, self._layout.height

    def at(self, step: int) -> dict[str, int]:
        """Which way each element looks at a step."""
        found: dict[str, int] = {}
        for turn in self.turns[: step + 1]:
            found.update(turn)
        return found

    def drawn(self, step: int) -> Iterator[Element]:
        """Every element as it looks at a step."""
        for key, number in self.at(step).items():
            yield self.elements[key][number] or stage_marks.absent(key)

    def _there(self, step: int) -> dict[str, Element]:
        """Everything that is there at a step."""
        drawn = {key: self.elements[key][number] for key, number in self.at(step).items()}
        return {key: element for key, element in drawn.items() if element is not None}

    def _mark(self, step: int, looks: dict[str, Element]) -> None:
        """Let elements look another way at this step alone."""
        earlier, here = self.at(step - 1) if step else {}, self.at(step)
        for key, look in looks.items():
            if step + 1 < self._steps:
                self.turns[step + 1].setdefault(key, here[key])
            if look not in self.elements[key]:
                self.elements[key] = (*self.elements[key], look)
            self.turns[step][key] = self.elements[key].index(look)
            if earlier.get(key) == self.turns[step][key]:
                del self.turns[step][key]

    def _share(self) -> dict[str, str]:
        """For each card the one whose place it has."""
        lives = dict(lives_of(self._cards, self._steps))
        nodes = [node for node in self._cast.nodes if node.id in self._cards]
        ports = {
            node.id: (
                tuple(port.label for port in self._cast.inputs[node.id]),
                tuple(port.slot for port in self._some(node.id).outputs),
            )
            for node in nodes
        }
        place = share_nodes(nodes, lives, ports)
        forms: dict[str, object | None] = {}
        for key in self._cards:
            if key[0] == "t":
                title = self._some(key).blocks[0].lines[0].text
                uses = {(place[t.source], t.port) for t in self._links if t.target == key}
                forms[key] = (title, frozenset(uses)) if title != key else None
        return place | share_tensors(forms, lives) | {"more": "more"}

    def _some(self, key: str) -> Card:
        return next(iter(self._cards[key].looks))

    def _link(self, thread: Thread) -> Link:
        return Link(
            self._place[thread.target], thread.output, self._place[thread.source], thread.port
        )

    def _measure(self) -> dict[Card, Frame]:
        """A frame for every card in every look; all at one place have the same box."""
        boxes = dict.fromkeys(self._place[key] for key in self._cards)
        spine = spines(list(boxes), list(dict.fromkeys(map(self._link, self._links))))
        groups: dict[str, list[Card]] = {}
        for key, track in self._cards.items():
            groups.setdefault(self._place[key], []).extend(track.looks)
        found: dict[Card, Frame] = {}
        for place, group in groups.items():
            frames = [measure(card, self.direction, spine.get(place, -1)) for card in group]
            found.update(zip(group, together(frames), strict=True))
        return found

    def _lay_out(self, engine: Engine) -> tuple[Layout, dict[Link, tuple[Point, ...]]]:
        boxes = {
            self._place[key]: replace(self._frames[self._some(key)].box, id=self._place[key])
            for key in self._cards
            if self._place[key] == key
        }
        links = list(dict.fromkeys(map(self._link, self._links)))
        if not boxes:
            return EMPTY, {}
        looks = (look for track in self._links.values() for look in track.looks)
        flows = [look.flow for look in looks if look.flow is not None]
        gap = stage_marks.rank_gap(flows, self.direction)
        layout = lay_out(list(boxes.values()), links, self.direction, engine, gap)
        return layout, dict(zip(links, layout.paths, strict=True))

    def _elements(self) -> Iterator[tuple[str, tuple[Element | None, ...]]]:
        for thread, link in self._links.items():
            yield f"gv-{thread.key}", (*(self._wire(thread, look) for look in link.looks), None)
        for key, track in self._cards.items():
            place = self._layout.places[self._place[key]]
            drawn = (marks.card(self._frames[c], place, self.direction) for c in track.looks)
            if key == "more":
                drawn = (Element("g", {"id": "gv-more", **e.attributes}, e.children) for e in drawn)
            yield f"gv-{key}", (*drawn, None)

    def _wire(self, thread: Thread, look: EdgeLook) -> Element:
        link = self._link(thread)
        head = self._frames[self._some(thread.source)]
        tail = self._tail(thread, look.pill)
        label = None
        if look.flow is not None:
            place = self._layout.places[link.head]
            label = stage_marks.gradient(look.flow, head, place, thread.port, self.direction)
        arrived = "gv-flowed" if look.flow and look.flow.arrived else "gv-flow"
        return marks.wire(
            self._paths[link],
            thread.source,
            thread.target,
            thread.slot,
            marks.reach(tail, thread.output, False, self.direction),
            marks.reach(head, thread.port, True, self.direction),
            own_id=f"gv-{thread.key}",
            css=arrived if look.flow else "",
            label=label,
        )

    def _tail(self, thread: Thread, pill: bool) -> Frame:
        """A frame of the card that a link comes from, as it is while the link looks so."""
        for card in self._cards[thread.target].looks:
            has = thread.output < len(card.outputs) and bool(card.outputs[thread.output].label)
            if has == pill:
                return self._frames[card]
        return self._frames[self._some(thread.target)]

    def _turn(self) -> None:
        tracks: list[tuple[str, Track[EdgeLook] | Track[Card]]] = [
            *((f"gv-{thread.key}", track) for thread, track in self._links.items()),
            *((f"gv-{key}", track) for key, track in self._cards.items()),
        ]
        for key, track in tracks:
            if self.turns:
                self.turns[0][key] = len(track.looks)
            for step, look in track.turns:
                number = len(track.looks) if look is None else track.looks[look]  # type: ignore[index]
                self.turns[step][key] = number
