"""What the browser gets of a caption."""

from __future__ import annotations

from typing import Any

from gradviz.view.captions.caption import Caption
from gradviz.view.captions.catalogue import LABELS
from gradviz.view.parts.data import segments


def caption_document(told: Caption) -> dict[str, Any]:
    """A caption for the browser; what it does not have is absent.

    Args:
        told: The caption.
    """
    found: dict[str, Any] = {"words": segments(told.words)}
    if told.place:
        found["place"] = segments(told.place)
    if told.rows:
        found["rows"] = [
            [LABELS.get(row.label, row.label), *map(segments, row.cells)] for row in told.rows
        ]
    if told.details:
        found["details"] = segments(told.details)
    return found
