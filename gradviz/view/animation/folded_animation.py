"""All steps of a folded recording: each inside is laid out once for all of them.

An element of an inside has a variant per step. What is open is put together of them, in Python for
pictures that stand still, and in the browser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, TypeAlias

from gradviz.model.explanation import Explanation
from gradviz.model.folding import FoldedSteps, Folding
from gradviz.model.highlights import Highlight
from gradviz.model.progress import counted
from gradviz.model.recording import Recording
from gradviz.view.animation.explained_steps import mark_rules, marked, marks_in
from gradviz.view.animation.folded_drawings import FoldedUnplaced, link_key
from gradviz.view.animation.step_drawings import LinkKey, LinkLook, Variants
from gradviz.view.animation.step_pictures import StepPictures
from gradviz.view.element import Element, Value, style, svg, write, write_lines
from gradviz.view.explanations.fields import explained
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Card, Density
from gradviz.view.graph.composition import Composed, Frame, compose
from gradviz.view.graph.fold_header import HEADER, fitting, header_width
from gradviz.view.graph.folded import boxes_of, fitted, placed_link
from gradviz.view.graph.geometry import CardFrame, measure, together
from gradviz.view.graph.inside_layout import (
    DrawnInside,
    InsideScene,
    PlacedCard,
    PlacedLink,
    placed,
)
from gradviz.view.graph.insides import BOX
from gradviz.view.graph.layout import Point
from gradviz.view.graph.options import DrawOptions
from gradviz.view.style import css
from gradviz.view.text import px

ALL_DENSITIES: Final = 600
"""Nodes of a recording up to which it has the densities of the boxes that it opens with."""


class FoldedAnimation(StepPictures):
    """The pictures of all steps of a folded recording, in one density.

    Args:
        recording: What is shown.
        unplaced: Its cards and links.
        options: How it is drawn.
        density: How much cards say.
    """

    def __init__(
        self,
        recording: Recording,
        unplaced: FoldedUnplaced,
        options: DrawOptions,
        density: Density,
    ) -> None:
        super().__init__(unplaced, options.direction, density)
        self._folded, self._options = unplaced, options
        self.folding: Folding = unplaced.folding
        """Which folds are open in the pictures of steps."""
        self._cards, self._scenes = unplaced.cards[density], unplaced.scenes[density]
        self._known_frames = unplaced.frames
        self._frames: dict[str, list[CardFrame]] = {}
        """Of each card the frames of its variants."""
        self._insides: dict[str, DrawnInside] = {}
        self._keys: dict[str, tuple[str, ...]] = {}
        """The elements of each inside that is drawn."""
        self.carried: tuple[str, ...] = tuple(self._scenes)
        """The folds whose insides the browser gets with the document."""
        self._all_looks, self._all_changes = self.elements, self.changes
        """Those of the elements of the insides that are drawn: cards at 0, 0, of links their
        classes."""
        self._explain(explained(recording))
        self._shown = self.composed(self.folding)

    def open(self, folding: Folding) -> None:
        """Choose which folds are open in the pictures of steps."""
        self.folding, self._shown = folding, self.composed(folding)
        self.elements = dict(self._placed(self._shown))
        self.changes = [
            {key: number for key, number in change.items() if key in self.elements}
            for change in self._all_changes
        ]
        self.__dict__.pop("_curves", None)

    def composed(self, folding: Folding) -> Composed:
        """The picture with these folds open."""
        ids = folding.opening.ids
        root = folding.tree.root.id
        start = root if root in ids else BOX
        known = {key for key in ids if key in self._scenes}
        return compose(start, known, self.inside, self.direction)

    def inside(self, fold_id: str) -> DrawnInside:
        """The inside of a fold, as large as at any step; drawn when it is first asked for."""
        if fold_id not in self._insides:
            scene = self._roomy(fold_id, self._scenes[fold_id])
            self._insides[fold_id] = placed(scene, self._options, self._measured)
            looks = dict(self._looks(fold_id))
            self._keys[fold_id] = tuple(looks)
            self._all_looks.update(looks)
            self._change(fold_id)
        return self._insides[fold_id]

    def pieces_of(self, fold_ids: Iterable[str]) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The variants of the elements of some insides as text, in pieces; densities share what is
        equal."""
        return {
            key: tuple(map(self._folded.written, self._all_looks[key]))
            for key in self._keys_of(fold_ids)
        }

    def changes_of(self, fold_ids: Iterable[str]) -> Iterator[dict[str, int]]:
        """Per step, of the elements of some insides those whose variant changes."""
        keys = frozenset(self._keys_of(fold_ids))
        for change in self._all_changes:
            yield {key: number for key, number in change.items() if key in keys}

    def _keys_of(self, fold_ids: Iterable[str]) -> Iterator[str]:
        for fold_id in fold_ids:
            self.inside(fold_id)
            yield from self._keys[fold_id]

    def carry(self, fold_ids: Sequence[str]) -> None:
        """Choose the folds whose insides the browser gets with the document."""
        self.carried = tuple(fold_ids)
        for name in ("pieces", "browser_looks", "browser_changes"):
            self.__dict__.pop(name, None)

    @cached_property
    def pieces(self) -> dict[str, tuple[tuple[str, ...], ...]]:
        """The variants of each element that the browser gets with the document."""
        carried = counted(self.carried, "folds laid out", len(self.carried), 1)
        return self.pieces_of(carried)

    @cached_property
    def browser_looks(self) -> Mapping[str, tuple[Element | None, ...]]:
        """The variants of the elements that the browser gets with the document."""
        return {key: self._all_looks[key] for key in self._keys_of(self.carried)}

    @cached_property
    def browser_changes(self) -> Sequence[Mapping[str, int]]:
        """Per step, of these elements those whose variant changes."""
        return list(self.changes_of(self.carried))

    def svg(self, step: int, *, engine_arrows: bool = False, variables: bool = True) -> str:
        """The complete picture of one step, with the folds open that are open at first."""
        sheet = style(self.css(variables, engine_arrows))
        drawn = (sheet, *self.there(step).values())
        return write_lines(svg(self.size, self.summaries[step], engine_arrows, drawn))

    def around(self, step: int, engine_arrows: bool = False) -> str:
        """The picture of a step without its elements, which the browser puts together."""
        sheet = style(self.css(True, engine_arrows))
        return write(svg(self.size, self.summaries[step], engine_arrows, (sheet,)))

    def css(self, variables: bool = True, engine_arrows: bool = False) -> str:
        """The style sheet of the pictures of all steps."""
        sheet = css(variables=variables, engine_arrows=engine_arrows, steps=True, folds=True)
        return sheet + mark_rules(self.drawn_marks, variables=variables)

    @property
    def size(self) -> Point:
        """Width and height of the picture, the same at all steps."""
        composed = self._shown
        return round(composed.width, 1), round(composed.height, 1)

    def box(self, key: str, step: int) -> tuple[Point, Point] | None:
        """Corner and size of a card or frame; ``None`` for what is in a closed box."""
        shapes: tuple[PlacedCard | Frame, ...] = (*self._shown.cards, *self._shown.frames)
        found = next((one for one in shapes if one.id == key), None)
        return None if found is None else ((found.x, found.y), (found.width, found.height))

    @cached_property
    def _curves(self) -> dict[str, tuple[Point, ...]]:
        return {f"gv-{link.id or _own_id(link)}": link.points for link in self._shown.links}

    def _roomy(self, fold_id: str, scene: InsideScene) -> InsideScene:
        """As wide as its header at any step."""
        if fold_id == BOX or not scene.room:
            return scene
        label = self._folded.label(fold_id)
        rooms = (header_width(label, words) for words in self._folded.heads[fold_id].looks)
        return replace(scene, room=max((scene.room, *rooms)))

    def _measured(self, card: Card, spine: int) -> CardFrame:
        """The frame of a card, as large as those of all of its variants."""
        variants = self._cards[card.id]
        key = id(variants), spine
        if key not in self._known_frames:
            looks = [*variants.looks] or [card]
            frames = [measure(one, self.direction, spine) for one in looks]
            frames = together(frames, self.direction)
            height = max(frame.height for frame in frames)
            self._known_frames[key] = [
                one if one.height == height else replace(one, height=height) for one in frames
            ]
        frames = self._frames[card.id] = self._known_frames[key]
        # A link goes on to the card, under a pill that is there at some steps.
        return min(frames, key=lambda frame: sum(bool(one.label) for one in frame.card.outputs))

    def _looks(self, fold_id: str) -> Iterator[tuple[str, tuple[Element | None, ...]]]:
        for key, links in self._links_in(fold_id):
            yield f"gv-{key.key}", (*(_link_look(look, key.is_edge) for look in links.looks), None)
        known, blocks = self._folded.drawn, self._folded.blocks
        for own_id, cards in self._cards_in(fold_id):
            if not cards.looks:
                yield f"gv-{own_id}", (None,)
                continue
            frames = self._frames[own_id]
            if (drawn_as := id(frames)) not in known:
                known[drawn_as] = tuple(
                    card_svg.card(one, (0.0, 0.0), self.direction, blocks) for one in frames
                )
            yield f"gv-{own_id}", (*known[drawn_as], None)
        if fold_id in self._folded.heads:
            yield f"gv-header-{fold_id}", self._folded.drawn_header(fold_id)

    def _links_in(self, fold_id: str) -> Iterator[tuple[LinkKey, Variants[LinkLook]]]:
        keys = map(link_key, self._scenes[fold_id].wires)
        return ((key, self._folded.links[key]) for key in keys)

    def _cards_in(self, fold_id: str) -> Iterator[tuple[str, Variants[Card]]]:
        return ((card.id, self._cards[card.id]) for card in self._scenes[fold_id].cards)

    def _change(self, fold_id: str) -> None:
        heads = self._folded.heads.get(fold_id)
        variants: dict[str, _AnyVariants] = {
            **{f"gv-{key.key}": links for key, links in self._links_in(fold_id)},
            **{f"gv-{key}": cards for key, cards in self._cards_in(fold_id)},
            **({f"gv-header-{fold_id}": heads} if heads else {}),
        }
        for key, one in variants.items():
            if self._all_changes:
                self._all_changes[0][key] = len(one.looks)
            for step, look in one.changes:
                number = len(one.looks) if look is None else one.looks[look]  # type: ignore[index]
                self._all_changes[step][key] = number

    def _explain(self, groups: Mapping[int, Iterable[Explanation]]) -> None:
        """Mark what explanations point at, and the folds that it is in."""
        if not groups:
            return
        for fold_id in self._scenes:
            self.inside(fold_id)
        leaves = self._folded.recording.graph.leaf_nodes
        for step, group in groups.items():
            drawn = {
                key: one for key, one in self.there(step).items() if "data-id" in one.attributes
            }
            self.marks[step] = marks_in(drawn, group)
            more: dict[Highlight, None] = dict.fromkeys(self.marks[step])
            for mark in self.marks[step]:
                node = mark.id.partition(".")[0]
                for fold_id in self._folded.around.get(leaves.get(node, node), ()):
                    more[replace(mark, id=fold_id)] = None
            self._mark(step, marked(drawn, more))

    def _placed(self, composed: Composed) -> Iterator[tuple[str, tuple[Element | None, ...]]]:
        """The elements of the open folds, each at its place."""
        for frame in composed.frames:
            key = f"gv-header-{frame.id}"
            yield key, tuple(self._frame(frame, look) for look in self._all_looks[key])
        open_ids = {"", *(frame.id for frame in composed.frames)}
        for link in composed.links:
            own_id = f"gv-{link.id or _own_id(link)}"
            drawn = (self._link(link, look, own_id, open_ids) for look in self._all_looks[own_id])
            yield own_id, tuple(drawn)
        for card in composed.cards:
            x, y = card.x + card.offset[0], card.y + card.offset[1]
            at: dict[str, Value] = {"transform": f"translate({px(x)} {px(y)})"}
            looks = self._all_looks[f"gv-{card.id}"]
            yield f"gv-{card.id}", tuple(look and look.changed(at) for look in looks)

    def _frame(self, frame: Frame, look: Element | None) -> Element | None:
        if look is None:
            return None
        width, height = round(frame.width, 1), round(frame.height, 1)
        outline: dict[str, Value] = {"class": "gv-frame", "width": width, "height": height, "rx": 6}
        bar: dict[str, Value] = {"class": "gv-header", "width": width, "height": HEADER, "rx": 6}
        attributes: dict[str, Value] = {
            "class": "gv-fold gv-open",
            "id": f"gv-{frame.id}",
            "data-id": frame.id,
            "role": "group",
            "transform": f"translate({px(frame.x)} {px(frame.y)})",
        }
        facts = look.holding(fitting(look.inside, frame.width))
        return Element("g", attributes, (Element("rect", outline), Element("rect", bar), facts))

    def _link(
        self, link: PlacedLink, look: Element | None, own_id: str, open_ids: set[str]
    ) -> Element | None:
        if look is None:
            return None
        drawn = placed_link(link, self.direction, own_id, open_ids)
        return drawn.changed({"class": look.text("class")})


_AnyVariants: TypeAlias = Variants[LinkLook] | Variants[Card] | Variants[tuple[str, ...]]


def _own_id(link: PlacedLink) -> str:
    return f"{link.source}.{link.target}"


def _link_look(look: LinkLook, is_edge: bool) -> Element:
    """The classes of a link at a step, as an element."""
    names = ["gv-edge" if is_edge else "gv-uses"]
    if look.is_new:
        names.append("gv-made")
    if look.flow:
        names.append("gv-flowed" if look.flow.arrived else "gv-flow")
    return Element("g", {"class": " ".join(names)})


class FoldedAnimations:
    """The pictures of a folded recording in each density.

    Args:
        recording: What is shown.
        steps: Its folds.
        options: How it is drawn.
    """

    def __init__(self, recording: Recording, steps: FoldedSteps, options: DrawOptions) -> None:
        self.opening: Density = "compact" if options.density == "auto" else options.density
        """The density in which the player opens."""
        offered = densities_of(options, len(recording.graph), boxes_of(steps.folding))
        densities = (self.opening, *(d for d in offered if d != self.opening))
        self.unplaced = FoldedUnplaced(recording, steps, options, densities)
        self.made: dict[Density, FoldedAnimation] = {
            density: FoldedAnimation(recording, self.unplaced, options, density)
            for density in densities
        }
        first = self.made[self.opening]
        folding = steps.folding
        if folding.is_automatic:
            folding = fitted(folding, first.composed)
        self.folding = self._around_marks(folding, first)
        """Which folds are open at first."""
        for one in self.made.values():
            one.open(self.folding)

    def bytes_of(self, fold_id: str) -> int:
        """How large an inside is in all densities, with the variants of its elements, about."""
        texts = (
            "".join(look)
            for one in self.made.values()
            for looks in one.pieces_of([fold_id]).values()
            for look in looks
        )
        return sum(map(len, texts))

    def carry(self, fold_ids: Sequence[str]) -> None:
        """Choose the folds whose insides the browser gets with the document."""
        for one in self.made.values():
            one.carry(fold_ids)

    @property
    def carried(self) -> tuple[str, ...]:
        """The folds whose insides the browser gets with the document."""
        return self.made[self.opening].carried

    def _around_marks(self, folding: Folding, animation: FoldedAnimation) -> Folding:
        """What explanations point at is to be seen."""
        tree = folding.tree
        for key in dict.fromkeys(mark.id.partition(".")[0] for mark in animation.drawn_marks):
            node = tree.graph.leaf_nodes.get(key, key)
            if node in self.unplaced.around:
                folding = folding.opened_around(node)
        return folding


def densities_of(options: DrawOptions, nodes: int, boxes: int) -> tuple[Density, ...]:
    """The densities of a folded recording: those of a picture with the boxes that it opens with;
    of a very large one, each of whose steps is drawn in each density, those of its size.

    Args:
        options: How it is drawn.
        nodes: Nodes of its graph.
        boxes: Boxes that it opens with.

    Examples:
        >>> densities_of(DrawOptions(), nodes=400, boxes=12)
        ('compact', 'normal', 'full')
        >>> densities_of(DrawOptions(), nodes=1000, boxes=12)
        ('compact', 'full')
    """
    return options.densities_of(boxes if nodes <= ALL_DENSITIES else nodes)
