"""Parts as HTML: the output of a cell where no script runs.

No script and no style sheet, so that a notebook that is not trusted shows it too. Colours are
those of the notebook, and outside of one those of the page: nothing is set that could be read
on white only, also where an inline style with a variable is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gradviz.model.report import Table
from gradviz.model.verdict import Outcome
from gradviz.view.parts.image import image_html
from gradviz.view.parts.part import (
    SIGNS,
    Advice,
    CodeBlock,
    Details,
    Field,
    FieldList,
    Image,
    ItemList,
    Outcomes,
    Paragraph,
    Part,
    Region,
    Rows,
)
from gradviz.view.parts.table import excerpt, is_numeric
from gradviz.view.text import clean, xml

ROWS: Final = 400
"""Rows of a table in HTML that the widget replaces."""
_STEP: Final = "\u2003"
"""A space that HTML keeps; a style would not reach a notebook that is not trusted."""
_RIM: Final = "var(--jp-border-color1,#8c959f)"
_QUIET: Final = "color:var(--jp-ui-font-color2,inherit)"
_CODE_FONT: Final = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace)"
_CELL: Final = "float:none;width:auto;margin:0;padding:0"
_OUTCOME: Final = "text-align:left;padding:2px 14px 2px 0"
_TONES: Final = {
    "error": ("var(--jp-error-color1,#d1453b)", "✕"),
    "warning": ("var(--jp-warn-color1,#c77700)", "⚠\N{VARIATION SELECTOR-15}"),
    "note": (_RIM, "·"),
    "open": (_RIM, SIGNS[False]),
    "solved": (_RIM, SIGNS[True]),
}
"""The colour of a region, and its sign."""
_STYLES: Final = {
    "region": (
        "box-sizing:border-box;max-width:52em;margin:4px 0 8px;padding:10px 14px 12px;"
        "border-style:solid;border-width:1px 1px 1px 5px;border-radius:4px;"
        "font-size:14px;line-height:1.5;overflow-wrap:anywhere;"
        "color:var(--jp-ui-font-color1,inherit)"
    ),
    "head": "margin:0;font-size:16px;line-height:1.4;font-weight:600;color:inherit",
    "kind": f"font-weight:400;{_QUIET}",
    "what": "margin:2px 0 0;font-size:15px",
    "": "margin:6px 0 0",
    "dl": (
        "display:grid;grid-template-columns:fit-content(30%) minmax(0,1fr);gap:3px 14px;"
        "margin:10px 0 0;padding:0"
    ),
    "dt": f"{_CELL};font-weight:400;text-align:left;overflow-wrap:normal;{_QUIET}",
    "dd": f"{_CELL};min-width:0",
    "details": "margin:8px 0 0",
    "cell": _OUTCOME,
    "value": f"{_OUTCOME};{_CODE_FONT}",
    "where": f"margin:0;{_QUIET}",
    "pre": (
        f"{_CODE_FONT};margin:3px 0 6px;padding:6px 10px;overflow-x:auto;white-space:pre;"
        f"font-size:13px;line-height:1.45;color:inherit;background:transparent;"
        f"border-style:solid;border-width:1px;border-color:{_RIM};border-radius:3px"
    ),
    "code": f"{_CODE_FONT};font-size:13px;color:inherit;background:transparent;padding:0",
}
"""By element and by look."""


def as_html(parts: Iterable[Part], *, is_page: bool = False) -> str:
    """Parts as HTML, all text escaped; the same bytes for the same parts.

    Args:
        parts: What is written.
        is_page: Whether it is for a page, which has the title as its headline; pictures are SVG
            elements. Else they are data images, the only form that a notebook that is not trusted
            shows.

    Examples:
        >>> from gradviz.model.sentence import Sentence
        >>> as_html([Paragraph(Sentence("set `a < b`"))])
        '<p>set <code>a &lt; b</code></p>'
    """
    return "\n".join(filter(None, (_part(part, is_page=is_page) for part in parts)))


def _part(part: Part, *, inside: bool = False, is_page: bool = False) -> str:
    match part:
        case Paragraph(look="title"):
            return "" if is_page else f"<p><strong>{with_code(part.words)}</strong></p>"
        case Paragraph(look="asked"):
            return f"<p><b>{with_code(part.words)}</b></p>"
        case Paragraph():
            return _element("p", part.look if inside else None, with_code(part.words))
        case CodeBlock():
            where = xml(part.where) + (":" if part.lines else "")
            head = _element("div", "where", where) if part.where else ""
            blocks = [f"<del>{xml(part.old)}</del>" if part.old else "", xml("\n".join(part.lines))]
            look = "pre" if inside else None
            return head + "".join(_element("pre", look, one) for one in blocks if one)
        case ItemList():
            items = "".join(f"<li>{with_code(item)}</li>" for item in part.items)
            return f"<ol>{items}</ol>" if part.name else f"<ul>{items}</ul>"
        case Field():
            return f"<p>{xml(part.name)}: <code>{xml(part.values[0])}</code></p>"
        case FieldList():
            return _element("dl", "dl", "".join(map(_field, part.fields)))
        case Advice():
            does = f"<strong>{xml(part.name.capitalize())}:</strong> {with_code(part.does)}"
            return _element("p", "", does) + _inside(part.changes)
        case Details():
            inner = f"<summary>{xml(part.summary)}</summary>{_inside(part.parts)}"
            return _element("details", "details", inner)
        case Region():
            return _region(part)
        case Outcomes():
            return _outcomes(part.outcomes)
        case Image():
            caption = f"<p>{xml(part.caption)}</p>\n" if part.caption else ""
            return caption + (part.svg if is_page else image_html(part.svg, part.alt))
        case Rows():
            return _table(part.table)


def with_code(words: str) -> str:
    """Words as HTML, what is between backticks as code.

    Examples:
        >>> with_code("set `a < b`")
        'set <code>a &lt; b</code>'
    """
    pieces = xml(words).split("`")
    if len(pieces) % 2 == 0:  # A backtick without a second one is itself.
        pieces[-2:] = ["`".join(pieces[-2:])]
    return "".join(
        f"<code>{piece}</code>" if place % 2 else piece for place, piece in enumerate(pieces)
    )


def _inside(parts: Iterable[Part]) -> str:
    return "".join(_part(part, inside=True) for part in parts)


def _element(tag: str, style: str | None, inner: str) -> str:
    """An element with the style of this name."""
    styled = "" if style is None else f' style="{_STYLES.get(style, _STYLES[""])}"'
    return f"<{tag}{styled}>{inner}</{tag}>"


def _region(region: Region) -> str:
    colour, sign = _TONES[region.tone]
    head = '<h4 class="jp-toc-ignore"' if region.kind else "<p"
    kind = _element("span", "kind", f" · {xml(region.kind)}") if region.kind else ""
    rims = f"border-color:{_RIM} {_RIM} {_RIM} {colour}"
    return (
        f'<section role="region" aria-label="{xml(region.label)}" '
        f'style="{_STYLES["region"]};{rims}">'
        f'{head} style="{_STYLES["head"]}">'
        f'<span aria-hidden="true" style="color:{colour}">{sign}</span> {xml(region.title)}'
        f"{kind}{'</h4>' if region.kind else '</p>'}{_inside(region.parts)}</section>"
    )


def _field(field: Field) -> str:
    values = [with_code(value) for value in field.values]
    if field.code:
        values[0] += f": {_element('code', 'code', xml(field.code))}"
    shown = "".join(f'<div style="margin:0">{value}</div>' for value in values)
    return _element("dt", "dt", xml(field.name)) + _element("dd", "dd", shown)


def _table(table: Table) -> str:
    sides = ["right" if is_numeric(column) else "left" for column in table.columns]
    heads = "".join(
        f'<th scope="col" style="text-align:{side}">{xml(clean(column.name))}</th>'
        for column, side in zip(table.columns, sides, strict=True)
    )
    found, notes = excerpt(table, ROWS)
    rows = ""
    for level, mark, row in found:
        before = [f"{_STEP * level}{mark}"] + [""] * (len(row) - 1)
        cells = zip(sides, before, row, strict=True)
        shown = (f'<td style="text-align:{s}">{sign}{xml(cell)}</td>' for s, sign, cell in cells)
        rows += f"<tr>{''.join(shown)}</tr>"
    return (
        f"<table><caption>{xml(clean(table.caption))}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<p>{xml(' '.join(notes))}</p>" if notes else "")
    )


def _outcomes(outcomes: Iterable[Outcome]) -> str:
    heads = "".join(
        f'<th scope="col" style="{_STYLES["cell"]}">{name}</th>'
        for name in ("judged", "expected", "found")
    )
    rows = ""
    for one in outcomes:
        name = f"{SIGNS[one.is_right]} {xml(one.what)}"
        values = (_element("td", "value", xml(value)) for value in (one.expected, one.found))
        head = f'<th scope="row" style="{_STYLES["value"]};font-weight:400">{name}</th>'
        rows += f"<tr>{head}{''.join(values)}</tr>"
    return (
        f'<table style="margin:6px 0 0"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
