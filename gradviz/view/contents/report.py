"""What a report consists of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradviz.model.formatting import plural
from gradviz.model.report import Report, Table
from gradviz.view.figures.figure import Figures
from gradviz.view.parts.part import Details, Image, ItemList, Paragraph, Part, Parts, Rows
from gradviz.view.text import clean, cleaned


def report_parts(
    findings: Report,
    figures: Figures = (),
    picture: Image | None = None,
    tables: Callable[[Table], Rows] = Rows,
) -> Parts:
    """The answer, sentences, tables, pictures. Text has the first table, and names the others.

    Args:
        findings: The report.
        figures: Pictures with their captions.
        picture: The picture of its graph.
        tables: Makes the part of a table.
    """
    drawn = [Image(one.svg(), clean(caption), clean(caption)) for caption, one in figures]
    images = (*([picture] if picture else ()), *drawn)
    rows = [tables(one) for one in findings.tables if one.rows]
    others = [
        replace(one, in_text=f"{clean(one.table.caption)}: {_where(findings, one.table)}")
        for one in rows[1:]
    ]
    notes = tuple(map(cleaned, findings.notes))
    in_text = f"{plural(len(notes), 'note')} in .findings.notes"
    more = [Details("more", (ItemList(notes),), in_text)] if notes else []
    return Parts((head(findings), tuple(rows[:1]), (*others, *more), images), 0, "")


def head(findings: Report) -> tuple[Part, ...]:
    """The answer, and the sentences that are no notes."""
    title = Paragraph(cleaned(findings.title), look="title")
    notes = set(findings.notes)
    sentences = tuple(cleaned(one) for one in findings.sentences if one not in notes)
    return (title, ItemList(sentences)) if sentences else (title,)


def _where(findings: Report, table: Table) -> str:
    """How long a table is that text does not have, and where it is."""
    place = next(i for i, one in enumerate(findings.tables) if one is table)
    return f"{plural(len(table), 'row')} in .tables[{place}]"
