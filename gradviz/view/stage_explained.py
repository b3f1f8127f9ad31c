"""Marks of explanations on the steps at which something was noticed, as variants of elements."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from gradviz.model.explanation import Explanation
from gradviz.model.marks import Mark
from gradviz.view.overlay import overlay_elements
from gradviz.view.overlay_style import OVERLAYS, rules

_BETWEEN: Final = "\n<!-- -->\n"
"""Stands between elements that are marked together; no text of the user looks like it."""


def marks_in(drawn: Mapping[str, str], explanations: Iterable[Explanation]) -> tuple[Mark, ...]:
    """What explanations point at, each mark once.

    Args:
        drawn: SVG of each element that is there, by id. A node that wears the sign of the error
            needs no other.
        explanations: What is explained there.
    """
    raised = {key for key, text in drawn.items() if "gv-raised" in _classes(text)}
    found = dict.fromkeys(mark for one in explanations for mark in one.marks)
    return tuple(m for m in found if m.kind != "refused" or f"gv-{m.id}" not in raised)


def mark_rules(marks: Iterable[Mark], *, variables: bool = True) -> str:
    """The style sheet of marks, empty if there are none."""
    used = {mark.kind for mark in marks}
    return rules((kind for kind in OVERLAYS if kind in used), variables=variables) if used else ""


def marked(drawn: Mapping[str, str], marks: Iterable[Mark]) -> dict[str, str]:
    """Those elements of a step that look another way with marks."""
    if not drawn:
        return {}
    after = overlay_elements(_BETWEEN.join(drawn.values()), marks).split(_BETWEEN)
    pairs = zip(drawn.items(), after, strict=True)
    return {key: now for (key, before), now in pairs if now != before}


def _classes(text: str) -> list[str]:
    found = re.match(r'<g class="([^"]*)"', text)
    return found[1].split() if found else []
