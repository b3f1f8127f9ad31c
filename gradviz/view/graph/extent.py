"""How much of a large graph is drawn, and how to see the rest: what the reader is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Final, Protocol

from gradviz.model.graph import Graph
from gradviz.view.element import Element
from gradviz.view.graph.layout import MARGIN
from gradviz.view.graph_index import LISTED, GraphIndex, places_of
from gradviz.view.text import EM

_FONT: Final = 11.0
_LINE: Final = 15.0
WIDTH: Final = 380.0
"""Pixels that a line of the banner has at least."""

LEFT_OUT: Final = "Values are left out."
"""What is said in the picture of a graph that was saved without numbers."""

SCREEN: Final = (1400.0, 700.0)
"""Pixels of a picture that is readable as a whole in a notebook on a laptop, at 70 %."""


STAGE: Final = (620.0, 500.0)
"""Pixels of a picture that is seen as a whole beside the code of a recording, at 100 %."""


class Sized(Protocol):
    """What has a width and a height in pixels."""

    @property
    def width(self) -> float: ...  # noqa: D102

    @property
    def height(self) -> float: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a graph is drawn and listed; nothing is said where that is all."""

    nodes: int
    drawn: int
    which: str
    """Which nodes are drawn: ``"n0 to n399"``."""
    listed: int
    which_listed: str
    example: str
    """A node that is not drawn; ``""`` if there is none."""
    subject: str
    """What a person passes to ``show``: ``"loss"``."""
    whole: str
    """What a person prints to read all: ``"gradviz.snapshot(loss)"``."""
    outside: int = 0
    outside_drawn: int = 0
    values_left_out: bool = False
    """Whether the graph was saved without numbers."""

    @property
    def drawn_words(self) -> str:
        """What is drawn, and what is left out; ``""`` if all is drawn."""
        return " ".join((*self._left_out, *self._drawn_sentences()))

    @property
    def _left_out(self) -> tuple[str, ...]:
        return (LEFT_OUT,) if self.values_left_out else ()

    @property
    def words(self) -> str:
        """The same, and what Find and the outline have."""
        if not any(self._drawn_sentences()):
            return "".join(self._left_out)
        found = "Find, Outline and totals cover all."
        if self.listed < self.nodes:
            found = (
                f"Find and Outline cover {self.listed:,} nodes: {self.which_listed}. Totals cover "
                f"all; print({self.whole}) lists all."
            )
        return f"{self.drawn_words} {found}"

    def call(self, node_id: str) -> str:
        """What a person types to see a node and those near it."""
        return f'gradviz.show({self.subject}, focus="{node_id}")'

    @property
    def document(self) -> dict[str, Any] | None:
        """As the browser gets it: the words, and what it needs for :meth:`call`."""
        if not self.words:
            return None
        return {"words": self.words, "subject": self.subject, "example": self.example}

    def _drawn_sentences(self) -> Iterator[str]:
        if self.drawn < self.nodes:
            yield f"{self.drawn:,} of {self.nodes:,} nodes are drawn: {self.which}."
        if self.outside_drawn < self.outside:
            yield f"{self.outside_drawn} of {self.outside:,} tensors outside the graph are drawn."


def extent_of(
    graph_index: GraphIndex, outside: tuple[int, int], subject: str = "", whole: str = ""
) -> Extent:
    """How much of a graph is drawn.

    Args:
        graph_index: The graph, with the nodes that are drawn.
        outside: How many tensors outside the graph have a card, and how many could have one.
        subject: What a person passes to ``show``; if not given the roots.
        whole: What a person prints to read all; if not given a snapshot of the roots.
    """
    graph, focus = graph_index.graph, graph_index.focus
    listed = listed_places(graph, focus)
    drawn = frozenset(graph_index.places)
    hidden = next((i for i in range(len(graph)) if i not in drawn), None)
    subject = subject or graph_index.subject_typed
    return Extent(
        nodes=len(graph),
        drawn=len(drawn),
        which=_which(graph, graph_index.places, focus),
        listed=len(listed),
        which_listed=_which(graph, listed, focus),
        example="" if hidden is None else graph.nodes[hidden].id,
        subject=subject,
        whole=whole or f"gradviz.snapshot({subject})",
        outside_drawn=outside[0],
        outside=outside[1],
        values_left_out=graph.values_left_out,
    )


def fits_screen(picture: Sized, share: float = 1.0) -> bool:
    """Whether a picture is readable as a whole, or would be if it were so many times smaller."""
    return picture.width <= share * SCREEN[0] and picture.height <= share * SCREEN[1]


def listed_places(graph: Graph, focus: str) -> Sequence[int]:
    """Places of the nodes that a widget can find and list."""
    return places_of(graph, LISTED, focus)


def banner(extent: Extent, width: float) -> tuple[Element, ...]:
    """The words at the top of a picture; nothing where all is drawn.

    Args:
        extent: How much is drawn.
        width: Of the picture, in pixels.
    """
    if not extent.drawn_words:
        return ()
    others = f"To draw others: {extent.call(extent.example)}" if extent.example else ""
    return written(f"{extent.drawn_words}\n{others}", width)


def written(words: str, width: float) -> tuple[Element, ...]:
    """Paragraphs at the top of a picture of such a width; nothing where there is no word."""
    room = int((max(width, WIDTH) - 2 * MARGIN) / (EM * _FONT))
    lines = [line for paragraph in words.split("\n") for line in wrap(paragraph, room)]
    if not lines:
        return ()
    rows = (
        Element("text", {"class": "gv-name", "x": MARGIN, "y": MARGIN + _LINE * (i + 0.7)}, (line,))
        for i, line in enumerate(lines)
    )
    return (Element("g", {"class": "gv-extent"}, tuple(rows)),)


def banner_height(words: Sequence[Element]) -> float:
    """Pixels that a banner takes."""
    return sum(_LINE * len(group.children) + MARGIN / 2 for group in words)


def _which(graph: Graph, places: Sequence[int], focus: str) -> str:
    if not places:
        return "none"
    if focus:
        return f"the nearest to {focus}"
    return f"{graph.nodes[places[0]].id} to {graph.nodes[places[-1]].id}"
