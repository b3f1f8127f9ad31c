"""An explanation as a card of HTML: the output of a cell.

No script and no style sheet, so that a notebook that is not trusted shows it too. Colours are
those of the notebook, and outside of one those of the page: nothing is set that could be read
on white only, also where an inline style with a variable is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gradviz.model.explanation import Explanation, Fix
from gradviz.model.explanations import Explanations
from gradviz.model.report import Report
from gradviz.view.explanations.fields import (
    Field,
    changes_of,
    first_fields,
    fix_label,
    more_fields,
    title,
    tone,
)
from gradviz.view.explanations.links import Links
from gradviz.view.outlines.explanation import (
    ALL_WELL,
    NO_FAULT,
    NOTHING,
    explanation_text,
    explanations_text,
)
from gradviz.view.text import clean, cleaned, xml

_RIM: Final = "var(--jp-border-color1,#8c959f)"
_CODE_FONT: Final = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace)"
_ACCENT: Final = {
    "error": "var(--jp-error-color1,#d1453b)",
    "warning": "var(--jp-warn-color1,#c77700)",
    "note": "var(--jp-border-color1,#8c959f)",
}
_SIGN: Final = {"error": "✕", "warning": "⚠\N{VARIATION SELECTOR-15}", "note": "·"}
_CARD: Final = (
    "box-sizing:border-box;max-width:52em;margin:4px 0 8px;padding:10px 14px 12px;"
    "border-style:solid;border-width:1px 1px 1px 5px;border-radius:4px;"
    "font-size:14px;line-height:1.5;overflow-wrap:anywhere;"
    "color:var(--jp-ui-font-color1,inherit)"
)
_HEAD: Final = "margin:0;font-size:16px;line-height:1.4;font-weight:600;color:inherit"
_WHAT: Final = "margin:2px 0 0;font-size:15px"
_WHY: Final = "margin:6px 0 0"
_LIST: Final = (
    "display:grid;grid-template-columns:fit-content(30%) minmax(0,1fr);gap:3px 14px;"
    "margin:10px 0 0;padding:0"
)
_CELL: Final = "float:none;width:auto;margin:0;padding:0"
_LABEL: Final = (
    f"{_CELL};font-weight:400;text-align:left;overflow-wrap:normal;"
    "color:var(--jp-ui-font-color2,inherit)"
)
_VALUE: Final = f"{_CELL};min-width:0"
_MORE: Final = "margin:8px 0 0"
_WHERE: Final = "margin:0;color:var(--jp-ui-font-color2,inherit)"
_BLOCK: Final = (
    f"{_CODE_FONT};margin:3px 0 6px;padding:6px 10px;overflow-x:auto;white-space:pre;"
    f"font-size:13px;line-height:1.45;color:inherit;background:transparent;"
    f"border-style:solid;border-width:1px;border-color:{_RIM};border-radius:3px"
)
_CODE: Final = f"{_CODE_FONT};font-size:13px;color:inherit;background:transparent;padding:0"


def explanation_card(explanation: Explanation) -> str:
    """The card, the same bytes for the same explanation.

    Examples:
        >>> html = explanation_card(Explanation("not a scalar", "RuntimeError", "loss is <2>"))
        >>> "loss is &lt;2&gt;" in html
        True
    """
    if not explanation:
        return f"<p>{xml(NOTHING)}</p>"
    return "".join(_card(explanation))


def explanations_html(found: Explanations) -> str:
    """The cards of all explanations, then title and sentences of each report."""
    cards = [*map(explanation_card, found)]
    if not any(one.is_fault for one in found):
        cards.insert(0, f"<p>{xml(NO_FAULT if cards else ALL_WELL)}</p>")
    return "".join((*cards, *map(_report, found.reports)))


def _report(report: Report) -> str:
    sentences = "".join(f"<li>{xml(clean(one))}</li>" for one in report.sentences)
    title = f"<p><strong>{xml(clean(report.title))}</strong></p>"
    return title + (f"<ul>{sentences}</ul>" if sentences else "")


def bundle(explanation: Explanation | Explanations) -> dict[str, str]:
    """The card, or cards, and the text for places without HTML."""
    if isinstance(explanation, Explanations):
        return {
            "text/plain": explanations_text(explanation),
            "text/html": explanations_html(explanation),
        }
    return {
        "text/plain": explanation_text(explanation),
        "text/html": explanation_card(explanation),
    }


def _card(explanation: Explanation) -> Iterator[str]:
    links = Links(explanation)
    shade = tone(explanation)
    name = xml(title(explanation))
    accent = _ACCENT[shade]
    yield (
        f'<section role="region" aria-label="{name}: {xml(clean(explanation.kind))}" '
        f'style="{_CARD};border-color:{_RIM} {_RIM} {_RIM} {accent}">'
        f'<h4 class="jp-toc-ignore" style="{_HEAD}">'
        f'<span aria-hidden="true" style="color:{accent}">{_SIGN[shade]}</span> {name}'
        f'<span style="font-weight:400;color:var(--jp-ui-font-color2,inherit)"> · '
        f"{xml(clean(explanation.kind))}</span></h4>"
    )
    if explanation.what:
        yield f'<p style="{_WHAT}">{xml(cleaned(explanation.what))}</p>'
    yield _rows(first_fields(explanation, links))
    is_one = len(explanation.fixes) == 1
    label = fix_label(explanation).capitalize()
    fixes = [
        _fix(fix, label if is_one else f"{label} {number}", links)
        for number, fix in enumerate(explanation.fixes, 1)
    ]
    yield "".join(fixes[:1])
    more = "".join(fixes[1:])
    if explanation.why:
        more += f'<p style="{_WHY}">{xml(cleaned(explanation.why))}</p>'
    more += _rows(more_fields(explanation, links))
    if more:
        yield f'<details style="{_MORE}"><summary>more</summary>{more}</details>'
    yield "</section>"


def _rows(fields: Iterable[Field]) -> str:
    rows = "".join(map(_row, fields))
    return f'<dl style="{_LIST}">{rows}</dl>' if rows else ""


def _row(field: Field) -> str:
    values = [xml(value) for value in field.values]
    if field.code:
        values[0] += f': <code style="{_CODE}">{xml(field.code)}</code>'
    shown = "".join(f'<div style="margin:0">{value}</div>' for value in values)
    return f'<dt style="{_LABEL}">{xml(field.name)}</dt><dd style="{_VALUE}">{shown}</dd>'


def _fix(fix: Fix, name: str, links: Links) -> str:
    shown = [f'<p style="{_WHY}"><strong>{name}:</strong> {xml(cleaned(fix.does))}</p>']
    for change in changes_of(fix, links):
        if change.where:
            colon = ":" if change.lines else ""
            shown.append(f'<div style="{_WHERE}">{xml(change.where)}{colon}</div>')
        if change.lines:
            code = xml("\n".join(change.lines))
            shown.append(f'<pre style="{_BLOCK}">{code}</pre>')
    return "".join(shown)
