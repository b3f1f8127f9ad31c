"""Words that people read, as HTML."""

from __future__ import annotations

from gradviz.view.text import xml


def with_code(text: str) -> str:
    """Text as HTML, what is between backticks as code.

    Examples:
        >>> with_code("set `a < b`")
        'set <code>a &lt; b</code>'
    """
    # A backtick without a second one is itself.
    pieces = text.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    return "".join(
        f"<code>{xml(piece)}</code>" if place % 2 else xml(piece)
        for place, piece in enumerate(pieces)
    )
