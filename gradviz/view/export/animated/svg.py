"""One SVG that plays by itself: style sheets show and hide, no script runs.

Each element is in the file once; a rule says at which times it is seen. Where a reader wants
less motion, and in print, it is the one frame that matters most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gradviz.view.element import Element, Value, style, write_lines
from gradviz.view.export.animated.drawing import FrameDrawing
from gradviz.view.export.animated.frames import Frames
from gradviz.view.export.animated.parts import Moved, Part, Shown, Signal, Window
from gradviz.view.graph.layout import Point
from gradviz.view.text import px

MOVE: Final = 0.4
"""Seconds that a window moves."""
SIGNAL: Final = (0.15, 1.1)
"""When a dot starts and when it has arrived, in seconds; sooner in a short frame."""
GONE: Final = 0.1
"""Seconds after which a dot that has arrived is gone."""
CALM: Final = (
    "@media print,(prefers-reduced-motion:reduce)"
    "{.gv-timed{animation:none!important}.gv-signal{display:none}}"
)


def animated_svg(drawing: FrameDrawing, frames: Frames) -> str:
    """The file, the same bytes for the same recording."""
    clock = _Clock(frames)
    drawn = tuple(clock.elements(drawing.parts))
    sheet = style(f"{drawing.css()}\n{clock.rules}")
    return write_lines(drawing.around((sheet, *drawn)))


class _Clock:
    """Gives elements the classes by which they are seen and move, and writes their rules."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._seen: dict[frozenset[int], str] = {}
        self._moves: dict[tuple[Point, ...], str] = {}
        self._signals: dict[frozenset[int], str] = {}

    @property
    def rules(self) -> str:
        """The rules of all classes that were given."""
        timed = f"animation:{self._frames.duration:g}s step-end infinite"
        found = [f".gv-timed{{{timed}}}"]
        for shown, name in self._seen.items():
            found += self._visibility(shown, name)
        for offsets, name in self._moves.items():
            found += self._movement(offsets, name)
        for shown, name in self._signals.items():
            found += self._signal(shown, name)
        return "\n".join((*found, CALM))

    def elements(self, parts: tuple[Shown, ...]) -> Iterator[Element]:
        """Everything, those that are seen at the same times together."""
        together: list[Element] = []
        last: frozenset[int] | None = None
        for part in parts:
            frames = part.frames if isinstance(part, Part) else None
            if frames != last and together:
                yield self._timed(together, last)
                together = []
            last = frames
            if isinstance(part, Part):
                together.append(part.element)
            else:
                yield self._element(part)
        if together:
            yield self._timed(together, last)

    def _timed(self, elements: list[Element], frames: frozenset[int] | None) -> Element:
        if frames is None or len(frames) == len(self._frames):
            return Element("g", {}, tuple(elements))
        name = self._seen.setdefault(frames, f"gv-f{len(self._seen)}")
        return Element("g", {"class": f"gv-timed {name}"}, tuple(elements))

    def _element(self, part: Signal | Moved | Window) -> Element:
        if isinstance(part, Window):
            return part.around((self._element(part.inside),))
        if isinstance(part, Signal):
            name = self._signals.setdefault(part.frames, f"gv-s{len(self._signals)}")
            line: dict[str, Value] = {"style": f"offset-path:path('{part.line}')"}
            return Element("circle", {"class": f"gv-signal gv-timed {name}", "r": 5.0, **line})
        x, y = part.offsets[self._frames.still]
        attributes: dict[str, Value] = {"transform": f"translate({px(x)} {px(y)})"}
        if len(set(part.offsets)) > 1:
            name = self._moves.setdefault(part.offsets, f"gv-m{len(self._moves)}")
            attributes["class"] = f"gv-timed {name}"
        return Element("g", attributes, tuple(self.elements(part.parts)))

    def _visibility(self, shown: frozenset[int], name: str) -> Iterator[str]:
        """An element is seen in these frames."""
        if self._frames.still not in shown:
            yield f".{name}{{visibility:hidden}}"
        steps, before = [], None
        for frame, start in enumerate(self._frames.starts):
            if (now := frame in shown) != before:
                steps.append(f"{self._at(start)}{{visibility:{'visible' if now else 'hidden'}}}")
            before = now
        yield from self._keyframes(name, steps)

    def _movement(self, offsets: tuple[Point, ...], name: str) -> Iterator[str]:
        """A window moves when a frame begins, and rests."""
        steps = [f"0%{{{_moved(offsets[0])}}}"]
        for i, start in enumerate(self._frames.starts):
            if not i or offsets[i] == offsets[i - 1]:
                continue
            end = start + min(MOVE, self._frames.seconds[i] / 2)
            ease = "animation-timing-function:ease-in-out"
            steps.append(f"{self._at(start)}{{{_moved(offsets[i - 1])};{ease}}}")
            steps.append(f"{self._at(end)}{{{_moved(offsets[i])}}}")
        steps.append(f"100%{{{_moved(offsets[-1])}}}")
        yield from self._keyframes(name, steps)

    def _signal(self, shown: frozenset[int], name: str) -> Iterator[str]:
        """A dot moves against the direction of a line: gradients run backward."""
        yield f".{name}{{opacity:0;offset-rotate:0deg}}"
        steps = ["0%{opacity:0;offset-distance:100%}"]
        for frame in sorted(shown):
            start, length = self._frames.starts[frame], self._frames.seconds[frame]
            first, last = (min(at, length * at / 1.5) for at in SIGNAL)
            ease = "opacity:1;offset-distance:100%;animation-timing-function:ease-in-out"
            steps.append(f"{self._at(start + first)}{{{ease}}}")
            steps.append(f"{self._at(start + last)}{{opacity:1;offset-distance:0%}}")
            steps.append(f"{self._at(start + last + GONE)}{{opacity:0;offset-distance:0%}}")
        yield from self._keyframes(name, steps)

    def _keyframes(self, name: str, steps: list[str]) -> Iterator[str]:
        yield f".{name}{{animation-name:{name}}}"
        yield f"@keyframes {name}{{{''.join(steps)}}}"

    def _at(self, seconds: float) -> str:
        return f"{100 * seconds / self._frames.duration:.3f}".rstrip("0").rstrip(".") + "%"


def _moved(offset: Point) -> str:
    return f"transform:translate({px(offset[0])}px,{px(offset[1])}px)"
