"""A picture as a file: the ending of its name says which kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from gradviz.model.errors import GradvizError, OptionError
from gradviz.model.graph import Graph
from gradviz.view.drawing import draw
from gradviz.view.export_dot import to_dot
from gradviz.view.export_page import to_page
from gradviz.view.layout import Direction
from gradviz.view.layout_engine import Engine, run_dot
from gradviz.view.style import PNG_FONT
from gradviz.view.wire import graph_json

FONTS: Final = Path(__file__).parent / "fonts"
SCALE: Final = 2.0
"""Pixels of a PNG per pixel of the SVG."""
PIXELS: Final = 60_000_000
"""Larger PNGs are made at a smaller scale."""


def save(
    graph: Graph | Any,
    path: str | os.PathLike[str],
    direction: Direction = "TB",
    engine_arrows: bool = False,
    show: Collection[str] | None = None,
    hide: Collection[str] = (),
    *,
    engine: Engine = "auto",
) -> None:
    """Write a graph to a file, the same bytes for the same graph.

    Args:
        graph: A graph, or what :func:`gradviz.show` returned.
        path: Where to; ``.svg``, ``.png``, ``.pdf``, ``.dot``, ``.json`` or ``.html``. The HTML
            is one file that works without a network and without a kernel.
        direction: As in :func:`gradviz.view.drawing.draw`, like the options that follow.
        engine_arrows: Arrows along ``next_functions``.
        show: Parts of the picture to show.
        hide: Parts to leave out.
        engine: Which Graphviz places the boxes of SVG, PNG and HTML.

    Raises:
        OptionError: If the ending or an option is none of these.
        GraphvizNotFoundError: For PDF, if the program ``dot`` is not installed.

    Examples:
        >>> import tempfile
        >>> from gradviz.model import Graph, Node
        >>> graph = Graph.of([Node("n0", "SinBackward0", (None,))], [("n0", 0)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save(graph, Path(folder, "sin.json"))
        ...     Graph.from_json(Path(folder, "sin.json").read_text()) == graph
        True
    """
    ending = Path(path).suffix.lower()
    write = WRITERS.get(ending)
    if write is None:
        raise OptionError(
            f"{os.fspath(path)!r} ends in {ending or 'nothing'!r}; "
            f"a picture can be saved as {', '.join(WRITERS)}"
        )
    known = graph if isinstance(graph, Graph) else graph.graph
    options = {"engine_arrows": engine_arrows, "show": show, "hide": hide, "engine": engine}
    Path(path).write_bytes(write(known, {"direction": direction, **options}))


def to_png(graph: Graph, **options: Any) -> bytes:
    """The picture as PNG on white, with text in a font that comes along.

    Raises:
        GradvizError: If the package ``resvg-py`` is not installed.
    """
    return svg_to_png(draw(graph, variables=False, **options))


def svg_to_png(svg: str) -> bytes:
    """A picture as PNG; its colours must not be variables.

    Raises:
        GradvizError: If the package ``resvg-py`` is not installed.
    """
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise GradvizError(
            "PNG needs the package resvg-py: pip install resvg-py. The formats .svg and .html "
            "need nothing more."
        ) from error
    width, height = map(float, svg.split('viewBox="0 0 ')[1].split('"')[0].split())
    return bytes(
        svg_to_bytes(
            svg_string=svg,
            background="#ffffff",
            zoom=min(SCALE, (PIXELS / (width * height)) ** 0.5),
            # Other scripts need the fonts of the machine, which take a while to find.
            skip_system_fonts=all(ord(sign) < 0x180 or sign in "…·×→≠Σ∂∅⚠" for sign in svg),
            font_files=[str(font) for font in sorted(FONTS.glob("*.ttf"))],
            font_family=PNG_FONT,
            monospace_family=PNG_FONT,
        )
    )


def _png(graph: Graph, options: dict[str, Any]) -> bytes:
    return to_png(graph, **options)


def _svg(graph: Graph, options: dict[str, Any]) -> bytes:
    return draw(graph, **options).encode()


def _dot(graph: Graph, options: dict[str, Any]) -> bytes:
    return to_dot(graph, **_without_engine(options)).encode()


def to_pdf(graph: Graph, **options: Any) -> bytes:
    """The picture as PDF, drawn by the program ``dot``.

    Raises:
        GraphvizNotFoundError: If that is not installed.
    """
    return run_dot(to_dot(graph, **_without_engine(options)), "pdf")


def _pdf(graph: Graph, options: dict[str, Any]) -> bytes:
    return to_pdf(graph, **options)


def _json(graph: Graph, options: dict[str, Any]) -> bytes:
    return (graph_json(graph) + "\n").encode()


def _html(graph: Graph, options: dict[str, Any]) -> bytes:
    return to_page(graph, **options).encode()


def _without_engine(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "engine"}


WRITERS: Final[dict[str, Callable[[Graph, dict[str, Any]], bytes]]] = {
    ".svg": _svg,
    ".png": _png,
    ".pdf": _pdf,
    ".dot": _dot,
    ".json": _json,
    ".html": _html,
}
"""What can be saved, by ending."""
