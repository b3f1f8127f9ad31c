"""What a reader calls the kinds of output and the parts of a widget's document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gradviz.notebook_check.rules import WIDGET
from gradviz.view.documents.digest import MIME

_PARTS: Final = {
    "codes": "code",
    "exploration": "inputs and messages",
    "fold": "folded parts",
    "items": "details of nodes and tensors",
    "open": "the step it opens with",
    "pieces": "pictures",
    "runs": "folded steps",
    "stops": "marked steps",
    "views": "steps (captions, tensors, marks)",
}
_KINDS: Final = {
    "ename": "type of the error",
    "evalue": "message of the error",
    "stdout": "printed text",
    "stderr": "printed text (stderr)",
    "text/plain": "text (text/plain)",
    "image/svg+xml": "picture (image/svg+xml)",
    "text/html": "HTML (text/html)",
    MIME: "widget",
    WIDGET: "widgets of other packages",
}


def parts_that_differ(parts: Iterable[str]) -> str:
    """Parts of a document, by their fields, in words.

    Examples:
        >>> parts_that_differ(["codes", "pictures", "pieces"])
        'code, pictures'
    """
    return ", ".join(dict.fromkeys(_PARTS.get(part, part) for part in parts))


def kind_in_words(kind: str, number: int = 1) -> str:
    """A kind of output, and which of several of it.

    Examples:
        >>> kind_in_words("image/svg+xml", 2)
        'picture (image/svg+xml), number 2'
    """
    words = _KINDS.get(kind, kind)
    return words if number == 1 else f"{words}, number {number}"
