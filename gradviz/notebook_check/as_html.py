"""What a check found, as one HTML file without script: stored and fresh pictures side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from gradviz.notebook_check.as_text import cell_words, counts, raised_lines
from gradviz.notebook_check.difference_lines import diff_lines
from gradviz.notebook_check.results import CellResult, Difference, NotebookResult
from gradviz.notebook_check.words import kind_in_words
from gradviz.view.parts.image import image_html

_SVG: Final = "image/svg+xml"
_POLICY: Final = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1400px; margin: 0 auto; padding: 16px; }
h2 { margin-top: 2em; border-top: 1px solid; padding-top: .5em; overflow-wrap: anywhere; }
pre { overflow: auto; max-height: 60vh; padding: 8px; border: 1px solid #8888; font-size: 13px; }
del { text-decoration: none; background: #d73a4a2e; }
ins { text-decoration: none; background: #2ea04333; }
.pair { display: grid; gap: 12px; }
.pair { grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
figure { margin: 0; border: 1px solid #8888; padding: 8px; background: #fff; color: #111; }
figure img { max-width: 100%; }
table { border-collapse: collapse; }
td, th { text-align: left; padding: 2px 12px 2px 0; vertical-align: top; }
"""


def report(results: Sequence[NotebookResult]) -> str:
    """The report of a check.

    Args:
        results: What was found, notebook by notebook.

    Examples:
        >>> from pathlib import Path
        >>> "a.ipynb" in report([NotebookResult(Path("a.ipynb"))])
        True
    """
    body = [f"<h1>Notebooks checked: {escape(counts(results))}</h1>", *_overview(results)]
    for number, one in enumerate(results, 1):
        body += _notebook(one, number)
    return html_page("Notebooks checked", body)


def html_page(title: str, body: Iterable[str]) -> str:
    """A page of a report.

    Args:
        title: Of its window.
        body: Its HTML.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{chr(10).join(body)}\n</body></html>\n"
    )


def _overview(results: Sequence[NotebookResult]) -> Iterator[str]:
    yield "<table><thead><tr><th>notebook<th>result<th>cells</tr></thead><tbody>"
    for number, one in enumerate(results, 1):
        name = f'<a href="#notebook-{number}">{escape(str(one.path))}</a>'
        result = ("same", "differs", "failed")[one.status]
        yield f"<tr><td>{name}<td>{result}<td>{escape(counts([one]))}</tr>"
    yield "</tbody></table>"


def _notebook(result: NotebookResult, number: int) -> Iterator[str]:
    yield f'<h2 id="notebook-{number}">{escape(str(result.path))}</h2>'
    if result.problem:
        yield f"<p><b>{escape(result.problem)}</b></p>"
    yield f"<p>{escape(counts([result]))}</p>"
    for cell in result.cells:
        if cell.verdict in ("different", "error"):
            yield from _cell(cell)
    left_out = [cell for cell in result.cells if cell.verdict == "not compared"]
    if left_out:
        yield "<h3>Not compared</h3><table><thead><tr><th>cell<th>why</tr></thead><tbody>"
        for cell in left_out:
            yield f"<tr><td>{escape(cell_words(cell.name))}<td>{escape(cell.reason)}</tr>"
        yield "</tbody></table>"


def _cell(cell: CellResult) -> Iterator[str]:
    yield f"<h3>{escape(cell_words(cell.name))}</h3>"
    if cell.raised is not None:
        yield preformatted(raised_lines(cell.raised))
    if cell.reason:
        yield f"<p>{escape(cell.reason)}</p>"
    for one in sorted(cell.differences, key=lambda one: one.kind != _SVG):
        note = f": {escape(one.note)}" if one.note else ""
        yield f"<h4>{escape(kind_in_words(one.kind, one.number))}{note}</h4>"
        if one.kind == _SVG:
            yield from _pictures(one, cell.name.number)
            yield f"<details><summary>as text</summary>{preformatted(diff_lines(one))}</details>"
        else:
            yield preformatted(diff_lines(one))


def _pictures(one: Difference, number: str) -> Iterator[str]:
    yield '<div class="pair">'
    for name, svg in (("stored", one.stored), ("fresh", one.fresh)):
        shown = "none" if svg is None else image_html(svg, f"{name} picture of cell {number}")
        yield f"<figure><figcaption>{name}</figcaption>{shown}</figure>"
    yield "</div>"


def preformatted(lines: Iterable[str]) -> str:
    """Lines of a diff, or of text, as they are."""
    return f'<pre tabindex="0">{chr(10).join(map(_line, lines))}</pre>'


def _line(line: str) -> str:
    mark = {"-": "del", "+": "ins"}.get(line[:1])
    return f"<{mark}>{escape(line)}</{mark}>" if mark else escape(line)
