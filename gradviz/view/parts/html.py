"""Parts as HTML: the output of a cell where no script runs.

No script and no style sheet, so that a notebook that is not trusted shows it too. Colours are
those of the notebook, and outside of one those of the page: nothing is set that could be read
on white only, also where an inline style with a variable is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gradviz.view.parts.part import (
    Advice,
    Change,
    CodeBlock,
    Details,
    Field,
    FieldList,
    ItemList,
    Paragraph,
    Part,
    Region,
)
from gradviz.view.text import xml

_RIM: Final = "var(--jp-border-color1,#8c959f)"
_QUIET: Final = "color:var(--jp-ui-font-color2,inherit)"
_CODE_FONT: Final = "font-family:var(--jp-code-font-family,ui-monospace,Menlo,Consolas,monospace)"
_CELL: Final = "float:none;width:auto;margin:0;padding:0"
_TONES: Final = {
    "error": ("var(--jp-error-color1,#d1453b)", "✕"),
    "warning": ("var(--jp-warn-color1,#c77700)", "⚠\N{VARIATION SELECTOR-15}"),
    "note": (_RIM, "·"),
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
    "where": f"margin:0;{_QUIET}",
    "pre": (
        f"{_CODE_FONT};margin:3px 0 6px;padding:6px 10px;overflow-x:auto;white-space:pre;"
        f"font-size:13px;line-height:1.45;color:inherit;background:transparent;"
        f"border-style:solid;border-width:1px;border-color:{_RIM};border-radius:3px"
    ),
    "code": f"{_CODE_FONT};font-size:13px;color:inherit;background:transparent;padding:0",
}
"""By element and by look."""


def as_html(part: Part, *, inside: bool = False) -> str:
    """A part as HTML, all text escaped; the same bytes for the same part.

    Args:
        part: What is written.
        inside: Whether it is in a region.

    Examples:
        >>> from gradviz.model.sentence import Sentence
        >>> as_html(Paragraph(Sentence("set `a < b`")))
        '<p>set <code>a &lt; b</code></p>'
    """
    match part:
        case Paragraph(look="title"):
            return f"<p><strong>{with_code(part.words)}</strong></p>"
        case Paragraph():
            return _element("p", part.look if inside else None, with_code(part.words))
        case CodeBlock():
            return f"<pre>{xml(chr(10).join(part.lines))}</pre>"
        case ItemList():
            return f"<ul>{''.join(f'<li>{with_code(item)}</li>' for item in part.items)}</ul>"
        case FieldList():
            return _element("dl", "dl", "".join(map(_field, part.fields)))
        case Advice():
            does = f"<strong>{xml(part.name.capitalize())}:</strong> {with_code(part.does)}"
            return _element("p", "", does) + "".join(map(_change, part.changes))
        case Details():
            inner = f"<summary>{xml(part.summary)}</summary>{_all(part.parts)}"
            return _element("details", "details", inner)
        case Region():
            return _region(part)


def with_code(words: str) -> str:
    """Words as HTML, what is between backticks as code.

    Examples:
        >>> with_code("set `a < b`")
        'set <code>a &lt; b</code>'
    """
    # A backtick without a second one is itself.
    pieces = words.split("`")
    if len(pieces) % 2 == 0:
        pieces[-2:] = ["`".join(pieces[-2:])]
    return "".join(
        f"<code>{xml(piece)}</code>" if place % 2 else xml(piece)
        for place, piece in enumerate(pieces)
    )


def _all(parts: Iterable[Part]) -> str:
    return "".join(as_html(part, inside=True) for part in parts)


def _element(tag: str, style: str | None, inner: str) -> str:
    """An element with the style of this name."""
    styled = "" if style is None else f' style="{_STYLES[style]}"'
    return f"<{tag}{styled}>{inner}</{tag}>"


def _region(region: Region) -> str:
    colour, sign = _TONES[region.tone]
    title, kind = xml(region.title), xml(region.kind)
    rims = f"border-color:{_RIM} {_RIM} {_RIM} {colour}"
    return (
        f'<section role="region" aria-label="{title}: {kind}" '
        f'style="{_STYLES["region"]};{rims}">'
        f'<h4 class="jp-toc-ignore" style="{_STYLES["head"]}">'
        f'<span aria-hidden="true" style="color:{colour}">{sign}</span> {title}'
        f"{_element('span', 'kind', f' · {kind}')}</h4>{_all(region.parts)}</section>"
    )


def _field(field: Field) -> str:
    values = [with_code(value) for value in field.values]
    if field.code:
        values[0] += f": {_element('code', 'code', xml(field.code))}"
    shown = "".join(f'<div style="margin:0">{value}</div>' for value in values)
    return _element("dt", "dt", xml(field.name)) + _element("dd", "dd", shown)


def _change(change: Change) -> str:
    colon = ":" if change.lines else ""
    where = _element("div", "where", xml(change.where) + colon) if change.where else ""
    lines = _element("pre", "pre", xml("\n".join(change.lines))) if change.lines else ""
    return where + lines
