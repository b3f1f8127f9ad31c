"""Marks that findings lay over a finished picture, so that nothing moves for their sake.

As every mark they exist three times: as a glyph, as a heavy line, as a word. Why something is
marked stands in its tooltip, in what a screen reader says and in the details panel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gradviz.model.marks import Mark, MarkKind
from gradviz.model.words import plural
from gradviz.view import overlay_badges, overlay_style
from gradviz.view.overlay_style import OVERLAYS
from gradviz.view.overlay_svg import Edit, Element, apply, elements_of, end_of_group
from gradviz.view.text import clean, xml


def overlay_svg(svg: str, marks: Iterable[Mark]) -> str:
    """Lay marks over a picture; what is not drawn is marked on the node it belongs to.

    Args:
        svg: A picture of a graph or of one step of a recording.
        marks: What to mark. Marks of one kind on one element are one badge.

    Examples:
        >>> svg = '<svg><style></style><g class="gv-edge" id="gv-n0.0"><path d="M0,0C0,9 9,9 9,9"/>'
        >>> overlay_svg(svg + "</g></svg>", [Mark("n0.0", "cut")]).count("gv-edge gv-cut-here")
        1
    """
    marks = tuple(marks)
    if not marks:
        return svg
    head = svg[: svg.find("</style>")]
    rules = overlay_style.rules(_kinds(marks), variables="var(--gv-" in head)
    svg = re.sub(r'(<svg[^>]* aria-label="[^"]*)', rf"\g<1>{_gone(marks)}", svg, count=1)
    return overlay_elements(svg.replace("</style>", f"{rules}</style>", 1), marks)


def overlay_elements(svg: str, marks: Iterable[Mark]) -> str:
    """Lay marks over a piece of a picture: the same without the style sheet.

    For the elements of a player's steps, whose picture got its rules from
    :func:`overlay_rules`.
    """
    places = elements_of(svg)
    grouped: dict[Element, list[Mark]] = {}
    for mark in marks:
        element = _element(mark.id, places)
        if element is not None:
            grouped.setdefault(element, []).append(mark)
    edits = (_edits(svg, element, _telling(of_one)) for element, of_one in grouped.items())
    return apply(svg, [edit for found in edits for edit in found])


def overlay_rules(marks: Iterable[Mark]) -> str:
    """Style sheet of these marks, to stand at the end of the picture's own."""
    return overlay_style.rules(_kinds(marks))


def overlay_legend(
    marks: Iterable[Mark], legends: Mapping[MarkKind, str] | None = None
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


def overlay_wire(
    wire: Mapping[str, Any],
    marks: Iterable[Mark],
    *,
    details: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    legends: Mapping[MarkKind, str] | None = None,
) -> dict[str, Any]:
    """The document of a picture with marks in picture and legend, told in details and in words.

    Args:
        wire: As ``gradviz.view.wire.to_wire`` wrote it.
        marks: What to mark.
        details: Rows for the details panel, by id of node or tensor, besides ``mark.words``.
        legends: Sentences that replace those of the legend.
    """
    marks = tuple(marks)
    cards = leaf_cards(wire["svg"])
    rows: dict[str, list[tuple[str, str]]] = {}
    for key, lines in (details or {}).items():
        rows.setdefault(cards.get(key, key), []).extend(lines)
    told: dict[str, list[Mark]] = {}
    for mark in marks:
        key = cards.get(mark.id, mark.id)
        told.setdefault(key.partition(".")[0], []).append(replace(mark, id=key))
    items = [
        overlay_item(item, told.get(item["id"], ()), rows.get(item["id"], ()))
        for item in wire["items"]
    ]
    return {
        **wire,
        "summary": f"{wire['summary']}{_gone(marks)}",
        "svg": overlay_svg(wire["svg"], marks),
        "items": items,
        "legend": [*overlay_legend(marks, legends), *wire["legend"]],
    }


def leaf_cards(svg: str) -> dict[str, str]:
    """Ids of leaf tensors that are drawn as the card of a node, and of that node."""
    return {key: element.node for key, element in elements_of(svg).items() if element.node}


def overlay_item(
    item: Mapping[str, Any], marks: Iterable[Mark], rows: Sequence[tuple[str, str]] = ()
) -> dict[str, Any]:
    """What the browser knows of a node or tensor, with its marks and those of its parts told.

    Args:
        item: As ``gradviz.view.wire`` wrote it.
        marks: Marks of the whole picture; those of a leaf tensor with the id of its node, as
            :func:`leaf_cards` tells.
        rows: More for the details, under the first mark.
    """
    own = [mark for mark in marks if mark.id.partition(".")[0] == item["id"]]
    told = [mark for mark in own if mark.id == item["id"] or mark.words]
    sections: dict[str, list[list[str]]] = {}
    for mark in told:
        lines = sections.setdefault(OVERLAYS[mark.kind].word, [])
        if mark.words and [_part(mark, item), clean(mark.words)] not in lines:
            lines.append([_part(mark, item), clean(mark.words)])
    if rows:
        first = next(iter(sections), OVERLAYS["changed"].word)
        sections.setdefault(first, []).extend(list(row) for row in rows)
    on_it = _telling([mark for mark in told if mark.id == item["id"]])
    words = "".join(f", {text}" for text in dict.fromkeys(map(_said, on_it)))
    kinds = "".join(f" {kind}" for kind in _kinds(on_it))
    headed = [{"heading": h, "rows": lines} for h, lines in sections.items() if lines]
    return {
        **item,
        "aria": f"{item['aria']}{words}",
        "find": f"{item['find']}{kinds}",
        "details": [*headed, *item["details"]],
    }


def _telling(marks: Sequence[Mark]) -> list[Mark]:
    """Marks of one element without "changed" where it is new or gone: a leaf and its tensor."""
    is_one_sided = any(mark.kind in ("new", "gone") for mark in marks)
    return [mark for mark in marks if not (is_one_sided and mark.kind == "changed")]


def _gone(marks: Iterable[Mark]) -> str:
    """What the count of nodes has to be told with."""
    nodes = {mark.id for mark in marks if mark.kind == "gone" and re.fullmatch(r"n\d+", mark.id)}
    verb = "is" if len(nodes) == 1 else "are"
    return f"; {plural(len(nodes), 'node')} of these {verb} gone" if nodes else ""


def _kinds(marks: Iterable[Mark]) -> list[MarkKind]:
    used = {mark.kind for mark in marks}
    return [kind for kind in OVERLAYS if kind in used]


def _element(key: str, places: Mapping[str, Element]) -> Element | None:
    found = places.get(key) or places.get(key.partition(".")[0])
    return found and replace(found, node="")


def _edits(svg: str, element: Element, marks: Sequence[Mark]) -> Iterator[Edit]:
    """A class, words and badges for one group."""
    kinds = _kinds(marks)
    opening = svg[element.start : element.inside]
    classes = " ".join((element.css, *(OVERLAYS[kind].css for kind in kinds)))
    opening = opening.replace(f'class="{element.css}"', f'class="{classes}"', 1)
    said = list(dict.fromkeys(map(_said, marks)))
    label = opening.find('aria-label="')
    if label >= 0:
        close = opening.index('"', label + len('aria-label="'))
        opening = opening[:close] + "".join(f", {xml(text)}" for text in said) + opening[close:]
    yield element.start, element.inside, opening
    why = "".join(f"{xml(text)}\n" for text in said if ": " in text)
    if why:
        has_title = svg.startswith("<title>", element.inside)
        at = element.inside + (len("<title>") if has_title else 0)
        yield at, at, why if has_title else f"<title>{why.rstrip()}</title>"
    end = end_of_group(svg, element.inside)
    badges = overlay_badges.badges(element.css.split(), svg[element.inside : end], kinds)
    yield end, end, badges


def _said(mark: Mark) -> str:
    return f"{mark.kind}: {mark.words}" if mark.words else mark.kind


def _part(mark: Mark, item: Mapping[str, Any]) -> str:
    """What the mark is on, in the words of the item's own details."""
    if mark.id == item["id"]:
        return "what" if mark.kind in ("new", "changed", "gone") else "why"
    part, number = mark.id.rsplit(".", 1)
    heading = "saved tensors" if part.endswith(".saved") else "next_functions"
    found = (s["rows"] for s in item["details"] if s["heading"] == heading)
    rows: list[list[str]] = next(found, [])
    label = rows[int(number)][0] if number.isdecimal() and int(number) < len(rows) else number
    return f"{'saved' if part.endswith('.saved') else 'input'} {label}"
