"""One HTML file that shows a graph interactively, offline and without a kernel."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template
from typing import Any, Final

from gradviz.model.errors import GradvizError
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.recording import Recording
from gradviz.view.documents.folds import PAGE
from gradviz.view.documents.graph import compress, graph_document
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.graph_index import LISTED
from gradviz.view.text import shorten, xml

TITLE: Final = 80
"""Characters of a title that is a line of code."""
STATIC: Final = Path(__file__).parents[1] / "static"

POLICY: Final = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
"""What a page may load: nothing from anywhere."""

# The static content is in the page itself, for browsers without scripts.
_PAGE: Final = Template("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>$title</title>
<style>
:root { color-scheme: light dark; --page: #fff; --text: #1c2128; }
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --text: #e6edf3; } }
:root[data-theme="light"] { color-scheme: light; --page: #fff; --text: #1c2128; }
:root[data-theme="dark"] { color-scheme: dark; --page: #14171c; --text: #e6edf3; }
@media print { :root, :root[data-theme] { --page: #fff; --text: #1c2128; } }
body { margin: 0 auto; padding: 12px 16px 24px; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 2px; font-size: 18px; }
h1, body > p { overflow-wrap: anywhere; }
body > p { margin: 0 0 12px; }
.gradviz-page { overflow-x: auto; }
body > details { margin-top: 16px; }
pre { overflow-x: auto; font: 12px/1.5 $font; }
</style>
<style>$css</style>
</head>
<body>
<h1>$headline</h1>
$summary<main class="gradviz-page" id="gradviz-page" \
data-gradviz-state="gradviz-state" data-gradviz-code="gradviz-code">
$still</main>
<details><summary>As text</summary>
<pre>$text</pre>
</details>
<script type="application/json" id="gradviz-state">$state</script>
<script type="application/json" id="gradviz-code">$code</script>
<script type="module">addEventListener("message", ({ data }) => {
  if (data?.gradvizTheme) document.documentElement.dataset.theme = data.gradvizTheme;
});
$script</script>
</body>
</html>
""")


TRAITS: Final = {
    "selected": "",
    "height": 0,
    "engine_arrows": False,
    "density": "auto",
    "theme": "auto",
}
"""Traits of a widget in a page that are not given."""


def front_end(name: str) -> str:
    """A file of the built front end.

    Raises:
        GradvizError: If it is not built.
    """
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise GradvizError(f"the front end is not built: run `make build` ({error})") from error


def inert(data: Any) -> str:
    r"""Data as JSON that cannot end the script element that it lies in.

    Examples:
        >>> inert("</script>")
        '"\\u003c/script>"'
    """
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def inert_style(css: str) -> str:
    """A style sheet that cannot end its element."""
    return css.replace("</", "<\\/")


def to_page(graph: Graph, options: DrawOptions = DEFAULT, folding: Folding | None = None) -> str:
    """The page as text, the same for the same graph.

    Args:
        graph: What it shows.
        options: How it is drawn.
        folding: How it is folded; if not given it is not.

    Raises:
        GradvizError: If the front end is not built.
    """
    folded = None if folding is None else GraphDrawing(graph, options, folding)
    wire = graph_document(
        graph, options, room=10_000_000, in_text=LISTED, folded=folded, insides=PAGE
    )
    # A small one can be read in the page.
    sent = compress(wire) if folding else wire
    traits = {"wire": sent, "engine_arrows": options.engine_arrows, "density": options.density}
    return page_of(wire, traits, wire["pictures"][wire["density"]])


def page_of(
    wire: dict[str, Any],
    traits: dict[str, Any],
    still: str,
    summary: str | None = None,
    *,
    title: str = "",
) -> str:
    """The page of a document.

    Args:
        wire: What is shown.
        traits: Values of the widget's traits, the wire as it is to lie in the page.
        still: HTML shown without scripts.
        summary: HTML before it; if not given the summary of the document.
        title: Of the window with the page; if not given that of the document, the headline.

    Raises:
        GradvizError: If the front end is not built.
    """
    code, css, script = map(front_end, ("widget.js", "widget.css", "page.js"))
    state = TRAITS | traits | {"page": True}
    return _PAGE.substitute(
        title=xml(title or wire["title"]),
        headline=xml(wire["title"]),
        summary=f"<p>{_summary(wire)}</p>\n" if summary is None else summary,
        still=still,
        text=xml(wire["text"]),
        css=inert_style(css),
        script=script,
        policy=POLICY,
        font='ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
        state=inert(state),
        code=inert(code),
    )


def first_line(recording: Recording) -> str:
    r"""What a recording is recognised by: the first line of its code that is no import, else the
    first; a comment without its sign. ``""`` if the code is not known.

    Examples:
        >>> from gradviz.model.recording import Code
        >>> start = Recording.empty().records
        >>> code = Code("cell", 1, "%%gradviz\nimport torch\n# A line\n")
        >>> first_line(Recording(start, [code]))
        'A line'
    """
    text = recording.codes[0].text if recording.codes else ""
    lines = [line.strip() for line in text.split("\n")]
    lines = [line.lstrip("# ") for line in lines if line.strip("# ") and line[0] != "%"]
    telling = (line for line in lines if not line.startswith(("import ", "from ")))
    return shorten(next(telling, "".join(lines[:1])), TITLE, end=True)


def _summary(wire: dict[str, Any]) -> str:
    """What the headline does not say."""
    words: str = wire["summary"]
    return xml(words.removeprefix(f"{wire['title']}: "))
