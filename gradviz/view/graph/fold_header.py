"""The header of an open fold: a sign that folds it, its name and its counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import Final

from gradviz.view.element import Element
from gradviz.view.graph import card_svg
from gradviz.view.graph.card_parts import Line
from gradviz.view.style import SIZES
from gradviz.view.text import cells, shorten

HEADER: Final = 30.0
"""Height of a header."""
ASIDE: Final = 28.0
"""Pixels at its end that are free for what the browser puts there."""
_PAD: Final = 10.0
_BETWEEN: Final = 12.0
_NAME: Final = 48
_COUNTS: Final = 40
"""Characters of counts for which a frame is made wide enough; more are there where it is wider."""
_DOT: Final = "· "
_MORE: Final = "…"


def header_width(label: str, facts: tuple[str, ...]) -> float:
    """Pixels that a header takes at least."""
    drawn = _facts(label, facts)
    ends = accumulate(len(_DOT) + 1 + cells(fact) for fact in facts)
    few = sum(end <= _COUNTS + len(_DOT) + 1 for end in ends)
    more = _width(f" {_DOT}{_MORE}") if few < len(facts) else 0.0
    return round(end_of(drawn[max(1, few) - 1]) + more + ASIDE, 1)


@lru_cache(maxsize=4096)
def header(label: str, facts: tuple[str, ...], width: float | None = None) -> tuple[Element, ...]:
    """The elements of a header with its upper left corner at 0, 0; in all densities the same.

    Args:
        label: The name of the fold.
        facts: What is counted in it, the most important first.
        width: Pixels that there are: facts that do not fit are left out, and an ellipsis says so.
            If not given, all facts are there.
    """
    drawn: Iterable[Element] = _facts(label, facts)
    return *_title(label), *(drawn if width is None else fitting(drawn, width))


def fitting(elements: Iterable[Element], width: float) -> Iterator[Element]:
    """Elements of a header without the facts for which it is too narrow.

    ``widgets/src/graph/composed_svg.ts`` does the same.
    """
    for one in elements:
        if "gv-fact" not in one.classes or end_of(one) <= width - ASIDE:
            yield one
            continue
        text = next(inside for inside in one.inside if inside.tag == "text")
        yield one.holding((text.holding((f"{_DOT}{_MORE}",)),))
        return


def end_of(fact: Element) -> float:
    """Where a fact ends."""
    return float(fact.text("data-end"))


@lru_cache(maxsize=4096)
def _facts(label: str, facts: tuple[str, ...]) -> tuple[Element, ...]:
    """Each fact as an element that says where it ends."""
    return tuple(_drawn_facts(label, facts))


def _drawn_facts(label: str, facts: Iterable[str]) -> Iterator[Element]:
    at = _PAD + _name(label).width + _BETWEEN
    for number, fact in enumerate(facts):
        line = Line(f"{_DOT}{fact}" if number else fact, "gv-muted")
        drawn = tuple(card_svg.lines((line,), at, (HEADER - line.height) / 2 + 1))
        end = at + line.width
        yield Element("g", {"class": "gv-fact", "data-end": f"{end:.1f}"}, drawn)
        at = end + _width(" ")


@lru_cache(maxsize=4096)
def _title(label: str) -> tuple[Element, ...]:
    """Drawn once: at every step of a recording it is the same."""
    name = _name(label)
    return tuple(card_svg.lines((name,), _PAD, (HEADER - name.height) / 2))


def _name(label: str) -> Line:
    return Line(shorten(label, _NAME), "gv-title", SIZES["title"], "open")


def _width(text: str) -> float:
    return Line(text, "gv-muted").width
