"""Marks of explanations on the steps at which something was noticed, as variants of elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradviz.model.explanation import Explanation
from gradviz.model.highlights import Highlight
from gradviz.view.element import Element
from gradviz.view.graph.highlights import highlighted


def marks_in(
    drawn: Mapping[str, Element], explanations: Iterable[Explanation]
) -> tuple[Highlight, ...]:
    """The marks of explanations, each once.

    Args:
        drawn: The existing elements by id. A node with the sign of the error gets no other
            mark.
        explanations: The explanations at the step.
    """
    raised = {key for key, element in drawn.items() if "gv-raised" in element.classes}
    found = dict.fromkeys(mark for one in explanations for mark in one.marks)
    return tuple(m for m in found if m.kind != "refused" or f"gv-{m.id}" not in raised)


def marked(drawn: Mapping[str, Element], marks: Iterable[Highlight]) -> dict[str, Element]:
    """The elements of a step that marks change."""
    after = highlighted(drawn.values(), marks)
    pairs = zip(drawn.items(), after, strict=True)
    return {key: now for (key, before), now in pairs if now is not before}
