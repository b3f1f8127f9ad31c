"""The recorded code in each frame, its current line marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Final

from gradviz.model.recording import Recording
from gradviz.view.element import Element
from gradviz.view.explanations.fields import code_lines, explained
from gradviz.view.explanations.links import Links
from gradviz.view.export.animated.camera import Box
from gradviz.view.export.animated.parts import Part, text
from gradviz.view.export.animated.words import CHARACTER, LINE, wrapped_code

PAD: Final = 14.0
ROOMS: Final = ((28, 38), (22, 30))
"""Characters of a line: the least, and the most, above which lines are wrapped; then the same where
the graph needs the room."""
WORDS: Final = {"now": "", "raised": "× raised", "culprit": "! culprit"}
"""What is written at a marked line, by mark; each has a bar at its left, too."""
BESIDE: Final = 11
"""Characters that the word of a mark needs, with its distance."""


@dataclass(frozen=True, slots=True)
class CodeRow:
    """One line of the code."""

    place: int
    """Number of the source text."""
    number: int | None
    """Its number; ``None`` for the name of a source text."""
    lines: tuple[str, ...]
    """Its text, wrapped."""
    top: float

    @property
    def height(self) -> float:
        """In pixels."""
        return LINE * len(self.lines)


class CodeColumn:
    """The code with the marks of all frames.

    Args:
        recording: What is shown.
        steps: The step of each frame.
        least: Characters of a line for which there is always room.
        most: Characters above which lines are wrapped.
    """

    def __init__(self, recording: Recording, steps: Sequence[int], least: int, most: int) -> None:
        self._frames = len(steps)
        self._marks = [dict(_marks(recording, step)) for step in steps]
        labelled = {key for marks in self._marks for key, mark in marks.items() if WORDS[mark]}
        texts = list(_texts(recording))
        wide = [len(line) + BESIDE * ((place, n) in labelled) for place, n, line in texts]
        self.room = min(max(*wide, least), most) if wide else least
        """Characters of a line."""
        digits = max((len(str(n)) for _, n, _ in texts if n is not None), default=1)
        self._left = PAD + CHARACTER * digits + 10
        rows, top = [], 0.0
        for place, n, line in texts:
            room = self.room - BESIDE * ((place, n) in labelled)
            rows.append(CodeRow(place, n, tuple(wrapped_code(line, room)), top))
            top += rows[-1].height
        self._rows = tuple(rows)
        self.width = self._left + self.room * CHARACTER + PAD
        """Width of the column in pixels."""
        self.height = top
        """Height of all code in pixels."""

    def parts(self) -> Iterator[Part]:
        """The lines, the marked ones below them."""
        for row in self._rows:
            for mark in WORDS:
                if frames := self._marked(row, mark):
                    yield from (Part(element, frames) for element in self._mark(row, mark))
        everywhere = frozenset(range(self._frames))
        for row in self._rows:
            yield from (Part(element, everywhere) for element in self._line(row))

    def subjects(self) -> list[list[Box]]:
        """What must be visible in each frame: the current line, then the others marked."""
        order = list(WORDS)
        return [
            [
                Box(0.0, row.top, 1.0, row.height)
                for row in sorted(
                    (row for row in self._rows if (row.place, row.number) in marks),
                    key=lambda row: order.index(marks[row.place, row.number or 0]),
                )
            ]
            for marks in self._marks
        ]

    def _marked(self, row: CodeRow, mark: str) -> frozenset[int]:
        key = row.place, row.number or 0
        return frozenset(i for i, marks in enumerate(self._marks) if marks.get(key) == mark)

    def _mark(self, row: CodeRow, mark: str) -> Iterator[Element]:
        """The ground of a marked line, the bar at its left and its word."""
        css, width = f"gv-line-{mark}", self.width
        place = {"y": row.top, "height": row.height}
        yield Element("rect", {"class": css, "x": 0.0, "width": width, **place})
        yield Element("rect", {"class": f"{css}-bar", "x": 0.0, "width": 4.0, **place})
        if words := WORDS[mark]:
            left = width - PAD - len(words) * CHARACTER
            yield text(words, (left, row.top + 13), f"gv-code gv-name {css}-word")

    def _line(self, row: CodeRow) -> Iterator[Element]:
        for n, line in enumerate(row.lines):
            y = row.top + LINE * n + 13
            if row.number is None:
                yield text(line, (PAD, y), "gv-code gv-muted")
                continue
            if not n:
                x = self._left - 10 - CHARACTER * len(str(row.number))
                yield text(str(row.number), (x, y), "gv-code gv-muted")
            if line:
                yield text(line, (self._left, y), "gv-code")


def _texts(recording: Recording) -> Iterator[tuple[int, int | None, str]]:
    """Every line with its source text and number; of several sources the name above each."""
    for place, code in enumerate(recording.codes):
        if len(recording.codes) > 1:
            yield place, None, code.name
        lines = code_lines(dedent(code.text)) if code.text else []
        yield from ((place, code.first_line + n, line) for n, line in enumerate(lines))


def _marks(recording: Recording, step: int) -> Mapping[tuple[int, int], str]:
    """The marked lines of a step."""
    record, found = recording.records[step], {}
    if record.line is not None:
        found[record.code, record.line] = "raised" if record.kind == "error" else "now"
    for one in explained(recording).get(step, ()):
        at = one.cause.at if one.cause else None
        place = None if at is None else Links(one).place(at)
        if at is not None and place is not None and at.line is not None:
            found[place, at.line] = "culprit"
    return found
