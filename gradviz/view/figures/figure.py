"""What drawn figures have in common: head, colours as variables, text that fits or is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradviz.view.element import Element, Value, head, style, write_lines
from gradviz.view.style import coloured, for_media
from gradviz.view.text import shorten, width_of

LEAST: Final = 5
"""Cells of text below which nothing is written."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture for a screen reader, which says what it shows."""

    name: str
    """Its class; its rules begin with it."""
    size: tuple[float, float]
    """Width and height."""
    said: str
    """What the picture shows, in words."""
    rules: str
    """Style sheet with ``$NAME`` for the colour ``--gv-NAME``."""
    parts: tuple[Element, ...]
    """What is drawn."""

    def svg(self, *, variables: bool = True) -> str:
        """The figure as SVG text; its colours as variables, or plain and light."""
        rules, used = coloured(self.rules.strip(), variables=variables)
        sheet = f"{rules}\n{for_media(sorted(used))}" if variables else rules
        attributes = {**head(f"gradviz-svg {self.name}", self.size), "role": "img"}
        attributes["aria-label"] = self.said
        return write_lines(Element("svg", attributes, (style(sheet), *self.parts)))


Figures: TypeAlias = Sequence[tuple[str, Figure]]
"""Captions and figures."""


def fitting(text: str, width: float, size: float = 11.0) -> str:
    """Text in a given width: without its middle where it is too long, ``""`` if hardly any fits.

    Examples:
        >>> fitting("model.layers.0.weight", 80), fitting("model.layers.0.weight", 20)
        ('model…eight', '')
    """
    room = int(width / width_of("m", size))
    short = shorten(text, max(room, 1))
    return short if room >= LEAST or short == text else ""


def text(x: float, y: float, words: str, css_class: str = "", anchor: str = "") -> Element:
    """A line of text; ``anchor`` is ``"middle"`` or ``"end"``."""
    named: dict[str, Value] = {"class": css_class or None, "text-anchor": anchor or None}
    return Element("text", {"x": x, "y": y, **named}, (words,))


def path(css_class: str | None, line: str) -> Element:
    """A line or an area."""
    return Element("path", {"class": css_class, "d": line})


def title(words: str) -> Element:
    """A tooltip."""
    return Element("title", {}, (words,))
