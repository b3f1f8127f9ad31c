"""The picture of one step for places where nothing can be clicked: cropped, or of full size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gradviz.view.element import Element
from gradviz.view.graph.step_pictures import Box, StepPictures

FOR_READERS: Final = ("id", "role", "tabindex")
"""Attributes that a picture without interaction does not need, beside ``data-`` and ``aria-``."""


@dataclass(frozen=True, slots=True)
class Still:
    """The picture of one step."""

    box: Box
    """What it takes of the picture of all steps: left, top, width, height."""
    elements: tuple[Element, ...]


def still(
    animation: StepPictures, step: int, *, engine_arrows: bool = False, box: Box | None = None
) -> Still:
    """The picture of a step, without what only a browser uses.

    Args:
        animation: The pictures of all steps.
        step: Which step.
        engine_arrows: Which of the two arrow heads of each link is drawn.
        box: What is shown of the picture; if not given what exists at the step.
    """
    unseen = "gv-head-data" if engine_arrows else "gv-head-engine"
    drawn = (bare(element, unseen) for element in animation.there(step).values())
    return Still(box or animation.extent(step) or (0.0, 0.0, *animation.size), tuple(drawn))


def bare(element: Element, unseen: str = "") -> Element:
    """An element without what only a person who points at it, or a screen reader, gets.

    Args:
        element: The element.
        unseen: A class that the style sheet does not draw, if that is to be left out too.
    """
    kept = {
        name: value
        for name, value in element.attributes.items()
        if name not in FOR_READERS and not name.startswith(("data-", "aria-"))
    }
    inside = (
        child if isinstance(child, str) else bare(child, unseen)
        for child in element.children
        if isinstance(child, str) or not (child.tag == "title" or unseen in child.classes)
    )
    return Element(element.tag, kept, tuple(inside))
