"""What a report consists of."""

from __future__ import annotations

from gradviz.model.report import Report
from gradviz.view.parts.part import ItemList, Paragraph, Part
from gradviz.view.text import cleaned


def head(findings: Report) -> tuple[Part, ...]:
    """Title and sentences."""
    title = Paragraph(cleaned(findings.title), look="title")
    sentences = tuple(map(cleaned, findings.sentences))
    return (title, ItemList(sentences)) if sentences else (title,)
