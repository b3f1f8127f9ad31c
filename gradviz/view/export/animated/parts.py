"""What is drawn in which frames: one tree, from which each frame and the animated SVG are made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from gradviz.view.element import Element, Value
from gradviz.view.graph.layout import Point
from gradviz.view.text import px


@dataclass(frozen=True, slots=True)
class Part:
    """An element that is seen in some frames."""

    element: Element
    frames: frozenset[int]


@dataclass(frozen=True, slots=True)
class Signal:
    """A dot that moves along a line, from its end to its start, when a frame begins."""

    line: str
    """Path data."""
    frames: frozenset[int]


@dataclass(frozen=True, slots=True)
class Moved:
    """Parts that are elsewhere in each frame."""

    parts: tuple[Shown, ...]
    offsets: tuple[Point, ...]
    """By how much, per frame."""


@dataclass(frozen=True, slots=True)
class Window:
    """A rectangle through which a part of something is seen, enlarged."""

    corner: Point
    size: Point
    scale: float
    inside: Moved

    def around(self, children: Iterable[Element]) -> Element:
        """The element that holds what is inside."""
        (x, y), (width, height) = self.corner, self.size
        view = f"0 0 {px(width / self.scale)} {px(height / self.scale)}"
        room: dict[str, Value] = {"x": x, "y": y, "width": width, "height": height}
        return Element("svg", {**room, "viewBox": view}, tuple(children))


Shown: TypeAlias = "Part | Signal | Moved | Window"


def of_frame(parts: Iterable[Shown], frame: int) -> Iterator[Element]:
    """The elements of one frame, without anything that moves."""
    for part in parts:
        if isinstance(part, Part):
            if frame in part.frames:
                yield part.element
        elif isinstance(part, Window):
            yield part.around(of_frame((part.inside,), frame))
        elif isinstance(part, Moved):
            x, y = part.offsets[frame]
            place = f"translate({px(x)} {px(y)})"
            yield Element("g", {"transform": place}, tuple(of_frame(part.parts, frame)))


def text(words: str, at: Point, css: str) -> Element:
    """A line of text, its spaces kept."""
    place: dict[str, Value] = {"x": at[0], "y": at[1]}
    return Element("text", {"class": css, **place, "xml:space": "preserve"}, (words,))
