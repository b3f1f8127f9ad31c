"""A folded graph as one picture: the insides of the open folds, put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from gradviz.model.folding import Folding
from gradviz.model.highlights import Highlight
from gradviz.view import aria
from gradviz.view.element import Element, Value, style, svg, write_lines
from gradviz.view.fold_facts import FoldFacts
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.composition import Composed, Frame, compose
from gradviz.view.graph.extent import LEFT_OUT, WIDTH, banner_height, fits_screen, written
from gradviz.view.graph.fold_header import HEADER, header
from gradviz.view.graph.fold_marks import FoldMarks
from gradviz.view.graph.highlights import with_rules
from gradviz.view.graph.inside_layout import DrawnInside, PlacedCard, PlacedLink
from gradviz.view.graph.insides import BOX, InsideDrawings
from gradviz.view.graph.layout import Direction
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph_index import places_of
from gradviz.view.style import css
from gradviz.view.text import px
from gradviz.view.whole_index import WholeIndex

FEW: Final = 4
"""Boxes below which nothing is closed so that a picture fits."""


def boxes_of(folding: Folding) -> int:
    """How many boxes a picture has at first."""
    return 1 + sum(len(folding.tree[key].members) - 1 for key in folding.opening.ids)


def fitted(folding: Folding, composed: Callable[[Folding], Composed]) -> Folding:
    """Folds of which the smallest are closed as long as the picture is larger than a screen.

    Args:
        folding: The folds.
        composed: A picture of them.
    """
    while True:
        if fits_screen(composed(folding)):
            return folding
        tree, ids = folding.tree, folding.opening.ids
        inner = (tree[key] for key in ids if ids.isdisjoint(f.id for f in tree[key].folds))
        smallest = min(inner, key=lambda fold: (fold.nodes, fold.first))
        closed = folding.closed(smallest.id)
        if boxes_of(closed) < FEW:
            return folding
        folding = closed


class FoldedDrawing:
    """Draws one folded graph.

    Args:
        folding: The folds; those around ``options.focus`` are open, too.
        options: How it is drawn.
        marks: Marks of findings; what is around the first ones is open, too, where few boxes are.

    Raises:
        OptionError: If the graph does not have the node that is the focus.
    """

    def __init__(
        self, folding: Folding, options: DrawOptions = DEFAULT, marks: Iterable[Highlight] = ()
    ) -> None:
        self.folding, self.options = folding, options
        self.graph_index = WholeIndex(folding.tree.graph)
        self.words = FoldFacts(folding, self.graph_index)
        self.drawings = InsideDrawings(folding, self.graph_index, options)
        outside = self.drawings.outside_folds
        self.marks = FoldMarks(folding.tree, self.graph_index, marks, outside, BOX)
        if folding.is_automatic:
            self.folding = fitted(
                folding, lambda one: self.composed(self.densities[0], one.opening.ids)
            )
        if options.focus:
            places_of(folding.tree.graph, 1, options.focus)
            self.folding = self.folding.opened_around(options.focus)
        self.folding = self.marks.opened(self.folding, self.boxes)

    @property
    def note(self) -> str:
        """What a reader is told of the folds: why they are not as asked for, or not of modules."""
        tree = self.folding.tree
        words = [LEFT_OUT] if tree.graph.values_left_out else []
        words += [self.folding.opening.note] if self.folding.opening.note else []
        if self.folding.is_other_model:
            words.append(
                "Nothing in this graph is of the module given as model=, "
                "so it is folded by repeated structure."
            )
        elif not any(fold.path for fold in tree):
            subject = self.graph_index.subject_typed
            words.append(
                "No module is known, so this is folded by repeated structure; "
                f"gradviz.show({subject}, model=model) folds by module."
            )
        return " ".join(words)

    @property
    def boxes(self) -> int:
        """How many boxes there are at first."""
        return boxes_of(self.folding)

    @property
    def root(self) -> str:
        """What is drawn: the whole graph, or one box for it."""
        root = self.folding.tree.root.id
        return root if root in self.folding.opening.ids else BOX

    def composed(self, density: Density, opened: Collection[str] | None = None) -> Composed:
        """The picture with some folds open; if not given those that are open at first."""
        ids = self.folding.opening.ids if opened is None else opened
        direction = self.options.direction
        return compose(self.root, ids, lambda key: self.drawn(key, density), direction)

    def drawn(self, fold_id: str, density: Density) -> DrawnInside:
        """The inside of a fold in one density, with its marks."""
        return self.marks.on(fold_id, self.drawings.drawn(fold_id, density))

    @property
    def densities(self) -> tuple[Density, ...]:
        """The densities in which it is drawn, that in which it opens first."""
        # A closed fold says in any density what is in it: compact ones leave room for more of them.
        opening = "compact" if self.options.density == "auto" else self.options.density
        others = (d for d in self.options.densities_of(self.boxes) if d != opening)
        return (opening, *others)

    def pictures(self) -> dict[Density, Element]:
        """The picture in the density in which it opens: others are put together from insides."""
        return {self.densities[0]: self.element(self.densities[0])}

    def text(self, *, variables: bool = True) -> str:
        """The picture as it is at first, as SVG text."""
        return write_lines(self.element(self.densities[0], variables=variables))

    def element(self, density: Density, *, variables: bool = True) -> Element:
        """The picture as it is at first."""
        composed, arrows = self.composed(density), self.options.engine_arrows
        sheet = style(css(variables=variables, engine_arrows=arrows, folds=True))
        words = written(self.note, composed.width)
        down = banner_height(words)
        width = max(composed.width, WIDTH if words else 0.0)
        return svg(
            (round(width, 1), round(composed.height + down, 1)),
            aria.of_graph(self.graph_index),
            arrows,
            (
                with_rules(sheet, self.marks.marks, variables=variables),
                *words,
                *self._elements(composed.moved((0.0, down))),
            ),
        )

    def _elements(self, composed: Composed) -> Iterator[Element]:
        yield from map(self.frame, composed.frames)
        open_ids = {"", *(frame.id for frame in composed.frames)}
        yield from (self.link(link, open_ids) for link in composed.links)
        yield from map(placed_card, composed.cards)

    def frame(self, frame: Frame) -> Element:
        """The frame of an open fold with its header."""
        fold = self.folding.tree[frame.id]
        label, counts = self.words.label(fold), self.words.counts(fold)
        width, height = round(frame.width, 1), round(frame.height, 1)
        attributes: dict[str, Value] = {
            "class": "gv-fold gv-open",
            "id": f"gv-{frame.id}",
            "data-id": frame.id,
            "role": "group",
            "aria-label": f"unfolded: {label}, {counts}",
            "transform": f"translate({px(frame.x)} {px(frame.y)})",
        }
        outline: dict[str, Value] = {"class": "gv-frame", "width": width, "height": height, "rx": 6}
        bar: dict[str, Value] = {"class": "gv-header", "width": width, "height": HEADER, "rx": 6}
        return Element(
            "g",
            attributes,
            (
                Element("rect", outline),
                Element("rect", bar),
                *header(label, self.words.facts(fold), frame.width),
            ),
        )

    def link(self, link: PlacedLink, open_ids: Collection[str]) -> Element:
        """A link, with its number where it is several.

        Args:
            link: The link.
            open_ids: Where it does not end, but goes on inside: open folds, and the rim.
        """
        own_id = f"gv-{link.id}" if link.is_edge else ""
        return placed_link(link, self.options.direction, own_id, open_ids)


def placed_link(
    link: PlacedLink, direction: Direction, own_id: str, open_ids: Collection[str]
) -> Element:
    """A link at its place, with its number where it is several, and without the arrow heads at
    what it only passes: open folds, and the rim."""
    path = tuple((round(x, 1) + 0.0, round(y, 1) + 0.0) for x, y in link.points)
    drawn = card_svg.link(
        path,
        link.source,
        link.target,
        link.slot,
        link.tail_reach,
        link.head_reach,
        is_edge=link.is_edge,
        own_id=own_id,
        label=card_svg.count(link.count, path[-1], direction),
    )
    ends = {"gv-head-data": link.head[0], "gv-head-engine": link.tail[0]}
    unseen = {css for css, key in ends.items() if key in open_ids}
    return drawn.holding(one for one in drawn.inside if unseen.isdisjoint(one.classes))


def placed_card(card: PlacedCard) -> Element:
    """A card at its place."""
    x, y = card.x + card.offset[0], card.y + card.offset[1]
    return card.element.changed({"transform": f"translate({px(x)} {px(y)})"})
