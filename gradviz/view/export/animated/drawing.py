"""A recording as frames: code beside the graph or above it, caption and position below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gradviz.model.errors import OptionError
from gradviz.model.recording import Recording
from gradviz.view.captions.caption import caption
from gradviz.view.element import Element, Value, head, style, write_lines
from gradviz.view.explanations.fields import explained
from gradviz.view.export.animated import camera, graph
from gradviz.view.export.animated.camera import Box
from gradviz.view.export.animated.cards import card_lines, card_parts
from gradviz.view.export.animated.code import ROOMS, CodeColumn
from gradviz.view.export.animated.fading import fades
from gradviz.view.export.animated.frames import Frames
from gradviz.view.export.animated.parts import Moved, Part, Shown, Window, of_frame, text
from gradviz.view.export.animated.words import CHARACTER, LINE, wrapped
from gradviz.view.graph.layout import Point
from gradviz.view.graph.step_pictures import StepPictures
from gradviz.view.outlines.recording import recording_title, summary
from gradviz.view.style import DARK, LIGHT, SIZES, coloured
from gradviz.view.text import EM

SHAPES: Final = MappingProxyType({"wide": 830.0, "square": 640.0})
"""Width of a frame by its shape: wide is that of a page on GitHub, with the code at the left;
square is for a post, with the code above."""
READABLE: Final = 11.5
"""Pixels of the smallest text of the graph: 11 in a column 800 pixels wide."""
WHOLE: Final = 0.9
"""How much smaller it may be where all of the graph is seen so."""
SCALES: Final = (READABLE / min(SIZES.values()), 1.5)
"""Enlargement of the graph: the least, at which all text is readable, and the most. Less only where
a card that a step is about would be wider than the window."""
HEIGHTS: Final = (240.0, 500.0)
"""Height of code and graph; more only where explanations need it."""
PAD: Final = 16.0
GAP: Final = 10.0
FEW: Final = 4
"""Lines of code that are visible above an explanation, and above the graph of a square frame."""
CAPTION: Final = 15.0
"""Pixels of the caption."""

_RULES: Final = """
.gv-page{fill:$card;stroke:$line;stroke-width:1}
.gv-below{fill:$head}
.gv-rule{fill:none;stroke:$line;stroke-width:.6}
.gv-code{font-size:12px}
.gv-caption{font-size:15px}
.gv-line-now{fill:$now-fill}
.gv-line-now-bar,.gv-place,.gv-way-done{fill:$now}
.gv-way{fill:$line;opacity:.5}
.gv-line-raised,.gv-line-culprit,.gv-why{fill:$modified-fill}
.gv-why{stroke:$modified;stroke-width:1.4}
.gv-line-raised-bar,.gv-line-culprit-bar,.gv-line-raised-word,.gv-line-culprit-word,\
.gv-why-title{fill:$modified}
.gv-fade{fill:$card}
.gv-fix{font-weight:600}
.gv-signal{fill:$now;stroke:$card;stroke-width:1.5}
"""


@dataclass(frozen=True, slots=True)
class FrameDrawing:
    """All frames of one size."""

    size: Point
    parts: tuple[Shown, ...]
    said: str
    """What it shows, for a screen reader."""
    animation: StepPictures
    engine_arrows: bool

    def svg(self, frame: int, *, variables: bool = False) -> str:
        """One frame, in which nothing moves."""
        return write_lines(self.around((style(self.css(variables)), *of_frame(self.parts, frame))))

    def css(self, variables: bool = True) -> str:
        """The rules of graph, code and words; with variables also the colours of a dark page."""
        rules, _ = coloured(_RULES.strip(), variables=variables)
        sheet = f"{self.animation.css(variables, self.engine_arrows)}\n{rules}"
        if not variables:
            return sheet
        dark = "".join(f"--gv-{name}:{DARK[name]};" for name in LIGHT)
        return f"{sheet}\n@media screen and (prefers-color-scheme:dark){{.gradviz-svg{{{dark}}}}}"

    def around(self, children: tuple[Element, ...]) -> Element:
        """The picture that holds elements, one image for screen readers."""
        name = "gradviz-svg gv-engine" if self.engine_arrows else "gradviz-svg"
        attributes = {**head(name, self.size), "role": "img", "aria-label": self.said}
        return Element("svg", attributes, children)


def frame_drawing(
    recording: Recording,
    animation: StepPictures,
    frames: Frames,
    engine_arrows: bool = False,
    shape: str = "wide",
) -> FrameDrawing:
    """The frames of a recording.

    Args:
        recording: What is shown.
        animation: Its graph at all steps.
        frames: Which steps.
        engine_arrows: Arrows along ``next_functions``.
        shape: One of :data:`SHAPES`.
    """
    width, is_square = SHAPES[shape], shape == "square"
    whole = graph.extent(animation, frames.steps)
    subjects = graph.subjects(recording, animation, frames.steps)
    widest = max((boxes[0].width for boxes in subjects if boxes), default=1.0)
    code = (
        _above(recording, frames, width)
        if is_square
        else _beside(recording, frames, (whole.width, widest))
    )
    cards = {
        i: card_lines(group, code.width - 4 * GAP)
        for i, step in enumerate(frames.steps)
        if (group := explained(recording).get(step, ()))
    }
    captions = [
        wrapped(str(caption(recording, step)), width - 2 * PAD, CAPTION * EM)
        for step in frames.steps
    ]
    below = max(map(len, captions)) * (CAPTION + 6) + 44
    card = max((lines.height + GAP for lines in cards.values()), default=0.0)
    there = bool(code.height or cards)
    left = 0.0 if is_square or not there else code.width
    top = min(code.height, FEW * LINE) + card + 2 * GAP if is_square and there else 0.0
    most = max(width - top - below, HEIGHTS[0]) if is_square else HEIGHTS[1]
    scale = min((width - left) / whole.width, most / whole.height, SCALES[1])
    if scale < WHOLE * SCALES[0]:
        scale = min(SCALES[0], (width - left) / widest)
    wanted = max(whole.height * scale, code.height + card + 2 * GAP, HEIGHTS[0])
    height = max(min(wanted, HEIGHTS[1]), card + FEW * LINE + 2 * GAP)
    height = top + most if is_square else height
    size = width, height + below
    room = Box(left, top, width - left, height - top)
    beside = (left or width, top or height)
    parts: list[Shown] = [
        *(Part(element, frozenset(range(len(frames)))) for element in _page(size, room)),
        *_graph(tuple(graph.graph_parts(animation, frames.steps)), *(subjects, whole, room, scale)),
        _code(code, (0.0, GAP, beside[0], beside[1] - card - 2 * GAP)),
    ]
    for i, shown in cards.items():
        corner = GAP, beside[1] - shown.height - GAP
        parts += card_parts(shown, corner, beside[0] - 2 * GAP, i)
    parts += _below(frames, captions, (width, height))
    said = f"{recording_title(recording)}, step by step: {summary(recording)}"
    return FrameDrawing(size, tuple(parts), said, animation, engine_arrows)


def check_shape(shape: object) -> str:
    """The shape of a frame, wide if not given.

    Args:
        shape: What was given.

    Raises:
        OptionError: If it is none of :data:`SHAPES`.

    Examples:
        >>> check_shape(None)
        'wide'
    """
    if shape is None:
        return "wide"
    if isinstance(shape, str) and shape in SHAPES:
        return shape
    raise OptionError(
        f"shape={shape!r} must be 'wide' or 'square', the shape of an animation: shape='square'"
    )


def _beside(recording: Recording, frames: Frames, widths: Iterable[float]) -> CodeColumn:
    """The code, narrower where one of these has room beside it only so, the first that can have
    it; else as narrow as it can be."""
    columns = [CodeColumn(recording, frames.steps, *room) for room in ROOMS]
    fitting = (
        column
        for width in widths
        for column in columns
        if column.width + width * WHOLE * SCALES[0] <= SHAPES["wide"]
    )
    return next(fitting, columns[-1])


def _above(recording: Recording, frames: Frames, width: float) -> CodeColumn:
    """The code as wide as the frame."""
    least, _ = ROOMS[0]
    beside = CodeColumn(recording, frames.steps, least, least).width - least * CHARACTER
    room = int((width - beside) / CHARACTER)
    code = CodeColumn(recording, frames.steps, room, room)
    code.width = width
    return code


def _graph(
    parts: tuple[Shown, ...],
    subjects: Sequence[Sequence[Box]],
    whole: Box,
    room: Box,
    scale: float,
) -> Iterator[Shown]:
    """The window over the graph; it fades where the graph goes on."""
    size = room.width / scale, room.height / scale
    moves = camera.offsets(subjects, whole, size)
    yield Window((room.x, room.y), (room.width, room.height), scale, Moved(parts, moves))
    for edge, frames_there in camera.beyond(moves, whole, size).items():
        for band in fades(edge, room, "gv-fade"):
            yield Part(band, frames_there)


def _code(code: CodeColumn, room: tuple[float, float, float, float]) -> Window:
    """The window over the code, which begins at the top if there is room."""
    x, y, width, height = room
    whole = Box(0.0, 0.0, width, max(code.height, height))
    moves = camera.offsets(code.subjects(), whole, (width, height))
    return Window((x, y), (width, height), 1.0, Moved(tuple(code.parts()), moves))


def _page(size: Point, room: Box) -> Iterator[Element]:
    """The ground, opaque on a page of any colour, and the lines around the graph."""
    width, whole = size
    ground: dict[str, Value] = {"x": 0.5, "y": 0.5, "width": width - 1, "height": whole - 1}
    yield Element("rect", {"class": "gv-page", **ground, "rx": 6.0})
    bottom = room.y + room.height
    first = f"M1,{room.y:.1f}H{width - 1:.1f}" if room.y else f"M{room.x:.1f},1V{bottom:.1f}"
    for line in (first, f"M1,{bottom:.1f}H{width - 1:.1f}"):
        yield Element("path", {"class": "gv-rule", "d": line})


def _below(frames: Frames, captions: list[list[str]], corner: Point) -> Iterator[Part]:
    """The caption of each frame, and where it is among all steps.

    Args:
        frames: The steps.
        captions: The lines of each.
        corner: Where the graph ends at the right and at the bottom.
    """
    (width, top), line_height = corner, CAPTION + 6
    y = top + max(map(len, captions)) * line_height + 30
    everywhere = frozenset(range(len(frames)))
    words = [f"step {number} of {frames.of}" for number in frames.numbers]
    start = PAD + max(map(len, words)) * CHARACTER + GAP
    way = width - PAD - 5 - start
    line: dict[str, Value] = {"x": start, "y": y - 6, "height": 3.0, "rx": 1.5}
    yield Part(Element("rect", {"class": "gv-way", **line, "width": way}), everywhere)
    for i, place in enumerate(frames.passed):
        here = frozenset((i,))
        for n, said in enumerate(captions[i]):
            yield Part(text(said, (PAD, top + line_height * (n + 1) + 3), "gv-caption"), here)
        yield Part(text(words[i], (PAD, y), "gv-code gv-muted"), here)
        done = way * place / max(1, frames.of)
        yield Part(Element("rect", {"class": "gv-way-done", **line, "width": done}), here)
        dot: dict[str, Value] = {"cx": start + done, "cy": y - 4.5, "r": 5.0}
        yield Part(Element("circle", {"class": "gv-place", **dot}), here)
