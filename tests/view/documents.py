"""Documents for the browser as golden files keep them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def as_text(document: Any) -> str:
    """The one layout of golden files that are JSON."""
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def stored(wire: dict[str, Any], with_drawing: bool = False) -> str:
    """A document as text.

    What is drawn is tested where it is drawn: a line that moves there is nothing that changes
    items, rows or captions. The outline is a golden file of its own: see :func:`check_document`.

    Args:
        wire: The document.
        with_drawing: Whether its SVG is kept. Else nothing stands in its place, of a recording as
            often as an element has looks.
    """
    if not with_drawing and "pictures" in wire:
        wire = {**wire, "pictures": {k: _empty(one) for k, one in wire["pictures"].items()}}
        wire |= {"pieces": []} if "pieces" in wire else {}
    return as_text({**wire, "text": ""})


def check_document(
    check_golden: Callable[[str, str], None],
    name: str,
    wire: dict[str, Any],
    with_drawing: bool = False,
) -> None:
    """Compare a document with its two golden files: what people read in .txt, the rest in .json."""
    check_golden(f"{name}.txt", wire["text"] + "\n")
    check_golden(f"{name}.json", stored(wire, with_drawing))


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
