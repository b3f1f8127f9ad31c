"""A difference as lines: a unified diff of stored against fresh that a person can read."""

from __future__ import annotations

import difflib
import hashlib
import re

from gradviz.notebook_check.results import Difference
from gradviz.view.text import clean

_DATA_IMAGE = re.compile(r"(data:image/[a-z+]+;base64,)([A-Za-z0-9+/=]+)")
_BETWEEN_ELEMENTS = re.compile(r"(?<=>)\s*(?=<)")


def diff_lines(difference: Difference) -> list[str]:
    r"""Stored and fresh text line by line, as ``diff -u`` shows them.

    Examples:
        >>> diff_lines(Difference("stdout", "loss 1\n", "loss 2\n"))
        ['--- stored', '+++ fresh', '@@ -1 +1 @@', '-loss 1', '+loss 2']
    """
    before, now = (_lines(difference.kind, text) for text in (difference.stored, difference.fresh))
    lines = [*difflib.unified_diff(before, now, "stored", "fresh", lineterm="")]
    # Between elements, and at the end of lines, texts can differ in white space only.
    return lines or ["--- stored", "+++ fresh", "only white space differs"]


def _lines(kind: str, text: str | None) -> list[str]:
    if text is None:
        return []
    if kind in ("text/html", "image/svg+xml"):
        text = _BETWEEN_ELEMENTS.sub("\n", _DATA_IMAGE.sub(_named_image, text))
    return [clean(line.expandtabs(4)) for line in text.splitlines()]


def _named_image(found: re.Match[str]) -> str:
    """A picture inside HTML, by its length and a digest: its text says nothing to a reader."""
    name = hashlib.sha256(found[2].encode()).hexdigest()[:8]
    return f"{found[1]}({len(found[2]):,} characters, {name})"
