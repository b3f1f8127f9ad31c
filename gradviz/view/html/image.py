"""A picture inside HTML that a notebook shows without trust."""

from __future__ import annotations

from base64 import b64encode
from html import escape


def image_html(svg: str, alt: str) -> str:
    """A picture as data image, the only form that a notebook that is not trusted shows."""
    encoded = b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    source = f"data:image/svg+xml;base64,{encoded}"
    return f'<img alt="{escape(alt)}" style="max-width:100%" src="{source}">'
