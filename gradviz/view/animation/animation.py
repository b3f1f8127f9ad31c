"""All steps of a recording as one picture: one layout, and the variant of every
element at each step.

The picture of a step and the browser use the same elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final

from gradviz.model.recording import Recording
from gradviz.view.animation import step_svg
from gradviz.view.animation.explained_steps import marked, marks_in
from gradviz.view.animation.folded_animation import FoldedAnimations
from gradviz.view.animation.opening_places import opening_places
from gradviz.view.animation.step_drawings import (
    LinkKey,
    LinkLook,
    UnplacedDrawing,
    Variants,
    merged,
    most_at_once,
    reference_variants,
)
from gradviz.view.animation.step_pictures import StepPictures
from gradviz.view.element import Element
from gradviz.view.explanations.fields import explained
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import MORE, Card, Density, times
from gradviz.view.graph.extent import banner, banner_height, below
from gradviz.view.graph.geometry import CardFrame, count_gap, measure, together
from gradviz.view.graph.layout import Layout, Point, lay_out
from gradviz.view.graph.layout_links import Link, spines
from gradviz.view.graph.layout_program import LayoutProgram
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.references import reference_id, references, used_often

EMPTY: Final = Layout(320.0, 60.0, {}, ())
"""The picture of a recording without nodes and tensors."""


class Animation(StepPictures):
    """The pictures of all steps of a recording, in one density.

    Args:
        recording: What is shown.
        options: How it is drawn.
        unplaced: Its cards and links, if they have been made.
        density: How much cards say; if not given as the options say.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.
    """

    def __init__(
        self,
        recording: Recording,
        options: DrawOptions = DEFAULT,
        unplaced: UnplacedDrawing | None = None,
        density: Density | None = None,
    ) -> None:
        unplaced = unplaced or UnplacedDrawing(recording, options)
        density = density or options.density_of(unplaced.seen)
        super().__init__(unplaced, options.direction, density)
        self._cards = {
            key: variants
            for key, variants in self._unplaced.cards[self.density].items()
            if variants.looks
        }
        self._links = {
            t: variants for t, variants in self._unplaced.links.items() if variants.looks
        }
        self._place = dict(self._unplaced.places)
        self._tails: dict[LinkKey, str] = {}
        """The reference that a link leaves from, for those that do."""
        self._refer()
        self._frames = self._measure()
        self._drawn_links = {key: self._drawn_link(key) for key in self._links}
        self._layout, self._paths = self._lay_out(options.engine)
        order = recording.history.tensor_ids
        self._opening = opening_places(
            self._cards, self._place, self._layout, self.direction, order
        ).below(banner_height(self._banner))
        self.elements = dict(self._elements())
        self._change()
        for step, group in explained(recording).items():
            drawn = self.there(step)
            self.marks[step] = marks_in(drawn, group)
            self._mark(step, marked(drawn, self.marks[step]))

    @property
    def size(self) -> Point:
        """Width and height of the picture, the same at all steps."""
        (width, height) = self._opening.size
        return max(width, self._layout.width), max(height, self._layout.height)

    def box(self, key: str, step: int) -> tuple[Point, Point] | None:
        """Corner and size of the box of a card, which move at most once, when the first node is
        made; ``None`` without a card."""
        if key not in self._cards:
            return None
        if (opening := self._opening.box(key, step)) is not None:
            return opening
        box = self._frames[self._some(key)].box
        return self._layout.places[self._place[key]], (box.width, box.height)

    @cached_property
    def _curves(self) -> dict[str, tuple[Point, ...]]:
        """The points of each link, by the id of its element."""
        return {f"gv-{key.key}": self._paths[self._link(key)] for key in self._links}

    def _port(self, link_key: LinkKey) -> int:
        return self._unplaced.port(link_key, self.density)

    def _some(self, key: str) -> Card:
        return next(iter(self._cards[key].looks))

    def _refer(self) -> None:
        """Add references where many nodes use a tensor."""
        links = {key: self._link(key) for key in self._links}
        tensors = {key for key in self._cards if self._some(key).is_of_tensor}
        often = used_often((key.target, key.source) for key in links if key.target in tensors)
        found = references(list(dict.fromkeys(links.values())), {self._place[t] for t in often})
        groups: dict[tuple[str, str], list[LinkKey]] = {}
        for key, link in links.items():
            if link in found:
                groups.setdefault((key.target, key.source), []).append(key)
        places: dict[str, str] = {}
        for (tensor, head), keys in groups.items():
            own_id = reference_id(tensor, head)
            self._place[own_id] = places.setdefault(found[links[keys[0]]], own_id)
            leaving = [self._links[key] for key in keys]
            self._cards[own_id] = reference_variants(self._cards[tensor], head, leaving)
            self._tails |= dict.fromkeys(keys, own_id)

    def _link(self, link_key: LinkKey) -> Link:
        tail = self._tails.get(link_key)
        return Link(
            self._place[tail or link_key.target],
            0 if tail else link_key.output,
            self._place[link_key.source],
            self._port(link_key),
        )

    def _measure(self) -> dict[Card, CardFrame]:
        """A frame for every variant of a card; all cards at one place have the same box."""
        boxes = dict.fromkeys(self._place[key] for key in self._cards)
        spine = spines(list(boxes), list(dict.fromkeys(map(self._link, self._links))))
        gaps: dict[str, float] = {}
        for link_key, link in self._links.items():
            flows = [look.flow for look in link.looks if look.flow is not None]
            place = self._place[link_key.source]
            gaps[place] = max(gaps.get(place, 0.0), step_svg.port_gap(flows))
        groups: dict[str, list[Card]] = {}
        for key, variants in self._cards.items():
            groups.setdefault(self._place[key], []).extend(variants.looks)
        found: dict[Card, CardFrame] = {}
        for place, group in groups.items():
            number, gap = spine.get(place, -1), gaps.get(place, 0.0)
            frames = [measure(card, self.direction, number, gap) for card in group]
            found.update(zip(group, together(frames, self.direction), strict=True))
        return found

    def _lay_out(self, engine: LayoutProgram) -> tuple[Layout, dict[Link, tuple[Point, ...]]]:
        boxes = {
            self._place[key]: replace(self._frames[self._some(key)].box, id=self._place[key])
            for key in self._cards
            if self._place[key] == key
        }
        links = list(dict.fromkeys(map(self._link, self._links)))
        if not boxes:
            return EMPTY, {}
        looks = (look for variants in self._links.values() for look in variants.looks)
        flows = [look.flow for look in looks if look.flow is not None]
        counts = (link_key.count for link_key in self._links)
        gap = max(step_svg.rank_gap(flows, self.direction), count_gap(counts, self.direction))
        layout = lay_out(list(boxes.values()), links, self.direction, engine, gap)
        self._banner = banner(self.extent_drawn, layout.width)
        layout = below(layout, self._banner)
        return layout, dict(zip(links, layout.paths, strict=True))

    def _elements(self) -> Iterator[tuple[str, tuple[Element | None, ...]]]:
        for link_key, link in self._drawn_links.items():
            drawn = (self._wire(link_key, look, tail) for look, tail in link.looks)
            yield f"gv-{link_key.key}", (*drawn, None)
        blocks: card_svg.DrawnBlocks = {}
        for key, variants in self._cards.items():
            place = self._layout.places[self._place[key]]
            drawn = (
                card_svg.card(self._frames[c], place, self.direction, blocks)
                for c in variants.looks
            )
            if key == MORE:
                drawn = (Element("g", {"id": "gv-more", **e.attributes}, e.children) for e in drawn)
            before = self._opening.frames.get(key, ())
            moved = (card_svg.card(f, self._opening.places[key], self.direction) for f in before)
            yield f"gv-{key}", (*drawn, None, *moved)

    def _drawn_link(self, link_key: LinkKey) -> Variants[tuple[LinkLook, Point]]:
        """The variants of a link, with how far it goes on to the card that it comes from."""
        tail, port = self._tails.get(link_key, link_key.target), self._link(link_key).tail_port
        made: Variants[tuple[LinkLook, Point]] = Variants()
        for step, (look, card) in merged([self._links[link_key], self._cards[tail]]):
            frame = self._frames[card or self._some(tail)]
            reach = card_svg.reach(frame, port, False, self.direction)
            made.put(step, None if look is None else (look, reach))
        return made

    def _wire(self, link_key: LinkKey, look: LinkLook, tail: Point) -> Element:
        link = self._link(link_key)
        head = self._head(link_key, look)
        label = card_svg.count(link_key.count, self._paths[link][-1], self.direction)
        if look.flow is not None:
            place = self._layout.places[link.head]
            label = step_svg.gradient(look.flow, head, place, link.head_port, self.direction)
        arrived = "gv-flowed" if look.flow and look.flow.arrived else "gv-flow"
        css = ("gv-made" if look.is_new else "", arrived if look.flow else "")
        return card_svg.link(
            self._paths[link],
            link_key.source,
            link_key.target,
            link_key.slot if link_key.count == 1 else None,
            tail,
            card_svg.reach(head, link.head_port, True, self.direction),
            is_edge=link_key.is_edge,
            own_id=f"gv-{link_key.key}",
            css=" ".join(filter(None, css)),
            label=label,
        )

    def _head(self, link_key: LinkKey, look: LinkLook) -> CardFrame:
        """The frame of the card where a link ends, in this variant of the link."""
        if link_key.source != MORE:
            return self._frames[self._some(link_key.source)]
        stubs, word = self._cards[MORE].looks, times(look.count)
        return next(self._frames[c] for c in stubs if c.inputs[link_key.port].label == word)

    def _change(self) -> None:
        all_variants: list[tuple[str, Variants[tuple[LinkLook, Point]] | Variants[Card]]] = [
            *((f"gv-{link_key.key}", variants) for link_key, variants in self._drawn_links.items()),
            *((f"gv-{key}", variants) for key, variants in self._cards.items()),
        ]
        for key, variants in all_variants:
            if self.changes:
                self.changes[0][key] = len(variants.looks)
            for step, look in variants.changes:
                number = len(variants.looks) if look is None else variants.looks[look]  # type: ignore[index]
                self.changes[step][key] = number
        for key, frames in self._opening.frames.items():
            self._open(f"gv-{key}", self._cards[key], [frame.card for frame in frames])

    def _open(self, element: str, variants: Variants[Card], looks: list[Card]) -> None:
        """Before the first node a card has variants that are elsewhere; they are the last ones."""
        until = self._opening.until
        before = [(step, look) for step, look in variants.changes if step < until]
        for step, look in before:
            if look is not None:
                self.changes[step][element] = len(variants.looks) + 1 + looks.index(look)
        if (last := before[-1][1]) is not None:
            self.changes[until].setdefault(element, variants.looks[last])


class Animations(Mapping[Density, StepPictures]):
    """The pictures of all steps of a recording in each density; the recording is played once.

    Args:
        recording: What is shown; with many nodes it is folded.
        options: How it is drawn.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.
    """

    def __init__(self, recording: Recording, options: DrawOptions = DEFAULT) -> None:
        self.opening: Density
        """The density in which the player opens."""
        self.folded: FoldedAnimations | None = None
        """Those of a recording that is folded."""
        self._made: Mapping[Density, StepPictures]
        steps = recording.folded_steps
        if steps is not None and not options.focus:
            self.folded = FoldedAnimations(recording, steps, options)
            self.opening, self._made = self.folded.opening, self.folded.made
            return
        least = options.densities_of(most_at_once(recording, options.focus))
        unplaced = UnplacedDrawing(recording, options, least)
        self.opening = options.density_of(unplaced.seen)
        self._made = {
            density: Animation(recording, options, unplaced, density)
            for density in options.densities_of(unplaced.seen)
        }

    def __getitem__(self, density: Density) -> StepPictures:
        return self._made[density]

    def __iter__(self) -> Iterator[Density]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
