"""Steps of a recording side by side or below each other, each with its code line and caption."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from textwrap import wrap
from typing import Final

from gradviz.view.animation.still import Still, still
from gradviz.view.element import Element, Value, style, svg, write_lines
from gradviz.view.export.animated import camera
from gradviz.view.export.animated.fading import fades
from gradviz.view.export.writing import write_as
from gradviz.view.graph.layout import Point
from gradviz.view.graph.step_pictures import Box, StepPictures
from gradviz.view.style import FONT, SIZES
from gradviz.view.text import EM, px, shorten

WIDTH: Final = 1200.0
"""Width of a strip in columns, in pixels."""
PAGE: Final = 830.0
"""Width of a page with a notebook: pictures that fit are side by side, none is made smaller."""
NARROW: Final = 250.0
"""Width that a caption needs."""
GAP: Final = 12.0
PAD: Final = 10.0
LINE: Final = 15.0
MOST: Final = 60
"""Pictures of one strip."""
TALLEST: Final = 760.0
"""Height of a picture that is not made smaller; of what is larger a part is shown."""
CUT: Final = "where an edge fades, the graph goes on"
LINES: Final = 6
"""Lines of a caption."""


@dataclass(frozen=True, slots=True)
class StripFrame:
    """One picture of a strip."""

    step: int
    """Its place among all steps and sub-steps."""
    number: int | str
    caption: str
    code: str = ""
    """Where it is in the code: ``"line 4: loss = (w * x).sum()"``."""
    of: int = 0
    """How many steps there are, if the picture says so."""
    about: tuple[camera.Box, ...] = ()
    """What the step is about, the most important first: it is shown of a picture too large."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A picture with its words, measured."""

    picture: Still
    scale: float
    width: float
    said: str
    words: tuple[tuple[Element | str, ...], ...]
    """Lines above the picture."""
    edges: tuple[camera.Edge, ...] = ()
    """Where the graph goes on beyond the picture."""

    @property
    def above(self) -> float:
        """Height of the lines above the picture."""
        return len(self.words) * LINE + 8

    @property
    def height(self) -> float:
        """Height of the picture, as large as it is drawn."""
        return self.picture.box[3] * self.scale


class Filmstrip:
    """Steps of a recording as pictures with code line and caption.

    In a notebook it shows itself; :meth:`save` writes ``.svg``, ``.png`` or ``.html``.

    Args:
        animation: The pictures.
        frames: Which steps, with their captions.
        columns: Pictures per row, all of one size, made as small as they have to be; if not given
            each has the size of what exists at its step, or shows the part that the step is about
            where that is larger than a page, and a row has those that fit on a page.
        title: The subject, for screen readers.
        engine_arrows: Arrows along ``next_functions``.
        note: A line below all pictures.
    """

    def __init__(
        self,
        animation: StepPictures,
        frames: Sequence[StripFrame],
        columns: int | None,
        title: str,
        engine_arrows: bool = False,
        note: str = "",
    ) -> None:
        self._animation = animation
        self._frames = tuple(frames)
        self._columns = columns
        self._title = title
        self._engine_arrows = engine_arrows
        self._note = note

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        animated: bool = False,
        stops: Iterable[int | str] | None = None,
        seconds: float | None = None,
        shape: str | None = None,
    ) -> None:
        """Write the strip to a file; the ending says what: ``.svg``, ``.png``, ``.html``.

        ``animated``, ``stops``, ``seconds`` and ``shape`` are options of a recording.

        Raises:
            OptionError: If the ending is none of these, or an animation is asked for.
        """
        from gradviz.view.export.files import refuse_animation

        refuse_animation(path, animated, stops, seconds, shape)
        writers: dict[str, Callable[[], str | bytes]] = {
            ".svg": self._repr_svg_,
            ".png": self._png,
            ".html": self._page,
        }
        write_as(path, "a filmstrip", writers)

    def __str__(self) -> str:
        return "\n".join(f"{frame.number:>3}  {frame.caption}" for frame in self._frames)

    def __repr__(self) -> str:
        return f"<Filmstrip of {len(self._frames)} steps>"

    def image(self) -> str:
        """The strip as SVG text for a data image, which sees no variable of its page: dark on
        light on any page, in the fonts of the reader."""
        return self._svg(
            f"{self._animation.css(False, self._engine_arrows)}\ntext{{font-family:{FONT}}}"
        )

    def _svg(self, rules: str) -> str:
        """The strip as SVG text with a style sheet."""
        sheet, rows = style(rules), list(self._rows())
        drawn, width, top = list[Element](), 1.0, 0.0
        for row in rows:
            above, left = max(cell.above for cell in row), 0.0
            for cell in row:
                drawn += _drawn(cell, (left, top), above)
                left += cell.width + GAP
            width = max(width, left - GAP)
            top += above + max(cell.height for cell in row) + GAP
        is_cut = any(cell.edges for row in rows for cell in row)
        if note := "; ".join(filter(None, (CUT if is_cut else "", self._note))):
            lines = _wrapped(note, max(width, NARROW))
            drawn += _lines(((line,) for line in lines), (0.0, top - GAP / 2), "gv-muted")
            width, top = max(width, NARROW), top + len(lines) * LINE + GAP / 2
        size = max(width, 1.0) + 2 * PAD, max(1.0, top - GAP) + 2 * PAD
        ground: dict[str, Value] = {"width": size[0], "height": size[1], "class": "gv-paper"}
        moved = Element("g", {"transform": f"translate({px(PAD)} {px(PAD)})"}, tuple(drawn))
        inside = (sheet, Element("rect", ground), *([moved] if drawn else []))
        return write_lines(svg(size, self._title, self._engine_arrows, inside))

    def _repr_svg_(self) -> str:
        return self._svg(self._animation.css(True, self._engine_arrows))

    def _repr_html_(self) -> str:
        return f'<figure aria-label="{escape(self._title)}">{self._repr_svg_()}</figure>'

    def _png(self) -> bytes:
        from gradviz.view.export.files import svg_to_png

        return svg_to_png(self._svg(self._animation.css(False, self._engine_arrows)))

    def _page(self) -> str:
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>{escape(self._title)}</title>\n"
            "<style>svg{max-width:100%;height:auto}figure{margin:0}</style>\n</head>\n"
            f"<body>\n{self._repr_html_()}\n</body>\n</html>\n"
        )

    def _rows(self) -> Iterator[list[_Cell]]:
        """The pictures row by row."""
        columns = self._columns
        if columns is not None:
            width = (WIDTH - GAP * (columns - 1)) / columns
            box = self._animation.extent(*(frame.step for frame in self._frames))
            same = [self._cell(frame, width, box) for frame in self._frames]
            yield from (same[i : i + columns] for i in range(0, len(same), columns))
            return
        row: list[_Cell] = []
        for cell in (self._cell(frame) for frame in self._frames):
            if row and sum(one.width + GAP for one in row) + cell.width > PAGE - 2 * PAD:
                yield row
                row = []
            row.append(cell)
        if row:
            yield row

    def _cell(self, frame: StripFrame, width: float = 0.0, box: Box | None = None) -> _Cell:
        """A picture with its words, in a cell of a width, or as wide as it is."""
        arrows = self._engine_arrows
        picture = still(self._animation, frame.step, engine_arrows=arrows, box=box)
        if width:
            scale = min(1.0, width / picture.box[2])
            return _Cell(picture, scale, width, frame.caption, _words(frame, width))
        picture, edges = _on_page(picture, frame.about)
        width = max(NARROW, picture.box[2])
        return _Cell(picture, 1.0, width, frame.caption, _words(frame, width), edges)


def _on_page(picture: Still, about: Sequence[camera.Box]) -> tuple[Still, tuple[camera.Edge, ...]]:
    """What has room on a page of a picture, with what its step is about; and where it goes on."""
    whole = camera.Box(*picture.box)
    room = min(whole.width, PAGE - 2 * PAD), min(whole.height, TALLEST)
    moves = camera.offsets([about], whole, room)
    (x, y), edges = moves[0], tuple(camera.beyond(moves, whole, room))
    return replace(picture, box=(-x or 0.0, -y or 0.0, *room)), edges


def _drawn(cell: _Cell, at: Point, above: float) -> list[Element]:
    """One picture below its words."""
    (x, y), (left, top, width, height) = at, cell.picture.box
    room: dict[str, Value] = {
        "x": x,
        "y": y + above,
        "width": width * cell.scale,
        "height": height * cell.scale,
    }
    frame = Element("rect", {**room, "rx": 4.0, "class": "gv-frame"})
    view = f"{px(left)} {px(top)} {px(width)} {px(height)}"
    picture = Element("svg", {**room, "viewBox": view}, cell.picture.elements or ("",))
    attributes: dict[str, Value] = {"role": "img", "aria-label": cell.said}
    window = camera.Box(x, y + above, width * cell.scale, height * cell.scale)
    faded = [band for edge in cell.edges for band in fades(edge, window, "gv-paper")]
    return [Element("g", attributes, (*_lines(cell.words, at), frame, picture, *faded))]


def _lines(
    lines: Iterable[tuple[Element | str, ...]], at: Point, css: str | None = None
) -> list[Element]:
    """Lines of text below a point."""
    x, y = at
    return [
        Element("text", {"class": css, "x": x, "y": y + LINE * (n + 1) - 3}, line)
        for n, line in enumerate(lines)
    ]


def _words(frame: StripFrame, width: float) -> tuple[tuple[Element | str, ...], ...]:
    """Number and code line, then the caption; without a code line the number begins the caption."""
    room = _room(width)
    number = f"step {frame.number} of {frame.of}" if frame.of else str(frame.number)
    bold = Element("tspan", {"class": "gv-name"}, (number,))
    if frame.code:
        code = shorten(frame.code, room - len(number) - 3, end=True)
        return (bold, f" · {code}"), *((line,) for line in _wrapped(frame.caption, width))
    first, *others = _wrapped(f"{number}  {frame.caption}", width)
    return (bold, first.removeprefix(number)), *((line,) for line in others)


def _wrapped(text: str, width: float) -> list[str]:
    """Text in lines of a width; what has no room is in the outline."""
    room = _room(width)
    lines = wrap(text, room, break_on_hyphens=False)
    if len(lines) > LINES:
        lines[LINES - 1 :] = [lines[LINES - 1][: room - 1] + "…"]
    return lines


def _room(width: float) -> int:
    """Characters in a line."""
    return max(12, int(width / (EM * SIZES["text"])))
