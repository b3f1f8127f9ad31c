"""Documents for the browser as golden files keep them."""

from __future__ import annotations

import json
from typing import Any


def as_text(document: Any) -> str:
    """The one layout of golden files that are JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def stored(wire: dict[str, Any], with_drawing: bool = False) -> str:
    """A document as text.

    What is drawn is tested where it is drawn: a line that moves there is nothing that changes
    items, rows or captions. The outline of a recording is a golden file of its own.

    Args:
        wire: The document.
        with_drawing: Whether its SVG is kept. Else nothing stands in its place, of a recording as
            often as an element has looks.
    """
    if not with_drawing:
        wire = {**wire, "pictures": {k: _empty(one) for k, one in wire["pictures"].items()}}
        wire |= {"pieces": []} if "pieces" in wire else {}
    if wire.get("kind") == "recording":
        wire = {**wire, "text": ""}
    return as_text(wire)


def _empty(picture: Any) -> Any:
    if isinstance(picture, str):
        return ""
    elements: dict[str, list[list[int]]] = {
        key: [[]] * len(looks) for key, looks in picture["elements"].items()
    }
    return {"svg": "", "elements": elements}


def look_of(wire: dict[str, Any], density: str, key: str, number: int) -> str:
    """A look of an element of a recording as text, empty where it does not exist."""
    pieces = wire["pieces"]
    return "".join(pieces[place] for place in wire["pictures"][density]["elements"][key][number])
