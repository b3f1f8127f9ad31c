"""The same models through gradviz, torchviz, torchview and torchlens: time, memory, the picture.

Each look has a process of its own and so much time; how it fails is a result. *Read* ends where the
tool knows the graph: gradviz has its copy, torchviz and torchview their text for Graphviz; the
picture is a time of its own. torchview and torchlens call the model themselves, so *read* contains
a forward there, which ``forward`` shows.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from torch import Tensor

import gradviz
from benchmarks.contenders import bare, lift_recursion_limit
from benchmarks.graphs import CALLED, Calls
from benchmarks.processes import LARGEST, Crash, beside, in_process, most_resident
from benchmarks.report import Table

Cases = Sequence[tuple[str, tuple[int, ...]]]
CASES: Cases = (
    ("MLP", (8,)),
    ("GPT", (2, 12, 96)),
    ("RNN", (500,)),
    ("chain", (1_000, 10_000, 1_000_000)),
)
QUICK: Cases = (("MLP", (2,)),)
LONGEST: Final = 60.0
"""Seconds that one look may take."""
BEGIN: Final = "<!-- beside other tools: begin -->\n"
END: Final = "<!-- beside other tools: end -->\n"
"""What the table of a page is between."""
COLUMNS: Final = {
    "graph": "model",
    "looks": "tool",
    "to bare": "read, to the bare walk",
    "drawn to bare": "read and drawn",
    "MiB": "MiB",
    "picture px": "picture",
    "fails": "fails",
}
"""Columns of the table that a page has, and their titles there."""
Save = Callable[[Path], object]
"""Writes the picture of what was read to a file."""


def _bare(model: Calls, x: Tensor, loss: Tensor) -> Save | None:
    bare(loss)
    return None


def _gradviz(model: Calls, x: Tensor, loss: Tensor) -> Save | None:
    graph = gradviz.snapshot(loss, model)
    return lambda path: gradviz.show(graph).save(path)


def _torchviz(model: Calls, x: Tensor, loss: Tensor) -> Save | None:
    from torchviz import make_dot

    lift_recursion_limit()
    return _dot(make_dot(loss, params=dict(model.named_parameters())).source)


def _torchview(model: Calls, x: Tensor, loss: Tensor) -> Save | None:
    from torchview import draw_graph

    return _dot(draw_graph(model, input_data=x, device="cpu").visual_graph.source)


def _torchlens(model: Calls, x: Tensor, loss: Tensor) -> Save | None:
    import torchlens

    trace = torchlens.trace(model, x)
    return lambda path: trace.draw(
        vis_outpath=str(path.with_suffix("")), vis_fileformat="svg", vis_save_only=True
    )


def _dot(source: str) -> Save:
    def save(path: Path) -> None:
        subprocess.run(["dot", "-Tsvg", "-o", str(path)], input=source.encode(), check=True)

    return save


LOOKS: dict[str, tuple[Callable[[Calls, Tensor, Tensor], Save | None], str]] = {
    "bare": (_bare, ""),
    "gradviz": (_gradviz, ""),
    "torchviz": (_torchviz, "torchviz"),
    "torchview": (_torchview, "torchview"),
    "torchlens": (_torchlens, "torchlens"),
}
"""How each is called, and the package that it needs."""


def run(quick: bool, workers: int = 1) -> list[dict[str, Any]]:
    """Let everybody look at every model, those of one kind by rising size."""
    cases = QUICK if quick else CASES
    every = [(name, sizes, peer) for name, sizes in cases for peer in LOOKS]
    found = {
        (one["graph"], one["size"], one["peer"]): one
        for results in beside(_looks, every, workers)
        for one in results
    }
    return [found[name, size, peer] for name, sizes in cases for size in sizes for peer in LOOKS]


def _looks(case: tuple[str, tuple[int, ...], str]) -> list[dict[str, Any]]:
    """What one of them says of one kind of model; after a failure larger ones are not tried."""
    name, sizes, peer = case
    _, package = LOOKS[peer]
    results: list[dict[str, Any]] = []
    for size in sizes:
        start = time.perf_counter()
        if package and importlib.util.find_spec(package) is None:
            answer: Any = {"failed": "not installed"}
        elif results and "failed" in results[-1]:
            answer = {"failed": "not tried: failed on a smaller one"}
        else:
            answer = in_process("peers", "look", name, size, peer, longest=LONGEST)
        found = {"failed": answer.text} if isinstance(answer, Crash) else answer
        results.append({"graph": name, "size": size, "peer": peer, **found})
        took = time.perf_counter() - start
        print(f"{peer} on {name} {size:,}: {took:.0f} s", file=sys.stderr, flush=True)
    return results


def look(name: str, size: int, peer: str) -> dict[str, Any]:
    """Let one look at one model: seconds of CPU time until it is read, and of drawing that, what
    reading takes of memory, size in pixels."""
    look_at, _ = LOOKS[peer]
    small, first = CALLED[name](2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "picture.svg")
        if save := look_at(small, first, small(first)):
            save(path)  # what is imported and compiled once
        model, x = CALLED[name](size)
        start = _cpu()
        loss = model(x)
        forward = _cpu() - start
        before = most_resident()
        start = _cpu()
        save = look_at(model, x, loss)
        found: dict[str, Any] = {"forward": forward, "read": _cpu() - start}
        found["memory"] = most_resident() - before
        if save is not None:
            start = _cpu()
            save(path)
            found["drawn"] = _cpu() - start
            found["pixels"] = _pixels(path.read_text())
    _held.append(loss)
    return found


def _cpu() -> float:
    """Seconds of CPU time of this process and of the programs that it ran: ``dot`` is one."""
    others = os.times()
    return time.process_time() + others.children_user + others.children_system


_held: list[Tensor] = []
"""Freeing a deep graph that somebody walked may crash (capture/deep_graphs)."""


def _pixels(svg: str) -> list[int]:
    """Width and height of a picture."""
    head = svg[: svg.index(">", svg.index("<svg"))]
    sizes = re.findall(r'\b(?:width|height)="([\d.]+)(pt|px|)"', head)
    if len(sizes) < 2:
        (box,) = re.findall(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', head)
        sizes = [(number, "") for number in box]
    return [round(float(number) * (4 / 3 if unit == "pt" else 1)) for number, unit in sizes[:2]]


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """One table: a row for each look."""
    floors = {(r["graph"], r["size"]): r for r in results if r["peer"] == "bare"}
    columns = ["graph", "looks", "read s", "to bare", "drawn s", "drawn to bare", "MiB"]
    columns += ["picture px", "fails"]
    rows = []
    for result in results:
        cells = [f"{result['graph']} {result['size']:,}", result["peer"]]
        if "failed" in result:
            rows.append([*cells, *"------", result["failed"][:60]])
            continue
        floor = floors[result["graph"], result["size"]].get("read")
        pixels, read, drawn = result.get("pixels"), result["read"], result.get("drawn")
        rows.append(
            [
                *cells,
                f"{read:.3f}",
                f"{read / floor:,.0f}x" if floor else "-",
                "-" if drawn is None else f"{drawn:.2f}",
                f"{(read + drawn) / floor:,.0f}x" if floor and drawn is not None else "-",
                f"{result['memory'] / 2**20:,.0f}",
                f"{pixels[0]:,} x {pixels[1]:,}" if pixels else "-",
                "",
            ]
        )
    remark = "torchview and torchlens run the model again: their time contains a forward"
    return [Table("Beside other tools, on the same models", columns, rows, (remark,))]


def write_page(
    path: Path, results: list[dict[str, Any]], how: str, plot: Path | None = None
) -> None:
    """Put the table into a page of the documentation, where there was one.

    Args:
        path: The page.
        results: What :func:`run` found.
        how: The command and the versions.
        plot: A picture of the growth, shown if it is beside the page.
    """
    head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    tail = rest.partition(END)[2]
    limits = f"Each look may take {LONGEST:.0f} s and, on Linux, {LARGEST >> 30} GiB."
    text = f"{how} {limits}\n\n{_markdown(results)}"
    if plot is not None and plot.parent.resolve() == path.parent.resolve():
        text += f"\n![Seconds from a thousand nodes to a million]({plot.name})\n"
    path.write_text(f"{head}{BEGIN}{text}{END}{tail}", encoding="utf-8")


def _markdown(results: list[dict[str, Any]]) -> str:
    """The same table with ratios in place of seconds."""
    (table,) = tables(results)
    wanted = [table.columns.index(name) for name in COLUMNS]
    rows = [[row[place].replace("|", "\\|") for place in wanted] for row in table.rows]
    lines = [list(COLUMNS.values()), ["---"] * len(COLUMNS), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
