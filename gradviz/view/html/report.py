"""A report as HTML without style or script: for notebooks that are not trusted, and for pages
before their script runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from gradviz.view.outlines.report import CLOSED, OPEN, closed_words, left_out
from gradviz.view.parts.image import image_html
from gradviz.view.text import xml

ROWS: Final = 400
"""Rows of a table in HTML that the widget replaces."""
_STEP: Final = "\u2003"
"""A space that HTML keeps."""


def report_html(wire: Mapping[str, Any], picture: str, *, images: bool = True) -> str:
    """Sentences, picture, figures and tables of a report, all text escaped.

    Args:
        wire: As ``gradviz.view.documents.report`` wrote it.
        picture: The picture of its graph.
        images: Pictures as data images, the only form that a notebook that is not trusted shows;
            else as SVG elements.
    """
    return "\n".join(_parts(wire, picture, images)) + "\n"


def _parts(wire: Mapping[str, Any], picture: str, images: bool) -> Iterator[str]:
    if images:
        yield f"<p><strong>{xml(wire['title'])}</strong></p>"
    if wire["sentences"]:
        yield f"<ul>{''.join(f'<li>{xml(words)}</li>' for words in wire['sentences'])}</ul>"
    yield from map(_table, wire["tables"])
    if wire["picture"]:
        summary = wire["picture"]["summary"]
        yield image_html(picture, summary) if images else picture
    for figure in wire["figures"]:
        caption, svg = figure["caption"], figure["svg"]
        yield f"<p>{xml(caption)}</p>"
        yield image_html(svg, caption) if images else svg


def _table(table: Mapping[str, Any]) -> str:
    heads = "".join(
        f'<th scope="col"{_at(column)}>{xml(column["name"])}</th>' for column in table["columns"]
    )
    shown = list(_shown(table["rows"]))
    rows = "".join(f"<tr>{''.join(_cells(row, table['columns']))}</tr>" for row in shown[:ROWS])
    more = table["more"] or "".join(left_out(len(shown), ROWS))
    closed = sum(row["inside"] for row in shown if "inside" in row and not row["open"])
    more = " ".join(filter(None, (more, closed_words(closed))))
    return (
        f"<table><caption>{xml(table['caption'])}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<p>{xml(more)}</p>" if more else "")
    )


def _shown(rows: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The rows that are in no closed block."""
    closed = 0  # level of the closed block that a row is in
    for row in rows:
        level = row.get("level", 0)
        if closed and level > closed:
            continue
        closed = level if row.get("open") is False else 0
        yield row


def _cells(row: Mapping[str, Any], columns: list[dict[str, Any]]) -> Iterator[str]:
    for place, (cell, column) in enumerate(zip(row["cells"], columns, strict=True)):
        before = "" if place else _indent(row)
        yield f"<td{_at(column)}>{before}{xml(cell['text'])}</td>"


def _indent(row: Mapping[str, Any]) -> str:
    """Spaces and a mark as in text; a style would not reach a notebook that is not trusted."""
    mark: str = (OPEN if row["open"] else CLOSED) if "inside" in row else ""
    return f"{_STEP * (row.get('level', 1) - 1)}{mark}"


def _at(column: Mapping[str, Any]) -> str:
    side = "right" if column["kind"] in ("number", "bytes") else "left"
    return f' style="text-align:{side}"'
