"""The stops of a recording side by side, each with its number and caption: for paper and slides."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import Final

from gradviz.model.errors import OptionError
from gradviz.view.animation.animation import Animation
from gradviz.view.element import Element, Value, style, svg, write_lines
from gradviz.view.graph.layout import Point
from gradviz.view.style import SIZES
from gradviz.view.text import EM, px

WIDTH: Final = 1200.0
"""Width of the strip in pixels."""
GAP: Final = 24.0
LINE: Final = 15.0
MOST: Final = 60
"""Pictures of one strip."""


@dataclass(frozen=True, slots=True)
class StripFrame:
    """One picture of a strip."""

    step: int
    """Its place among all steps and sub-steps."""
    number: int | str
    caption: str


class Filmstrip:
    """Steps of a recording as small pictures with number and caption.

    In a notebook it shows itself; :meth:`save` writes ``.svg``, ``.png`` or ``.html``.

    Args:
        animation: The pictures.
        frames: Which steps, with their captions.
        columns: Pictures per row.
        title: The subject, for screen readers.
        engine_arrows: Arrows along ``next_functions``.
    """

    def __init__(
        self,
        animation: Animation,
        frames: Sequence[StripFrame],
        columns: int,
        title: str,
        engine_arrows: bool = False,
    ) -> None:
        self._animation = animation
        self._frames = tuple(frames)
        self._columns = columns
        self._title = title
        self._engine_arrows = engine_arrows

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the strip to a file; the ending says what: ``.svg``, ``.png``, ``.html``.

        Raises:
            OptionError: If the ending is none of these.
        """
        ending = Path(path).suffix.lower()
        writers: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self._repr_svg_().encode(),
            ".png": self._png,
            ".html": lambda: self._page().encode(),
        }
        if ending not in writers:
            raise OptionError(
                f"cannot save as {os.fspath(path)!r}: "
                f"a filmstrip can be saved as {', '.join(writers)}"
            )
        Path(path).write_bytes(writers[ending]())

    def __str__(self) -> str:
        return "\n".join(f"{frame.number:>3}  {frame.caption}" for frame in self._frames)

    def __repr__(self) -> str:
        return f"<Filmstrip of {len(self._frames)} steps>"

    def _repr_svg_(self) -> str:
        return self._svg()

    def _repr_html_(self) -> str:
        return f'<figure aria-label="{escape(self._title)}">{self._svg()}</figure>'

    def _png(self) -> bytes:
        from gradviz.view.export.files import svg_to_png

        return svg_to_png(self._svg(variables=False))

    def _page(self) -> str:
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(self._title)}</title>\n"
            "<style>svg{max-width:100%;height:auto}figure{margin:0}</style>\n</head>\n"
            f"<body>\n{self._repr_html_()}\n</body>\n</html>\n"
        )

    def _svg(self, variables: bool = True) -> str:
        cell = (WIDTH - GAP * (self._columns - 1)) / self._columns
        box, scale = _crop(self._animation, cell)
        words = [_words(frame, cell) for frame in self._frames]
        drawn, top = [style(self._animation.css(variables, self._engine_arrows))], 0.0
        for start in range(0, len(self._frames), self._columns):
            row = range(start, min(start + self._columns, len(self._frames)))
            said = max(len(words[i]) for i in row) * LINE + 8
            for place, i in enumerate(row):
                at = place * (cell + GAP), top
                drawn.append(self._cell(i, words[i], at, said, (box, scale)))
            top += said + box[1] * scale + GAP
        size = WIDTH, max(1.0, top - GAP)
        return write_lines(svg(size, self._title, self._engine_arrows, drawn))

    def _cell(
        self, i: int, words: list[str], at: Point, said: float, size: tuple[Point, float]
    ) -> Element:
        """One picture below its caption."""
        (width, height), scale = size
        x, y = at
        room: dict[str, Value] = {
            "x": x,
            "y": y + said,
            "width": width * scale,
            "height": height * scale,
        }
        caption = [
            Element("text", {"x": x, "y": y + LINE * (n + 1) - 3}, line)
            for n, line in enumerate(_marked(words))
        ]
        frame = Element("rect", {**room, "rx": 4.0, "class": "gv-frame"})
        inside = tuple(map(_without_ids, self._animation.drawn(self._frames[i].step)))
        view = f"0 0 {px(width)} {px(height)}"
        picture = Element("svg", {**room, "viewBox": view}, inside or ("",))
        attributes: dict[str, Value] = {"role": "img", "aria-label": self._frames[i].caption}
        return Element("g", attributes, (*caption, frame, picture))


def _crop(animation: Animation, cell: float) -> tuple[Point, float]:
    """Size of one picture and how far it is made smaller; never larger than it is."""
    width, height = animation.size
    return (width, height), min(1.0, cell / width)


def _words(frame: StripFrame, cell: float) -> list[str]:
    """The caption in lines, its number first."""
    room = max(12, int(cell / (EM * SIZES["text"])))
    lines = wrap(f"{frame.number}  {frame.caption}", room, break_on_hyphens=False)
    return lines if len(lines) <= 6 else [*lines[:5], lines[5][: room - 1] + "…"]


def _marked(words: list[str]) -> list[tuple[Element | str, ...]]:
    """The lines of a caption, the number of the step in bold."""
    number, _, rest = words[0].partition(" ")
    first = (Element("tspan", {"class": "gv-name"}, (number,)), f" {rest.strip()}")
    return [first, *((line,) for line in words[1:])]


def _without_ids(element: Element) -> Element:
    """Ids stay unique: the same element is in every picture of the strip."""
    inside = (e if isinstance(e, str) else _without_ids(e) for e in element.children)
    return element.changed({"id": None}).holding(inside)
