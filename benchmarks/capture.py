"""Time of a look, beside the bare walk and torchviz; one process per graph."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from benchmarks import contenders
from benchmarks.contenders import OURS, TORCHVIZ, Look, bare, make_safe
from benchmarks.graphs import BUILDERS
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, ratio, times
from benchmarks.timing import Times, no_collector, seconds

Case = tuple[str, int, int]
"""Builder, size and rounds."""

CASES: Sequence[Case] = (
    ("y * w", 1_000, 25),
    ("y * w", 10_000, 9),
    ("y * w", 100_000, 3),
    ("y * w", 1_000_000, 2),
    ("y * 1.0001", 1_000, 25),
    ("y * 1.0001", 10_000, 9),
    ("y * 1.0001", 100_000, 3),
    ("y * 1.0001", 1_000_000, 2),
    ("MLP", 50, 25),
    ("MLP", 500, 25),
    ("transformer", 6, 25),
    ("transformer", 24, 15),
    ("GPT-2 of width", 64, 15),
    ("GPT-2 of width", 256, 9),
    ("GPT-2 with .grad, of width", 64, 15),
    ("GPT-2 with .grad, of width", 256, 9),
)
QUICK: Sequence[Case] = (("y * w", 300, 2),)
SMALL = 300
"""Graphs that torchviz is sure to survive."""
LARGEST_FOR_TORCHVIZ = 100_000


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure every graph."""
    results = []
    for builder, size, rounds in QUICK if quick else CASES:
        start = time.perf_counter()
        results.append(_case(builder, size, rounds))
        took = time.perf_counter() - start
        print(f"{builder} {size:,}: measured in {took:.0f} s", file=sys.stderr, flush=True)
    return results


def _case(builder: str, size: int, rounds: int) -> dict[str, Any]:
    notes: dict[str, str] = {}
    peers: list[str] = []
    for name in TORCHVIZ:
        notes[name] = _probe(builder, size, name)
        if notes[name] in ("works", "RecursionError, works with the limit lifted"):
            peers.append(name)
    measured = in_process("capture", "measure", builder, size, rounds, peers)
    if isinstance(measured, Crash) and peers:
        for name in peers:
            notes[name] = f"{notes[name]}; {measured.text} when it was measured"
        measured = in_process("capture", "measure", builder, size, rounds, [])
    if isinstance(measured, Crash):
        measured = {"failed": measured.text}
    return {"graph": builder, "size": size, "rounds": rounds, "torchviz": notes, **measured}


def _probe(builder: str, size: int, name: str) -> str:
    """Whether torchviz survives this graph; asked in a process of its own."""
    if not contenders.HAS_TORCHVIZ:
        return "not installed"
    if size <= SMALL:
        return "works"
    outcome = in_process("capture", "probe", builder, size, name, False)
    if not isinstance(outcome, Crash) and outcome != "RecursionError":
        return str(outcome)
    first = outcome.text if isinstance(outcome, Crash) else outcome
    if size > LARGEST_FOR_TORCHVIZ:
        return f"{first}, not tried further"
    outcome = in_process("capture", "probe", builder, size, name, True)
    second = outcome.text if isinstance(outcome, Crash) else outcome
    return f"{first}, {second} with the limit lifted"


def probe(builder: str, size: int, name: str, lifted: bool) -> str:
    """Let torchviz look once."""
    output = BUILDERS[builder](size)
    if lifted:
        contenders.lift_recursion_limit()
    try:
        TORCHVIZ[name](output)
    except Exception as error:
        make_safe(output)
        return type(error).__name__
    make_safe(output)
    return "works"


def measure(builder: str, size: int, rounds: int, peers: list[str]) -> dict[str, Any]:
    """Fresh and warm times of everybody, in turns."""
    if peers:
        contenders.lift_recursion_limit()
    looks: dict[str, Look] = OURS | {name: TORCHVIZ[name] for name in peers}
    build = BUILDERS[builder]
    warm_up = build(min(size, 100))
    for look in looks.values():
        look(warm_up)
    fresh, warm = Times(), Times()
    nodes = 0
    for _ in range(rounds):
        for name, look in looks.items():
            output = build(size)
            with no_collector():
                fresh.add(name, _time(look, output))
                warm.add(name, _time(look, output))
            nodes = nodes or len(bare(output)[0])
            make_safe(output)
            del output
    return {"nodes": nodes, "fresh": _summary(fresh, nodes), "warm": _summary(warm, nodes)}


def _time(look: Look, output: Tensor) -> float:
    return seconds(lambda: look(output))


def _summary(found: Times, nodes: int) -> dict[str, Any]:
    """Microseconds per node, ratios to the bare walk, and how much faster snapshot is."""
    return {
        name: {
            "us per node": {
                "best": found.best(name) / nodes * 1e6,
                "median": found.median(name) / nodes * 1e6,
            },
            "to bare": found.ratio(name, "bare"),
            "to snapshot": found.ratio(name, "snapshot"),
        }
        for name in found.rounds
    }


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """The results as tables."""
    columns = ["graph", "nodes", "look", "bare us/node", "snapshot", *TORCHVIZ]
    columns += ["faster", "faster (saved)"]
    rows: list[list[str]] = []
    remarks: list[str] = []
    for result in results:
        title = f"{result['graph']} {result['size']:,}"
        for name, note in result["torchviz"].items():
            if note != "works":
                remarks.append(f"torchviz {name} on {title}: {note}")
        if "failed" in result:
            remarks.append(f"{title}: {result['failed']}")
            continue
        for look in ("fresh", "warm"):
            found = result[look]
            cells = [title, f"{result['nodes']:,}", look, times(found["bare"]["us per node"])]
            for name in ("snapshot", *TORCHVIZ):
                cells.append(ratio(found[name]["to bare"]) if name in found else "-")
            for name in TORCHVIZ:
                cells.append(ratio(found[name]["to snapshot"]) if name in found else "-")
            rows.append(cells)
    title = "Time of a look: ratio to the bare walk, best / median"
    return [Table(title, columns, rows, tuple(dict.fromkeys(remarks)))]
