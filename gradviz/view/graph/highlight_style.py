"""Appearance and name of each mark of findings: one table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gradviz.model.highlights import HighlightKind
from gradviz.view.style import LegendEntry, coloured, for_media

OVERLAYS: Final[dict[HighlightKind, LegendEntry]] = {
    "culprit": LegendEntry("gv-culprit", "! culprit", "! culprit: the cause"),
    "written": LegendEntry("gv-written", "≠ written", "≠ written: its values were changed"),
    "refused": LegendEntry(
        "gv-refused", "× refused", "× refused: torch refused it and raised the error"
    ),
    "cut": LegendEntry("gv-cut-here", "// cut", "// cut: the graph ends here"),
    "unreached": LegendEntry("gv-unreached", "∅ unreached", "∅ unreached: it gets no gradient"),
    "most": LegendEntry("gv-most", "■ most", "■ most: it keeps most bytes for backward"),
    "new": LegendEntry("gv-new", "+ new", "+ new: only in the graph after"),
    "changed": LegendEntry("gv-changed", "Δ changed", "Δ changed: in both graphs, and different"),
    "gone": LegendEntry("gv-gone", "− gone", "− gone: only in the graph before"),
}
"""Class, glyph with word, and sentence of the legend, in the order of the legend."""

# Colours of differences are those of the root's pill: no other mark is a dark patch. Dashes
# distinguish the lines without colour.
_BADGE: Final = """
.gv-badge>rect{fill:$root;stroke:$card;stroke-width:1}
.gv-badge>text{font-weight:600;fill:$root-ink}
"""
_LINES: Final[dict[HighlightKind, tuple[str, str]]] = {
    "culprit": ("$modified", "none"),
    "written": ("$modified", "9 3"),
    "refused": ("$cut", "none"),
    "cut": ("$cut", "6 4"),
    "unreached": ("$muted", "2 4"),
    "most": ("$held", "none"),
    "new": ("$ink", ""),
    "changed": ("$ink", ""),
    "gone": ("$muted", "7 5"),
}
"""Colour of the line and its dashes; ``""`` keeps those of the element."""
_HOLLOW: Final = ("written", "cut", "unreached", "gone")
"""Badges with the colour as rim and word instead of as ground."""


def rules(kinds: Iterable[HighlightKind], *, variables: bool = True) -> str:
    """The style sheet for these kinds.

    Args:
        kinds: Which marks there are.
        variables: Colours as CSS variables, with rules for print and forced colours; without,
            plain colours of a light page.
    """
    text = "".join((_BADGE, *map(_rules_of, kinds)))
    rules, used = coloured(text, variables=variables)
    return f"{rules}{for_media(used)}\n" if variables else rules


def _rules_of(kind: HighlightKind) -> str:
    css = OVERLAYS[kind].css
    colour, dashes = _LINES[kind]
    dash = f";stroke-dasharray:{dashes}" if dashes else ""
    line = f"stroke:{colour};stroke-width:%s{dash}"
    found = [
        f".{css}>.gv-card{{{line % 2.6}}}",
        f".gv-pocket.{css}>.gv-box,.gv-tag.{css}>.gv-box{{{line % 2}}}",
        f".gv-edge.{css}>path,.gv-uses.{css}>path{{{line % 2.6}}}",
        f".gv-stub.{css}>rect,.gv-stub.{css}>path{{{line % 2}}}",
    ]
    if kind == "changed":
        found.append(".gv-ground{fill:$now-fill}")
        found.append(".gv-was{fill:$muted;text-decoration:line-through}")
        found.append(".gv-is{fill:$ink;font-weight:600}")
    if kind == "gone":
        found.append(f".{css}>.gv-band{{fill:none}}")
        found.append(f".{css} text{{fill:$muted}}")
        found.append(f".{css} .gv-root>text{{fill:$root-ink}}")
    if kind in _HOLLOW:
        found.append(f".gv-badge.{css}-badge>rect{{fill:$card;stroke:{colour};stroke-width:1.6}}")
        found.append(f".gv-badge.{css}-badge>text{{fill:{colour}}}")
    elif colour != "$ink":
        found.append(f".gv-badge.{css}-badge>rect{{fill:{colour}}}")
        found.append(f".gv-badge.{css}-badge>text{{fill:$card}}")
    return "\n".join((*found, ""))
