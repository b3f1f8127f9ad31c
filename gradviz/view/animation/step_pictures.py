"""All steps of a recording as one picture: the variants of its elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, TypeAlias

from gradviz.model.highlights import Highlight
from gradviz.view.animation import step_svg
from gradviz.view.animation.explained_steps import mark_rules
from gradviz.view.animation.step_drawings import UnplacedDrawing
from gradviz.view.animation.step_items import StepItems
from gradviz.view.element import Element, style, svg, write, write_around, write_pieces
from gradviz.view.graph.card_parts import Density
from gradviz.view.graph.extent import Extent
from gradviz.view.graph.layout import Direction, Point
from gradviz.view.style import css

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, width, height in pixels."""
RIM: Final = 10.0
"""Pixels around what exists at a step: badges reach over the rim of their card."""


class StepPictures(ABC):
    """The pictures of all steps of a recording, in one density.

    Args:
        unplaced: Its cards and links.
        direction: How data flows.
        density: How much cards say.
    """

    def __init__(self, unplaced: UnplacedDrawing, direction: Direction, density: Density) -> None:
        self.direction: Direction = direction
        self.density: Density = density
        self._unplaced = unplaced
        self._steps = unplaced.steps
        self._banner: tuple[Element, ...] = ()
        self.elements: dict[str, tuple[Element | None, ...]] = {}
        """The variants of each element, by id; ``None``: it does not exist."""
        self.changes: list[dict[str, int]] = [{} for _ in range(self._steps)]
        """Per step, the elements whose variant changes, with the new variant."""
        self.marks: dict[int, tuple[Highlight, ...]] = {}
        """What explanations point at, by the step at which it was noticed."""

    @property
    @abstractmethod
    def size(self) -> Point:
        """Width and height of the picture, the same at all steps."""

    @abstractmethod
    def box(self, key: str, step: int) -> tuple[Point, Point] | None:
        """Corner and size of the box of a card at a step; ``None`` without a card."""

    @property
    @abstractmethod
    def _curves(self) -> Mapping[str, tuple[Point, ...]]:
        """The points of each link, by the id of its element."""

    @property
    def browser_looks(self) -> Mapping[str, tuple[Element | None, ...]]:
        """The variants of each element as the browser gets them."""
        return self.elements

    @property
    def browser_changes(self) -> Sequence[Mapping[str, int]]:
        """Per step, of these elements those whose variant changes."""
        return self.changes

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
            for key, looks in self.browser_looks.items()
        }

    def css(self, variables: bool = True, engine_arrows: bool = False) -> str:
        """The style sheet of the pictures of all steps."""
        sheet = css(variables=variables, engine_arrows=engine_arrows, steps=True)
        return sheet + mark_rules(self.drawn_marks, variables=variables)

    @property
    def drawn_marks(self) -> tuple[Highlight, ...]:
        """The marks that are drawn at any step."""
        return tuple(mark for marks in self.marks.values() for mark in marks)

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
