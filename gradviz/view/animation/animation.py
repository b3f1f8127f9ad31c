"""All steps of a recording as one picture: one layout, and the variant of every
element at each step.

The picture of a step and the browser use the same elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Final, TypeAlias

from gradviz.model.highlights import Highlight
from gradviz.model.recording import Recording
from gradviz.view.animation import step_svg
from gradviz.view.animation.explained_steps import mark_rules, marked, marks_in
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
from gradviz.view.animation.step_items import StepItems
from gradviz.view.element import Element, style, svg, write, write_around, write_pieces
from gradviz.view.explanations.fields import explained
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import MORE, Card, Density, times
from gradviz.view.graph.extent import Extent, banner, banner_height, below
from gradviz.view.graph.geometry import CardFrame, count_gap, measure, together
from gradviz.view.graph.layout import Direction, Layout, Point, lay_out
from gradviz.view.graph.layout_links import Link, spines
from gradviz.view.graph.layout_program import LayoutProgram
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph.references import reference_id, references, used_often
from gradviz.view.style import css

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width, height in pixels."""
RIM: Final = 10.0
"""Pixels around what exists at a step: badges reach over the rim of their card."""
EMPTY: Final = Layout(320.0, 60.0, {}, ())
"""The picture of a recording without nodes and tensors."""


class Animation:
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
        self.direction: Direction = options.direction
        self._unplaced = unplaced or UnplacedDrawing(recording, options)
        self.density: Density = density or options.density_of(self._unplaced.seen)
        self._steps = len(recording.records)
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
        self._banner: tuple[Element, ...] = ()
        self._layout, self._paths = self._lay_out(options.engine)
        order = recording.history.tensor_ids
        self._opening = opening_places(
            self._cards, self._place, self._layout, self.direction, order
        ).below(banner_height(self._banner))
        self.elements: dict[str, tuple[Element | None, ...]] = dict(self._elements())
        """The variants of each element, by id; ``None``: it does not exist."""
        self.changes: list[dict[str, int]] = [{} for _ in range(self._steps)]
        """Per step, the elements whose variant changes, with the new variant."""
        self._change()
        self.marks: dict[int, tuple[Highlight, ...]] = {}
        """What explanations point at, by the step at which it was noticed."""
        for step, group in explained(recording).items():
            drawn = self.there(step)
            self.marks[step] = marks_in(drawn, group)
            self._mark(step, marked(drawn, self.marks[step]))

    @property
    def summaries(self) -> list[str]:
        """A sentence about the graph at each step."""
        return self._unplaced.summaries

    @property
    def extent_drawn(self) -> Extent:
        """How much of the graph of all steps is drawn."""
        return self._unplaced.extent

    @property
    def step_items(self) -> list[StepItems]:
        """The rows for the browser at each step, without marks."""
        return self._unplaced.step_items

    def svg(self, step: int, *, engine_arrows: bool = False, variables: bool = True) -> str:
        """The complete picture of one step, the same bytes for the same recording."""
        sheet = write(style(self.css(variables, engine_arrows)))
        drawn = (
            "".join(self.pieces[key][number]) or write(step_svg.absent(key))
            for key, number in self.at(step).items()
        )
        picture = svg(self.size, self.summaries[step], engine_arrows, ())
        return write_around(picture, (sheet, *map(write, self._banner), *drawn))

    @cached_property
    def written(self) -> dict[str, tuple[str, ...]]:
        """The variants of each element as text; ``""``: it does not exist."""
        return {key: tuple(map("".join, looks)) for key, looks in self.pieces.items()}

    @cached_property
    def pieces(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The variants of each element as text, in pieces that come again and again; none: it does
        not exist."""
        written: dict[int, str] = {}
        return {
            key: tuple(() if look is None else tuple(write_pieces(look, written)) for look in looks)
            for key, looks in self.elements.items()
        }

    def css(self, variables: bool = True, engine_arrows: bool = False) -> str:
        """The style sheet of the pictures of all steps."""
        sheet = css(variables=variables, engine_arrows=engine_arrows, steps=True)
        return sheet + mark_rules(self.drawn_marks, variables=variables)

    @property
    def drawn_marks(self) -> tuple[Highlight, ...]:
        """The marks that are drawn at any step."""
        return tuple(mark for marks in self.marks.values() for mark in marks)

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

    def extent(self, *steps: int) -> Box | None:
        """What the pictures of steps take of the whole: left, top, width, height; ``None`` if
        nothing is drawn."""
        corners = [
            point
            for step in steps
            for key in self.there(step)
            for point in self._corners(key, step)
        ]
        if not corners:
            return None
        (left, right), (top, bottom) = ((min(side), max(side)) for side in zip(*corners))
        width, height = right - left + 2 * RIM, bottom - top + 2 * RIM
        return round(left - RIM, 1), round(top - RIM, 1), round(width, 1), round(height, 1)

    def _corners(self, element: str, step: int) -> tuple[Point, ...]:
        """Points that an element is between at a step."""
        if element in self._curves:
            return self._curves[element]
        if (box := self.box(element.removeprefix("gv-"), step)) is None:
            return ()
        (x, y), (width, height) = box
        return (x, y), (x + width, y + height)

    @cached_property
    def _curves(self) -> dict[str, tuple[Point, ...]]:
        """The points of each link, by the id of its element."""
        return {f"gv-{key.key}": self._paths[self._link(key)] for key in self._links}

    def at(self, step: int) -> dict[str, int]:
        """The variant of each element at a step."""
        found: dict[str, int] = {}
        for change in self.changes[: step + 1]:
            found.update(change)
        return found

    def drawn(self, step: int) -> Iterator[Element]:
        """Every element in its variant at a step."""
        for key, number in self.at(step).items():
            yield self.elements[key][number] or step_svg.absent(key)

    def there(self, step: int) -> dict[str, Element]:
        """All elements that exist at a step."""
        drawn = {key: self.elements[key][number] for key, number in self.at(step).items()}
        return {key: element for key, element in drawn.items() if element is not None}

    def _mark(self, step: int, looks: dict[str, Element]) -> None:
        """Give elements other variants at this step alone."""
        earlier, here = self.at(step - 1) if step else {}, self.at(step)
        for key, look in looks.items():
            if step + 1 < self._steps:
                self.changes[step + 1].setdefault(key, here[key])
            if look not in self.elements[key]:
                self.elements[key] = (*self.elements[key], look)
            self.changes[step][key] = self.elements[key].index(look)
            if earlier.get(key) == self.changes[step][key]:
                del self.changes[step][key]

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


class Animations(Mapping[Density, Animation]):
    """The pictures of all steps of a recording in each density; the recording is played once.

    Args:
        recording: What is shown.
        options: How it is drawn.

    Raises:
        GraphvizNotFoundError: If no layout engine is installed.
    """

    def __init__(self, recording: Recording, options: DrawOptions = DEFAULT) -> None:
        least = options.densities_of(most_at_once(recording, options.focus))
        unplaced = UnplacedDrawing(recording, options, least)
        self.opening: Density = options.density_of(unplaced.seen)
        """The density in which the player opens."""
        self._made = {
            density: Animation(recording, options, unplaced, density)
            for density in options.densities_of(unplaced.seen)
        }

    def __getitem__(self, density: Density) -> Animation:
        return self._made[density]

    def __iter__(self) -> Iterator[Density]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)
