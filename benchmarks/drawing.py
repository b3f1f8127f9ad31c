"""Time and size of layout, drawing, and everything a widget is sent."""

from __future__ import annotations

import json
from typing import Any

import gradviz
from benchmarks.graphs import mlp
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, times
from benchmarks.timing import Times, no_collector, seconds
from gradviz.view.documents.graph import graph_document
from gradviz.view.graph import layout_program
from gradviz.view.graph.drawing import draw
from gradviz.view.outlines.graph import outline

SIZES = (25, 100, 400)


def run(quick: bool) -> dict[str, Any]:
    """Measure pictures of 25, 100 and 400 boxes."""
    found: dict[str, Any] = {} if quick else {"first": in_process("drawing", "first_draw")}
    for size in SIZES[:1] if quick else SIZES:
        found[str(size)] = in_process("drawing", "measure", size, 2 if quick else 9)
    return {
        key: {"failed": value.text} if isinstance(value, Crash) else value
        for key, value in found.items()
    }


def first_draw() -> float:
    """Milliseconds of the first picture in a process, which loads the engine."""
    graph = gradviz.snapshot(mlp(25))
    return seconds(lambda: draw(graph)) * 1e3


def measure(size: int, rounds: int) -> dict[str, Any]:
    """Milliseconds of each step, the layout not remembered."""
    output = mlp(size)
    graph = gradviz.snapshot(output)
    draw(graph)
    found = Times()
    for _ in range(rounds):
        with no_collector():
            found.add("snapshot", seconds(lambda: gradviz.snapshot(output)))
            layout_program.render.cache_clear()
            found.add("layout and drawing", seconds(lambda: draw(graph)))
            found.add("drawing", seconds(lambda: draw(graph)))
            found.add("outline", seconds(lambda: outline(graph)))
            layout_program.render.cache_clear()
            found.add("all of the widget's data", seconds(lambda: graph_document(graph)))
    wire = graph_document(graph)
    return {
        "boxes": len(graph),
        "ms": {
            name: {"best": found.best(name) * 1e3, "median": found.median(name) * 1e3}
            for name in found.rounds
        },
        "svg kB": len(wire["pictures"][wire["density"]].encode()) / 1e3,
        "wire kB": len(json.dumps(wire).encode()) / 1e3,
    }


def tables(results: dict[str, Any]) -> list[Table]:
    """The results as a table."""
    rows: list[list[str]] = []
    names: list[str] = []
    remarks: list[str] = []
    for key, result in results.items():
        if isinstance(result, dict) and "failed" in result:
            remarks.append(f"{key}: {result['failed']}")
        elif isinstance(result, dict):
            names = list(result["ms"])
            cells = [times(result["ms"][name], 1) for name in names]
            sizes = [f"{result[name]:.0f}" for name in ("svg kB", "wire kB")]
            rows.append([f"MLP, {result['boxes']} boxes", *cells, *sizes])
        else:
            remarks.append(f"first picture of a process, 25 boxes: {result:.0f} ms")
    title = "Picture: milliseconds, best / median"
    return [Table(title, ["graph", *names, "svg kB", "wire kB"], rows, tuple(remarks))]
