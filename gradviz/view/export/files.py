"""A picture as a file: the ending of its name says which kind."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from gradviz.model.arguments import flag
from gradviz.model.errors import GradvizError, OptionError
from gradviz.model.folding import Folding
from gradviz.model.graph import Graph
from gradviz.model.highlights import Highlight
from gradviz.view.documents.graph import graph_json
from gradviz.view.export.dot import to_dot
from gradviz.view.export.mermaid import to_mermaid
from gradviz.view.export.page import to_page
from gradviz.view.export.writing import ending_of, write_as
from gradviz.view.graph.drawing import GraphDrawing
from gradviz.view.graph.layout_program import run_dot
from gradviz.view.graph.options import DEFAULT, DrawOptions
from gradviz.view.style import PNG_FONT

FONTS: Final = Path(__file__).parents[1] / "fonts"
SCALE: Final = 2.0
"""Pixels of a PNG per pixel of the SVG."""
PLAYED: Final = (".gif", ".apng")
"""Endings of files that always play steps."""
SHARP: Final = 10_000_000
"""Pixels above which the scale falls, down to 1: the time of a PNG is that of its pixels."""
PIXELS: Final = 60_000_000
"""Pixels above which it falls further."""


def save(
    graph: Graph | Any,
    path: str | os.PathLike[str],
    options: DrawOptions = DEFAULT,
    folding: Folding | None = None,
    marks: Iterable[Highlight] = (),
    page: Callable[[], str] | None = None,
) -> None:
    """Write a graph to a file, the same bytes for the same graph.

    Args:
        graph: A graph, or what :func:`gradviz.show` returned.
        path: Where to; ``.svg``, ``.png``, ``.pdf``, ``.dot``, ``.mmd``, ``.json`` or
            ``.html``. The HTML is one file that works without a network and without a kernel.
        options: How it is drawn.
        folding: How it is folded; if not given it is not.
        marks: Marks of findings, in .svg and .png.
        page: Makes the HTML, if it is not only that of a graph.

    Raises:
        OptionError: If the ending is none of these.
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
    known = graph if isinstance(graph, Graph) else graph.graph
    shown = (known, options, folding)
    writers: dict[str, Callable[[], str | bytes]] = {
        ".svg": lambda: GraphDrawing(*shown, marks).text(),
        ".png": partial(to_png, *shown, marks),
        ".pdf": partial(to_pdf, *shown),
        ".dot": partial(to_dot, *shown),
        ".mmd": partial(to_mermaid, *shown),
        ".json": lambda: graph_json(known) + "\n",
        ".html": page or partial(to_page, *shown),
    }
    write_as(path, "a picture", writers)


def refuse_animation(
    path: str | os.PathLike[str],
    animated: bool = False,
    stops: object = None,
    seconds: object = None,
    shape: object = None,
) -> None:
    """Refuse an animation of what is no recording.

    Args:
        path: The file that was named.
        animated: As ``save`` of a recording takes it; so are the others.
        stops: Which steps.
        seconds: How long each is seen.
        shape: Of the frames.

    Raises:
        OptionError: If an animation is asked for.

    Examples:
        >>> refuse_animation("loss.svg")
    """
    is_asked = any(one is not None for one in (stops, seconds, shape))
    is_asked = flag("animated", animated) or is_asked
    if ending_of(path) not in PLAYED and not is_asked:
        return
    raise OptionError(
        f"cannot save {os.fspath(path)!r} as an animation: this is no recording, and animated=, "
        "stops=, seconds= and shape= play the steps of one. with gradviz.record() as recording: "
        "... records code; gradviz.show(recording).save('steps.svg', animated=True)"
    )


def to_png(
    graph: Graph,
    options: DrawOptions = DEFAULT,
    folding: Folding | None = None,
    marks: Iterable[Highlight] = (),
) -> bytes:
    """The picture as PNG on white, with text in the packaged font.

    Raises:
        GradvizError: If the package ``resvg-py`` is not installed.
    """
    return svg_to_png(GraphDrawing(graph, options, folding, marks).text(variables=False))


def svg_to_png(svg: str, most: float = SCALE) -> bytes:
    """A picture as PNG; its colours must not be variables.

    Args:
        svg: The picture.
        most: Pixels of the PNG per pixel of the picture; fewer where it is large.

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
            zoom=min(most, _scale(width * height)),
            # Other scripts need the fonts of the machine, which take a while to find.
            skip_system_fonts=all(ord(sign) < 0x180 or sign in "…·×→≠Σ∂∅⚠" for sign in svg),
            font_files=[str(font) for font in sorted(FONTS.glob("*.ttf"))],
            font_family=PNG_FONT,
            monospace_family=PNG_FONT,
        )
    )


def _scale(area: float) -> float:
    """Pixels of a PNG per pixel of an SVG of this area."""
    sharp, readable = (math.sqrt(most / area) for most in (SHARP, PIXELS))
    return min(SCALE, max(sharp, min(1.0, readable)))


def to_pdf(graph: Graph, options: DrawOptions = DEFAULT, folding: Folding | None = None) -> bytes:
    """The picture as PDF, drawn by the program ``dot``.

    Raises:
        GraphvizNotFoundError: If that is not installed.
    """
    return run_dot(to_dot(graph, options, folding), "pdf")
