"""Time and memory of everything that is done with a graph, from a thousand nodes to a million."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from torch import Tensor, nn

import gradviz
from benchmarks.contenders import bare, make_safe
from benchmarks.graphs import SCALES
from benchmarks.plot import curves_svg
from benchmarks.processes import Crash, beside, in_process
from benchmarks.report import Table

CASES: Sequence[tuple[str, tuple[int, ...]]] = (
    ("chain", (1_000, 10_000, 100_000, 1_000_000)),
    ("chain that saves", (10_000, 100_000)),
    ("fan", (10_000, 100_000)),
    ("ladder", (10_000, 100_000)),
    ("RNN", (500, 5_000)),
    ("GPT", (12, 96)),
)
QUICK: Sequence[tuple[str, tuple[int, ...]]] = (("chain", (200, 2_000)),)
WORK: Final = (
    "bare",
    "snapshot",
    "fold",
    "outline",
    "to JSON",
    "from JSON",
    "compare",
    "memory",
    "audit",
    "show",
    "find",
)
STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")


def run(quick: bool, workers: int = 1) -> list[dict[str, Any]]:
    """Measure every graph, each in a process of its own."""
    every = [(name, size) for name, sizes in (QUICK if quick else CASES) for size in sizes]
    return beside(_measured, every, workers)


def _measured(case: tuple[str, int]) -> dict[str, Any]:
    builder, size = case
    start = time.perf_counter()
    answer = in_process("scale", "measure", builder, size)
    failed = {"failed": answer.text} if isinstance(answer, Crash) else answer
    took = time.perf_counter() - start
    print(f"{builder} {size:,}: measured in {took:.0f} s", file=sys.stderr, flush=True)
    return {"graph": builder, "size": size, **failed}


def measure(builder: str, size: int) -> dict[str, Any]:
    """Seconds, and bytes at the peak and kept, of each kind of work."""
    _all_of(*SCALES[builder](10))
    output, model = SCALES[builder](size)
    nodes = len(bare(output)[0])
    make_safe(output)
    return {"nodes": nodes, "work": _all_of(output, model)}


def _all_of(output: Tensor, model: nn.Module | None) -> dict[str, Any]:
    from gradviz.analysis.fold.tree import fold_tree

    done = _Measured()
    done("bare", lambda: bare(output))
    graph = done("snapshot", lambda: gradviz.snapshot(output))
    done("fold", lambda: fold_tree(graph))
    done("outline", lambda: str(graph))
    other = _there_and_back(graph, done)
    done("compare", lambda: str(gradviz.compare(graph, other)))
    done("memory", lambda: str(gradviz.memory(graph)))
    if model is not None:
        done("audit", lambda: str(gradviz.audit(output, model)))
    picture = done("show", lambda: gradviz.show(graph))
    done("find", lambda: picture._answer_to({"find": "backward"}))
    return done.found


def _there_and_back(graph: gradviz.Graph, done: _Measured) -> gradviz.Graph:
    text = done("to JSON", graph.to_json)
    made: gradviz.Graph = done("from JSON", lambda: gradviz.Graph.from_json(text))
    return made


class _Measured:
    """Runs work, and writes down what it took."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        gc.collect()
        before = _reset()
        start = time.process_time()
        made = work()
        seconds = time.process_time() - start
        peak = _status("VmHWM") - before
        gc.collect()
        self.found[name] = {"seconds": seconds, "peak": peak, "kept": _status("VmRSS") - before}
        return made


def _reset() -> int:
    """Forget the highest resident set so far; gives the one of now."""
    if RESET.exists():
        RESET.write_text("5")
    return _status("VmRSS")


def _status(key: str) -> int:
    """Bytes, 0 where the system does not say."""
    lines = STATUS.read_text().splitlines() if STATUS.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":")), 0)


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Time per node, and memory per node, each as a table."""
    made = []
    for title, key, factor, digits in (
        ("Scale: microseconds a node", "seconds", 1e6, 1),
        ("Scale: bytes a node, at the peak", "peak", 1.0, 0),
    ):
        rows, remarks = [], []
        for result in results:
            name = f"{result['graph']} {result['size']:,}"
            if "failed" in result:
                remarks.append(f"{name}: {result['failed']}")
                continue
            found, nodes = result["work"], result["nodes"]
            per = {work: one[key] / nodes * factor for work, one in found.items()}
            cells = [f"{per[work]:,.{digits}f}" if work in per else "-" for work in WORK]
            rows.append([name, f"{nodes:,}", *cells])
        made.append(Table(title, ["graph", "nodes", *WORK], rows, tuple(remarks)))
    return made


def growth(results: list[dict[str, Any]], graph: str = "chain") -> str:
    """Seconds of each kind of work by the number of nodes, as SVG; empty if none was measured."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        if result["graph"] == graph and "failed" not in result:
            for name, one in result["work"].items():
                point = float(result["nodes"]), max(one["seconds"], 1e-5)
                curves.setdefault(name, []).append(point)
    if not curves:
        return ""
    return curves_svg(f"A {graph} of so many nodes", "nodes", "seconds of CPU time", curves)
