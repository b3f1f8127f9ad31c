"""Time of ``show(recording)``, and the bytes that the browser gets of it."""

from __future__ import annotations

import json
from typing import Any

import torch

import gradviz
from benchmarks import training
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, times
from benchmarks.timing import Times, no_collector, seconds
from gradviz.view.documents.graph import compress
from gradviz.view.graph import layout_program

CASES = (("gpt", (2, 64)), ("gpt", (12, 64)), ("mlp", (10,)), ("rnn", (50,)))


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure the recording of every program, with the lines of its block."""
    found = []
    for name, arguments in CASES[2:3] if quick else CASES:
        answer = in_process("showing", "measure", name, arguments, 1 if quick else 5)
        answer = {"failed": answer.text} if isinstance(answer, Crash) else answer
        found.append({"program": " ".join([name, *map(str, arguments)]), **answer})
    return found


def measure(name: str, arguments: list[int], rounds: int) -> dict[str, Any]:
    """Milliseconds of ``show``, the layout not remembered, and the document in bytes."""
    torch.set_num_threads(1)
    program = getattr(training, name)(*arguments)
    found = Times()
    for _ in range(rounds + 1):
        with gradviz.record(into=program.lines) as recording:
            program.step()
        layout_program.render.cache_clear()
        with no_collector():
            found.add("show", seconds(lambda: gradviz.show(recording)))
    found.rounds["show"].pop(0)  # it loaded the engine
    wire = gradviz.show(recording).wire
    return {
        "nodes": len(recording.graph),
        "steps": len(recording.records),
        "ms": {"best": found.best("show") * 1e3, "median": found.median("show") * 1e3},
        "kB": len(json.dumps(wire, separators=(",", ":"))) / 1e3,
        "kB sent": len(json.dumps(compress(wire))) / 1e3,
    }


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """The results as a table."""
    columns = ["program", "nodes", "steps", "show ms", "kB", "kB sent"]
    rows = [
        [r["program"], str(r["nodes"]), str(r["steps"]), times(r["ms"]), *_sizes(r)]
        for r in results
        if "failed" not in r
    ]
    remarks = tuple(f"{r['program']}: {r['failed']}" for r in results if "failed" in r)
    return [Table("Showing a recording", columns, rows, remarks)]


def _sizes(result: dict[str, Any]) -> list[str]:
    return [f"{result[name]:.0f}" for name in ("kB", "kB sent")]
