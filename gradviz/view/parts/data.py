"""Parts as plain data for the browser; ``widgets/src/documents/parts.ts`` describes the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from gradviz.model.sentence import Sentence


def as_data(value: Any) -> Any:
    """A part, or parts: each an object whose ``"is"`` says what it is.

    Examples:
        >>> from gradviz.model.sentence import Sentence, Term
        >>> from gradviz.view.parts.part import Paragraph
        >>> as_data(Paragraph(Sentence(Term("t0", "a"), " was written.")))["words"]
        [{'id': 't0', 'text': 'a'}, ' was written.']
    """
    if isinstance(value, Sentence):
        return segments(value)
    if isinstance(value, (tuple, list)):
        return [*map(as_data, value)]
    if not is_dataclass(value):
        return value
    sent = [one.name for one in fields(value) if "only in" not in one.metadata]
    return {"is": type(value).__name__, **{name: as_data(getattr(value, name)) for name in sent}}


def segments(sentence: Sentence) -> list[Any]:
    """A clean sentence: text, and terms with their ids."""
    found: list[Any] = []
    for part in sentence.parts:
        if isinstance(part, str):
            found.append(part)
        else:
            step = {} if part.step is None else {"step": part.step}
            found.append({"id": part.id, "text": part.text} | step)
    return found
