"""What the browser gets of an explanation: its card, as plain data.

``widgets/src/documents/explanation.ts`` describes the same fields for the front end.
"""

from __future__ import annotations

from typing import Any

from gradviz.model.explanation import CodeLine, Explanation
from gradviz.model.recording import Recording
from gradviz.view.contents.explanation import explanation_parts, region
from gradviz.view.explanations.fields import explained, worth_a_look
from gradviz.view.explanations.links import Links
from gradviz.view.parts.data import as_data
from gradviz.view.parts.text import as_text


def card_of(explanation: Explanation) -> dict[str, Any]:
    """The card of an explanation.

    Examples:
        >>> card = card_of(Explanation("not a scalar", "RuntimeError", "loss has shape (2,)"))
        >>> card["tone"], card["title"], card["parts"][0]["words"]
        ('error', 'RuntimeError', ['loss has shape (2,)'])
    """
    links = Links(explanation)
    culprit = explanation.cause.at if explanation.cause else None
    return {
        **as_data(region(explanation)),
        "culprit_line": _line(culprit, links),
        "culprit_step": _other_step(culprit, explanation),
        "noticed_line": _line(explanation.noticed, links),
        "text": as_text(explanation_parts(explanation)),
    }


def cards(recording: Recording) -> dict[int, dict[str, Any]]:
    """What the views of steps have besides because of explanations: ``cards`` and ``ticks``."""
    found: dict[int, dict[str, Any]] = {}
    for step, group in (*explained(recording).items(), *worth_a_look(recording).items()):
        for one in group:
            _add(found, step, "cards", card_of(one))
            culprit = _other_step(one.cause.at if one.cause else None, one)
            if not one.is_fault:
                _add(found, step, "ticks", "look")
                continue
            if one.is_silent:
                _add(found, step, "ticks", "warning")
            if culprit is not None:
                _add(found, culprit, "ticks", "culprit")
    return found


def _other_step(culprit: CodeLine | None, explanation: Explanation) -> int | None:
    """Step of the culprit; ``None`` if it is that of the explanation, where one is already."""
    step = None if culprit is None else culprit.step
    return None if step == explanation.step else step


def _add(found: dict[int, dict[str, Any]], step: int, name: str, one: Any) -> None:
    there = found.setdefault(step, {}).setdefault(name, [])
    if one not in there:
        there.append(one)


def _line(at: CodeLine | None, links: Links) -> dict[str, int] | None:
    place = None if at is None else links.place(at)
    return None if at is None or place is None else {"code": place, "line": at.line or 0}
