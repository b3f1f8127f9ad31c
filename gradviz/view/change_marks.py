"""Marks on a picture: what is new or different since the picture before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gradviz.model.marks import Mark, MarkKind
from gradviz.view.changes import ChangeMark, Changes
from gradviz.view.overlay import overlay_svg, overlay_wire

LEGENDS: Final[dict[MarkKind, str]] = {
    "new": "+ new since the run before",
    "changed": "Δ changed since the run before",
}


def mark_wire(wire: Mapping[str, Any], changes: Changes) -> dict[str, Any]:
    """The document of a picture with the changes marked, explained and told.

    Args:
        wire: As ``gradviz.view.wire.to_wire`` wrote it.
        changes: What differs from the graph before.
    """
    marks = [Mark(key, kind) for key, kind in changes.marks.items()]
    return overlay_wire(wire, marks, details=changes.details, legends=LEGENDS)


def mark_svg(svg: str, marks: Mapping[str, ChangeMark]) -> str:
    """Lay marks over a picture."""
    return overlay_svg(svg, [Mark(key, kind) for key, kind in marks.items()])
