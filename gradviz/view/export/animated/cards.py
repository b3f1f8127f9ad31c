"""What an explanation says in a frame: what happened, and the first fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gradviz.model.explanation import Explanation
from gradviz.view.element import Element
from gradviz.view.explanations.fields import advices, title_of
from gradviz.view.explanations.links import Links
from gradviz.view.export.animated.parts import Part, text
from gradviz.view.export.animated.words import CHARACTER, LINE, wrapped, wrapped_code
from gradviz.view.graph.layout import Point

PAD: Final = 10.0


@dataclass(frozen=True, slots=True)
class CardLines:
    """The lines of a card, each with its class."""

    lines: tuple[tuple[str, str], ...]

    @property
    def height(self) -> float:
        """Of the card, in pixels."""
        return len(self.lines) * LINE + 2 * PAD - 4


def card_lines(explanations: Sequence[Explanation], room: float) -> CardLines:
    """The card of what is noticed at one step.

    Args:
        explanations: What is noticed.
        room: Pixels of a line.
    """
    return CardLines(tuple(line for one in explanations for line in _lines(one, room)))


def card_parts(card: CardLines, corner: Point, width: float, frame: int) -> Iterator[Part]:
    """The card as it is drawn in a frame."""
    (x, y), here = corner, frozenset((frame,))
    size = {"x": x, "y": y, "width": width, "height": card.height, "rx": 6.0}
    yield Part(Element("rect", {"class": "gv-why", **size}), here)
    for n, (words, css) in enumerate(card.lines):
        yield Part(text(words, (x + PAD, y + PAD + LINE * n + 10), css), here)


def _lines(explanation: Explanation, room: float) -> Iterator[tuple[str, str]]:
    name = wrapped(title_of(explanation)[0], room)
    yield from ((words, "gv-code gv-fix gv-why-title") for words in name)
    yield from ((words, "gv-code") for words in wrapped(explanation.what, room))
    if not explanation.fixes:
        return
    fix, *others = advices(explanation, Links(explanation))
    count = len(others) + 1
    which = "Fix" if count == 1 else f"Fix 1 of {count}"
    yield from ((words, "gv-code gv-muted") for words in wrapped(f"{which}: {fix.does}", room))
    for change in fix.changes:
        where = f"{change.where}:" if change.lines else str(change.where)
        if change.where:
            yield from ((words, "gv-code gv-muted") for words in wrapped(where, room))
        for line in change.lines:
            for words in wrapped_code(line, int(room / CHARACTER)):
                yield words, "gv-code gv-fix"
