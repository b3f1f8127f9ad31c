"""``gradviz check --figures``: pages of a documentation one after the other, and the report."""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path, PurePosixPath
from typing import Final, TextIO

from gradviz.notebook_check.as_html import html_page, preformatted
from gradviz.notebook_check.command import check_report_path
from gradviz.notebook_check.difference_lines import diff_lines
from gradviz.notebook_check.figures import Figure, PageResult, check_figures
from gradviz.notebook_check.results import Difference
from gradviz.view.formatting import plural

_IMAGES: Final = {
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".apng": "image/apng",
    ".gif": "image/gif",
}
_TEXTS: Final = (".mmd", ".dot", ".json", ".txt", ".csv")
_SHOWN: Final = 20
"""Lines of a difference that are printed."""
_UPDATE: Final = "gradviz check --figures --update writes it"


def check_documentation(
    paths: Sequence[Path],
    timeout: float,
    update: bool = False,
    report: Path | None = None,
    out: TextIO | None = None,
) -> int:
    """Check the figures of pages and print what was found.

    Args:
        paths: The pages.
        timeout: Seconds that the code of a page may take.
        update: Whether figures are written.
        report: Where the report is written; none if not given.
        out: Where the findings go; ``sys.stdout`` if not given.

    Returns:
        0 if all figures are what the code draws, else 1.

    Raises:
        CheckError: If a page cannot be read, or the report cannot be written.
    """
    out = out or sys.stdout
    if report is not None:
        check_report_path(report)
    results = []
    for path in paths:
        results.append(check_figures(path, timeout, update))
        out.writelines(f"{line}\n" for line in _lines(results[-1]))
        out.flush()
    if report is not None:
        report.write_text(_report(results), "utf-8", "backslashreplace")
        out.write(f"report: {report}\n")
    return int(not all(result.is_good for result in results))


def _lines(result: PageResult) -> Iterator[str]:
    """What is printed of a page."""
    yield f"{'same' if result.is_good else 'DIFFERS'}  {result.path}  {_counts(result)}"
    if result.problem:
        yield from (f"  {line}" for line in result.problem.split("\n"))
    for figure in result.figures:
        if figure.verdict != "same":
            yield f"  {_where(figure)}: {_words(figure)}"
        if figure.verdict == "different" and _is_text(figure):
            lines = _difference(figure)
            yield from (f"    {line}" for line in lines[:_SHOWN])
            if len(lines) > _SHOWN:
                yield f"    … {plural(len(lines) - _SHOWN, 'more line')}"


def _counts(result: PageResult) -> str:
    if result.problem:
        return "its code did not run to the end, so nothing is compared"
    if not result.figures:
        return "no figures"
    verdicts = [figure.verdict for figure in result.figures]
    parts = ", ".join(f"{verdicts.count(one)} {one}" for one in dict.fromkeys(verdicts))
    return f"{plural(len(verdicts), 'figure')}: {parts}"


def _where(figure: Figure) -> str:
    return figure.path if figure.line is None else f"{figure.path} (line {figure.line})"


def _words(figure: Figure) -> str:
    """What is wrong with a figure, and what to do."""
    if figure.verdict == "different":
        pair = "" if _is_text(figure) else "; --report FILE.html shows both"
        return f"differs from what the code draws{pair}; {_UPDATE}"
    if figure.verdict == "missing":
        return f"the code draws it, and it is not stored; {_UPDATE}"
    if figure.verdict == "never made":
        return "the page shows it, and no code of the page makes it"
    return "written"


def _is_text(figure: Figure) -> bool:
    return figure.line is not None or PurePosixPath(figure.path).suffix in _TEXTS


def _difference(figure: Figure) -> list[str]:
    stored, fresh = (
        None if data is None else data.decode("utf-8", "backslashreplace")
        for data in (figure.stored, figure.fresh)
    )
    return diff_lines(Difference("text/plain", stored, fresh))


def _report(results: Sequence[PageResult]) -> str:
    """Everything that is not the same, pictures side by side."""
    body = ["<h1>Figures checked</h1>"]
    for result in results:
        body.append(f"<h2>{escape(str(result.path))}</h2><p>{escape(_counts(result))}</p>")
        if result.problem:
            body.append(preformatted(result.problem.split("\n")))
        for figure in result.figures:
            if figure.verdict != "same":
                body += _figure(figure)
    return html_page("Figures checked", body)


def _figure(figure: Figure) -> Iterator[str]:
    yield f"<h3>{escape(_where(figure))}</h3><p>{escape(_words(figure))}</p>"
    kind = _IMAGES.get(PurePosixPath(figure.path).suffix)
    if kind is not None and figure.line is None:
        yield '<div class="pair">'
        for name, data in (("stored", figure.stored), ("fresh", figure.fresh)):
            shown = "none" if data is None else _image(kind, data, f"{name} {figure.path}")
            yield f"<figure><figcaption>{name}</figcaption>{shown}</figure>"
        yield "</div>"
    elif figure.fresh is not None:
        yield preformatted(_difference(figure))


def _image(kind: str, data: bytes, words: str) -> str:
    return f'<img alt="{escape(words)}" src="data:{kind};base64,{b64encode(data).decode()}">'
