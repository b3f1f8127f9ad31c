"""All steps as one picture, in one density: one layout, and the variants of every element. A graph
is a recording of one step.

What is in a fold is placed and drawn once, alone. A picture puts the insides of the open folds
together; the browser does the same with the same insides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final, TypeAlias

from gradviz.model.folding import Folding
from gradviz.model.highlights import Highlight
from gradviz.view.element import Element, Value, style, svg, write, write_lines
from gradviz.view.formatting import join
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Card, Density, EdgeGradient, LinkLook
from gradviz.view.graph.composition import compose
from gradviz.view.graph.drawn_scenes import DrawnScenes, Variants
from gradviz.view.graph.extent import WIDTH, banner_height
from gradviz.view.graph.fold_header import HEADER, header, header_width
from gradviz.view.graph.geometry import CardFrame, count_gap
from gradviz.view.graph.highlights import mark_rules, marked, marks_in
from gradviz.view.graph.layout import Direction, Point, spines
from gradviz.view.graph.options import DrawOptions
from gradviz.view.graph.placing import DrawnInside, Frame, PlacedCard, PlacedLink, placed, room_of
from gradviz.view.graph.scene import ALL, Scene
from gradviz.view.style import css
from gradviz.view.text import px

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width, height in pixels."""
RIM: Final = 10.0
"""Pixels around what exists at a step: badges reach over the rim of their card."""


@dataclass(slots=True)
class Looks:
    """The variants of one element."""

    drawn: tuple[Element | None, ...]
    """``None``: it does not exist."""
    at: dict[int, int]
    """The number of the variant from a step on, by the step."""

    def number(self, step: int) -> int:
        """The variant at a step."""
        return self.at[max(begun for begun in self.at if begun <= step)]

    def mark(self, step: int, look: Element, is_last: bool) -> None:
        """Give it another variant at this step alone."""
        here = self.number(step)
        if not is_last:
            self.at.setdefault(step + 1, here)
        if look not in self.drawn:
            self.drawn = (*self.drawn, look)
        self.at[step] = self.drawn.index(look)
        if step and self.number(step - 1) == self.at[step]:
            del self.at[step]


class StepPictures:
    """The pictures of all steps, in one density.

    Args:
        scenes: What is drawn.
        density: How much cards say.
        opened: The folds that are open.
    """

    def __init__(
        self, scenes: DrawnScenes, density: Density, opened: Collection[str] = frozenset()
    ) -> None:
        self.density: Density = density
        self.scenes = scenes
        """What is drawn."""
        self._options: DrawOptions = scenes.source.options
        self.direction: Direction = self._options.direction
        self.is_folded = scenes.source.folding is not None
        """Whether the browser puts its insides together."""
        self.inside = lru_cache(maxsize=scenes.kept)(self._inside)
        self.looks = lru_cache(maxsize=scenes.kept)(self._looks)
        self.marks: dict[int, tuple[Highlight, ...]] = {}
        """What explanations point at, by the step at which it was noticed."""
        self.open(opened)
        self._explain()

    def open(self, opened: Collection[str]) -> None:
        """Choose which folds are open in the pictures."""
        self.opened = opened
        for name in ("_composed", "elements", "changes", "_boxes", "_curves"):
            self.__dict__.pop(name, None)

    # ------------------------------------------------------------------ what is in a fold

    def _inside(self, fold_id: str) -> DrawnInside:
        """The inside of a fold, as large as at any step."""
        scene = self.scenes.scene(fold_id, self.density)
        looks = {wire.own_id: self.scenes.link(wire.own_id).looks for wire in scene.wires}
        written = {
            key: [look.written for look in one if look.written] for key, one in looks.items()
        }
        every = [one for ones in written.values() for one in ones]
        is_tight = self.scenes.source.boxes.is_tight and self.density == "compact"
        gap = max(
            card_svg.rank_gap(every, self.direction, is_tight),
            count_gap((wire.count for wire in scene.wires), self.direction),
        )
        room = 0.0
        words, folding = self.scenes.words, self.scenes.source.folding
        if words and folding and fold_id not in (ALL, folding.tree.root.id):
            label, heads = words.label(words.fold(fold_id)), self.scenes.head(fold_id).looks
            room = max(header_width(label, facts) for facts in heads)
        return self._place(scene, self._measured(scene, written), gap, room)

    def _place(
        self, scene: Scene, frames: Mapping[str, tuple[CardFrame, ...]], gap: float, room: float
    ) -> DrawnInside:
        return placed(scene, frames, self._options, gap, room)

    def _measured(
        self, scene: Scene, written: Mapping[str, Sequence[EdgeGradient]]
    ) -> dict[str, tuple[CardFrame, ...]]:
        """The frames of the variants of each card."""
        links = scene.links
        spine = spines(list(dict.fromkeys(e for one in links for e in (one.tail, one.head))), links)
        columns = scene.beside
        beside = {key for keys in columns.values() for key in keys}
        gaps: dict[str, float] = {}
        for wire, link in zip(scene.wires, links, strict=True):
            gap = 0.0 if link.tail in beside else card_svg.port_gap(written[wire.own_id])
            gaps[link.head] = max(gaps.get(link.head, 0.0), gap)
        variants = {card.id: self.scenes.card(card, self.density) for card in scene.cards}
        groups: dict[str, list[Variants[Card]]] = {}
        for key, one in variants.items():
            groups.setdefault(scene.places.get(key, key), []).append(one)
        found: dict[str, tuple[CardFrame, ...]] = {}
        places = {key: scene.places.get(key, key) for key in variants}
        for key, place in sorted(places.items(), key=lambda one: one[1] not in beside):
            group, number = tuple(groups[place]), spine.get(place, -1)
            inside = columns.get(place, ()) if scene.are_inside else ()
            room = room_of([found[one][0] for one in inside])
            known = self.scenes.frames(group, number, gaps.get(place, 0.0), room)
            found[key] = known[variants[key]]
        return found

    def _looks(self, fold_id: str) -> dict[str, Looks]:
        """The elements of an inside, by id: of one that can be stretched cards at 0, 0, of links
        their classes, and the header of its frame."""
        inside = self.inside(fold_id)
        at = self._shown if inside.is_picture else inside
        found = {}
        within = self.scenes.scene(fold_id, self.density).within
        for is_within in (False, True):  # what is inside of a card is drawn on it
            for link in (one for one in at.links if (one.tail[0] in within) == is_within):
                key, variants = f"gv-{link.wire.own_id}", self.scenes.link(link.wire.own_id)
                drawn = (
                    self._link(link, look) if inside.is_picture else _classes(link, look)
                    for look in variants.looks
                )
                found[key] = Looks((*drawn, None), variants.numbers())
            for card in (one for one in at.cards if (one.id in within) == is_within):
                numbers = self.scenes.card(card.card, self.density).numbers()
                looks: Iterable[Element] = self.scenes.drawn(card.frames)
                looks = map(card.moved, looks) if inside.is_picture else looks
                found[f"gv-{card.id}"] = Looks((*looks, None), numbers)
        if marks := self.scenes.marked_in(fold_id):
            there = {key: look for key, one in found.items() if (look := one.drawn[0])}
            for key, look in marked(there, marks).items():
                found[key].drawn = (look, None)
        words = self.scenes.words
        if words is not None and fold_id != ALL:
            label, heads = words.label(words.fold(fold_id)), self.scenes.head(fold_id)
            own: dict[str, Value] = {"id": f"gv-header-{fold_id}", "class": "gv-facts"}
            drawn = (Element("g", own, header(label, facts)) for facts in heads.looks)
            found[f"gv-header-{fold_id}"] = Looks((*drawn, None), heads.numbers())
        return found

    def _looks_in(self, fold_ids: Iterable[str]) -> dict[str, Looks]:
        return {key: one for fold_id in fold_ids for key, one in self.looks(fold_id).items()}

    def _explain(self) -> None:
        """Mark what explanations point at, and the folds that it is in."""
        groups = self.scenes.explained
        every = self._looks_in(self.scenes.fold_ids) if groups else {}
        for step, group in groups.items():
            now = ((key, one.drawn[one.number(step)]) for key, one in every.items())
            there = {key: look for key, look in now if look is not None}
            self.marks[step] = marks_in(there, group)
            more = dict.fromkeys(self.marks[step])
            for mark in self.marks[step]:
                around = self.scenes.around(mark.id.partition(".")[0])
                more |= dict.fromkeys(replace(mark, id=fold_id) for fold_id in around)
            for key, look in marked(there, more).items():
                every[key].mark(step, look, step + 1 == self.scenes.steps)

    # ------------------------------------------------------------------ what is put together

    def composed(self, opened: Collection[str]) -> DrawnInside:
        """The picture with these folds open."""
        knows = self.scenes.knows
        return compose(
            root_of(self.scenes.source.folding, opened),
            opened,
            lambda fold_id: self.inside(fold_id) if knows(fold_id) else None,
            self.direction,
        )

    @cached_property
    def _composed(self) -> tuple[DrawnInside, tuple[Element, ...]]:
        """The picture, and what is written at its top."""
        composed = self.composed(self.opened)
        words = self.scenes.banner(composed.width)
        return composed.moved((0.0, banner_height(words))), words

    @property
    def _shown(self) -> DrawnInside:
        return self._composed[0]

    @cached_property
    def _boxes(self) -> dict[str, PlacedCard | Frame]:
        shown: tuple[PlacedCard | Frame, ...] = (*self._shown.cards, *self._shown.frames)
        return {one.id: one for one in shown}

    @cached_property
    def _curves(self) -> dict[str, tuple[Point, ...]]:
        """The points of each link, by the id of its element."""
        return {f"gv-{link.wire.own_id}": link.points for link in self._shown.links}

    @property
    def _open(self) -> dict[str, Looks]:
        """The elements of the insides that are put together."""
        root = root_of(self.scenes.source.folding, self.opened)
        return self._looks_in((root, *(frame.id for frame in self._shown.frames)))

    @cached_property
    def elements(self) -> dict[str, tuple[Element | None, ...]]:
        """The variants of each element, by id; ``None``: it does not exist."""
        known = self._open
        if not self.is_folded:
            return {key: one.drawn for key, one in known.items()}
        found: dict[str, tuple[Element | None, ...]] = {}
        for frame in self._shown.frames:
            looks = self.scenes.head(frame.id).looks
            found[f"gv-header-{frame.id}"] = (*(self._frame(frame, one) for one in looks), None)
        for link in self._shown.links:
            variants = self.scenes.link(link.wire.own_id).looks
            found[f"gv-{link.wire.own_id}"] = (*(self._link(link, look) for look in variants), None)
        for card in self._shown.cards:
            key = f"gv-{card.id}"
            found[key] = tuple(look and card.moved(look) for look in known[key].drawn)
        return found

    @cached_property
    def changes(self) -> list[dict[str, int]]:
        """Per step, the elements whose variant changes, with the new variant."""
        known = self._open
        return self._changes({key: known[key] for key in self.elements})

    def _changes(self, known: Mapping[str, Looks]) -> list[dict[str, int]]:
        found: list[dict[str, int]] = [{} for _ in range(self.scenes.steps)]
        for key, one in known.items():
            for step, number in one.at.items():
                found[step][key] = number
        return found

    def _frame(self, frame: Frame, facts: tuple[str, ...]) -> Element:
        """The frame of an open fold with its header."""
        words = self.scenes.words
        assert words is not None
        label = words.label(words.fold(frame.id))
        width, height = round(frame.width, 1), round(frame.height, 1)
        attributes: dict[str, Value] = {
            "class": "gv-fold gv-open",
            "id": f"gv-{frame.id}",
            "data-id": frame.id,
            "role": "group",
            "aria-label": f"unfolded: {label}, {join(facts)}",
            "transform": f"translate({px(frame.x)} {px(frame.y)})",
        }
        outline: dict[str, Value] = {"class": "gv-frame", "width": width, "height": height, "rx": 6}
        bar: dict[str, Value] = {"class": "gv-header", "width": width, "height": HEADER, "rx": 6}
        parts = Element("rect", outline), Element("rect", bar), *header(label, facts, frame.width)
        return Element("g", attributes, parts)

    def _link(self, link: PlacedLink, look: LinkLook) -> Element:
        """A link at its place, with its number where it is several, and without the arrow heads at
        what it only passes: open folds, and the rim."""
        path = tuple((round(x, 1) + 0.0, round(y, 1) + 0.0) for x, y in link.points)
        label = card_svg.count(link.wire.count, path[-1], self.direction)
        if look.written is not None:
            head = self._boxes[link.head[0]]
            assert isinstance(head, PlacedCard)
            label = card_svg.gradient(
                look.written, path, head.frames[0], link.head[1], self.direction
            )
        drawn = card_svg.link(
            path,
            link.wire.source,
            link.wire.target,
            link.wire.slot,
            link.tail_reach,
            link.head_reach,
            is_edge=link.wire.is_edge,
            own_id=f"gv-{link.wire.own_id}" if link.wire.is_edge or self.scenes.is_played else "",
            css=look.css,
            label=label,
        )
        passed = {"", *(frame.id for frame in self._shown.frames)}
        ends = {"gv-head-data": link.head[0], "gv-head-engine": link.tail[0]}
        unseen = {name for name, key in ends.items() if key in passed}
        return drawn.holding(one for one in drawn.inside if unseen.isdisjoint(one.classes))

    # ------------------------------------------------------------------ what the browser gets

    def looks_of(self, fold_ids: Iterable[str]) -> dict[str, tuple[Element | None, ...]]:
        """The variants of the elements of some insides."""
        return {key: one.drawn for key, one in self._looks_in(fold_ids).items()}

    def pieces_of(self, fold_ids: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The same as text, in pieces that come again and again; none: it does not exist."""
        written = self.scenes.written
        return {key: tuple(map(written, looks)) for key, looks in self.looks_of(fold_ids).items()}

    def changes_of(self, fold_ids: Iterable[str]) -> list[dict[str, int]]:
        """Per step, of these elements those whose variant changes."""
        return self._changes(self._looks_in(fold_ids))

    # ------------------------------------------------------------------ pictures of steps

    def element(
        self, step: int = 0, *, engine_arrows: bool | None = None, variables: bool = True
    ) -> Element:
        """The complete picture of one step."""
        drawn = self.there(step).values() if self.is_folded else self.drawn(step)
        arrows = self._options.engine_arrows if engine_arrows is None else engine_arrows
        sheet = style(self.css(variables, arrows))
        return svg(
            self.size, self.scenes.summary(step), arrows, (sheet, *self._composed[1], *drawn)
        )

    def svg(
        self, step: int = 0, *, engine_arrows: bool | None = None, variables: bool = True
    ) -> str:
        """The complete picture of one step as text, the same bytes for the same recording."""
        return write_lines(self.element(step, engine_arrows=engine_arrows, variables=variables))

    def around(self, step: int, engine_arrows: bool = False) -> str:
        """The picture of a step without its elements, which the browser puts together."""
        sheet = style(self.css(True, engine_arrows))
        return write(svg(self.size, self.scenes.summary(step), engine_arrows, (sheet,)))

    def css(self, variables: bool = True, engine_arrows: bool = False) -> str:
        """The style sheet of the pictures of all steps."""
        is_played = self.scenes.is_played
        sheet = css(
            variables=variables,
            engine_arrows=engine_arrows,
            steps=is_played,
            folds=self.is_folded,
            run=self.scenes.has_run,
        )
        found = self.scenes.marks
        marks = self.drawn_marks if found is None else found.marks
        return sheet + mark_rules(marks, variables=variables)

    @property
    def size(self) -> Point:
        """Width and height of the picture, the same at all steps."""
        composed, words = self._composed
        width = max(composed.width, WIDTH if words else 0.0)
        return round(width, 1), round(composed.height + banner_height(words), 1)

    @property
    def drawn_marks(self) -> tuple[Highlight, ...]:
        """The marks that are drawn at any step."""
        return tuple(mark for marks in self.marks.values() for mark in marks)

    def box(self, key: str, step: int = 0) -> tuple[Point, Point] | None:
        """Corner and size of a card or frame, the same at all steps; ``None`` for what is in a
        closed box."""
        found = self._boxes.get(key)
        return None if found is None else ((found.x, found.y), (found.width, found.height))

    def extent(self, *steps: int) -> Box | None:
        """What the pictures of steps take of the whole: left, top, width, height; ``None`` if
        nothing is drawn."""
        corners = [
            point for step in steps for key in self.there(step) for point in self._corners(key)
        ]
        if not corners:
            return None
        (left, right), (top, bottom) = ((min(side), max(side)) for side in zip(*corners))
        width, height = right - left + 2 * RIM, bottom - top + 2 * RIM
        return round(left - RIM, 1), round(top - RIM, 1), round(width, 1), round(height, 1)

    def _corners(self, element: str) -> tuple[Point, ...]:
        """Points that an element is between."""
        if element in self._curves:
            return self._curves[element]
        if (box := self.box(element.removeprefix("gv-"))) is None:
            return ()
        (x, y), (width, height) = box
        return (x, y), (x + width, y + height)

    def at(self, step: int) -> dict[str, int]:
        """The variant of each element at a step."""
        found: dict[str, int] = {}
        for change in self.changes[: step + 1]:
            found.update(change)
        return found

    def drawn(self, step: int) -> Iterator[Element]:
        """Every element in its variant at a step."""
        for key, number in self.at(step).items():
            yield self.elements[key][number] or card_svg.absent(key)

    def there(self, step: int) -> dict[str, Element]:
        """All elements that exist at a step."""
        drawn = {key: self.elements[key][number] for key, number in self.at(step).items()}
        return {key: element for key, element in drawn.items() if element is not None}


def root_of(folding: Folding | None, opened: Collection[str]) -> str:
    """What is around everything that is drawn while some folds are open."""
    root = ALL if folding is None else folding.tree.root.id
    return root if root in opened else ALL


def _classes(link: PlacedLink, look: LinkLook) -> Element:
    """The classes of a link, as an element."""
    name = "gv-edge" if link.wire.is_edge else "gv-uses"
    return Element("g", {"class": f"{name} {look.css}".rstrip()})
