"""``gradviz page`` and ``gradviz slides``: notebooks one after the other, each one HTML file."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from gradviz.notebook_check.command import Progress
from gradviz.notebook_check.stored_widgets import States
from gradviz.publish.documents import Kind, page_html, slides_html
from gradviz.publish.slide_types import slide_types, slides, stated
from gradviz.publish.source import PublishError, Settings, UnreadableError, notebook_of
from gradviz.view.formatting import plural
from gradviz.view.text import shorten

ENDINGS: Final[Mapping[Kind, str]] = {"page": ".html", "slides": ".slides.html"}
_WRITERS: Final[Mapping[Kind, Callable[[Any, States, str], str]]] = {
    "page": page_html,
    "slides": slides_html,
}
_LINK: Final = re.compile(r"(?P<before>\]\()(?P<path>[^)\s:#]+\.ipynb)(?P<anchor>#[^)\s]*)?(?=\))")
_FETCHED: Final = re.compile(
    r"""(?:!\[[^]]*\]\(|<(?:img|script|iframe)[^>]*src=["'])(https?://[^)"'\s]+)"""
)
_MATH: Final = re.compile(
    r"\$\$.+?\$\$|(?<![\\$\w])\$[^$\s][^$\n]*\$(?![\d$])|\\begin\{", re.DOTALL
)


def publish(
    paths: Sequence[Path],
    kind: Kind,
    settings: Settings,
    folder: Path | None = None,
    out: TextIO | None = None,
    progress: TextIO | None = None,
) -> int:
    """Write the page or the slides of each notebook, and say what is not in them.

    Args:
        paths: The notebooks.
        kind: ``"page"`` or ``"slides"``.
        settings: Where the outputs come from.
        folder: Where the files are written; beside each notebook if not given.
        out: Where it is said what was written; ``sys.stdout`` if not given.
        progress: Where the cell that runs is named, if that is a terminal; ``sys.stderr`` if not
            given.

    Returns:
        0 if all were written, 1 if one was not, 2 if one could not be read or run.

    Raises:
        PublishError: If two notebooks would be the same file, or the folder cannot be written to.
    """
    out, progress = out or sys.stdout, progress or sys.stderr
    targets = _targets(paths, kind, folder)
    status = 0
    for path, target in targets.items():
        line = Progress(progress, path)
        try:
            notebook, states = notebook_of(path, settings, line.begins)
            line.clear()
            left_out = _left_out(notebook, states, kind)
            left_out += _relinked(notebook, path, target, targets)
            html = _WRITERS[kind](notebook, states, title_of(notebook, path.stem))
        except PublishError as error:
            line.clear()
            out.write(f"FAILED  {path}\n  not written: {error}\n")
            status = max(status, 2 if isinstance(error, UnreadableError) else 1)
            continue
        target.write_text(html, "utf-8", "backslashreplace", newline="\n")
        out.write(f"{target}{_extent(notebook, kind)}\n")
        out.writelines(f"  {words}\n" for words in left_out)
        out.flush()
    return status


def title_of(notebook: Any, otherwise: str) -> str:
    r"""The first heading of a notebook.

    Examples:
        >>> import nbformat
        >>> cell = nbformat.v4.new_markdown_cell("# A graph\n\nWords.")
        >>> title_of(nbformat.v4.new_notebook(cells=[cell]), "lecture")
        'A graph'
    """
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return str(line).removeprefix("# ").strip().replace("`", "")
    return otherwise


def _targets(paths: Sequence[Path], kind: Kind, folder: Path | None) -> dict[Path, Path]:
    """Which file each notebook is written to; the folders are there then."""
    targets: dict[Path, Path] = {}
    for path in dict.fromkeys(paths):
        target = (path.parent if folder is None else folder) / f"{path.stem}{ENDINGS[kind]}"
        same = next((other for other, known in targets.items() if known == target), None)
        if same is not None:
            raise PublishError(
                f"{same} and {path} would both be written to {target}. Write them into two "
                "folders, with a command for each: --output DIR"
            )
        targets[path] = target
    for target in targets.values():
        if target.parent.exists() or folder is not None:
            _check_writable(target)
    return targets


def _check_writable(target: Path) -> None:
    """Before minutes of running: can the file be written?"""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        existed = target.exists()
        target.open("a").close()
        if not existed:
            target.unlink()
    except OSError as error:
        raise PublishError(
            f"{target} cannot be written: {error.strerror}. Name a folder that can: --output DIR"
        ) from None


def _extent(notebook: Any, kind: Kind) -> str:
    if kind == "page":
        return ""
    many = len(list(slides(notebook.cells, [stated(cell) for cell in notebook.cells])))
    return f": {plural(many, 'slide')}"


def _left_out(notebook: Any, states: States, kind: Kind) -> list[str]:
    """What a reader does not find in the file."""
    found = []
    if kind == "slides":
        cells = zip(notebook.cells, slide_types(notebook.cells), strict=True)
        names = [shorten(_first_line(cell), 40) for cell, one in cells if one == "skip"]
        if names:
            found.append(f"on no slide, as they show nothing: {', '.join(map(repr, names))}")
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    if any(_MATH.search(text) for text in texts):
        found.append("formulas stay as LaTeX: what would draw them is on the network")
    fetched = sorted({address for text in texts for address in _FETCHED.findall(text)})
    if fetched:
        found.append(
            f"not shown, as the file loads nothing from the network: {', '.join(fetched)}. Keep a "
            "copy beside the notebook and show that"
        )
    return found


def _first_line(cell: Any) -> str:
    return next((line.strip() for line in cell.source.splitlines() if line.strip()), "empty cell")


def _relinked(notebook: Any, path: Path, target: Path, targets: Mapping[Path, Path]) -> list[str]:
    """Leads links between notebooks to the files that are written; says which lead to none."""
    written = {one.resolve(): other for one, other in targets.items()}
    missing: list[str] = []

    def led(link: re.Match[str]) -> str:
        found = written.get((path.parent / link["path"]).resolve())
        if found is None:
            missing.append(link["path"])
            return link[0]
        there = Path(os.path.relpath(found, target.parent)).as_posix()
        return f"{link['before']}{there}{link['anchor'] or ''}"

    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(led, cell.source)
    if not missing:
        return []
    names = ", ".join(dict.fromkeys(missing))
    return [f"links to notebooks that are not among those named: {names}"]
