"""Bytes per node: of a Graph, and of what looking leaves behind in torch's own graph."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path
from typing import Any

from benchmarks.contenders import Look, bare, make_safe, snapshot
from benchmarks.graphs import BUILDERS
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table

CASES = (("y * w", 100_000), ("y * 1.0001", 100_000), ("MLP", 5_000), ("transformer", 24))
QUICK = (("y * w", 2_000),)
STATM = Path("/proc/self/statm")


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure every graph."""
    results = []
    for builder, size in QUICK if quick else CASES:
        answer = in_process("memory", "measure", builder, size)
        failed = {"failed": answer.text} if isinstance(answer, Crash) else answer
        results.append({"graph": builder, "size": size, **failed})
    return results


def measure(builder: str, size: int) -> dict[str, Any]:
    """All figures are bytes per node."""
    output = BUILDERS[builder](size)
    snapshot(BUILDERS["MLP"](50))
    before = _resident()
    walked = bare(output)
    nodes = len(walked[0])
    del walked
    gc.collect()
    after_walk = _resident()
    make_safe(output)
    gc.collect()
    found: dict[str, Any] = {
        "nodes": nodes,
        "wrappers": _per(after_walk, before, nodes),
        "breaks": _per(_resident(), after_walk, nodes),
    }
    kept, peak = _traced(snapshot, output)
    found["snapshot"], found["snapshot, peak"] = kept / nodes, peak / nodes
    make_safe(output)
    return found


def _traced(look: Look, output: Any) -> tuple[int, int]:
    gc.collect()
    tracemalloc.start()
    graph = look(output)
    gc.collect()
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del graph
    return kept, peak


def _resident() -> int | None:
    return int(STATM.read_text().split()[1]) * 4096 if STATM.exists() else None


def _per(after: int | None, before: int | None, nodes: int) -> float | None:
    return None if after is None or before is None else (after - before) / nodes


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """The results as a table."""
    names = ["snapshot", "snapshot, peak", "wrappers", "breaks"]
    rows, remarks = [], []
    for result in results:
        if "failed" in result:
            remarks.append(f"{result['graph']}: {result['failed']}")
            continue
        cells = [_number(result[name]) for name in names]
        rows.append([f"{result['graph']} {result['size']:,}", f"{result['nodes']:,}", *cells])
    remarks.append(
        "wrappers, breaks: growth of the resident set by a bare walk, and by gradviz on top of it; "
        "small graphs fit into pages that are there already"
    )
    title = "Memory: bytes per node"
    return [Table(title, ["graph", "nodes", *names], rows, tuple(remarks))]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"
