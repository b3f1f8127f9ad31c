"""The table beside a caption: names, shapes and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gradviz.model.records import TensorInfo, ValueSummary
from gradviz.model.sentence import Sentence
from gradviz.view import formatting
from gradviz.view.captions.catalogue import LABELS
from gradviz.view.captions.state import gradient
from gradviz.view.text import cells

NUMBERS: Final = 3
"""Numbers that are written in a sentence."""
CELL: Final = 30
"""Cells of the numbers in a row."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table of a caption."""

    label: str
    """What it tells: a key of :data:`~gradviz.view.captions.catalogue.LABELS`."""
    cells: tuple[Sentence, ...]
    """Names, shapes, numbers."""

    def __str__(self) -> str:
        return " ".join(filter(None, (LABELS.get(self.label, self.label), *self.cells)))


def row(label: str, *texts: str) -> Row:
    """A row, without cells that are empty."""
    found = (one if isinstance(one, Sentence) else Sentence(one) for one in texts)
    return Row(label, tuple(filter(None, found)))


def value_words(info: TensorInfo) -> str:
    """The numbers of a tensor, else its shape."""
    words = "" if info.values is None else formatting.nested(info.values, info.shape)
    return words if words and cells(words) <= CELL else formatting.shape(info.shape)


def few_numbers(summary: ValueSummary | None) -> str:
    """A gradient in a sentence, empty if it has more than a few numbers."""
    if summary is None:
        return "None"
    known = summary.values
    is_few = known is not None and len(known) <= NUMBERS
    return formatting.nested(known or (), summary.shape) if is_few else ""


def summary_cells(summary: ValueSummary | None) -> tuple[str, ...]:
    """Shape and numbers of a gradient, or its norm."""
    if summary is None:
        return ("", "None")
    words = gradient(summary)
    if summary.values is not None and cells(words) <= CELL:
        return ("", words)
    norm = "" if summary.norm is None else f"norm {formatting.number(summary.norm)}"
    return (formatting.shape(summary.shape), norm)
