"""A repair as HTML without style sheet or script: what a stored notebook shows."""

from __future__ import annotations

from typing import Final

from gradviz.model.verdict import Attempt, Outcome
from gradviz.view.outlines.repair import SIGNS, run_words
from gradviz.view.parts.html import with_code
from gradviz.view.text import xml

_CELL: Final = "text-align:left;padding:2px 14px 2px 0"
_CODE: Final = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace)"
_BOX: Final = (
    "box-sizing:border-box;max-width:52em;margin:4px 0 8px;padding:10px 14px;font-size:14px;"
    "line-height:1.5;overflow-wrap:anywhere;border:1px solid var(--jp-border-color1,#8c959f);"
    "border-radius:4px;color:var(--jp-ui-font-color1,inherit)"
)


def repair_html(attempt: Attempt) -> str:
    """The same facts as the text, the same bytes for the same attempt.

    Examples:
        >>> from gradviz.model.verdict import Verdict
        >>> html = repair_html(Attempt(Verdict("`x < 2` holds.", True), (), why="It is small."))
        >>> "<code>x &lt; 2</code>" in html, "Repaired" in html
        (True, True)
    """
    verdict = attempt.verdict
    sign = SIGNS[verdict.is_solved]
    parts = [
        f'<section aria-label="Repair" style="{_BOX}">',
        f'<p style="margin:0"><strong>{sign} {verdict.headline}</strong></p>',
        _paragraph(verdict.goal),
        _paragraph(run_words(verdict).capitalize()[:1] + run_words(verdict)[1:]),
        _table(verdict.outcomes),
        *map(_paragraph, verdict.problems),
        _paragraph(verdict.known),
        _paragraph(attempt.why if verdict.is_solved else ""),
    ]
    hints = "".join(f"<li>{with_code(hint)}</li>" for hint in attempt.shown)
    parts.append(f"<ol>{hints}</ol>" if hints else "")
    return "".join(filter(None, parts)) + "</section>"


def _paragraph(text: str) -> str:
    return f'<p style="margin:4px 0 0">{with_code(text)}</p>' if text else ""


def _table(outcomes: tuple[Outcome, ...]) -> str:
    if not outcomes:
        return ""
    heads = "".join(
        f'<th scope="col" style="{_CELL}">{name}</th>' for name in ("judged", "expected", "found")
    )
    rows = "".join(map(_row, outcomes))
    return (
        f'<table style="margin:6px 0 0"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _row(one: Outcome) -> str:
    sign = SIGNS[one.is_right]
    values = "".join(
        f'<td style="{_CELL};{_CODE}">{xml(value)}</td>' for value in (one.expected, one.found)
    )
    return (
        f'<tr><th scope="row" style="{_CELL};{_CODE};font-weight:400">{sign} {xml(one.what)}</th>'
        f"{values}</tr>"
    )
