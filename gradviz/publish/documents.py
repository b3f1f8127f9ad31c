"""The HTML of a page or a deck, made by nbconvert's exporters with templates of our own.

nbconvert's own templates fetch MathJax, require.js and reveal.js from the network; ours fetch
nothing, and a policy in the page forbids it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

from nbconvert.exporters import HTMLExporter, SlidesExporter
from pygments.formatters import HtmlFormatter

from gradviz.notebook_check.stored_widgets import States
from gradviz.publish.alive import Alive
from gradviz.publish.slide_types import has_picture, hides_source, slides, with_slide_types
from gradviz.view.export.page import POLICY, front_end, inert_style
from gradviz.view.text import xml

Kind = Literal["page", "slides"]
TEMPLATES: Final = Path(__file__).with_name("templates")
STYLES: Final = {"light": "default", "dark": "github-dark"}
"""How code is coloured, by names of Pygments."""
_SECTION: Final = re.compile(r"(</?)section\b")
_NOTE: Final = (
    "<footer><p>The answers to the questions are in this file, encoded, not secret: they are "
    "judged here, without a kernel.</p></footer>"
)


def page_html(notebook: Any, states: States, title: str) -> str:
    """A notebook as one page.

    Args:
        notebook: The notebook with its outputs, which are changed.
        states: The traits of its widgets.
        title: Of the window.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code" and hides_source(cell):
            cell.metadata["gradviz_folds_source"] = True
    exporter = HTMLExporter(template_name="gradviz_page", **_OPTIONS)
    return _exported(exporter, "page", notebook, states, title)


def slides_html(notebook: Any, states: States, title: str) -> str:
    """A notebook as a deck of slides.

    Args:
        notebook: The notebook with its outputs, which are changed.
        states: The traits of its widgets.
        title: Of the window.
    """
    with_slide_types(notebook)
    kinds = [cell.metadata["slideshow"]["slide_type"] for cell in notebook.cells]
    for slide in slides(notebook.cells, kinds):
        is_words = all(cell.cell_type == "markdown" for cell in slide)
        slide[0].metadata["gradviz_slide"] = "is-words" if is_words else "is-shown"
        for cell in filter(_shows_its_source, slide):
            cell.metadata["transient"] = {"remove_source": True}
        for cell in slide:
            _without_sections(cell)
    exporter = SlidesExporter(template_name="gradviz_slides", **_OPTIONS)
    return _exported(exporter, "deck", notebook, states, title)


_OPTIONS: Final[dict[str, Any]] = {
    "extra_template_basedirs": [str(TEMPLATES)],
    "exclude_input_prompt": True,
    "exclude_output_prompt": True,
    "exclude_anchor_links": True,
    "embed_images": True,
}


def _without_sections(cell: Any) -> None:
    """Takes section elements out of what a cell shows: reveal.js reads each as a slide."""
    if cell.cell_type == "markdown":
        cell.source = _SECTION.sub(r"\1div", cell.source)
    for output in cell.get("outputs", ()):
        data = output.get("data", {})
        if "text/html" in data:
            data["text/html"] = _SECTION.sub(r"\1div", data["text/html"])


def _shows_its_source(cell: Any) -> bool:
    """Whether a slide needs no source of a code cell: it is folded, or the player shows it."""
    if cell.cell_type != "code" or not has_picture(cell):
        return False
    return hides_source(cell) or cell.source.lstrip().startswith("%%gradviz")


def _exported(exporter: Any, style: str, notebook: Any, states: States, title: str) -> str:
    alive = Alive()
    alive.replace(notebook, states)
    notebook.metadata.pop("widgets", None)
    tail = [_NOTE] if alive.questions and style == "page" else []
    tail += [alive.elements()]
    if style == "deck":
        tail.append(f'<script type="module">{front_end("deck.js")}</script>')
    sheets = [front_end(f"{style}.css"), _code_style(), *alive.styles]
    parts = {"head": _head(title, sheets), "tail": "\n".join(filter(None, tail))}
    html, _ = exporter.from_notebook_node(notebook, {"gradviz": parts})
    return f"{html.strip()}\n"


def _head(title: str, sheets: Iterable[str]) -> str:
    styles = "\n".join(f"<style>{inert_style(css)}</style>" for css in sheets)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{xml(title)}</title>
{styles}
</head>"""


def _code_style() -> str:
    """Colours of code, light and dark, on the paper of the page."""
    light, dark = (
        HtmlFormatter(style=name, nobackground=True).get_style_defs(".highlight")
        for name in STYLES.values()
    )
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"
