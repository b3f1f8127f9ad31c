"""Which cell begins a slide: one idea a slide, from what the cells are.

The names are those of Jupyter's metadata ``slideshow.slide_type``, so that ``jupyter nbconvert --to
slides`` and RISE make the same slides: ``"slide"`` begins one, ``"subslide"`` one below it, ``"-"``
belongs to the slide before, ``"skip"`` is on none, ``"notes"`` is for the speaker.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from gradviz.notebook_check.rules import WIDGET
from gradviz.view.documents.digest import MIME

CAPTION: Final = 45
"""Words of a text that may be the caption of the picture above it."""
INTRODUCTION: Final = 60
"""Words of a text that code may follow on the same slide."""
LINES: Final = 16
"""Lines of code beside such a text."""
PICTURED: Final = 10
"""Lines of code above a picture that has a caption."""
_SETTING_UP: Final = ("%load_ext", "%gradviz", "%matplotlib", "%config")
_PICTURES: Final = (WIDGET, MIME, "text/html", "image/svg+xml", "image/png", "image/jpeg")


def slide_types(cells: Iterable[Any]) -> list[str]:
    """The slide type of each cell: what its metadata says, else what it is.

    A heading begins a slide. A question with its output, a picture with its code, or a text is a
    slide below it; a short text after a picture is its caption, and code that only prints
    belongs to the text before it. What has nothing to show is on no slide: raw cells, empty ones,
    and imports.

    Args:
        cells: The cells of a notebook, with their outputs.

    Examples:
        >>> import nbformat
        >>> cells = [
        ...     nbformat.v4.new_markdown_cell("# A graph"),
        ...     nbformat.v4.new_code_cell("import torch"),
        ...     nbformat.v4.new_markdown_cell("Why?"),
        ...     nbformat.v4.new_code_cell("print(1)"),
        ... ]
        >>> slide_types(cells)
        ['slide', 'skip', 'subslide', '-']
    """
    found: list[str] = []
    on_slide: list[Any] = []
    for cell in cells:
        kind = stated(cell) or _kind(cell, on_slide)
        if kind in ("slide", "subslide"):
            on_slide = []
        if kind not in ("skip", "notes"):
            on_slide.append(cell)
        found.append(kind)
    return found


def with_slide_types(notebook: Any) -> Any:
    """The same notebook, each cell with its slide type in its metadata."""
    for cell, kind in zip(notebook.cells, slide_types(notebook.cells), strict=True):
        cell.metadata["slideshow"] = {**cell.metadata.get("slideshow", {}), "slide_type": kind}
    return notebook


def slides(cells: Sequence[Any], kinds: Sequence[str]) -> Iterator[list[Any]]:
    """The cells of each slide; those on none are left out."""
    slide: list[Any] = []
    for cell, kind in zip(cells, kinds, strict=True):
        if kind in ("skip", "notes"):
            continue
        if kind in ("slide", "subslide") and slide:
            yield slide
            slide = []
        slide.append(cell)
    if slide:
        yield slide


def stated(cell: Any) -> str:
    """The slide type that the metadata of a cell has; empty if it has none."""
    said = cell.metadata.get("slideshow", {})
    return str(said.get("slide_type", "")) if isinstance(said, dict) else ""


def has_picture(cell: Any) -> bool:
    """Whether a cell shows more than text: a widget, a question, a picture."""
    return any(kind in one.get("data", {}) for one in cell.get("outputs", ()) for kind in _PICTURES)


def hides_source(cell: Any) -> bool:
    """Whether the source of a cell is folded in a notebook."""
    jupyter = cell.metadata.get("jupyter", {})
    return "hide-input" in cell.metadata.get("tags", ()) or bool(jupyter.get("source_hidden"))


def _kind(cell: Any, on_slide: Sequence[Any]) -> str:
    if cell.cell_type == "raw" or not cell.source.strip():
        return "skip"
    if cell.cell_type == "markdown":
        return _kind_of_text(cell, on_slide)
    if not cell.get("outputs") and _only_sets_up(cell.source):
        return "skip"
    if has_picture(cell) or not on_slide:
        return "subslide"
    return "-" if _may_follow(cell, on_slide) else "subslide"


def _kind_of_text(cell: Any, on_slide: Sequence[Any]) -> str:
    lines = cell.source.strip().splitlines()
    if lines[0].startswith("#"):
        return "slide"
    above = on_slide[-1:]
    is_caption = (
        len(cell.source.split()) <= CAPTION
        and not any(line.startswith("#") for line in lines)
        and any(one.cell_type == "code" and has_picture(one) for one in above)
        and not any(hides_source(one) for one in above)  # a question
        and sum(_lines(one) for one in on_slide) <= PICTURED
    )
    return "-" if is_caption else "subslide"


def _may_follow(cell: Any, on_slide: Sequence[Any]) -> bool:
    """Whether there is room on the slide for code that only prints."""
    words = sum(len(one.source.split()) for one in on_slide if one.cell_type == "markdown")
    lines = _lines(cell) + sum(map(_lines, on_slide))
    return words <= INTRODUCTION and lines <= LINES and not any(map(has_picture, on_slide))


def _lines(cell: Any) -> int:
    """Lines of code and of printed text."""
    if cell.cell_type != "code":
        return 0
    printed = sum(one.get("text", "").count("\n") for one in cell.get("outputs", ()))
    return int(printed) + len(cell.source.strip().splitlines())


def _only_sets_up(source: str) -> bool:
    """Whether code only imports and loads extensions."""
    lines = [line for line in source.splitlines() if not line.strip().startswith(_SETTING_UP)]
    try:
        body = ast.parse("\n".join(lines)).body
    except SyntaxError:
        return False
    return all(isinstance(one, (ast.Import, ast.ImportFrom)) for one in body)
