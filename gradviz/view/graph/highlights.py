"""Marks that findings lay over the elements of a picture, without moving anything.

As every mark they exist three times: as a glyph, as a heavy line, as a word. The reason of a mark
is in its tooltip, in the text for screen readers and in the details panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradviz.model.highlights import Highlight, HighlightKind
from gradviz.view.element import Element
from gradviz.view.graph import highlight_badges, highlight_style
from gradviz.view.graph.element_places import places_of
from gradviz.view.graph.highlight_style import OVERLAYS
from gradviz.view.text import clean


def highlighted(elements: Iterable[Element], marks: Iterable[Highlight]) -> list[Element]:
    """The elements of a picture with marks: the same without the style sheet.

    An element that nothing is marked on, nor on anything inside of it, is the same object.
    """
    elements = list(elements)
    places = places_of(elements)
    marks_on: dict[int, list[Highlight]] = {}
    for mark in marks:
        place = places.get(mark.id) or places.get(mark.id.partition(".")[0])
        if place is not None:
            marks_on.setdefault(id(place.element), []).append(mark)
    return [_overlaid(element, marks_on) for element in elements] if marks_on else elements


def highlight_legend(
    marks: Iterable[Highlight], legends: Mapping[HighlightKind, str] | None = None
) -> list[dict[str, str]]:
    """Entries of the legend for the kinds of marks there are.

    Args:
        marks: The marks.
        legends: Sentences of this picture that replace those of the table.
    """
    own = legends or {}
    return [
        {"class": OVERLAYS[kind].css, "label": own.get(kind, OVERLAYS[kind].legend)}
        for kind in _kinds(marks)
    ]


def mark_rules(marks: Iterable[Highlight], *, variables: bool = True) -> str:
    """The style sheet of marks, empty if there are none.

    Args:
        marks: The marks.
        variables: Whether colours are CSS variables.
    """
    kinds = _kinds(marks)
    return highlight_style.rules(kinds, variables=variables) if kinds else ""


def highlighted_item(item: Mapping[str, Any], marks: Iterable[Highlight]) -> dict[str, Any]:
    """The item of a node or tensor, with its marks and those of its parts.

    Args:
        item: As ``gradviz.view.documents.graph`` wrote it.
        marks: Marks of the whole picture; those of a leaf tensor with the id of its node.
    """
    own = [mark for mark in marks if mark.id.partition(".")[0] == item["id"]]
    shown = [mark for mark in own if mark.id == item["id"] or mark.words]
    sections: dict[str, list[list[str]]] = {}
    for mark in shown:
        lines = sections.setdefault(OVERLAYS[mark.kind].word, [])
        if mark.words and [_part(mark, item), clean(mark.words)] not in lines:
            lines.append([_part(mark, item), clean(mark.words)])
    on_it = _distinct([mark for mark in shown if mark.id == item["id"]])
    words = "".join(f", {text}" for text in dict.fromkeys(map(_said, on_it)))
    kinds = "".join(f" {kind}" for kind in _kinds(on_it))
    headed = [{"heading": h, "rows": lines} for h, lines in sections.items() if lines]
    return {
        **item,
        "aria": f"{item['aria']}{words}",
        "find": f"{item['find']}{kinds}",
        "details": [*headed, *item["details"]],
    }


def _distinct(marks: Sequence[Highlight]) -> list[Highlight]:
    """Marks of one element without "changed" where it is new or gone: a leaf and its tensor."""
    is_one_sided = any(mark.kind in ("new", "gone") for mark in marks)
    return [mark for mark in marks if not (is_one_sided and mark.kind == "changed")]


def _kinds(marks: Iterable[Highlight]) -> list[HighlightKind]:
    used = {mark.kind for mark in marks}
    return [kind for kind in OVERLAYS if kind in used]


def _overlaid(element: Element, marks_on: Mapping[int, list[Highlight]]) -> Element:
    inside = tuple(e if isinstance(e, str) else _overlaid(e, marks_on) for e in element.children)
    if (marks := marks_on.get(id(element))) is not None:
        return _marked(element, inside, _distinct(marks))
    is_same = all(now is before for now, before in zip(inside, element.children, strict=True))
    return element if is_same else element.holding(inside)


def _marked(
    element: Element, inside: tuple[Element | str, ...], marks: Sequence[Highlight]
) -> Element:
    """A group with a class, words and badges."""
    kinds = _kinds(marks)
    classes = [str(element.attributes["class"]), *(OVERLAYS[kind].css for kind in kinds)]
    said = list(dict.fromkeys(map(_said, marks)))
    attributes = {**element.attributes, "class": " ".join(classes)}
    if "aria-label" in attributes:
        attributes["aria-label"] = ", ".join((element.text("aria-label"), *said))
    why = list(dict.fromkeys(_said(mark) for mark in marks if mark.words))
    if why:
        inside = _with_title(inside, "\n".join(why))
    badges = highlight_badges.badges(element, kinds)
    return Element(element.tag, attributes, (*inside, *badges))


def _with_title(inside: tuple[Element | str, ...], words: str) -> tuple[Element | str, ...]:
    """A tooltip that begins with these words."""
    first = inside[0] if inside else ""
    if isinstance(first, Element) and first.tag == "title":
        return (Element("title", {}, (f"{words}\n", *first.children)), *inside[1:])
    return (Element("title", {}, (words,)), *inside)


def _said(mark: Highlight) -> str:
    return f"{mark.kind}: {mark.words}" if mark.words else mark.kind


def _part(mark: Highlight, item: Mapping[str, Any]) -> str:
    """What the mark is on, in the words of the item's own details."""
    if mark.id == item["id"]:
        return "what" if mark.kind in ("new", "changed", "gone") else "why"
    part, number = mark.id.rsplit(".", 1)
    heading = "saved tensors" if part.endswith(".saved") else "next_functions"
    found = (s["rows"] for s in item["details"] if s["heading"] == heading)
    rows: list[list[str]] = next(found, [])
    label = rows[int(number)][0] if number.isdecimal() and int(number) < len(rows) else number
    return f"{'saved' if part.endswith('.saved') else 'input'} {label}"
