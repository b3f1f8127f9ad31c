"""What a report consists of."""

from __future__ import annotations

from collections.abc import Callable

from gradviz.model.report import Report, Table
from gradviz.view.figures.figure import Figures
from gradviz.view.parts.part import Image, ItemList, Paragraph, Part, Parts, Rows
from gradviz.view.text import clean, cleaned


def report_parts(
    findings: Report,
    figures: Figures = (),
    picture: Image | None = None,
    tables: Callable[[Table], Rows] = Rows,
) -> Parts:
    """Title and sentences, tables, pictures.

    Args:
        findings: The report.
        figures: Pictures with their captions.
        picture: The picture of its graph.
        tables: Makes the part of a table.
    """
    drawn = [Image(one.svg(), clean(caption), clean(caption)) for caption, one in figures]
    images = (*([picture] if picture else ()), *drawn)
    return Parts((head(findings), *((tables(one),) for one in findings.tables), images), 0, "")


def head(findings: Report) -> tuple[Part, ...]:
    """Title and sentences."""
    title = Paragraph(cleaned(findings.title), look="title")
    sentences = tuple(map(cleaned, findings.sentences))
    return (title, ItemList(sentences)) if sentences else (title,)
