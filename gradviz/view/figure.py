"""What drawn figures have in common: head, colours as variables, text that fits or is left out."""

from __future__ import annotations

import re
from typing import Final

from gradviz.view.style import FONT, FORCED, LIGHT
from gradviz.view.text import px, shorten, width_of, xml

LEAST: Final = 5
"""Cells of text below which nothing is written."""


def svg(name: str, size: tuple[float, float], said: str, rules: str, parts: list[str]) -> str:
    """A figure: one picture for a screen reader, which says ``said``.

    Args:
        name: Class of the figure; its rules begin with it.
        size: Width and height.
        said: What the picture shows, in words.
        rules: Style sheet with ``$NAME`` for the colour ``--gv-NAME``.
        parts: What is drawn.
    """
    width, height = map(px, size)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="gradviz-svg {name}" '
            f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="{xml(said)}">',
            f"<style>{css(rules)}</style>",
            *parts,
            "</svg>\n",
        )
    )


def css(rules: str) -> str:
    """Rules with colours as variables, light ones by default; print is light too."""
    used = sorted(set(re.findall(r"\$([a-z-]+)", rules)))
    coloured = re.sub(r"\$([a-z-]+)", lambda m: f"var(--gv-{m[1]},{LIGHT[m[1]]})", rules.strip())
    plain = "".join(f"--gv-{name}:{LIGHT[name]};" for name in used)
    forced = "".join(f"--gv-{name}:{FORCED[name]};" for name in used)
    return (
        coloured.replace("%FONT%", FONT)
        + f"\n@media print{{.gradviz-svg{{{plain}}}}}"
        + f"\n@media (forced-colors:active){{.gradviz-svg{{{forced}}}}}"
    )


def fitting(text: str, width: float, size: float = 11.0) -> str:
    """Text in a given width: without its middle where it is too long, ``""`` if hardly any fits.

    Examples:
        >>> fitting("model.layers.0.weight", 80), fitting("model.layers.0.weight", 20)
        ('model…eight', '')
    """
    room = int(width / width_of("m", size))
    short = shorten(text, max(room, 1))
    return short if room >= LEAST or short == text else ""


def text(x: float, y: float, words: str, css_class: str = "", anchor: str = "") -> str:
    """A line of text, escaped; ``anchor`` is ``"middle"`` or ``"end"``."""
    named = f' class="{css_class}"' if css_class else ""
    at = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{px(x)}" y="{px(y)}"{named}{at}>{xml(words)}</text>'
