"""Time of recorded training steps beside the same steps plain, of a cell in a long file, and of a
call in which nothing happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import torch

import gradviz
from benchmarks import training
from benchmarks.processes import Crash, in_process
from benchmarks.report import Table, ratio
from benchmarks.timing import Times, no_collector, seconds
from benchmarks.training import Program, Step

Case = tuple[str, Sequence[int], int]
"""Name of a function of ``training``, its arguments, and how many rounds are measured."""
SIZES = tuple((layers, width) for width in (64, 256) for layers in (2, 6, 12, 24))
CASES: Sequence[Case] = (
    *(("gpt", size, 3 if size[0] < 12 else 1) for size in SIZES),
    *(("mlp", (iterations,), 3 if iterations < 1000 else 1) for iterations in (1, 10, 100, 1000)),
    *(("rnn", (steps,), 1) for steps in (500, 5000)),
    *(("cell", (lines,), 9) for lines in (20, 10_000)),
    *(("silent", (lines,), 3) for lines in (100, 10_000)),
)
QUICK: Sequence[Case] = (("mlp", (1,), 1), ("cell", (20,), 1), ("silent", (100,), 1))
WAYS = ("only, without values", "only, with values", "without values", "with values")
"""``only``: no lines but those of the training loop; else those of all of the user's functions."""


def run(quick: bool) -> list[dict[str, Any]]:
    """Measure every program in a process of its own."""
    results = []
    for name, arguments, rounds in QUICK if quick else CASES:
        found = in_process("recording", "measure", name, arguments, rounds)
        answer = {"failed": found.text} if isinstance(found, Crash) else found
        results.append({"program": " ".join([name, *map(str, arguments)]), **answer})
    return results


def measure(name: str, arguments: Sequence[int], rounds: int) -> dict[str, Any]:
    """Plain, and recorded in every way, in turns, with the budget that recordings have."""
    torch.set_num_threads(1)
    if name in ("cell", "silent"):
        return _measured({"cell": _cell, "silent": _silent}[name](*arguments), rounds)
    return _measured(_steps(getattr(training, name)(*arguments)), rounds)


def _measured(ways: dict[str, Step], rounds: int) -> dict[str, Any]:
    times = Times()
    for way in ways.values():
        way()
    for _ in range(rounds):
        for label, way in ways.items():
            with no_collector():
                times.add(label, seconds(way))
    recordings: dict[str, Any] = {n: way() for n, way in ways.items() if n != "plain"}
    more = {n: times.best(n) - times.best("plain") for n in recordings}
    return {
        "plain ms": round(1000 * times.best("plain"), 3),
        "steps": {n: len(r.records) for n, r in recordings.items()},
        "ratios": {n: times.ratio(n, "plain") for n in recordings},
        "ms per node": {n: 1000 * more[n] / max(1, _nodes(r)) for n, r in recordings.items()},
    }


def _nodes(recording: gradviz.Recording) -> int:
    return len({key for step in recording.records for key, _ in step.changes.nodes})


def _steps(program: Program) -> dict[str, Step]:
    def recorded(only: Sequence[Any] | None, values: bool) -> Callable[[], gradviz.Recording]:
        def step() -> gradviz.Recording:
            with gradviz.record(only=only, values=values) as recording:
                program.step()
            return recording

        return step

    return {
        "plain": program.step,
        "only, without values": recorded(program.lines, False),
        "only, with values": recorded(program.lines, True),
        "without values": recorded(None, False),
        "with values": recorded(None, True),
    }


def _cell(lines: int) -> dict[str, Step]:
    cell = training.cell(lines)
    return {
        "plain": lambda: cell(nullcontext),
        "without values": lambda: cell(lambda: gradviz.record(values=False)),
        "with values": lambda: cell(gradviz.record),
    }


def _silent(lines: int) -> dict[str, Step]:
    w = torch.ones(3, requires_grad=True)

    def recorded(block: Callable[[], Any]) -> Any:
        with block() as recording:
            count = len(_tokens(lines // 4))
            (w * count).sum().backward()
        return recording

    return {
        "plain": lambda: recorded(nullcontext),
        "only, with values": lambda: recorded(lambda: gradviz.record(only=())),
        "with values": lambda: recorded(gradviz.record),
    }


def _tokens(count: int) -> list[str]:
    """Four lines per token, and torch in none of them."""
    found = []
    for number in range(count):
        token = chr(97 + number % 26)
        if token != " ":
            found.append(token)
    return found


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Ratios to the plain run, and what a node costs more than in it."""
    measured = [r for r in results if "failed" not in r]
    remarks = tuple(f"{r['program']}: {r['failed']}" for r in results if "failed" in r)
    rows = [
        [r["program"], str(r["plain ms"]), *(_of(r["ratios"], way, ratio) for way in WAYS)]
        for r in measured
    ]
    nodes = [
        [r["program"], *(_of(r["ms per node"], way, "{:.3f}".format) for way in WAYS)]
        for r in measured
    ]
    title = "Time of a recorded run, beside the plain one (fastest / median of rounds)"
    return [
        Table(title, ["program", "plain ms", *WAYS], rows, remarks),
        Table("Milliseconds that a recording takes more, per node", ["program", *WAYS], nodes),
    ]


def _of(found: dict[str, Any], way: str, text: Callable[[Any], str]) -> str:
    return text(found[way]) if way in found else "-"
